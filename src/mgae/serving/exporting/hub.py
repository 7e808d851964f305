"""Push a run directory to a Hugging Face repository, and pull one.

What is pulled is checked file by file and never unpickled.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from pathlib import Path
from typing import Any

from mgae.core.errors import ConfigError, RunDirectoryError, UnsupportedError
from mgae.runs import manifest
from mgae.runs.folders import check_free
from mgae.runs.results import heading
from mgae.runs.rundirectory import RunDirectory
from mgae.version import __version__

_CARD = "README.md"
# A run's files and no others: nothing that is pulled should be executed by accident.
_FILES = ("*.toml", "*.json", "*.jsonl", "*.safetensors", "*.parquet", "*.npy", "report.html")
_FOLDERS = ("", "graph/", "seed-*/", "seed-*/graph/")
_PATTERNS = [f"{folder}{file}" for folder in _FOLDERS for file in _FILES]


def push(run: str | Path, repo: str, public: bool = False, quiet: bool = False) -> str:
    """Upload a finished run with a card that describes it; return its address.

    The graph goes along, with its ids and attributes: the repository is private unless ``public``.

    Raises:
        UnsupportedError: if huggingface_hub is not installed, or the graph lies elsewhere.
        ConfigError: if the repository cannot be written to.
    """
    api = _api(quiet)
    directory = RunDirectory.open(Path(run))
    metrics = directory.metrics()
    if directory.graph().get("prepared") is not None:
        raise UnsupportedError(
            "this run's graph lies in a folder of mgae prepare, which does not go along: copy both "
            "yourself"
        )
    try:
        api.create_repo(repo, private=not public, exist_ok=True)
        api.upload_file(
            path_or_fileobj=_card(directory, metrics).encode(), path_in_repo=_CARD, repo_id=repo
        )
        done = api.upload_folder(
            repo_id=repo,
            folder_path=str(directory.path),
            allow_patterns=_PATTERNS,
            ignore_patterns=["checkpoint/*", "*/checkpoint/*"],
            commit_message=f"Run of mgae {__version__}",
        )
    except Exception as error:  # of the network, of access, of names: all theirs
        raise ConfigError(f"cannot push to {repo}: {_line(error)}") from None
    return str(getattr(done, "repo_url", repo))


def pull(repo: str, out: str | Path, revision: str | None = None, quiet: bool = False) -> Path:
    """Download a run into a new directory, and check every file; return the directory.

    Raises:
        UnsupportedError: if huggingface_hub is not installed.
        ConfigError: if it cannot be downloaded.
        RunDirectoryError: if it is no finished run, or a file is damaged.
    """
    api = _api(quiet)
    out = Path(out)
    check_free(out)
    fresh = out.absolute().with_name(f".{out.name}.pull")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        try:
            api.snapshot_download(
                repo, local_dir=str(fresh), revision=revision, allow_patterns=_PATTERNS
            )
        except Exception as error:
            raise ConfigError(f"cannot pull {repo}: {_line(error)}") from None
        shutil.rmtree(fresh / ".cache", ignore_errors=True)
        _verify(fresh, repo)
        if out.is_dir():
            out.rmdir()
        fresh.rename(out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return out


def _verify(folder: Path, repo: str) -> None:
    if not (folder / "metrics.json").is_file():
        raise RunDirectoryError(f"{repo} has no finished run of mgae: it has no metrics.json")
    directory = RunDirectory.open(folder)
    homes = [directory.run(number).path for number in range(directory.config.runs)]
    for home in {folder, *homes}:
        sums = manifest.Manifest(home)
        sums.verify(*sums.sums)


def _api(quiet: bool) -> Any:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UnsupportedError("push and pull need huggingface_hub: pip install 'mgae[hub]'")
    hub = importlib.import_module("huggingface_hub")
    if quiet:
        hub.utils.disable_progress_bars()
    return hub.HfApi(library_name="mgae", library_version=__version__)


def _line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _card(directory: RunDirectory, metrics: dict[str, Any]) -> str:
    """Return the repository's README: what it is, how good it is, how it is used."""
    config, graph = directory.config, directory.graph()
    rows = "\n".join(
        f"| {heading(name)} | {figure['mean']:.2f} |" for name, figure in metrics["test"].items()
    )
    verdict = directory.verdict
    said = "" if verdict is None else f"\nVerdict: {verdict.text}\n"
    name = Path(config.graph).name
    return f"""---
library_name: mgae
tags: [graph-machine-learning, link-prediction, {config.method.kind}]
---

# {name}: a run of mgae

Method `{config.method.kind}`, {graph.num_nodes:,} nodes, runs: {config.runs}, seed {config.seed}.

| test | % |
| :-- | --: |
{rows}
{said}
    pip install 'mgae[hub]'
    mgae pull REPOSITORY my-run
    mgae recommend my-run --node ID
"""
