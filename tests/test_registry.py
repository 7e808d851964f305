from __future__ import annotations

import colorsys

import pytest

from mgae.core.errors import ConfigError, MGAEError, TrainingError, UnknownName
from mgae.registry import METHODS, Registry


def test_an_unknown_name_lists_the_known_and_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown method 'mga': known are .*did you mean mgae\?"):
        METHODS["mga"]


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert "did you mean" not in str(UnknownName("color", "xyz", ["red"]))


def test_a_name_is_given_once() -> None:
    colors = Registry("color", home="mgae.registry")
    colors.register("red", summary="")(object)
    with pytest.raises(ConfigError, match=r"color 'red' .* already registered .* another name"):
        colors.register("red", summary="")(object)


def test_an_entry_knows_who_registered_it() -> None:
    colors = Registry("color", home="mgae.registry")
    colors.register("red", summary="")(object)
    colors.add("blue", "mgae.core:GCN", summary="")
    assert colors["red"].module == colors["blue"].module == __name__
    assert METHODS["mgae"].module is None


def test_an_address_is_imported_when_it_is_needed() -> None:
    colors = Registry("color", home="mgae.registry")
    colors.add("white", "colorsys:rgb_to_hsv", summary="")
    colors.add("black", "no_such_module:Black", summary="")
    assert colors["white"].build is colorsys.rgb_to_hsv
    assert colors.names() == ["white", "black"]
    with pytest.raises(ModuleNotFoundError):
        _ = colors["black"].build


def test_errors_carry_their_exit_code() -> None:
    assert MGAEError("x").exit_code == 2
    assert TrainingError("x").exit_code == 1
