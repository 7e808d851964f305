"""Embed nodes and score pairs by a trained model, under the user's own ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mgae.core.errors import ConfigError
from mgae.core.graph import MessageGraph
from mgae.core.methods.base import Method, Parts
from mgae.core.methods.ondevice import device_of, on_device
from mgae.core.training.device import Device, choose_device
from mgae.data.fields import GraphFields, as_data
from mgae.data.nodetexts import NodeTexts
from mgae.data.splits.links import joined
from mgae.evaluation.calibration import Calibration, Calibrations
from mgae.runs.config import RunConfig
from mgae.runs.featureuse import message_graph
from mgae.serving.answers import Answers, LinkScores
from mgae.serving.frames import Frames, pairs_of
from mgae.serving.maps import NodeMap, Projection, draw_map
from mgae.serving.nodeindex import NodeIndex
from mgae.serving.ranker import best

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Scorer(Frames):
    """Embed the nodes of a graph, and score pairs of them; every node is encoded once."""

    def __init__(
        self,
        method: Method,
        config: RunConfig,
        graph: Data | GraphFields,
        calibrations: Calibrations | None = None,
        device: Device | None = None,
    ) -> None:
        self.method, self.config, self.fields = method.eval(), config, graph
        where = device_of(method) if device is None else choose_device(device)
        self._asked = on_device(method, where)
        self.calibrations = calibrations
        self.texts: NodeTexts | None = graph.get("texts")
        titles = None if self.texts is None else self.texts.titles
        self.nodes = NodeIndex(graph.node_ids, graph.get("side_prefixes") or (), titles)
        self._answers = Answers(self.nodes, calibrations)
        self._message = message_graph(config, graph)

    @property
    def num_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def node_ids(self) -> Sequence[Any]:
        """Return the user's ids, in the order of the embedding's rows."""
        return self.nodes.ids

    def knows(self, node: Any) -> bool:
        """Return whether there is a node of this id."""
        return self.nodes.knows(node)

    def find(self, text: str, limit: int = 10) -> list[Any]:
        """Return ids whose text or title begins with a text, then those that contain it."""
        return self.nodes.find(text, limit)

    def title(self, node: Any) -> str | None:
        """Return what people call a node; None if it has no title."""
        return self.nodes.title(self.nodes.position(node))

    def attributes(self, node: Any) -> dict[str, str]:
        """Return the attributes of a node that were kept for showing."""
        number = self.nodes.position(node)
        return {} if self.texts is None else self.texts.of_node(number)

    @cached_property
    def graph(self) -> Data:
        """Return what it was trained on; that loads PyG, which its answers do not need."""
        return as_data(self.fields)

    @property
    def known_edges(self) -> MessageGraph:
        """Add the edges that the graph's makers hold out: no model gets them, but they exist."""
        held_out = (self.fields.get(name) for name in ("val_edges", "test_edges"))
        return reduce(joined, (edges for edges in held_out if edges is not None), self._message)

    @property
    def fingerprint(self) -> str:
        """Return a checksum of the weights, the ids and the edges: the same, the same answers."""
        digest = hashlib.sha256()
        for name, value in sorted(self.method.state_dict().items()):
            digest.update(name.encode() + value.detach().contiguous().numpy().tobytes())
        if (prepared := self.fields.get("prepared")) is not None:
            return digest.hexdigest() + str(prepared["digest"])
        digest.update(repr(self.node_ids).encode())
        digest.update(self.known_edges.edge_index.contiguous().numpy().tobytes())
        return digest.hexdigest()

    @property
    def embeds(self) -> bool:
        """Return whether the method has node embeddings."""
        return self.method.embeds

    def embed(self, nodes: Iterable[Any] | None = None) -> np.ndarray:
        """Return a vector for each node [n, width], for all of them without ``nodes``."""
        embedding = self._embedding if nodes is None else self._embedding[self._numbers(nodes)]
        return embedding.numpy().copy()

    def to_arrow(self) -> pa.Table:
        """Return the embeddings: ``node_id``, ``title`` if there are any, and a column a number."""
        matrix = self.embed()
        named = {} if self.nodes.titles is None else {"title": self.nodes.titles}
        columns = {f"e{column}": matrix[:, column] for column in range(matrix.shape[1])}
        return pa.table({"node_id": self.nodes.column, **named, **columns})

    def to_pandas(self) -> Any:
        """Return the embeddings as a data frame of pandas with the ids as its index."""
        return super().to_pandas().set_index("node_id")

    def cosines(self, number: int, others: Tensor) -> Tensor:
        """Return the cosines [n] of a node's embedding with those of others, by their numbers."""
        return self._unit[others] @ self._unit[number]

    def similar(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """Return the nodes whose embeddings point the same way, with their cosine.

        In a bipartite graph they are of the node's own side.
        """
        require_positive("k", k)
        number = self.nodes.position(node)
        cosines = self._unit @ self._unit[number]
        others = torch.cat([torch.arange(number), torch.arange(number + 1, self.num_nodes)])
        if (side := self._message.side) is not None:
            others = others[side[others] == side[number]]
        nearest = best(others, cosines[others], k)
        return list(zip(self._answers.ids(nearest.nodes), nearest.scores.tolist(), strict=True))

    def map(self, most: int, projection: Projection = "pca") -> NodeMap | None:
        """Lay out at most ``most`` nodes on a plane; None if the method has no embeddings."""
        if not self.embeds:
            return None
        return draw_map(self.embed(), self.fields, most, self.config.seed, projection)

    @property
    def calibration(self) -> Calibration | None:
        """Return how scores of links become probabilities; None without validation edges."""
        return None if self.calibrations is None else self.calibrations.links

    def score_links(self, pairs: Iterable[tuple[Any, Any]]) -> LinkScores:
        """Return logit and balanced probability of each pair of ids, or row of a data frame."""
        ends = [node for pair in pairs_of(pairs) for node in pair]
        return self.score_numbers(self._numbers(ends).view(-1, 2).t())

    def score_numbers(self, pairs: Tensor) -> LinkScores:
        """Do the same for the nodes' numbers [2, n]."""
        if pairs.size(1) == 0:
            return self._answers.scores(torch.empty(0))
        return self._answers.scores(self._asked.score_links(self._encoded, pairs))

    def score_parts(self, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return what adds up to the scores of pairs of numbers [2, n]."""
        return self._asked.parts(self._encoded, pairs, ranking)

    @cached_property
    def _encoded(self) -> Any:
        return self._asked.encode(self._message)

    @cached_property
    def _embedding(self) -> Tensor:
        return self._asked.embed(self._message).detach()

    @cached_property
    def _unit(self) -> Tensor:
        return normalize(self._embedding)

    def _numbers(self, nodes: Iterable[Any]) -> Tensor:
        return torch.from_numpy(self.nodes.positions(nodes))


def require_positive(name: str, value: int) -> None:
    """Refuse a count below one."""
    if value < 1:
        raise ConfigError(f"{name} must be an integer ≥ 1, got {value!r}")
