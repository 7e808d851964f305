"""Hand a run's graph on with what was learned: networkx, GraphML, and CSV for Neo4j."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pyarrow.csv as pacsv

from mgae.data.atomic import write_atomically
from mgae.serving.exporting.vectors import node_columns
from mgae.serving.predictor import Predictor

_RECOMMENDED = 5  # for each node
_MOST_ON_MAP = 100_000
_COMMAND = """\
neo4j-admin database import full neo4j \\
  --nodes=Node=nodes.csv \\
  --relationships=EDGE=edges.csv \\
  --relationships=RECOMMENDED=recommended.csv
"""


def to_networkx(predictor: Predictor, k: int = 0) -> nx.Graph[Any]:
    """Return the graph with its ids, and what is known and learned of each node as attributes.

    A node has ``title`` and attributes if there are any, ``label``, and ``embedding`` if the
    method has one; an edge ``weight`` in a weighted graph. With ``k`` the best links of each node
    are edges too, with ``recommended`` true, their ``score`` and ``probability``.
    """
    known = predictor.known_edges
    graph: nx.Graph[Any] = nx.Graph() if known.undirected else nx.DiGraph()
    columns = {name: column.to_pylist() for name, column in node_columns(predictor).items()}
    labels = _labels(predictor)
    vectors = predictor.embed() if predictor.embeds else None
    ids = columns.pop("node_id")
    for number, node in enumerate(ids):
        about = {name: column[number] for name, column in columns.items()}
        if labels is not None:
            about["label"] = labels[number]
        graph.add_node(node, **{name: value for name, value in about.items() if value is not None})
        if vectors is not None:
            graph.nodes[node]["embedding"] = vectors[number]
    weights = None if known.edge_weight is None else known.edge_weight.tolist()
    for number, (source, target) in enumerate(known.edge_index.t().tolist()):
        more = {} if weights is None else {"weight": weights[number]}
        graph.add_edge(ids[source], ids[target], recommended=False, **more)
    for link in _recommended(predictor, k) if k else ():
        source, target, facts = link.pop("node_id"), link.pop("recommended_id"), link
        if not graph.has_edge(source, target):
            graph.add_edge(source, target, recommended=True, **facts)
    return graph


def export_graphml(predictor: Predictor, path: Path) -> list[Path]:
    """Write a file for Gephi, yEd or Cytoscape: coordinates instead of embeddings, and links."""
    graph = to_networkx(predictor, _RECOMMENDED)
    node_map = predictor.map(_MOST_ON_MAP)
    for _, about in graph.nodes(data=True):
        about.pop("embedding", None)
    if node_map is not None:
        for number, (x, y) in zip(node_map.nodes.tolist(), node_map.xy.tolist(), strict=True):
            graph.nodes[predictor.node_ids[number]].update(x=x, y=y)
    write_atomically(path, lambda partial: nx.write_graphml(graph, partial))
    return [path]


def export_neo4j(predictor: Predictor, folder: Path) -> list[Path]:
    """Write nodes, edges and recommended links for neo4j-admin, and the command that reads them."""
    columns = node_columns(predictor)
    nodes = {"id:ID": columns.pop("node_id"), **columns}
    if (labels := _labels(predictor)) is not None:
        nodes["label"] = pa.array(labels, pa.string())
    if predictor.embeds:
        rows = (";".join(map(str, row)) for row in predictor.embed().tolist())
        nodes["embedding:float[]"] = pa.array(rows)
    known, ids = predictor.known_edges, predictor.nodes.column
    kept = known.edge_index[0] < known.edge_index[1]  # Neo4j has one direction, and asks in both
    chosen = kept if known.undirected else kept | ~kept
    source, target = known.edge_index[:, chosen].numpy()
    edges = {":START_ID": ids.take(pa.array(source)), ":END_ID": ids.take(pa.array(target))}
    if known.edge_weight is not None:
        edges["weight:float"] = pa.array(known.edge_weight[chosen].numpy())
    links = pa.Table.from_batches(list(predictor.recommend_all(_RECOMMENDED))).rename_columns(
        {
            "node_id": ":START_ID",
            "recommended_id": ":END_ID",
            "rank": "rank:int",
            "score": "score:float",
            "probability": "probability:float",
        }
    )
    shown = [name for name in links.column_names if ":" in name]
    tables = {
        "nodes": pa.table(nodes),
        "edges": pa.table(edges),
        "recommended": links.select(shown),
    }
    for name, table in tables.items():
        pacsv.write_csv(table, folder / f"{name}.csv")
    (folder / "import.sh").write_text(_COMMAND, encoding="utf-8")
    return [*(folder / f"{name}.csv" for name in tables), folder / "import.sh"]


def _recommended(predictor: Predictor, k: int) -> Iterator[dict[str, Any]]:
    for batch in predictor.recommend_all(k):
        names = ("node_id", "recommended_id", "score", "probability")
        for row in batch.select(names).to_pylist():
            if math.isnan(row["probability"]):  # without validation edges
                del row["probability"]
            yield row


def _labels(predictor: Predictor) -> list[str | None] | None:
    """Return the names of the nodes' classes; None without labels of one class each."""
    y = predictor.graph.y
    if y is None or y.dim() != 1 or y.is_floating_point():
        return None
    names = predictor.graph.get("class_names") or [str(label) for label in range(int(y.max()) + 1)]
    return [None if label < 0 else str(names[label]) for label in y.tolist()]
