"""The forms that a run can be exported in, by the names of ``--to``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mgae.core.errors import ConfigError, UnknownName
from mgae.runs.folders import check_writable
from mgae.serving.exporting.graphfiles import export_graphml, export_neo4j
from mgae.serving.exporting.network import export_network, notes_of
from mgae.serving.exporting.vectors import export_faiss, export_lancedb, export_parquet
from mgae.serving.outfiles import check_out
from mgae.serving.predictor import Predictor


@dataclass(frozen=True)
class Form:
    """How a form is written, what a user should know, and the ending of its file, if it is one."""

    write: Callable[[Predictor, Path], list[Path]]
    ending: str | None = None
    notes: Callable[[Predictor], list[str]] = lambda predictor: []


FORMS = {
    "onnx": Form(partial(export_network, form="onnx"), notes=notes_of),
    "torch": Form(partial(export_network, form="torch"), notes=notes_of),
    "faiss": Form(export_faiss),
    "lancedb": Form(export_lancedb),
    "parquet": Form(export_parquet, ".parquet"),
    "graphml": Form(export_graphml, ".graphml"),
    "neo4j": Form(export_neo4j),
}


def form_of(name: str, out: Path) -> Form:
    """Return a form, once it is clear that it can be written to ``out``.

    Raises:
        ConfigError: if there is no such form, or ``out`` is not what it needs.
    """
    if name not in FORMS:
        raise UnknownName("form", name, FORMS)
    form = FORMS[name]
    if form.ending is not None:
        check_out(out, (form.ending,))
    elif out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"--out {out} is not empty: name a new folder")
    else:
        check_writable(out)
    return form


def export(predictor: Predictor, name: str, out: Path) -> list[Path]:
    """Write a run in a form: one file, or a new folder that is there whole or not at all."""
    form = form_of(name, out)
    if form.ending is not None:
        return form.write(predictor, out)
    partial_folder = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial_folder, ignore_errors=True)
    partial_folder.mkdir(parents=True)
    try:
        files = form.write(predictor, partial_folder)
        if out.is_dir():
            out.rmdir()
        partial_folder.rename(out)
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
    return [out / file.name for file in files]
