"""``mgae embed``, ``mgae score``, ``mgae recommend`` and ``mgae similar``."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mgae.cli import flags
from mgae.cli.flags import Json, Quiet
from mgae.core.errors import ConfigError

if TYPE_CHECKING:
    from mgae.serving import Predictor
    from mgae.serving.answers import Recommendation
    from mgae.serving.explanations import Why

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run's directory.")]
RunOrGraph = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|GRAPH",
        help="A finished run's directory; or a graph, answered at once and without training.",
    ),
]
Seed = Annotated[int, typer.Option("--run", help="Which of its runs; the first is 0.")]
Node = Annotated[str | None, typer.Option(help="The node's id.")]
Count = Annotated[int, typer.Option("-k", min=1, help="How many.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="A .parquet or .csv file; -: standard output, as CSV."),
]


def embed(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .parquet, .csv or .npy file.")],
    graph: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Embed the nodes of this graph instead, untrained on."),
    ] = None,
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    weight_column: flags.WeightColumn = None,
    weights: flags.Weights = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    encoding: flags.Encoding = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    device: flags.DeviceAgain = None,
    quiet: Quiet = False,
) -> None:
    """Write the embeddings of a run's nodes, or of another graph with the same features."""
    from mgae.cli.stages import StageProgress
    from mgae.serving.nodeindex import NodeIndex
    from mgae.serving.outfiles import MATRICES, check_out, write_matrix

    check_out(out, MATRICES, graph, features)
    given = flags.input_table(
        features=features, source_column=source_column, target_column=target_column,
        weight_column=weight_column, weights=weights, id_column=id_column, directed=directed,
        missing=missing, bipartite=bipartite,
        encoding=encoding,
    )  # fmt: skip
    if given and graph is None:
        raise ConfigError(f"--{next(iter(given)).replace('_', '-')} needs --graph")
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress:
        predictor = _load(run, number, device, progress)
        if graph is None:
            nodes, matrix = predictor.nodes, predictor.embed()
        else:
            data = _open(predictor, graph, given, progress)
            notes = list(data.get("notes") or [])
            progress.on_share("embedding", 0.0)
            nodes, matrix = NodeIndex(data.node_ids), predictor.embed_graph(data)
        progress.on_share(f"writing {out.name}", 0.0)
        write_matrix(out, nodes.column, matrix, safe_csv)
    _say(notes)
    typer.echo(f"{out}: {matrix.shape[0]:,} nodes, {matrix.shape[1]} numbers each")


def score(
    run: RunOrGraph,
    pairs: Annotated[
        Path, typer.Argument(help="A table with a pair of ids in each row; -: standard input.")
    ],
    out: Out = None,
    unknown: Annotated[
        Literal["refuse", "skip", "nan"],
        typer.Option(help="A pair with an unknown id: stop, leave it out, or give it no score."),
    ] = "refuse",
    nodes: flags.Nodes = None,
    title_column: flags.TitleColumn = None,
    attribute: flags.Attributes = None,
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    encoding: flags.Encoding = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    device: flags.DeviceAgain = None,
    quiet: Quiet = False,
) -> None:
    """Score pairs of nodes: how likely is a link between them.

    With a graph, --source-column and --target-column are those of its edges.
    """
    from mgae.cli.stages import StageProgress
    from mgae.data.io.options import InputSettings
    from mgae.serving.outfiles import TABLES, check_out
    from mgae.serving.pairs import scored_pairs

    if (file := _file(out)) is not None:
        check_out(file, TABLES, pairs)
    given = flags.input_table(
        nodes=nodes, title_column=title_column, attributes=attribute, features=features,
        source_column=source_column, target_column=target_column,
        id_column=id_column, directed=directed, missing=missing, bipartite=bipartite,
        encoding=encoding,
    )  # fmt: skip
    ends = {"source_column", "target_column", "encoding"}
    of_graph = given if _is_graph(run) else {k: v for k, v in given.items() if k not in ends}
    if _is_graph(run):
        source_column = target_column = None
    settings = InputSettings(
        source_column=source_column, target_column=target_column, encoding=encoding
    )
    notes: list[str] = []
    with StageProgress(shown=not quiet) as progress, _input_file(pairs) as path:
        predictor = _load_or_open(run, number, device, of_graph, progress)
        batches = scored_pairs(predictor, path, settings, progress.on_share, notes.append, unknown)
        rows = _write(file, batches, safe_csv)
    _say([*notes, *predictor.notes])
    _sum_up(file, f"{rows:,} pair{'' if rows == 1 else 's'}", quiet)


