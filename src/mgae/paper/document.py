"""A table's JSON: every seed's values beside the paper's figures. All else is drawn from it.

What is read from a file and written again is the same file, byte for byte: keys that nothing is
drawn from are kept, and keys that an older file lacks are not added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from mgae.core.errors import RunDirectoryError
from mgae.paper.plan import Cell, Row, Table
from mgae.runs.cells import CellResult, config_hash, same_settings, settings_of
from mgae.runs.folders import read_json
from mgae.runs.presets import Published, published, remark
from mgae.runs.results import Summary
from mgae.runs.rundirectory import RunDirectory

_OF_ROW = ("name", "group", "series", "ratio", "trained_as")
DONE: Final = "done"
REFUSED: Final = "refused"
NO_DATA: Final = "data not available"
NOT_YET: Final = "not measured yet"
_DISPLAY = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "blogcatalog": "BlogCatalog",
}
# Stored tables say "floor", and are not to change when they are written again.
Group = Annotated[
    Literal["baseline", "ours", "plus", "extra", "heuristic"],
    BeforeValidator(lambda word: "heuristic" if word == "floor" else word),
    PlainSerializer(lambda word: "floor" if word == "heuristic" else word),
]


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        return self.model_dump(mode="json", exclude_unset=True)


class Environment(_Stored):
    """Commit, versions and hardware of a run, in the order in which they are stored."""

    versions: dict[str, str | None]
    commit: str | None = None
    code: str | None = None  # cells of before it was stored have none
    platform: str | None = None
    processor: str | None = None
    cores: int | None
    bfloat16: bool | None = None
    threads: int | None = None
    memory_gib: float | None = None

    @property
    def text(self) -> str:
        """Return what a table says of it."""
        return f"torch {self.versions.get('torch')} on {self.cores} cores"


class _Outcome(_Stored):
    """What is known of a row on a graph, beside what the paper printed."""

    status: str
    published: Published | None = None
    remark: str | None = None

    @model_serializer(mode="wrap")
    def _paper_last(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        stored: dict[str, Any] = handler(self)
        last = [key for key in ("published", "remark") if key in stored]
        return {**{key: stored[key] for key in stored if key not in last},
                **{key: stored[key] for key in last}}  # fmt: skip

    @property
    def runs(self) -> int:
        """Return how many runs it has."""
        return 0

    def summary(self, metric: str) -> Summary | None:
        """Return our figures of a metric, if there are any."""
        return None

    def mean(self, metric: str) -> float | None:
        """Return our mean of a metric, if it was measured."""
        summary = self.summary(metric)
        return None if summary is None else summary.mean

    def text(self, metric: str) -> str:
        """Return our figure, or why there is none."""
        return self.status

    def paper_mean(self, metric: str) -> float | None:
        """Return the paper's mean, if it has one."""
        return self.published.mean(metric) if self.published else None


class Measured(_Outcome):
    """Figures of each run, with their settings, versions, hardware and seconds."""

    status: Literal["done"]
    config_hash: str | None = None
    settings: dict[str, Any] | None = None
    seeds: Annotated[list[int], Field(min_length=1)]
    epochs: Annotated[list[int], Field(min_length=1)]
    best_epochs: list[int] = []
    test: dict[str, Summary]
    val: dict[str, Summary] = {}
    seconds: list[float]
    peak_bytes: int | None = None
    environment: Environment
    other_environments: list[Environment] = []

    @property
    def runs(self) -> int:
        """Return how many runs it has."""
        return len(self.seeds)

    def summary(self, metric: str) -> Summary | None:
        """Return our figures of a metric, if it was measured."""
        return self.test.get(metric)

    def text(self, metric: str) -> str:
        """Return our figure, or a dash if the metric was not measured."""
        return str(self.test.get(metric, "–"))


class Refused(_Outcome):
    """A method that cannot use the graph, and why."""

    status: Literal["refused"]
    reason: str


class Unmeasured(_Outcome):
    """No figures yet. The reason is of this machine alone: it is reported, and not stored."""

    status: Literal["data not available", "not measured yet"]
    reason: str | None = Field(None, exclude=True)


