"""The base of every settings class, and the one line that a wrong value gets."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError
from pydantic import model_validator as _model_validator
from pydantic.fields import FieldInfo

from mgae.core.errors import ConfigError, hint

_LARGEST = 2**31 - 1
_MOST_SHOWN = 80


class Settings(BaseModel):
    """A frozen group of settings; ``section`` names it in the configuration file.

    Unknown keys and wrong values raise a `ConfigError` that names the key, the value and what is
    allowed.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )
    section: ClassVar[str] = ""

    @_model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, dict) and (wrong := [key for key in data if not isinstance(key, str)]):
            raise ConfigError(f"names of settings must be texts, got {shown(wrong[0])}")
        try:
            settings = handler(data)
        except ValidationError as error:
            raise ConfigError(_first_problem(cls, error)) from None
        except RecursionError:
            raise ConfigError(f"{cls.section or 'a setting'} is nested too deeply") from None
        settings._require_small_integers()
        return settings

    def _require_small_integers(self) -> None:
        """Refuse what no count or seed can be, and arrays cannot hold."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, int) and abs(one) > _LARGEST:
                    path = f"{self.section}.{name}" if self.section else name
                    raise ConfigError(f"{path} must be at most {_LARGEST}, got {shown(one)}")


def shown(value: Any) -> str:
    """Return a value as a message shows it: in one line, and not all of a long one.

    >>> shown([1] * 100)
    '[1, 1, 1, ... …'
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # deep, or an integer of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 2]} …"


class PartSettings(Settings):
    """The settings of a swappable part; ``kind`` is its name in the registry."""

    section: ClassVar[str] = "method"  # the parts of a method name their own

    kind: str
    module: str | None = None  # to import for a part that another package brings


def _first_problem(settings: type[Settings], error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    names = [_key(str(step)) for step in problem["loc"]]
    path = ".".join([settings.section, *names] if settings.section else names)
    if problem["type"] == "extra_forbidden":
        known = [path[: -len(names[-1])] + name for name in settings.model_fields]
        return f"unknown setting {path}: known are {', '.join(known)}{hint(path, known)}"
    if problem["type"] == "missing":
        return f"{path} is missing"
    if problem["type"] == "value_error":
        return f"{path}: {str(problem['ctx']['error'])[:500]}"
    field = settings.model_fields.get(names[0]) if names else None
    if field is None:
        return (
            f"{path or settings.__name__} must be {problem['msg']}, got {shown(problem['input'])}"
        )
    path = path.removesuffix("".join(f".{name}" for name in names[1:]))  # pydantic's own steps
    return f"{path} must be {allowed_values(field)}, got {shown(problem['input'])}"


def _key(name: str) -> str:
    """Return a key as a line shows it: a strange one in quotes."""
    return name if name.isprintable() and len(name) <= _MOST_SHOWN else shown(name)


def allowed_values(field: FieldInfo) -> str:
    """Return what a field admits, in words.

    >>> from pydantic import Field
    >>> allowed_values(FieldInfo.from_annotated_attribute(float, Field(0.7, ge=0, lt=1)))
    'a number in [0, 1)'
    """
    return _words(field.annotation, field.metadata)


_KINDS: dict[Any, str] = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def _words(kind: Any, rules: Sequence[Any]) -> str:
    """Return a type in words; None is not named, since it is a setting that is left out."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _words(
            inner[0], [rule for one in inner[1:] for rule in getattr(one, "metadata", [])]
        )
    if origin in (Union, UnionType):
        return " or ".join(_words(one, rules) for one in inner if one is not type(None))
    if origin is tuple:
        return f"a list, each {_words(inner[0], rules)}"
    if origin is Literal:
        return ("one of " if len(inner) > 1 else "") + ", ".join(map(str, inner))
    return f"{_KINDS.get(kind, 'a table of settings')}{_limits(rules)}"


def _limits(rules: Sequence[Any]) -> str:
    limit = {
        name: getattr(rule, name)
        for rule in rules
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
