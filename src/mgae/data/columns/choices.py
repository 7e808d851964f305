"""Settings of the features section: how the columns of a features file become numbers."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mgae.settings import Settings

Scale = Literal["auto", "none", "standard", "robust", "quantile"]
Choice = Literal[
    "auto", "none", "standard", "robust", "quantile", "category", "hash", "text", "date", "drop"
]


class FeatureSettings(Settings):
    """How the columns of features become numbers."""

    section: ClassVar[str] = "features"

    scale: Scale = Field(
        "auto",
        description="how numbers are scaled; auto: robustly, heavy tails by quantile, zeros and "
        "ones as they are",
    )
    columns: dict[str, Choice] = Field(
        {}, description="a choice for single columns, as features.columns.age=quantile"
    )
    use: Literal["auto", "always", "never"] = Field(
        "auto",
        description="whether features are read; auto: combined and evidence leave them out if "
        "hidden training edges are predicted no better with them",
    )

    @property
    def text_columns(self) -> set[str]:
        """Return the columns whose cells must not be read as numbers."""
        texts = ("category", "hash", "text")
        return {name for name, choice in self.columns.items() if choice in texts}

    @property
    def untouched(self) -> bool:
        """Return whether nothing was chosen."""
        return self.scale == "auto" and not self.columns
