from __future__ import annotations

import pytest

from mgae.core.errors import MGAEError, TrainingError, UnknownName
from mgae.registry import METHODS, Registry


def test_an_unknown_name_lists_the_known_and_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown method 'mga': known are .*did you mean mgae\?"):
        METHODS["mga"]


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert "did you mean" not in str(UnknownName("color", "xyz", ["red"]))


def test_a_name_is_given_once() -> None:
    colors = Registry("color", home="mgae.registry")
    colors.register("red", summary="")(object)
    with pytest.raises(AssertionError):
        colors.register("red", summary="")


def test_errors_carry_their_exit_code() -> None:
    assert MGAEError("x").exit_code == 2
    assert TrainingError("x").exit_code == 1
