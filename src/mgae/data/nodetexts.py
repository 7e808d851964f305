"""Titles and other texts of nodes: what people read where programs have ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.core.errors import GraphError
from mgae.data.ids import Nodes, counted, decoded, listed
from mgae.data.io.noderows import NodeRows

_TITLE, _ATTRIBUTE = "title", "attribute."


@dataclass(frozen=True, eq=False)
class NodeTexts:
    """Texts that are shown beside ids, null where a node has none; no model reads them.

    Attributes:
        titles: of the nodes [num_nodes], or None.
        attributes: by name, [num_nodes] each.
    """

    titles: pa.Array | None
    attributes: dict[str, pa.Array]

    @classmethod
    def of(cls, rows: NodeRows, nodes: Nodes, title: str | None) -> tuple[Self, list[str]]:
        """Return the texts of all nodes from the rows of a table, and notes.

        ``title`` is the column of the titles; the other columns are attributes.

        Raises:
            GraphError: if no row is about a node of the graph.
        """
        position = rows.positions(nodes)
        known = position >= 0
        if not known.any():
            raise GraphError(
                f"{rows.table.where} names no node of the graph: are the ids the same?"
            )
        row_of = np.full(len(nodes.ids), -1)
        row_of[position[known]] = np.flatnonzero(known)
        take = pa.array(row_of, mask=row_of < 0)
        columns = {
            name: _plain(column).take(take)
            for name, column in zip(rows.names, rows.columns, strict=True)
        }
        notes = []
        if unknown := rows.ids.texts.filter(pc.less(nodes_of(rows, nodes), 0)).to_pylist():
            ids = f"{counted(len(unknown), 'unknown id')} left out: {listed(unknown)}"
            notes.append(f"{rows.table.where}: titles or attributes of {ids}")
        titles = columns.pop(title, None) if title is not None else None
        if titles is not None and titles.null_count:
            count = f"{counted(titles.null_count, 'node')} of {len(titles):,}"
            notes.append(f"{rows.table.where}: {count} without a {title}")
        return cls(titles, columns), notes

    @classmethod
    def of_table(cls, table: pa.Table) -> Self | None:
        """Return what `columns` made; None if the table has ids alone."""
        stored = {
            name: table[name].combine_chunks() for name in table.column_names if name != "node_id"
        }
        if not stored:
            return None
        titles = stored.pop(_TITLE, None)
        return cls(titles, {name.removeprefix(_ATTRIBUTE): one for name, one in stored.items()})

    @property
    def columns(self) -> dict[str, pa.Array]:
        """Return the columns of a file that has the ids too."""
        named = {f"{_ATTRIBUTE}{name}": values for name, values in self.attributes.items()}
        return named if self.titles is None else {_TITLE: self.titles, **named}

    def of_node(self, number: int) -> dict[str, str]:
        """Return the attributes that a node has."""
        values = {name: column[number].as_py() for name, column in self.attributes.items()}
        return {name: value for name, value in values.items() if value is not None}

    def shared(self, one: int, other: int) -> dict[str, str]:
        """Return the attributes in which two nodes agree."""
        theirs = self.of_node(other)
        return {
            name: value for name, value in self.of_node(one).items() if theirs.get(name) == value
        }

    def longer(self, count: int) -> NodeTexts:
        """Return the same for a graph with ``count`` more nodes, which have no texts."""
        more = pa.nulls(count, pa.string())
        titles = None if self.titles is None else pa.concat_arrays([self.titles, more])
        return NodeTexts(
            titles, {name: pa.concat_arrays([one, more]) for name, one in self.attributes.items()}
        )


def nodes_of(rows: NodeRows, nodes: Nodes) -> pa.Array:
    """Return the node of each distinct id of the rows, -1 for none."""
    return pa.array(nodes.positions(rows.ids.texts))


def _plain(column: Any) -> pa.Array:
    """Return texts without surrounding blanks, null for an empty one."""
    column = decoded(column)
    if pa.types.is_floating(column.type) and pc.all(pc.equal(column, pc.floor(column))).as_py():
        column = column.cast(pa.int64())  # whole numbers of a column with gaps, as of pandas
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
