"""What a table's JSON must hold, so that a damaged one is one line and not a traceback."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator


class _Stored(BaseModel):
    """Keys that nothing is drawn from may be there as well."""

    model_config = ConfigDict(strict=True)


class _Mean(_Stored):
    mean: float
    std: float


class _Summary(_Mean):
    values: Annotated[list[float], Field(min_length=1)]


class _Versions(_Stored):
    torch: str | None


class _Environment(_Stored):
    versions: _Versions
    cores: int | None


class _Cell(_Stored):
    published: dict[str, _Mean | str] | None
    remark: str | None


class _Done(_Cell):
    status: Literal["done"]
    seeds: Annotated[list[int], Field(min_length=1)]
    epochs: Annotated[list[int], Field(min_length=1)]
    seconds: list[float]
    test: dict[str, _Summary]
    val: dict[str, _Summary] = {}
    environment: _Environment
    other_environments: list[_Environment] = []


class _Refused(_Cell):
    status: Literal["refused"]
    reason: str


class _Empty(_Cell):
    status: Literal["data not available", "not measured yet"]


class _Row(_Stored):
    name: str
    group: Literal["baseline", "ours", "extra", "floor"]
    series: str | None
    ratio: float | None
    trained_as: str | None = None
    cells: dict[str, Annotated[_Done | _Refused | _Empty, Field(discriminator="status")]]


class _Document(_Stored):
    name: str
    title: str
    source: str
    protocol: str
    caption: str


class _Table(_Document):
    kind: Literal["table", "curve"]
    changed: dict[str, Any]
    columns: dict[str, Annotated[list[str], Field(min_length=1)]]
    rows: list[_Row]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for row in self.rows:
            if not row.cells.keys() <= self.columns.keys():
                raise ValueError(f"row {row.name!r} has cells without a column")
            if self.kind == "curve" and None in (row.series, row.ratio):
                raise ValueError(f"row {row.name!r} has no place on a curve")
        if self.kind == "curve" and any(len(metrics) > 1 for metrics in self.columns.values()):
            raise ValueError("a curve has one metric")
        return self


class _Counts(_Stored):
    nodes: int
    edges: int
    features: int | None
    classes: int | None


class _Graph(_Stored):
    name: str
    printed: _Counts
    printed_split: str | None
    remark: str | None
    status: Literal["done", "refused", "data not available"]
    reason: str = ""
    loaded: _Counts | None
    split: str | None


class _Statistics(_Document):
    kind: Literal["statistics"]
    rows: list[_Graph]


_SHAPE: TypeAdapter[_Table | _Statistics] = TypeAdapter(
    Annotated[_Table | _Statistics, Field(discriminator="kind")]
)


def problem_of(content: object) -> str | None:
    """The first thing that a table's JSON lacks or has wrongly."""
    try:
        _SHAPE.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return None
