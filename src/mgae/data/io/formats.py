"""Read graphs of networkx and scipy, from memory and from the files that these packages read."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import networkx as nx
import numpy as np
import pyarrow as pa
from scipy import sparse

from mgae.core.errors import ConfigError, GraphError, hint
from mgae.data.ids import Ids, listed
from mgae.data.io.bounds import check_num_nodes, most_expanded
from mgae.data.io.delimited import OnProgress, open_bytes, readable
from mgae.data.io.edges import EdgeList, checked_weights, wrong_weight
from mgae.data.io.matrixmarket import read_matrix_market
from mgae.data.io.options import InputSettings
from mgae.data.io.twosides import prefixed

_SIDES = ("row:", "column:")


def edges_of_file(path: Path, settings: InputSettings, on_progress: OnProgress) -> EdgeList | None:
    """Return the edges in a file whose ending names one of these formats, or None otherwise.

    Raises:
        GraphError: if the file is not in that format.
        ConfigError: if ``settings`` name a column that the format does not have.
    """
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if ending == ".mtx":
        matrix = read_matrix_market(path, on_progress)
        return edges_of_matrix(matrix, str(path), settings, first=1)
    if ending not in _FORMATS:
        return None
    name, read = _FORMATS[ending]
    with readable(path), open_bytes(path) as stream:
        content = io.BytesIO(stream.read())
    try:
        graph = read(content)
    except Exception as error:  # these parsers raise anything
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise GraphError(f"{path} is not a valid {name} file: {reason}") from None
    if isinstance(graph, nx.Graph):
        return edges_of_networkx(graph, str(path), settings)
    return edges_of_matrix(graph, str(path), settings)


def is_table(path: Path) -> bool:
    """Return whether a file is read as a table, by its ending."""
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    return ending != ".mtx" and ending not in _FORMATS


def edges_of_networkx(graph: nx.Graph[Any], where: str, settings: InputSettings) -> EdgeList:
    """Return the edges of a networkx graph, with ``weight`` or the attribute that is set for it.

    Raises:
        GraphError: if two nodes have the same name, or a weight is wrong, or none has it.
        ConfigError: if ``settings`` name a column for the ends of an edge.
    """
    reason = f"{where} says itself what is joined"
    _refuse_columns(settings, "source_column target_column time_column type_column", reason)
    names = [str(node).strip() for node in graph]
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise GraphError(f"{where} has two nodes that are called {twice!r}: rename one of them")
    edges = list(graph.edges(data=True))
    attributes = {name for _, _, data in edges for name in data}
    weight = _weight_name(where, settings.weight_column, attributes)
    weights = [data.get(weight) for _, _, data in edges]
    side = _sides(graph, settings)
    pairs = [
        (str(target), str(source)) if side.get(source) == 1 else (str(source), str(target))
        for source, target, _ in edges
    ]
    if settings.directed and not graph.is_directed():
        pairs, weights = pairs + [(target, source) for source, target in pairs], weights * 2

    def locate(row: int) -> str:
        return f"{where}, edge {' – '.join(pairs[row])}"

    return EdgeList(
        where,
        Ids.of([_texts(where, (pair[end] for pair in pairs)) for end in (0, 1)], locate),
        _weights(weights, locate),
        Ids.of([_texts(where, names)], lambda row: f"{where}, node {row + 1}"),
        tuple(
            f"{where}: {note}" for note in _remarks(graph, settings.directed, attributes - {weight})
        ),
        node_side=np.array([side.get(node, -1) for node in graph], np.int8) if side else None,
    ).signed(settings.weights)


def _sides(graph: nx.Graph[Any], settings: InputSettings) -> dict[Any, int]:
    """Return the sides of nodes by networkx's attribute ``bipartite``, if it gives two."""
    given = nx.get_node_attributes(graph, "bipartite")
    numbers = {node: int(side) for node, side in given.items() if str(side) in ("0", "1")}
    wanted = settings.bipartite != "no" and not settings.directed
    return numbers if wanted and len(numbers) == len(graph) else {}


def _refuse_columns(settings: InputSettings, keys: str, reason: str) -> None:
    """Refuse settings for columns of a table rather than ignore them."""
    for key in keys.split():
        if getattr(settings, key) is not None:
            raise ConfigError(f"input.{key} is for tables, and {reason}: leave it out")


def _weight_name(where: str, chosen: str | None, attributes: set[Any]) -> str:
    if chosen is None or chosen in attributes:
        return chosen or "weight"
    names = sorted(map(str, attributes))
    raise GraphError(
        f"{where} has no edge attribute {chosen!r} (input.weight_column): "
        f"edge attributes are {listed(names, 20) or 'none'}{hint(chosen, names)}"
    )


def _texts(where: str, texts: Iterable[str]) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(texts, pa.string())])
    except UnicodeEncodeError as error:
        raise GraphError(f"{where}: {error.object!r} is no valid Unicode") from None


