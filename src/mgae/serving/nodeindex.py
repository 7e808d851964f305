"""Look up the user's ids: by value, as text, by a beginning."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError, hint
from mgae.data.ids import counted
from mgae.data.large.folder import StoredIds

# Near matches are looked for among so many; in more it would take seconds.
_MOST_COMPARED = 20_000
_MOST_SHOWN = 80


class NodeIndex:
    """Hold ids and their numbers.

    ``prefixes`` are those that keep the ids of a bipartite graph's two sides apart; ``titles`` are
    what people call the nodes, null for a node without one. Ids are the key: a title only finds.

    >>> nodes = NodeIndex(["ann", "bob", "bobby"])
    >>> nodes.position("bob"), nodes.find("ob", 5)
    (1, ['bob', 'bobby'])
    """

    def __init__(
        self, ids: Sequence[Any], prefixes: Sequence[str] = (), titles: pa.Array | None = None
    ) -> None:
        self.ids, self.prefixes, self.titles = ids, prefixes, titles
        if isinstance(ids, StoredIds):
            self._number_of: Callable[[Any], int | None] = ids.number_of
            return
        numbers = {node: number for number, node in enumerate(ids)}
        self._number_of = numbers.get
        if len(numbers) != len(ids):
            raise GraphError("two nodes have the same id: node_ids must be distinct")

    def __len__(self) -> int:
        return len(self.ids)

    def knows(self, node: Any) -> bool:
        """Return whether there is a node of this id, or of this text."""
        return self._number(node) is not None

    def position(self, node: Any) -> int:
        """Return a node's number.

        Raises:
            GraphError: if there is no such node, with a near match if there is one.
        """
        number = self._number(node)
        if number is None:
            raise GraphError(self.unknown(node))
        return number

    def id_of(self, node: Any) -> Any:
        """Return the id itself, of an id or its text."""
        return self.ids[self.position(node)]

    def unknown(self, node: Any) -> str:
        """Return the message for an id that is no node."""
        shown = repr(node) if len(repr(node)) <= _MOST_SHOWN else repr(node)[:_MOST_SHOWN] + "…"
        return f"unknown node {shown}: the graph has {counted(len(self), 'node')}{self._near(node)}"

    def positions(self, nodes: Iterable[Any]) -> np.ndarray:
        """Return the nodes' numbers [n]."""
        return np.array([self.position(node) for node in nodes], np.int64)

    def find(self, text: str, limit: int = 10) -> list[Any]:
        """Return the id itself, what begins with a text, what contains it; ignore case.

        Ids come before titles.
        """
        # An argument that is no UTF-8 comes with surrogates, which no id has.
        text = text.strip().encode("utf-8", "replace").decode()
        same = [] if (number := self._number(text)) is None else [number]
        columns = [self.texts] if self.titles is None else [self.texts, self.titles]
        begins = [pc.starts_with(column, text, ignore_case=True) for column in columns]
        contains = [
            pc.and_not(pc.match_substring(column, text, ignore_case=True), before)
            for column, before in zip(columns, begins, strict=True)
        ]
        ways = (_first(chosen, limit) for chosen in (*begins, *contains))
        numbers = dict.fromkeys([*same, *(number for way in ways for number in way)])
        return [self.ids[number] for number in list(numbers)[:limit]]

    def title(self, number: int) -> str | None:
        """Return the title of a node's number; None if it has none."""
        title: str | None = None if self.titles is None else self.titles[number].as_py()
        return title

    def name(self, number: int) -> str:
        """Return what a person reads for a node: its title, or else its id."""
        return self.title(number) or str(self.ids[number])

    def numbers_of(self, texts: pa.Array, side: int | None = None) -> np.ndarray:
        """Return the numbers [n] of ids written as texts, -1 for what is no node.

        With a ``side`` whose ids have a prefix they may come without it.
        """
        numbers = self._index_in(texts)
        if side is not None and self.prefixes:
            whole = pc.binary_join_element_wise(pa.scalar(self.prefixes[side]), texts, "")
            numbers = np.where(numbers < 0, self._index_in(whole), numbers)
        return numbers

    def _index_in(self, texts: pa.Array) -> np.ndarray:
        numbers: np.ndarray = pc.fill_null(pc.index_in(texts, self.texts), -1).to_numpy()
        return numbers.astype(np.int64)

    @cached_property
    def column(self) -> pa.Array:
        """Return all ids as a column of a file, [num_nodes]."""
        if isinstance(self.ids, StoredIds):
            return self.ids.column
        plain = all(isinstance(node, int | str) for node in self.ids)
        return pa.array(self.ids) if plain else self.texts

    @cached_property
    def texts(self) -> pa.Array:
        """Return all ids as texts, [num_nodes]."""
        if isinstance(self.ids, StoredIds):
            return self.ids.column.cast(pa.string())
        return pa.array(map(str, self.ids), pa.string())

    def _number(self, node: Any) -> int | None:
        """Take a number written as text as that number, and the other way round."""
        if not isinstance(node, Hashable):
            return None
        if isinstance(node, np.generic):
            node = node.item()
        number = None if isinstance(node, bool | float) else self._number_of(node)
        if number is None and isinstance(node, str):
            text = node.strip()
            is_integer = text.removeprefix("-").isdecimal() and len(text) <= 20
            number = self._number_of(int(text) if is_integer else text)
        if number is None and isinstance(node, int) and not isinstance(node, bool):
            number = self._number_of(str(node))
        return number

    def _near(self, node: Any) -> str:
        text = str(node)[:_MOST_SHOWN]
        if both := [name for prefix in self.prefixes if self.knows(name := f"{prefix}{text}")]:
            return f" (did you mean {' or '.join(both)}?)"
        if (similar := self.find(text, 1)) and text.strip():
            title = self.title(self.position(similar[0]))
            known = f"{similar[0]}, {title}" if title else similar[0]
            return f" (did you mean {known}?)"
        return hint(text, self.texts.to_pylist()) if len(self) <= _MOST_COMPARED else ""


def ends_of(pair: Any, what: str) -> tuple[Any, Any]:
    """Return the two ids of a pair.

    Raises:
        GraphError: if there are not two.
    """
    try:
        head, tail = pair
    except (TypeError, ValueError):
        raise GraphError(f"{what} must be two ids, got {str(pair)[:_MOST_SHOWN]}") from None
    return head, tail


def _first(chosen: pa.BooleanArray, limit: int) -> list[int]:
    known = pc.fill_null(chosen, False).to_numpy(zero_copy_only=False)
    numbers: list[int] = np.flatnonzero(known)[:limit].tolist()
    return numbers