def recommend(
    run: RunOrGraph,
    node: Node = None,
    k: Count = 10,
    everyone: Annotated[bool, typer.Option("--all", help="For every node, as CSV.")] = False,
    out: Out = None,
    known: Annotated[
        bool, typer.Option("--known", help="Existing neighbors may be recommended too.")
    ] = False,
    among: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recommend only the nodes of this file.")
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recommend no nodes of this file.")
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option("--exact/--fast", help="Rank all nodes, or candidates. \\[default: by size]"),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="With --node: say why, a sentence for each link.")
    ] = False,
    edge_type: Annotated[
        str | None, typer.Option("--type", help="With --node: links of this type, such as buys.")
    ] = None,
    nodes: flags.Nodes = None,
    title_column: flags.TitleColumn = None,
    attribute: flags.Attributes = None,
    features: flags.Features = None,
    source_column: flags.SourceColumn = None,
    target_column: flags.TargetColumn = None,
    id_column: flags.IdColumn = None,
    directed: flags.Directed = False,
    bipartite: flags.Bipartite = None,
    missing: flags.Missing = None,
    encoding: flags.Encoding = None,
    safe_csv: flags.SafeCsv = False,
    number: Seed = 0,
    device: flags.DeviceAgain = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recommend new links of a node, or of all nodes."""
    from mgae.cli.stages import StageProgress
    from mgae.serving.outfiles import TABLES, check_out

    _choose_one(node, everyone, as_json)
    if everyone and edge_type is not None:
        raise ConfigError("--type goes with --node ID: leave one of them out")
    if why and (everyone or out is not None or edge_type is not None):
        raise ConfigError("--why goes with --node ID alone: leave out --all, --out and --type")
    if (file := _file(out)) is not None:
        check_out(file, TABLES, among, exclude)
    given = flags.input_table(
        nodes=nodes, title_column=title_column, attributes=attribute, features=features,
        source_column=source_column, target_column=target_column,
        id_column=id_column, directed=directed, missing=missing, bipartite=bipartite,
        encoding=encoding,
    )  # fmt: skip
    rows, recall = 0, None
    with StageProgress(shown=not (quiet or as_json)) as progress:
        of_graph = given if _is_graph(run) else {k: v for k, v in given.items() if k != "encoding"}
        predictor = _load_or_open(run, number, device, of_graph, progress)
        chosen = _chosen_nodes(predictor, among, exclude, progress, encoding)
        if everyone:
            asked = _Asked(predictor, k, not known, exact, chosen, progress)
            rows = asked.write(file, safe_csv)
            ranks_all = chosen is not None or predictor.ranks_all(exact)
            recall = None if ranks_all else predictor.recall(k)
        else:
            links = predictor.recommend(node, k, not known, chosen, exact, edge_type)
            reasons = predictor.why(node, [link.node for link in links]) if why else []
            node_id = predictor.nodes.id_of(node)
    if not as_json:
        _say(predictor.notes)
    if everyone:
        _sum_up(file, f"{rows:,} recommendations for {predictor.num_nodes:,} nodes", quiet)
        if recall is not None:
            line = f"ranked among candidates: recall@{k} {recall:.3f} on a sample of nodes"
            typer.echo(line, err=file is None)
    elif out is not None:
        titled = predictor.nodes.titles is not None
        rows = _write(file, iter([_batch(node_id, links, titled)]), safe_csv)
        _sum_up(file, f"{rows:,} recommendations for {node_id}", quiet)
    else:
        typed = edge_type is not None
        _print_links(predictor, node_id, links, reasons, as_json, typed)


def similar(
    run: Run,
    node: Annotated[str, typer.Option(help="The node's id.")],
    k: Count = 10,
    number: Seed = 0,
    device: flags.DeviceAgain = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the nodes whose embeddings are nearest to a node's."""
    from mgae.cli.stages import StageProgress

    with StageProgress(shown=not (as_json or quiet)) as progress:
        predictor = _load(run, number, device, progress)
        rows = [
            _with_title(
                {"node": other, "cosine": value, "title": predictor.title(other)}, predictor
            )
            for other, value in predictor.similar(node, k)
        ]
    node_id = predictor.nodes.id_of(node)
    _print(node_id, "similar", rows, as_json, more=_about(predictor, node_id))