def _weights(weights: list[Any], locate: Callable[[int], str]) -> np.ndarray | None:
    if all(weight is None for weight in weights):
        return None
    numbers = np.ones(len(weights))  # networkx's default
    for row, weight in enumerate(weights):
        try:
            numbers[row] = 1.0 if weight is None else float(weight)
        except (TypeError, ValueError):
            raise wrong_weight(locate(row), weight) from None
    return checked_weights(numbers, locate)


def _remarks(graph: nx.Graph[Any], directed: bool, ignored: set[Any]) -> Iterator[str]:
    if graph.is_directed() and not directed:
        yield "its directed edges are taken as undirected (input.directed keeps their direction)"
    if names := sorted(
        {str(name) for _, data in graph.nodes(data=True) for name in data} - {"bipartite"}
    ):
        yield f"node attributes ignored: {listed(names)} (features come by input.features)"
    if names := sorted(map(str, ignored)):
        yield f"edge attributes ignored: {listed(names)}"


def edges_of_matrix(matrix: Any, where: str, settings: InputSettings, first: int = 0) -> EdgeList:
    """Return the non-zeros of an adjacency matrix, row to column, as weights unless all are one.

    Nodes are numbered from ``first``; if `input.bipartite` says that rows and columns are two
    sides, they are ``row:0`` … and ``column:0`` ….

    Raises:
        GraphError: if the matrix of a graph without sides is not square, or has a wrong weight.
        ConfigError: if ``settings`` name a column of a table.
    """
    columns = "source_column target_column weight_column time_column type_column"
    _refuse_columns(settings, columns, f"{where} is a matrix")
    two_sides = settings.bipartite == "yes"
    if matrix.ndim != 2 or (matrix.shape[0] != matrix.shape[1] and not two_sides):
        shape = " × ".join(map(str, matrix.shape))
        hint = "; --bipartite if rows and columns are two sides" if matrix.ndim == 2 else ""
        raise GraphError(f"{where}: an adjacency matrix must be square, got {shape}{hint}")
    check_num_nodes(where, max(matrix.shape), matrix.nnz)
    if matrix.dtype.kind not in "biuf":
        raise GraphError(f"{where}: a weight must be a real number, got {matrix.dtype}")
    entries = sparse.coo_array(matrix)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    row, column = entries.coords

    def locate(entry: int) -> str:
        return f"{where}, entry ({', '.join(str(at[entry] + first) for at in entries.coords)})"

    numbers = [pa.array(np.arange(first, first + size)).cast(pa.string()) for size in matrix.shape]
    texts = numbers[0]
    if two_sides:
        texts = pa.concat_arrays([prefixed(*side) for side in zip(_SIDES, numbers, strict=True)])
        column = column + matrix.shape[0]
    nodes = Ids(texts, (np.arange(len(texts)),), lambda node: f"{where}, node {texts[node]}")
    weight = None if (entries.data == 1).all() else entries.data.astype(np.float64)
    weight = None if weight is None else checked_weights(weight, locate)
    edges = EdgeList(where, Ids(texts, (row, column), locate), weight, nodes)
    edges = replace(edges, columns=("row", "column"), prefixes=_SIDES) if two_sides else edges
    return edges.signed(settings.weights)


def _read_npz(stream: IO[bytes]) -> Any:
    with zipfile.ZipFile(stream) as archive:
        files = archive.infolist()
    compressed = sum(file.compress_size for file in files)
    if sum(file.file_size for file in files) > most_expanded(compressed):
        raise ValueError("it expands to hundreds of times its size")
    stream.seek(0)
    matrix = sparse.load_npz(stream)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # scipy does not check indices itself
    return matrix


def _read_gml(stream: IO[bytes]) -> nx.Graph[Any]:
    """Read by label, as networkx writes names there, or by id if labels are missing or repeated."""
    try:
        return nx.read_gml(stream, label="label")
    except nx.NetworkXError:
        stream.seek(0)
        return nx.read_gml(stream, label="id")


def _read_pajek(stream: IO[bytes]) -> nx.Graph[Any]:
    """Remove the weights of one that networkx gives to edges without a weight."""
    graph = nx.read_pajek(stream)
    if all(data.get("weight") == 1 for _, _, data in graph.edges(data=True)):
        for _, _, data in graph.edges(data=True):
            del data["weight"]
    return graph


_FORMATS: dict[str, tuple[str, Callable[[IO[bytes]], Any]]] = {
    ".graphml": ("GraphML", nx.read_graphml),
    ".gexf": ("GEXF", nx.read_gexf),
    ".gml": ("GML", _read_gml),
    ".net": ("Pajek", _read_pajek),
    ".paj": ("Pajek", _read_pajek),
    ".pajek": ("Pajek", _read_pajek),
    ".npz": ("scipy.sparse", _read_npz),
}
