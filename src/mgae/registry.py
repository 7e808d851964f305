"""Every swappable part has its name in exactly one file: where it is registered.

A registry knows the module whose import fills it, so that a name can be looked up (and a wrong
one explained) without anything having been imported before. Other packages bring parts of their
own through entry points of the registry's group:

    [project.entry-points."mgae.decoders"]
    bilinear = "my_package.bilinear"

The module that the entry point names registers the part when it is imported.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any

from mgae.core.errors import ConfigError, UnknownName
from mgae.settings import PartSettings


@dataclass(frozen=True)
class Entry:
    """One registered part: how to build it, its settings, and how it is described.

    ``target`` is the class or function, or its address as ``module:name``, imported when needed;
    ``module`` is the one to import to find a part that is not ours, None for one of ours.
    """

    name: str
    target: Callable[..., Any] | str
    settings: type[PartSettings]
    summary: str
    paper: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)
    module: str | None = None

    @cached_property
    def build(self) -> Any:
        """The class or function that makes the part."""
        if not isinstance(self.target, str):
            return self.target
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


class Registry:
    """Names of one kind of part.

    >>> colors = Registry("color", home="mgae.registry")
    >>> @colors.register("red", summary="like a tomato")
    ... class Red: ...
    >>> colors["red"].summary
    'like a tomato'
    """

    def __init__(self, what: str, home: str, group: str | None = None) -> None:
        self.what = what
        self.group = group or f"mgae.{what}s"  # of the entry points
        self._home = home
        self._entries: dict[str, Entry] = {}
        self._filled = False

    def add(
        self,
        name: str,
        target: Any,
        *,
        summary: str,
        settings: type[PartSettings] = PartSettings,
        paper: str = "",
        **extras: Any,
    ) -> None:
        """Give a class, a function or its address a name; ``extras`` depend on the kind of part.

        Raises:
            ConfigError: if the name is taken.
        """
        module = _registering_module()
        if name in self._entries:
            raise ConfigError(
                f"{self.what} {name!r} of {module or 'mgae'} is already registered by "
                f"{self._entries[name].module or 'mgae'}: choose another name"
            )
        self._entries[name] = Entry(name, target, settings, summary, paper, extras, module)

    def register(self, name: str, **about: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a class or function under a name."""

        def keep(target: Any) -> Any:
            self.add(name, target, **about)
            return target

        return keep

    def __getitem__(self, name: str) -> Entry:
        self._fill()
        if name not in self._entries:
            raise UnknownName(self.what, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        self._fill()
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        self._fill()
        return iter(list(self._entries.values()))

    def names(self) -> list[str]:
        """Return all names, in the order of registration."""
        return [entry.name for entry in self]

    def load(self, module: str) -> None:
        """Import the module of a part, as a configuration names it.

        Raises:
            ConfigError: if there is no such module.
        """
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(
                f"{self.what}.module {module!r} cannot be imported ({error}): install the package "
                "that it belongs to, or name the folder of its file: PYTHONPATH=FOLDER mgae …"
            ) from None

    def _fill(self) -> None:
        importlib.import_module(self._home)
        if self._filled:
            return
        self._filled = True
        for point in entry_points(group=self.group):
            self.load(point.value.partition(":")[0])


def _registering_module() -> str | None:
    """Return the name of the module that calls a registry from outside; None for one of ours."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals["__name__"] == __name__:
        frame = frame.f_back
    name = "" if frame is None else str(frame.f_globals["__name__"])
    return None if name.partition(".")[0] == "mgae" else name


DATASETS = Registry("dataset", home="mgae.data.datasets.catalogue")
MASKS = Registry("mask", home="mgae.runs.parts")
ENCODERS = Registry("encoder", home="mgae.runs.parts")
DECODERS = Registry("decoder", home="mgae.runs.parts")
LOSSES = Registry("loss", home="mgae.runs.parts", group="mgae.losses")
METHODS = Registry("method", home="mgae.runs.methods")
PARTS = {"mask": MASKS, "encoder": ENCODERS, "decoder": DECODERS, "loss": LOSSES}
TRACKERS = Registry("tracker", home="mgae.runs.tracking")
