"""Settings of the input section: how the user's files are read."""

from __future__ import annotations

import codecs
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from mgae.core.errors import ConfigError
from mgae.settings import Settings

# Settings about files of nodes, and the files that they apply to.
_APPLIES_TO = {
    "missing": ("features",),
    "id_column": ("features", "labels", "nodes"),
    "title_column": ("nodes",),
    "attributes": ("nodes",),
    "label_column": ("features", "labels"),
    "node_type_column": ("features", "labels"),
}


class InputSettings(Settings):
    """How the user's own files are to be read."""

    section: ClassVar[str] = "input"

    features: str | None = Field(None, description="a file with a row of features per node")
    labels: str | None = Field(None, description="a file with a label per node")
    nodes: str | None = Field(None, description="a file with texts to show for each node")
    title_column: str | None = Field(
        None, description="the nodes' titles, a column of nodes: a name, or a number"
    )
    attributes: tuple[str, ...] = Field(
        (), description="columns of nodes to show beside the ids; no model reads them"
    )
    negatives: str | None = Field(None, description="pairs that are known to be no edges")
    source_column: str | None = Field(None, description="the edges' source: a name, or a number")
    target_column: str | None = Field(None, description="the edges' target: a name, or a number")
    weight_column: str | None = Field(None, description="the edges' weight: a name, or a number")
    time_column: str | None = Field(
        None, description="when an edge came about, a number or a date: a name, or a number"
    )
    repeated: Literal["count", "last"] = Field(
        "count",
        description="edges that come again at other times: their number is the weight, "
        "or only the last counts",
    )
    half_life: float | None = Field(
        None, gt=0, description="time (days for dates) in which an edge loses half its weight"
    )
    type_column: str | None = Field(
        None, description="the edges' type, such as buys or views: a name, or a number"
    )
    node_type_column: str | None = Field(
        None, description="the nodes' type, a column of features or labels"
    )
    edge_features: tuple[str, ...] = Field(
        (), description="numeric columns of the edges that an encoder's messages read"
    )
    weights: Literal["refuse", "abs", "drop"] = Field(
        "refuse", description="negative weights: refused, without their sign, or without the edge"
    )
    id_column: str | None = Field(None, description="the node's id in features, labels and nodes")
    label_column: str | None = Field(None, description="the label's column")
    directed: bool = Field(False, description="whether an edge has a direction")
    bipartite: Literal["auto", "yes", "no"] = Field(
        "auto",
        description="whether source and target are two sides; auto: if no id is in both columns",
    )
    encoding: str | None = Field(
        None, description="of files that are not UTF-8, such as windows-1252; UTF-16 is detected"
    )
    header: Literal["auto", "yes", "no"] = Field("auto", description="whether row 1 holds names")
    missing: Literal["refuse", "zero", "mean"] = Field(
        "refuse", description="the features of a node that has edges and no row of features"
    )

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str | None) -> str | None:
        if name is None:
            return None
        try:
            if "".encode(name) == b"":
                return codecs.lookup(name).name
        except (LookupError, ValueError, TypeError):
            pass
        raise ValueError(f"must be an encoding such as windows-1252 or shift-jis, got {name!r}")

    def refuse_unused(self) -> None:
        """Refuse an empty path, and settings for a file of nodes if no such file is named.

        Raises:
            ConfigError: at the first such setting.
        """
        if self.bipartite == "yes" and self.directed:
            raise ConfigError(
                "input.bipartite goes without input.directed: the sides say which end is which"
            )
        for key in ("repeated", "half_life"):
            given = getattr(self, key) != type(self).model_fields[key].default
            if given and self.time_column is None:
                raise ConfigError(f"input.{key} needs input.time_column: name it, or leave it out")
        for key in ("features", "labels", "nodes", "negatives"):
            if getattr(self, key) == "":
                raise ConfigError(f"input.{key} is empty: name a file, or leave it out")
        for key, files in _APPLIES_TO.items():
            given = getattr(self, key) != type(self).model_fields[key].default
            if given and not any(getattr(self, file) for file in files):
                needed = " or ".join(f"input.{file}" for file in files)
                raise ConfigError(f"input.{key} needs {needed}: name a file, or leave it out")
