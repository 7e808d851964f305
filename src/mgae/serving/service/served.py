"""Hold the runs that a service answers for."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import pyarrow as pa
from fastapi import HTTPException

from mgae.data.datasets.loading import statistics
from mgae.evaluation.certainty import Certainty
from mgae.evaluation.meanings import meaning
from mgae.runs.results import RunResult, heading
from mgae.runs.rundirectory import RunDirectory
from mgae.serving.maps import NodeMap
from mgae.serving.newcomers import preparation_of
from mgae.serving.predictor import Predictor
from mgae.serving.service import shapes
from mgae.version import __version__

_SCALE = 65535
_MOST_COLUMNS = 40  # of features, that a person can fill in for a new node


@dataclass(frozen=True, eq=False)
class Served:
    """A run that is ready to answer: nothing is left to be computed once.

    Attributes:
        name: what requests call it.
        map: the JSON of its map, compressed: it is the same for everyone, and the longest answer
            there is. None without embeddings.
    """

    name: str
    predictor: Predictor
    info: shapes.Info
    map: bytes | None

    @classmethod
    def of(
        cls, predictor: Predictor, name: str | None = None, result: RunResult | None = None
    ) -> Self:
        """Warm a predictor up; ``result`` has the figures of its run, if they are to be shown."""
        name = name or Path(predictor.config.graph).name
        node_map = _warm_up(predictor)
        info = _info(name, predictor, node_map, result)
        text = None if node_map is None else _map(predictor, node_map).model_dump_json()
        return cls(name, predictor, info, None if text is None else gzip.compress(text.encode(), 6))

    @classmethod
    def load(
        cls, path: Path, run: int = 0, device: str | None = None, name: str | None = None
    ) -> Self:
        """Load a run directory; of several runs the one of this number."""
        directory = RunDirectory.open(path).run(run)
        result = RunResult(directory.config, (directory.seed_result(),))
        return cls.of(Predictor.load(path, run, device), name or path.resolve().name, result)


class Runs:
    """The runs of one service by name; each can be replaced as a whole while it answers."""

    def __init__(self, served: Sequence[Served | Predictor]) -> None:
        ready = [one if isinstance(one, Served) else Served.of(one) for one in served]
        self._by_name = {one.name: one for one in ready}
        assert len(self._by_name) == len(ready) > 0
        self.first = ready[0].name

    def __getitem__(self, name: str | None) -> Served:
        """Return a run, the first one without a name.

        Raises:
            HTTPException: if there is no such run.
        """
        try:
            return self._by_name[self.first if name is None else name]
        except KeyError:
            detail = f"unknown run {name!r}: GET /runs lists them"
            raise HTTPException(404, detail) from None

    def replace(self, served: Served) -> None:
        """Answer from now on by this run instead of the one of the same name."""
        assert served.name in self._by_name
        self._by_name[served.name] = served

    @property
    def all(self) -> list[Served]:
        """Return all of them, the first first."""
        return list(self._by_name.values())

    @property
    def counts(self) -> dict[str, Callable[[], int]]:
        """Return what counts the nodes of each run."""
        return {name: partial(self._count, name) for name in self._by_name}

    def _count(self, name: str) -> int:
        return self[name].predictor.num_nodes


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return a name for each run directory: its own, with its parent's where two are the same.

    >>> names_of([Path("/a/run"), Path("/b/run"), Path("/b/other"), Path("/b/other")])
    ['a-run', 'b-run', 'b-other', 'b-other-2']
    """
    names = [path.name for path in paths]
    twice = {name for name in names if names.count(name) > 1}
    whole = [
        f"{path.parent.name}-{path.name}" if path.name in twice else path.name for path in paths
    ]
    numbers = [whole[: n + 1].count(name) for n, name in enumerate(whole)]
    return [name if n == 1 else f"{name}-{n}" for name, n in zip(whole, numbers, strict=True)]


def _warm_up(predictor: Predictor) -> NodeMap | None:
    """Compute everything that is computed only once; return the map."""
    first = predictor.node_ids[0]
    predictor.neighbors(first)
    predictor.find("", 1)
    predictor.recommend(first, 1)
    if predictor.embeds:
        predictor.similar(first, 1)
    return predictor.map(shapes.MOST_MAP_POINTS)


def _info(
    name: str, predictor: Predictor, node_map: NodeMap | None, result: RunResult | None
) -> shapes.Info:
    config, graph = predictor.config, predictor.fields
    counts = statistics(graph)
    width = None if node_map is None else int(predictor.embed([predictor.node_ids[0]]).shape[1])
    return shapes.Info(
        run=name,
        graph=Path(config.graph).name,
        nodes=predictor.num_nodes,
        edges=counts["edges"],
        features=0 if graph.x is None else graph.x.size(1),
        directed=not graph.undirected,
        method=RunResult(config, ()).name,
        task=config.task,
        protocol=config.protocol,
        embedding_width=width,
        exact=predictor.ranks_all(),
        new_nodes=_new_nodes(predictor),
        test={} if result is None else {one: result.test[one].mean for one in result.test},
        figures=[] if result is None else _figures(result),
        verdict=_worth(predictor),
        notes=predictor.notes,
        limits=shapes.LIMITS,
        version=__version__,
    )


def _figures(result: RunResult) -> list[shapes.Figure]:
    """Return the test figures that are shown, each beside the heuristics', the verdict's first."""
    certainty, verdict = result.certainty or Certainty(), result.verdict
    shown = dict.fromkeys([*([] if verdict is None else [verdict.metric]), *result.shown])
    others = result.heuristics.items()
    return [
        shapes.Figure(
            metric=metric,
            heading=heading(metric),
            meaning=meaning(metric),
            value=result.test[metric].mean,
            interval=certainty.intervals.get(metric),
            heuristics={name: one[metric].mean for name, one in others if metric in one},
        )
        for metric in shown
    ]


def _worth(predictor: Predictor) -> shapes.Worth | None:
    verdict = predictor.verdict
    if verdict is None:
        return None
    return shapes.Worth(kind=verdict.kind, text=verdict.text, warning=verdict.is_bad)


def _new_nodes(predictor: Predictor) -> shapes.NewNodesTaken | None:
    """Return what is asked of a new node; None if the model knows its own nodes alone."""
    graph = predictor.fields
    if not predictor.method.inductive:
        return None
    preparation = preparation_of(graph)
    columns = [] if preparation is None else preparation.read
    texts = set() if preparation is None else preparation.text_columns
    taken = [shapes.Column(name=name, text=name in texts) for name in columns]
    sides = list(graph.get("side_names") or []) if graph.get("side") is not None else []
    return shapes.NewNodesTaken(columns=taken if len(taken) <= _MOST_COLUMNS else [], sides=sides)


def _map(predictor: Predictor, node_map: NodeMap) -> shapes.Map:
    texts, some = predictor.texts, pa.array(node_map.nodes)
    columns = {} if texts is None else texts.attributes
    attributes = {name: column.take(some).to_pylist() for name, column in columns.items()}
    x, y = (node_map.xy * _SCALE).round().astype(int).T.tolist()
    return shapes.Map(
        nodes=[predictor.node_ids[number] for number in node_map.nodes.tolist()],
        titles=None
        if texts is None or texts.titles is None
        else texts.titles.take(some).to_pylist(),
        attributes=attributes,
        x=x,
        y=y,
        group=node_map.groups.tolist(),
        groups=node_map.names,
        grouping=node_map.grouping,
        projection=node_map.projection,
        total=predictor.num_nodes,
    )