def _load(run: Path, number: int, device: str | None, progress: Any) -> Predictor:
    progress.on_share(f"loading {run}", 0.0)
    from mgae.serving import Predictor

    return Predictor.load(run, number, device)


def _is_graph(run: Path) -> bool:
    """Return whether this is a graph, a file or a dataset's name, and no run directory."""
    if run.expanduser().is_dir():
        from mgae.data.large.folder import is_prepared

        return is_prepared(run.expanduser())
    from mgae.registry import DATASETS

    return run.expanduser().is_file() or str(run) in DATASETS


def _load_or_open(
    run: Path, number: int, device: str | None, given: dict[str, Any], progress: Any
) -> Predictor:
    """Load a run, or answer for a graph at once."""
    if not _is_graph(run):
        if given:
            option = next(iter(given)).replace("_", "-")
            raise ConfigError(f"--{option} is for a graph, and {run} is a run: leave it out")
        return _load(run, number, device, progress)
    if device not in (None, "auto", "cpu"):
        raise ConfigError(
            f"--device {device} is for a run, and {run} is a graph, which is answered on the CPU: "
            "leave it out"
        )
    if number:
        raise ConfigError(f"--run is for a run, and {run} is a graph: leave it out")
    progress.on_share(f"reading {run}", 0.0)
    from mgae.serving.instant import instant

    return instant(str(run), progress.on_share, **given)


def _open(predictor: Predictor, graph: str, given: dict[str, Any], progress: Any) -> Any:
    from mgae.data.io.options import InputSettings
    from mgae.data.opening import open_graph
    from mgae.serving.newcomers import preparation_of

    preparing = preparation_of(predictor.fields)
    return open_graph(graph, InputSettings(**given), progress.on_share, preparing)


def _choose_one(node: str | None, everyone: bool, as_json: bool) -> None:
    if everyone == (node is not None):
        raise ConfigError("give --node ID for one node, or --all for all of them")
    if everyone and as_json:
        raise ConfigError("--json goes with --node; --all writes CSV, or Parquet by -o FILE")


def _chosen_nodes(
    predictor: Predictor,
    among: Path | None,
    exclude: Path | None,
    progress: Any,
    encoding: str | None,
) -> list[Any] | None:
    """Return the ids of the nodes that may be recommended; None: all."""
    if among is None and exclude is None:
        return None
    from mgae.serving.pairs import listed_nodes

    def numbers(path: Path) -> list[int]:
        return listed_nodes(predictor.nodes, path.expanduser(), progress.on_share, encoding)

    kept = range(predictor.num_nodes) if among is None else numbers(among)
    gone = set() if exclude is None else set(numbers(exclude))
    chosen = [predictor.nodes.ids[number] for number in kept if number not in gone]
    if not chosen:
        raise ConfigError("--among and --exclude leave no node to recommend")
    return chosen


def _with_title(row: dict[str, Any], predictor: Predictor) -> dict[str, Any]:
    """Return a row with its title beside the id; without one if the graph has no titles."""
    title = row.pop("title")
    node = row.pop("node")
    named = {} if predictor.nodes.titles is None else {"title": title}
    return {"node": node, **named, **row}


def _about(predictor: Predictor, node: Any) -> dict[str, Any]:
    """Return the title and the attributes of the node that was asked about, if there are any."""
    if predictor.texts is None:
        return {}
    return {"title": predictor.title(node), "attributes": predictor.attributes(node)}


def _print_links(
    predictor: Predictor,
    node: Any,
    links: list[Recommendation],
    reasons: list[Why],
    as_json: bool,
    typed: bool,
) -> None:
    listed = [_with_title(asdict(link), predictor) for link in links]
    if as_json:
        for row, reason in zip(listed, reasons, strict=False):
            row["why"] = asdict(reason)
    precision = [] if typed else predictor.rank_precision[: len(links)]
    more = {**_about(predictor, node), "rank_precision": precision}
    _print(node, "recommendations", listed, as_json, predictor.notes, more)
    if as_json:
        return
    if precision:
        typer.echo(_meaning(precision))
    _print_reasons(links, reasons)


def _print_reasons(links: list[Recommendation], reasons: list[Why]) -> None:
    from mgae.serving.explanations import sum_of

    for link, why in zip(links, reasons, strict=False):
        name = str(link.node) if link.title is None else f"{link.node} {link.title}"
        typer.echo(f"\n{name}: {why.sentence}")
        typer.echo(f"    {link.score:.2f} = {sum_of(why.contributions)}")


