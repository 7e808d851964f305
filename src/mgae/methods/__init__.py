"""The parts put together: each file is a family of methods behind the one interface."""

from mgae.methods import features, floors, infomax, masked
from mgae.methods.base import Encoded, Method, build_method

__all__ = ["Encoded", "Method", "build_method", "features", "floors", "infomax", "masked"]
