"""(a) An epoch on Planetoid and a step on ogbl-ddi: ours, plain PyG, and the products alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from examples.mgae_in_100_lines import PlainMGAE
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.utils import negative_sampling

from benchmarks.timing import alternating
from mgae.core.errors import GraphError
from mgae.core.seeding import Generators
from mgae.core.training.state import Stepper
from mgae.data import MessageGraph, load_graph
from mgae.data.splits import LinkSplit, split_links
from mgae.evaluation.links import evaluate_links
from mgae.evaluation.metrics import auc
from mgae.runs.build import build_method
from mgae.runs.config import RunConfig
from mgae.runs.presets import paper_config

PLANETOID = ("cora", "citeseer", "pubmed")
REPEATS = {"cora": 30, "citeseer": 30, "pubmed": 12, "ogbl-ddi": 5}
WIDTHS = {"ogbl-ddi": 512}  # the decoder's, as in the authors' later appendix; elsewhere 256


class OurTraining:
    """The package's own steps, taken one at a time."""

    def __init__(self, config: RunConfig, message: MessageGraph) -> None:
        self.message, self.generators = message, Generators(0)
        self.method = build_method(config, message, self.generators["init"])
        train = config.train
        self.stepper = Stepper(self.method, train.learning_rate, train.weight_decay, train.clip)
        self.losses: Iterator[Any] = iter(())

    def step(self) -> None:
        """The next step, of a new epoch where the last one is over."""
        self.method.train()
        following = next(self.losses, None)
        if following is None:
            self.losses = self.method.losses(self.message, self.generators)
            following = next(self.losses)
        self.stepper.step(*following)


class PlainTraining:
    """The plain example, one step for each ``step_size`` masked edges; a new mask each epoch."""

    def __init__(
        self,
        graph: Data,
        width: int,
        decoder_width: int,
        directed: bool = False,
        step_size: int | None = None,
    ) -> None:
        self.graph, self.directed, self.step_size = graph, directed, step_size
        self.model = PlainMGAE(graph, width, decoder_width)
        once = graph.edge_index[0] < graph.edge_index[1]
        self.edges = graph.edge_index if directed else graph.edge_index[:, once]
        self.waiting: list[Tensor] = []

    def next_step(self) -> None:
        """The next step, of a new epoch with a new mask if the last one is over."""
        if not self.waiting:
            self.visible, masked = self._masked()
            self.waiting = list(masked.split(self.step_size or masked.size(1), dim=1))
        masked = self.waiting.pop(0)
        edges, nodes = self.graph.edge_index, self.graph.num_nodes
        self.model.step(self.visible, masked, negative_sampling(edges, nodes, masked.size(1)))

    def _masked(self, ratio: float = 0.7) -> tuple[Tensor, Tensor]:
        if not self.directed:
            return self.model.mask(self.edges, ratio)
        shuffled = self.edges[:, torch.randperm(self.edges.size(1))]
        masked, visible = shuffled.tensor_split([round(ratio * shuffled.size(1))], dim=1)
        return visible, masked

    @torch.no_grad()
    def score(self, *parts: Tensor) -> list[Tensor]:
        """Logits of pairs, encoded from all edges."""
        layers = self.model.eval().encoder(self.graph.x, self.graph.edge_index)
        return [self.model.decoder(layers, pairs) for pairs in parts]

    @torch.no_grad()
    def score_in_batches(self, *parts: Tensor) -> list[Tensor]:
        """In batches of 1,024 from a data loader, as the authors' code scores.

        It tells the encoder that this is no training, and forgets to tell the decoder.
        """
        layers = self.model.eval().encoder(self.graph.x, self.graph.edge_index)
        decode = self.model.decoder.train()
        scores = []
        for pairs in parts:
            batches = DataLoader(range(pairs.size(1)), 1024)
            scores.append(torch.cat([decode(layers, pairs[:, batch]) for batch in batches]))
        return scores


def decoder_products(config: RunConfig, pairs: int) -> Callable[[], None]:
    """The three matrix products that no implementation of the decoder can do without."""
    assert config.encoder and config.decoder
    width, chunk = 4 * config.encoder.hidden_channels, config.train.chunk_size
    weight = torch.randn(width, config.decoder.hidden_channels)
    crossed, upstream = torch.randn(chunk, width), torch.randn(chunk, weight.size(1))

    def products() -> None:
        for start in range(0, pairs, chunk):
            count = min(chunk, pairs - start)
            left, right = crossed[:count], upstream[:count]
            left @ weight, right @ weight.t(), left.t() @ right

    return products


