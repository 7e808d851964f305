"""Columns of free text: TF-IDF of the words, reduced by a singular value decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mgae.data.columns.base import ColumnEncoder
from mgae.data.columns.categories import zeros_note
from mgae.data.columns.parsing import texts_of

_MOST_WORDS = 5000
_WIDTH = 32
_RARE_FROM = 200  # texts; among so many a word that only one of them has says nothing of another
_BETWEEN_WORDS = r"[^\pL\pM\pN_]+"


@dataclass(frozen=True, eq=False)
class Text(ColumnEncoder):
    """Free text.

    Attributes:
        words: the vocabulary [V].
        idf: the words' weights [V].
        components: [k, V], divided so that a text varies as much in all as one scaled number.
    """

    kind = "text"
    reads_text = True

    words: tuple[str, ...]
    idf: np.ndarray
    components: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``column~1``, ``column~2``, …"""
        return tuple(f"{self.name}~{number + 1}" for number in range(len(self.components)))

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return the components of each text; one without a known word leaves zeros."""
        vectorizer = _vectorizer(vocabulary=list(self.words))
        vectorizer.idf_ = self.idf
        weighted = vectorizer.transform(_strings(texts_of(column)))
        return np.asarray(weighted @ self.components.T, np.float32)

    def unknown(self, column: pa.ChunkedArray, values: np.ndarray) -> str:
        """Count the texts without a word of the training."""
        return zeros_note(texts_of(column), values, "without a word that is known")


def fit_text(name: str, texts: pa.Array) -> Text | None:
    """Return an encoder for these texts; None if they have no words."""
    from sklearn.decomposition import TruncatedSVD  # noqa: PLC0415 - slow to load

    strings = _strings(texts)
    vectorizer = _vectorizer(
        max_features=_MOST_WORDS, min_df=2 if len(strings) >= _RARE_FROM else 1
    )
    try:
        weighted = vectorizer.fit_transform(strings)
    except ValueError:  # an empty vocabulary
        return None
    words = tuple(map(str, vectorizer.get_feature_names_out()))
    width = min(_WIDTH, len(words) - 1, len(strings) - 1)
    components, share = np.eye(len(words)), 1.0
    if width >= 1 and len(words) > _WIDTH:
        svd = TruncatedSVD(width, random_state=0).fit(weighted)
        components, share = svd.components_, float(svd.explained_variance_ratio_.sum())
    variance = float(np.asarray(weighted @ components.T).var(axis=0).sum())
    what = f"text, the TF-IDF of {len(words):,} words"
    what += f" in {len(components)} numbers ({share:.0%} of the variance)" if share < 1 else ""
    what += f"; {texts.null_count:,} missing" if texts.null_count else ""
    return Text(name, what, words, vectorizer.idf_, components / np.sqrt(variance or 1.0))


@dataclass(frozen=True, eq=False)
class Words(ColumnEncoder):
    """Whether a text contains each of some words: the encoding of runs before 0.3."""

    kind = "words"
    reads_text = True

    words: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return ``column:word`` for each word."""
        return tuple(f"{self.name}:{word}" for word in self.words)

    def values(self, column: pa.ChunkedArray) -> np.ndarray:
        """Return 1 where a text contains the word."""
        lower = pc.fill_null(pc.utf8_lower(texts_of(column)), "")
        lists = pc.split_pattern_regex(lower, _BETWEEN_WORDS)
        index = pc.index_in(pc.list_flatten(lists), pa.array(self.words, pa.string()))
        row, known = pc.list_parent_indices(lists).to_numpy(), index.is_valid()
        indicators = np.zeros((len(lower), len(self.words)), np.float32)
        kept = known.to_numpy(zero_copy_only=False)
        indicators[row[kept], index.filter(known).to_numpy()] = 1
        return indicators

    def unknown(self, column: pa.ChunkedArray, values: np.ndarray) -> str:
        """Count the texts without a word of the training."""
        return zeros_note(texts_of(column), values, "without a word that is known")


def _vectorizer(**given: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - slow to load

    return TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", sublinear_tf=True, **given)


def _strings(texts: pa.Array) -> list[str]:
    return [text or "" for text in texts.to_pylist()]