Outcome = Measured | Refused | Unmeasured
Outcomes = dict[tuple[str, str], Outcome]  # by row and graph


class DocumentRow(_Stored):
    """A row with its outcome on each graph; a point of a curve has a series and a ratio.

    A row that is none of the paper's names the ``recipe`` that its settings stand in.
    """

    name: str
    group: Group
    series: str | None
    ratio: float | None
    trained_as: str | None = None
    recipe: str | None = None
    cells: dict[str, Annotated[Outcome, Field(discriminator="status")]]


class TableDocument(_Stored):
    """A table or a figure of the paper; ``columns`` are the metrics of each graph.

    ``only`` names the rows or curves that are printed, where others are left out.
    """

    name: str
    title: str
    source: str
    task: str | None = None
    protocol: str
    kind: Literal["table", "curve"]
    caption: str
    changed: dict[str, Any]
    columns: dict[str, Annotated[list[str], Field(min_length=1)]]
    rows: list[DocumentRow]
    only: frozenset[str] = Field(frozenset(), exclude=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for row in self.rows:
            if not row.cells.keys() <= self.columns.keys():
                raise ValueError(f"row {row.name!r} has cells without a column")
            if self.kind == "curve" and None in (row.series, row.ratio):
                raise ValueError(f"row {row.name!r} has no point on a curve")
        if self.kind == "curve" and any(len(metrics) > 1 for metrics in self.columns.values()):
            raise ValueError("a curve has one metric")
        return self

    def cells(self) -> Iterator[tuple[DocumentRow, str, Outcome]]:
        """Yield each cell with its row and its graph."""
        for row in filter(self._prints, self.rows):
            for dataset, cell in row.cells.items():
                yield row, dataset, cell

    def rows_on(self, dataset: str, *groups: str) -> list[DocumentRow]:
        """Return the rows of these groups that have a cell on a graph."""
        rows = filter(self._prints, self.rows)
        return [row for row in rows if dataset in row.cells and row.group in groups]

    def _prints(self, row: DocumentRow) -> bool:
        return not self.only or row.name in self.only or row.series in self.only


class Counts(_Stored):
    """The size of a graph."""

    nodes: int
    edges: int
    features: int | None
    classes: int | None


class GraphRow(_Stored):
    """A graph of Table 1: what is printed, and what is loaded."""

    name: str
    printed: Counts
    printed_split: str | None
    remark: str | None
    status: Literal["done", "refused", "data not available"]
    reason: str = ""
    loaded: Counts | None
    split: str | None


class StatisticsDocument(_Stored):
    """The paper's Table 1."""

    name: str
    title: str
    source: str
    protocol: str
    kind: Literal["statistics"]
    caption: str
    rows: list[GraphRow]


Document = TableDocument | StatisticsDocument
_D = TypeVar("_D", TableDocument, StatisticsDocument)


def display(dataset: str) -> str:
    """Return a graph's name as the paper writes it."""
    return _DISPLAY.get(dataset, dataset)


def source_of(doc: Document) -> str:
    """Return the table of the paper, and the protocol if it is another."""
    return doc.source + ("" if doc.protocol == "paper" else f", protocol {doc.protocol}")


def title_of(doc: Document) -> str:
    """Return what a table is called, and which one of the paper it is."""
    return f"{doc.title} (the paper's {source_of(doc)})" if doc.source else doc.title


def file_stem(name: str, protocol: str, changed: bool) -> str:
    """Return the name of a table's files; with settings changed by hand it is another table."""
    return name + (f"-{protocol}" if protocol != "paper" else "") + ("-changed" if changed else "")


def stem_of(doc: Document) -> str:
    """Return the name of a document's files."""
    return file_stem(doc.name, doc.protocol, isinstance(doc, TableDocument) and bool(doc.changed))


def outcome_of(cell: Cell, finished: CellResult) -> Measured:
    """Return what is stored of a finished cell."""
    result, (first, *others) = finished.result, _environments(finished)
    more: dict[str, Any] = {"other_environments": others} if others else {}
    return Measured(
        status=DONE,
        config_hash=config_hash(cell.config),
        settings=settings_of(cell.config),
        seeds=[seed.seed for seed in result.seeds],
        epochs=[seed.epochs for seed in result.seeds],
        best_epochs=[seed.best_epoch for seed in result.seeds],
        test=result.test,
        val=result.val,
        seconds=[round(seed.seconds, 3) for seed in result.seeds],
        peak_bytes=finished.peak_bytes,
        environment=first,
        **more,
    )


def _environments(finished: CellResult) -> list[Environment]:
    """Return the environments that differ among a cell's runs, the first run's first."""
    folder = finished.result.directory
    assert folder is not None
    distinct: list[dict[str, Any]] = []
    for seed in finished.result.seeds:
        stored = RunDirectory(folder / f"seed-{seed.seed}").environment()
        about = {key: value for key, value in stored.items() if key not in ("seeds", "seconds")}
        distinct += [about] if about not in distinct else []
    return [Environment(**about) for about in distinct]


def document(
    table: Table, cells: list[Cell], outcomes: Outcomes, changed: Mapping[str, Any]
) -> TableDocument:
    """Return all rows, with what is known of each cell."""
    rows = [
        DocumentRow(
            **_about(row),
            cells={
                cell.dataset: _beside_paper(cell, outcomes.get((row.name, cell.dataset)))
                for cell in cells
                if cell.row.name == row.name
            },
        )
        for row in table.rows
    ]
    about = ("name", "title", "source", "task", "protocol", "kind", "caption")
    return TableDocument(
        **{key: getattr(table, key) for key in about},
        changed=dict(changed),
        columns={dataset: list(metrics) for dataset, metrics in table.columns.items()},
        rows=rows,
    )


def _about(row: Row) -> dict[str, Any]:
    """Return what is stored of a row; a row of the paper's has no recipe."""
    names = (*_OF_ROW, "recipe") if row.recipe else _OF_ROW
    return {name: getattr(row, name) for name in names}


def _beside_paper(cell: Cell, outcome: Outcome | None) -> Outcome:
    """Add what the paper printed and what is to be said of it, if this is what the paper ran."""
    of_paper = {"published": published, "remark": remark}
    update = {key: of(cell.config) if cell.is_papers else None for key, of in of_paper.items()}
    return (outcome or Unmeasured(status=NOT_YET)).model_copy(update=update)


def outcomes_in(path: Path, cells: Iterable[Cell]) -> Outcomes:
    """Return what an earlier reproduction has measured of these cells, with the same settings."""
    if not path.exists():
        return {}
    configs = {(cell.row.name, cell.dataset): cell.config for cell in cells}
    stored = {
        (row.name, dataset): cell
        for row, dataset, cell in read_document(path, TableDocument).cells()
    }
    return {
        key: outcome
        for key, outcome in stored.items()
        if key in configs
        and (
            not isinstance(outcome, Measured)
            or outcome.settings is None
            or same_settings(outcome.settings, configs[key])
        )
    }


def documents(out: Path) -> dict[str, Document]:
    """Return every table in a folder by the name of its files; other JSON is left out."""
    contents = {file: read_json(file) for file in sorted(out.glob("*.json"))}
    return {
        file.stem: (
            read_document(file, StatisticsDocument)
            if isinstance(content, dict) and content["kind"] == "statistics"
            else read_document(file, TableDocument)
        )
        for file, content in contents.items()
        if not isinstance(content, dict) or "kind" in content
    }


def read_document(path: Path, model: type[_D]) -> _D:
    """Return a document.

    Raises:
        RunDirectoryError: if it is missing or damaged, or holds another table than its name says.
    """
    read_json(path)
    try:
        doc = model.model_validate_json(path.read_bytes())
        problem = "" if path.stem == stem_of(doc) else f"it holds {stem_of(doc)}"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
    if problem:
        raise RunDirectoryError(f"{path} is damaged: {problem}: restore it, or move it away")
    return doc
