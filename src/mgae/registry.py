"""Every swappable part has its name in exactly one place: where it is registered.

A registry knows the module whose import fills it, so that a name can be looked up (and a wrong
one explained) without anything having been imported before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mgae.core.errors import UnknownName
from mgae.settings import PartSettings


@dataclass(frozen=True)
class Entry:
    """One registered part: how to build it, its settings, and how it is described."""

    name: str
    build: Callable[..., Any]
    settings: type[PartSettings]
    summary: str
    paper: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)


class Registry:
    """Names of one kind of part.

    >>> colors = Registry("color", home="mgae.registry")
    >>> @colors.register("red", summary="like a tomato")
    ... class Red: ...
    >>> colors["red"].summary
    'like a tomato'
    """

    def __init__(self, what: str, home: str) -> None:
        self.what = what
        self._home = home
        self._entries: dict[str, Entry] = {}

    def register(
        self,
        name: str,
        *,
        summary: str,
        settings: type[PartSettings] = PartSettings,
        paper: str = "",
        **extras: Any,
    ) -> Callable[[Any], Any]:
        """Give a class or function its name; ``extras`` are what this kind of part needs to say."""
        assert name not in self._entries, f"{self.what} {name} is registered twice"

        def keep(build: Any) -> Any:
            self._entries[name] = Entry(name, build, settings, summary, paper, extras)
            return build

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
        return iter(self._entries.values())

    def names(self) -> list[str]:
        """All names, in the order of registration."""
        return [entry.name for entry in self]

    def _fill(self) -> None:
        importlib.import_module(self._home)


DATASETS = Registry("dataset", home="mgae.data.datasets.catalogue")
MASKS = Registry("mask", home="mgae.core.masks")
ENCODERS = Registry("encoder", home="mgae.core.encoders")
DECODERS = Registry("decoder", home="mgae.core.decoders")
LOSSES = Registry("loss", home="mgae.core.losses")
METHODS = Registry("method", home="mgae.core.methods")
PARTS = {"mask": MASKS, "encoder": ENCODERS, "decoder": DECODERS, "loss": LOSSES}
