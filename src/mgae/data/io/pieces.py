"""The bytes of a text file, packed or not, in pieces of whole rows."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from mgae.core.errors import GraphError
from mgae.data.io.layout import Layout
from mgae.data.io.lines import cleaned

OnProgress = Callable[[str, float], None]

_PIECE_BYTES = 1 << 25


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where it is gzip."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        if path.is_dir():
            raise GraphError(f"{path} is a directory: name a file in it")
        if path.exists() and not path.is_file():
            raise GraphError(f"{path} can only be read once: save it as a file")
        yield
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise GraphError(f"cannot read {path}: {reason}") from None


def pieces(path: Path, layout: Layout, progress: OnProgress) -> Iterator[bytes]:
    """The rows of a text in pieces of whole rows, without comments, telling how far it is."""
    size, rest = max(1, path.stat().st_size), b""
    with opened(path) as stream:
        stream.seek(layout.start)
        while chunk := stream.read(_PIECE_BYTES):
            rest += chunk
            packed: Any = getattr(stream, "fileobj", stream)
            progress(f"reading {path.name}", min(1.0, packed.tell() / size))
            cut = _end_of_rows(rest)
            yield from _with_rows(rest[:cut], layout.delimiter)
            rest = rest[cut:]
    yield from _with_rows(rest, layout.delimiter)


def _end_of_rows(piece: bytes) -> int:
    """Where the last whole row ends: at a line end with an even number of quotes before it."""
    end = piece.rfind(b"\n") + 1
    odd = piece.count(b'"', 0, end) % 2
    while odd and end:
        before = piece.rfind(b"\n", 0, end - 1) + 1
        odd ^= piece.count(b'"', before, end) % 2
        end = before
    return end


def _with_rows(piece: bytes, delimiter: str) -> Iterator[bytes]:
    """The piece cleaned, or nothing where no row is left in it."""
    if delimiter in "\t ":
        piece = cleaned(piece, delimiter)
    if piece.strip(b" \r\n"):
        yield piece
