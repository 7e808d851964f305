"""The named datasets, registered from catalogue.toml; what reads them is imported when needed."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from mgae.data.datasets.sources import OnBytes, Source, obtain, state
from mgae.registry import DATASETS

_READERS = {
    "cora": "mgae.data.datasets.planetoid:read_cora",
    "planetoid": "mgae.data.datasets.planetoid:read_planetoid",
    "ogb-links": "mgae.data.datasets.ogb:read_links",
    "ogb-nodes": "mgae.data.datasets.ogb:read_nodes",
    "tables": "mgae.data.datasets.plaintables:read_tables",
    "gnn-benchmark": "mgae.data.datasets.gnnbench:read_gnnbench",
}


def fetch(name: str, on_bytes: OnBytes | None = None) -> Path:
    """Make a dataset's files available, and return their folder.

    ``on_bytes`` gets a file's name, the bytes received and those expected, if known.

    Raises:
        UnknownName: if there is no such dataset.
        GraphError: if it cannot be obtained.
    """
    if source := DATASETS[name].extras.get("source"):
        return obtain(name, source, on_bytes).folder
    return Path(str(resources.files("mgae.data.datasets") / "embedded"))


def dataset_state(name: str) -> str:
    """Return ``embedded``, ``cached``, ``mirror`` (MGAE_DATA), ``can be fetched``, ``missing``."""
    source = DATASETS[name].extras.get("source")
    return state(source) if source else "embedded"


def _register_all() -> None:
    file = resources.files("mgae.data.datasets") / "catalogue.toml"
    for name, facts in tomllib.loads(file.read_text(encoding="utf-8")).items():
        reader = _READERS[facts.pop("reader")]
        extras: dict[str, Any] = {"source": None, "split": None, **facts}
        if "source" in facts:
            files = facts["source"].pop("files")
            files = {file: checksum or None for file, checksum in files.items()}
            extras["source"] = Source(files=files, **facts["source"])
        for key in {"tasks", "hits"} & facts.keys():
            extras[key] = tuple(facts[key])
        DATASETS.add(name, reader, **extras)


_register_all()
