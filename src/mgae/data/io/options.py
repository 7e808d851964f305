"""Settings of the input section: how the user's files are read."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mgae.core.errors import ConfigError
from mgae.settings import Settings

# Settings about files of nodes, and the files that they apply to.
_APPLIES_TO = {
    "missing": ("features",),
    "id_column": ("features", "labels"),
    "label_column": ("features", "labels"),
    "node_type_column": ("features", "labels"),
}


class InputSettings(Settings):
    """How the user's own files are to be read."""

    section: ClassVar[str] = "input"

    features: str | None = Field(None, description="a table with a row of features per node")
    labels: str | None = Field(None, description="a table with a label per node")
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
    id_column: str | None = Field(None, description="the node's id in features and labels")
    label_column: str | None = Field(None, description="the label's column")
    directed: bool = Field(False, description="whether an edge has a direction")
    bipartite: Literal["auto", "yes", "no"] = Field(
        "auto",
        description="whether source and target are two sides; auto: if no id is in both columns",
    )
    header: Literal["auto", "yes", "no"] = Field("auto", description="whether row 1 holds names")
    missing: Literal["refuse", "zero", "mean"] = Field(
        "refuse", description="the features of a node that has edges and no row of features"
    )

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
        for key in ("features", "labels", "negatives"):
            if getattr(self, key) == "":
                raise ConfigError(f"input.{key} is empty: name a file, or leave it out")
        for key, files in _APPLIES_TO.items():
            given = getattr(self, key) != type(self).model_fields[key].default
            if given and not any(getattr(self, file) for file in files):
                needed = " or ".join(f"input.{file}" for file in files)
                raise ConfigError(f"input.{key} needs {needed}: name a file, or leave it out")