def encoder_products(config: RunConfig, ours: OurTraining) -> Callable[[], None]:
    """The products of the two layers, forward and backward, with features, weights and edges."""
    assert config.encoder
    width, graph = config.encoder.hidden_channels, ours.message
    visible = ours.method.mask(graph, torch.Generator().manual_seed(0)).visible.adjacency
    x = ours.method.encoder.inputs.whole(graph).detach() if graph.x is None else graph.x
    first = torch.randn(x.shape[1], width, requires_grad=True)
    second = torch.randn(width, width, requires_grad=True)
    upstream = torch.randn(graph.num_nodes, width)
    visible.convolve(upstream)  # the matrix is built once for a mask, not for a step

    def products() -> None:
        visible.convolve(visible.convolve(x @ first) @ second).backward(upstream)
        first.grad = second.grad = None

    return products


def measure(name: str) -> dict[str, float]:
    """Milliseconds and ratios of one graph, with and without evaluation."""
    graph = load_graph(name)
    config = _config(name, "float32")
    whole = MessageGraph.of(graph)
    chance = torch.Generator().manual_seed(0)
    official = graph.get("val_edges") is not None
    split = (
        LinkSplit.official(graph, whole, chance)
        if official
        else split_links(whole, config.split.val_ratio, config.split.test_ratio, chance)
    )
    return _measured(name, graph, config, split)


def _config(name: str, precision: str) -> RunConfig:
    decoder = {"precision": precision, "hidden_channels": WIDTHS.get(name, 256)}
    encoder = {"feature_dropout": 0.0}
    return paper_config(graph=name, protocol="paper", encoder=encoder, decoder=decoder)


def _measured(name: str, graph: Data, config: RunConfig, split: LinkSplit) -> dict[str, float]:
    assert config.encoder and config.decoder
    visible = Data(x=graph.x, edge_index=split.message.edge_index, num_nodes=graph.num_nodes)
    directed, step_size = config.mask.kind == "directed", config.train.step_size
    ours = OurTraining(config, split.message)
    lowered = OurTraining(_config(name, "bfloat16"), split.message)
    plain = PlainTraining(
        visible,
        config.encoder.hidden_channels,
        config.decoder.hidden_channels,
        directed,
        step_size,
    )
    pairs = 2 * (step_size or round(0.7 * plain.edges.size(1)))
    figures = alternating(
        {
            "plain": plain.next_step,
            "ours": ours.step,
            "ours_bfloat16": lowered.step,
            "decoder_products": decoder_products(config, pairs),
            "encoder_products": encoder_products(config, ours),
        },
        REPEATS[name],
    )
    result = {f"{key}_ms": 1000 * value for key, value in figures.items()}
    result["plain_over_ours"] = figures["plain"] / figures["ours"]
    products = figures["decoder_products"] + figures["encoder_products"]
    result["ours_over_products"] = figures["ours"] / products
    result["ours_over_decoder_products"] = figures["ours"] / figures["decoder_products"]
    return {**result, **_with_evaluation(name, ours, plain, split)}


def _with_evaluation(
    name: str, ours: OurTraining, plain: PlainTraining, split: LinkSplit
) -> dict[str, float]:
    """A step and a validation in both; then the authors' habit of scoring all three parts.

    Their link prediction for Planetoid scores every training edge and as many negatives, the
    validation and the test after each epoch, in batches of 1,024, and takes AUC and AP of each.
    """

    def plain_scores() -> None:
        plain.next_step()
        _labeled(roc_auc_score, *plain.score(*validation))

    def habit_scores() -> None:
        plain.next_step()
        scores = plain.score_in_batches(*everything)
        for positive, negative in zip(scores[::2], scores[1::2], strict=True):
            _labeled(roc_auc_score, positive, negative)
            _labeled(average_precision_score, positive, negative)

    def ours_scores() -> None:
        ours.step()
        evaluate_links(ours.method, split, "val", {"auc": auc})

    validation = split.pairs("val")
    calls = {"plain": plain_scores, "ours": ours_scores}
    if name in PLANETOID:
        nodes = plain.graph.num_nodes
        negatives = negative_sampling(plain.graph.edge_index, nodes, plain.edges.size(1))
        everything = (plain.edges, negatives, *validation, *split.pairs("test"))
        calls["habit"] = habit_scores
    figures = alternating(calls, max(3, REPEATS[name] // 2))
    result = {"with_validation_plain_over_ours": figures["plain"] / figures["ours"]}
    if "habit" in figures:
        result["authors_habit_over_ours"] = figures["habit"] / figures["ours"]
    return result


def _labeled(metric: Callable[..., float], positive: Tensor, negative: Tensor) -> float:
    """What scikit-learn makes of the scores of edges and of other pairs."""
    labels = torch.cat([torch.ones_like(positive), torch.zeros_like(negative)])
    return metric(labels, torch.cat([positive, negative]))


def measure_all() -> dict[str, dict[str, float]]:
    """Every graph that is at hand."""
    figures: dict[str, dict[str, float]] = {}
    for name in REPEATS:
        try:
            figures[name] = measure(name)
        except GraphError as error:
            print(f"  {name}: left out, {error}")
    return figures
