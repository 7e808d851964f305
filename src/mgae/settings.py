"""The base of every settings class, and the one line that a wrong value gets."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError
from pydantic import model_validator as _model_validator
from pydantic.fields import FieldInfo

from mgae.errors import ConfigError, hint


class Settings(BaseModel):
    """A frozen group of settings; ``section`` is its place in the configuration file.

    Unknown keys and wrong values raise a `ConfigError` that names the key, the value and what is
    allowed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
    section: ClassVar[str] = ""

    @_model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ConfigError(_first_problem(cls, error)) from None


class PartSettings(Settings):
    """The settings of a swappable part; ``kind`` is its name in the registry."""

    kind: str


def _first_problem(settings: type[Settings], error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    names = [str(step) for step in problem["loc"]]
    path = ".".join([settings.section, *names] if settings.section else names)
    if problem["type"] == "extra_forbidden":
        known = [path[: -len(names[-1])] + name for name in settings.model_fields]
        return f"unknown setting {path}: known are {', '.join(known)}{hint(path, known)}"
    if problem["type"] == "missing":
        return f"{path} is missing"
    if problem["type"] == "value_error":
        return f"{path}: {problem['ctx']['error']}"
    field = settings.model_fields.get(names[0]) if names else None
    allowed = allowed_values(field) if field else problem["msg"]
    return f"{path or settings.__name__} must be {allowed}, got {problem['input']!r}"


def allowed_values(field: FieldInfo) -> str:
    """What a field admits, in words.

    >>> from pydantic import Field
    >>> allowed_values(FieldInfo.from_annotated_attribute(float, Field(0.7, ge=0, lt=1)))
    'a number in [0, 1)'
    """
    kind = next((a for a in (field.annotation, *get_args(field.annotation)) if a in _KINDS), None)
    if get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(map(str, get_args(field.annotation)))
    given = [a for a in get_args(field.annotation) if a is not type(None)]
    if len(given) == 1 and get_origin(given[0]) is Literal:  # a choice that may be absent
        return "one of " + ", ".join(map(str, get_args(given[0])))
    words = _KINDS[kind] if kind else str(field.annotation)
    return f"{words}{_limits(field)}"


_KINDS: dict[Any, str] = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def _limits(field: FieldInfo) -> str:
    limit = {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in ("ge", "gt", "le", "lt")
        if getattr(rule, name, None) is not None
    }
    low = limit.get("ge", limit.get("gt"))
    high = limit.get("le", limit.get("lt"))
    if low is not None and high is not None:
        return f" in {'[' if 'ge' in limit else '('}{low}, {high}{']' if 'le' in limit else ')'}"
    if low is not None:
        return f" {'≥' if 'ge' in limit else '>'} {low}"
    if high is not None:
        return f" {'≤' if 'le' in limit else '<'} {high}"
    return ""
