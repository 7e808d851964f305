"""Where a method's weights are, and how a method on another device is asked from the CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mgae.core.graph import CPU, MessageGraph
from mgae.core.methods.base import Likely, Method, Parts


def device_of(method: Method) -> torch.device:
    """Return where a method's weights are, if only some of them are not on the CPU."""
    devices = {tensor.device for tensor in (*method.parameters(), *method.buffers())} - {CPU}
    return devices.pop() if devices else CPU


def on_device(method: Method, device: torch.device) -> Method:
    """Move a method, and return what can be asked about it from the CPU; there, it is itself."""
    method.move_to(device)
    return method if device == CPU or method.stays_on_cpu else OnDevice(method, device)


class OnDevice(Method):
    """A method on another device: graphs and pairs come from the CPU, scores return to it.

    What `encode` gives stays there.
    """

    def __init__(self, method: Method, device: torch.device) -> None:
        super().__init__()
        self.method, self.device, self.name = method, device, method.name
        self._moved: list[tuple[Tensor, Tensor]] = []
        # What a class says of itself is here what its method's class says.
        for fact in ("trains", "samplable", "typed", "shortlists", "may_leave_features"):
            setattr(self, fact, getattr(method, fact))

    def _there(self, nodes: Tensor) -> Tensor:
        """Return nodes or pairs on the device; the last ones are kept, as in validation."""
        for asked, moved in self._moved:
            if asked is nodes:
                return moved
        moved = nodes.to(self.device)
        self._moved = [*self._moved[-3:], (nodes, moved)]
        return moved

    @property
    def decoder(self) -> Any:
        """The method's decoder, if it has one."""
        return getattr(self.method, "decoder", None)

    @property
    def embeds(self) -> bool:
        """Whether it has node embeddings."""
        return self.method.embeds

    @property
    def remembers_edges(self) -> bool:
        """Whether edges that it was trained on may rank higher than others for that reason."""
        return self.method.remembers_edges

    def encode(self, graph: MessageGraph) -> Any:
        """Return what the other functions need, on the device."""
        return self.method.encode(graph.to(self.device))

    def embed(self, graph: MessageGraph) -> Tensor:
        """Return a vector for each node."""
        return self.method.embed(graph.to(self.device)).cpu()

    def score_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        """Return a score for each pair."""
        return self.method.score_links(encoded, self._there(pairs)).cpu()

    def rank_links(self, encoded: Any, pairs: Tensor) -> Tensor:
        """Return scores that order the tails of one head."""
        return self.method.rank_links(encoded, self._there(pairs)).cpu()

    def parts(self, encoded: Any, pairs: Tensor, ranking: bool = True) -> Parts:
        """Return what adds up to a score."""
        parts = self.method.parts(encoded, self._there(pairs), ranking)
        return {name: part.cpu() for name, part in parts.items()}

    def score_tails(self, encoded: Any, heads: Tensor, tails: Tensor) -> Tensor:
        """Return scores of heads with tails."""
        heads, tails = self._there(heads), self._there(tails)
        return self.method.score_tails(encoded, heads, tails).cpu()

    def score_typed_tails(self, encoded: Any, heads: Tensor, tails: Tensor, kind: int) -> Tensor:
        """Return scores of edges of one type."""
        heads, tails = self._there(heads), self._there(tails)
        return self.method.score_typed_tails(encoded, heads, tails, kind).cpu()

    def shortlist(self, encoded: Any, heads: Tensor) -> Likely:
        """Return likely new tails of heads."""
        likely = self.method.shortlist(encoded, self._there(heads))
        return Likely(likely.head.cpu(), likely.tail.cpu(), likely.scores.cpu())

    def settle(self, graph: MessageGraph, positives: Tensor, negatives: Tensor) -> None:
        """Choose what is scored."""
        self.method.settle(graph.to(self.device), self._there(positives), self._there(negatives))