def _batch(node: Any, links: list[Recommendation], titled: bool) -> Any:
    """Return one node's recommendations as `Predictor.recommend_all` has those of all nodes."""
    import pyarrow as pa

    titles = {"recommended_title": [link.title for link in links]} if titled else {}
    return pa.RecordBatch.from_pydict(
        {
            "node_id": [node] * len(links),
            "rank": list(range(1, len(links) + 1)),
            "recommended_id": [link.node for link in links],
            "score": [link.score for link in links],
            "probability": [link.probability for link in links],
            **titles,
        }
    )


@dataclass(frozen=True)
class _Asked:
    """The recommendations of all nodes that are asked for."""

    predictor: Predictor
    k: int
    exclude_known: bool
    exact: bool | None
    among: list[Any] | None
    progress: Any

    def write(self, file: Path | None, safe: bool) -> int:
        """Write them, and return the number of rows; into a file part by part."""
        from mgae.serving.outfiles import print_batches
        from mgae.serving.resumable import write_in_parts

        if file is None:
            return print_batches(sys.stdout.buffer, (batch for _, batch in self._batches(0)), safe)
        rows, before = write_in_parts(
            file, self._request(), self.predictor.num_nodes, self._batches, safe
        )
        if before:
            typer.echo(f"note: went on after the first {before:,} nodes", err=True)
        return rows

    def _batches(self, start: int) -> Iterator[tuple[int, Any]]:
        import torch

        count = self.predictor.num_nodes
        heads = torch.arange(count)
        self.progress.on_share("recommending", start / count)
        options = self.k, self.exclude_known, self.exact, self.among
        for end, batch in self.predictor.recommend_from(start, heads, *options):
            yield end, batch
            self.progress.on_share("recommending", end / count)

    def _request(self) -> dict[str, Any]:
        """Return what makes two requests the same."""
        import hashlib

        among = None
        if self.among is not None:
            among = hashlib.sha256(repr(self.among).encode()).hexdigest()
        return {
            "model": self.predictor.fingerprint,
            "k": self.k,
            "exclude_known": self.exclude_known,
            "exact": self.exact,
            "among": among,
        }


def _file(out: Path | None) -> Path | None:
    """Return the file to write to; None: standard output."""
    return None if out is None or str(out) == "-" else out


@contextmanager
def _input_file(path: Path) -> Iterator[Path]:
    """Give the path of a file; what comes by standard input is kept in one, to be read twice."""
    if str(path) != "-":
        yield path.expanduser()
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield copy


def _write(file: Path | None, batches: Iterator[Any], safe: bool = False) -> int:
    from mgae.serving.outfiles import print_batches, write_batches

    if file is None:
        return print_batches(sys.stdout.buffer, batches, safe)
    return write_batches(file, batches, safe)


def _sum_up(file: Path | None, what: str, quiet: bool) -> None:
    """Say what was written, unless standard output has it."""
    if file is not None:
        typer.echo(f"{file}: {what}")
    elif not quiet:
        typer.echo(what, err=True)


def _say(notes: list[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _print(
    node: Any,
    what: str,
    rows: list[dict[str, Any]],
    as_json: bool,
    notes: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    if as_json:
        plain = [{key: _plain(value) for key, value in row.items()} for row in rows]
        whole = {"node": node, what: plain, **(more or {}), "notes": list(notes)}
        typer.echo(json.dumps(whole, ensure_ascii=False))
        return
    from mgae.cli.plainrows import print_rows

    # Without validation edges no link has a probability.
    known = [key for key in rows[0] if any(row[key] == row[key] for row in rows)] if rows else []
    shown = [{key: _shown(key, row[key]) for key in known} for row in rows]
    if shown:
        print_rows(shown, tuple(shown[0]))
    else:
        typer.echo(f"no {what}: {node} is joined to every node that it could be joined to")


def _meaning(precision: Sequence[float]) -> str:
    """Return what the probabilities mean, and what links of each rank are worth."""
    shares = [f"{round(100 * share)}%" for share in precision]
    return (
        "probability: that the two are joined in truth, if a tenth of the edges is missing from "
        f"the graph; of all nodes' links at rank 1, 2, … so many are: {', '.join(shares)}"
    )


def _plain(value: Any) -> Any:
    """Return None for what JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(key: str, value: Any) -> str:
    if key in ("node", "title"):
        return "" if value is None else str(value)
    return f"{value:.4f}"
