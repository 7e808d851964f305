"""The user's ids as one looks them up: by value, as text, by a beginning."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError, hint
from mgae.data.ids import counted

# Near matches are looked for among so many; in more it would take seconds.
_MOST_COMPARED = 20_000
_MOST_SHOWN = 80


class NodeIndex:
    """Ids and where they stand.

    >>> nodes = NodeIndex(["ann", "bob", "bobby"])
    >>> nodes.position("bob"), nodes.find("ob", 5)
    (1, ['bob', 'bobby'])
    """

    def __init__(self, ids: Sequence[Any]) -> None:
        self.ids = ids
        self._places = {node: place for place, node in enumerate(ids)}
        if len(self._places) != len(ids):
            raise GraphError("two nodes have the same id: node_ids must be distinct")

    def __len__(self) -> int:
        return len(self.ids)

    def knows(self, node: Any) -> bool:
        """Whether there is a node of this id, or of this text."""
        return self._place(node) is not None

    def position(self, node: Any) -> int:
        """Its number.

        Raises:
            GraphError: where there is no such node, with a near match if there is one.
        """
        place = self._place(node)
        if place is None:
            raise GraphError(self.unknown(node))
        return place

    def id_of(self, node: Any) -> Any:
        """The id itself, of an id or its text."""
        return self.ids[self.position(node)]

    def unknown(self, node: Any) -> str:
        """What to say of an id that is no node."""
        shown = repr(node) if len(repr(node)) <= _MOST_SHOWN else repr(node)[:_MOST_SHOWN] + "…"
        return f"unknown node {shown}: the graph has {counted(len(self), 'node')}{self._near(node)}"

    def positions(self, nodes: Iterable[Any]) -> np.ndarray:
        """Their numbers [n]."""
        return np.array([self.position(node) for node in nodes], np.int64)

    def find(self, text: str, limit: int = 10) -> list[Any]:
        """The id itself, ids that begin with a text, those that hold it; case does not matter."""
        # An argument that is no UTF-8 comes with surrogates, which no id has.
        text = text.strip().encode("utf-8", "replace").decode()
        same = [] if (place := self._place(text)) is None else [place]
        begins = pc.starts_with(self.texts, text, ignore_case=True)
        holds = pc.and_not(pc.match_substring(self.texts, text, ignore_case=True), begins)
        places = dict.fromkeys([*same, *_first(begins, limit), *_first(holds, limit)])
        return [self.ids[place] for place in list(places)[:limit]]

    def places_of(self, texts: pa.Array) -> np.ndarray:
        """The numbers [n] of ids written as texts, -1 for what is no node."""
        found: np.ndarray = pc.fill_null(pc.index_in(texts, self.texts), -1).to_numpy()
        return found.astype(np.int64)

    @cached_property
    def column(self) -> pa.Array:
        """All ids as a column of a table, [num_nodes]."""
        plain = all(isinstance(node, int | str) for node in self.ids)
        return pa.array(self.ids) if plain else self.texts

    @cached_property
    def texts(self) -> pa.Array:
        """All ids as texts, [num_nodes]."""
        return pa.array(map(str, self.ids), pa.string())

    def _place(self, node: Any) -> int | None:
        """A number written as text is that number, and the other way round."""
        if not isinstance(node, Hashable):
            return None
        if isinstance(node, np.generic):
            node = node.item()
        place = None if isinstance(node, bool | float) else self._places.get(node)
        if place is None and isinstance(node, str):
            number = node.strip()
            is_number = number.removeprefix("-").isdecimal() and len(number) <= 20
            place = self._places.get(int(number)) if is_number else self._places.get(number)
        if place is None and isinstance(node, int) and not isinstance(node, bool):
            place = self._places.get(str(node))
        return place

    def _near(self, node: Any) -> str:
        text = str(node)[:_MOST_SHOWN]
        if (found := self.find(text, 1)) and text.strip():
            return f" (did you mean {found[0]}?)"
        return hint(text, self.texts.to_pylist()) if len(self) <= _MOST_COMPARED else ""


def ends_of(pair: Any, what: str) -> tuple[Any, Any]:
    """The two ids of a pair.

    Raises:
        GraphError: where there are not two.
    """
    try:
        head, tail = pair
    except (TypeError, ValueError):
        raise GraphError(f"{what} must be two ids, got {str(pair)[:_MOST_SHOWN]}") from None
    return head, tail


def _first(chosen: pa.BooleanArray, limit: int) -> list[int]:
    places: list[int] = np.flatnonzero(chosen.to_numpy(zero_copy_only=False))[:limit].tolist()
    return places
