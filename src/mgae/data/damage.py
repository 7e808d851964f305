"""What reading a damaged file of our own raises, and how to say it in one line."""

from __future__ import annotations

from pydantic import ValidationError

# By parsers, by checks, and by tensors that do not fit.
DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, OverflowError)


def reason(error: Exception) -> str:
    """Return what is wrong in one line.

    >>> reason(KeyError("seeds"))
    "'seeds' is missing"
    """
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        return f"{where}: {problem['msg']}" if where else str(problem["msg"])
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(str(error).split())[:200] or type(error).__name__
