"""Names of clusters: numbers, their most frequent label, or the words that tell them apart."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._cached_property import cached_property
from actup._labels import label_array, missing_labels
from actup._values import is_iterable
from actup.clusters._keywords import Keywords

_WORDS_PER_NAME = 3
_LABELS_PER_NAME = 3
_MIN_LABEL_RATIO = 0.5  # a name has further labels with so many points, relative to the most frequent one
_MAX_TEXT_LENGTH = 40  # characters of a text that serves as a name


@dataclass(frozen=True)
class NamedClusters:
    """What a namer says about the clusters of a layer."""

    names: list[str]
    keywords: list[tuple[str, ...]]
    label_shares: np.ndarray | None = None


class Namer(ABC):
    """Names the clusters of one layer after another."""

    @abstractmethod
    def name(
        self, codes: np.ndarray, representatives: list[np.ndarray], kept: Mapping[int, str]
    ) -> NamedClusters:
        """Name the clusters of a layer, each differently.

        Parameters
        ----------
        codes : ndarray of shape (n,), int32
        representatives : list of ndarray
            Row numbers per cluster, the most central one first.
        kept : mapping of int to str
            Names of clusters that are in the layer above as well, with few more points.
        """


class NumberNamer(Namer):
    """Names clusters by their numbers."""

    def name(
        self, codes: np.ndarray, representatives: list[np.ndarray], kept: Mapping[int, str]
    ) -> NamedClusters:
        """Cluster c is "cluster c"."""
        count = len(representatives)
        return NamedClusters([f"cluster {code}" for code in range(count)], [()] * count)


class LabelNamer(Namer):
    """Names clusters by the most frequent label of their points, and others that are about as frequent."""

    def __init__(self, labels: Any, n: int) -> None:
        array = label_array(labels)
        if array.shape != (n,):
            raise ValueError(f"labels must have the shape ({n},), one per point, got {array.shape}")
        self._known = ~missing_labels(array)
        texts = np.array([_label_text(value) for value in array[self._known].tolist()], object)
        self._values, numbers = np.unique(texts, return_inverse=True)
        self._numbers = np.full(n, -1, np.int64)
        self._numbers[self._known] = numbers

    def name(
        self, codes: np.ndarray, representatives: list[np.ndarray], kept: Mapping[int, str]
    ) -> NamedClusters:
        """The labels as text; "unlabelled" if no point has one. Equal names are numbered."""
        count = len(representatives)
        names, shares = [], np.zeros(count)
        counted = (codes >= 0) & self._known
        order = np.argsort(codes[counted], kind="stable")
        numbers = self._numbers[counted][order]
        ends = np.searchsorted(codes[counted][order], np.arange(count), side="right")
        for cluster, members in enumerate(np.split(numbers, ends)[:count]):
            counts = np.bincount(members, minlength=1)
            best = np.argsort(-counts, kind="stable")[:_LABELS_PER_NAME]
            best = best[counts[best] >= _MIN_LABEL_RATIO * counts[best[0]]]
            names.append(", ".join(self._values[best]) if len(members) else "unlabelled")
            shares[cluster] = counts[best[0]] / max(len(members), 1)
        return NamedClusters(_numbered(names, kept), [()] * count, shares)


class TextNamer(Namer):
    """Names clusters by words that are frequent in their texts and rare in those of others."""

    def __init__(self, texts: Any, n: int, stop_words: str | list[str] | None) -> None:
        self._texts = _read_texts(texts, n)
        self._keywords = Keywords(self._texts, stop_words)
        self._has_stop_words = stop_words is not None

    @cached_property
    def _all_words(self) -> Keywords:
        return Keywords(self._texts, None)

    def name(
        self, codes: np.ndarray, representatives: list[np.ndarray], kept: Mapping[int, str]
    ) -> NamedClusters:
        """The three best words or pairs of words; texts of representatives where no word is telling."""
        keywords = self._keywords_of(codes, len(representatives))
        terms = [
            words or tuple(_shortened(self._texts[row]) for row in rows if self._texts[row])
            for words, rows in zip(keywords, representatives, strict=True)
        ]
        names = [kept.get(cluster, name) for cluster, name in enumerate(_longer_names(terms))]
        return NamedClusters(_numbered(names, kept), keywords)

    def _keywords_of(self, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
        """The keywords of each cluster; stop words are among them where no other word is telling."""
        keywords = self._keywords.of_clusters(codes, count)
        if not self._has_stop_words or all(keywords):
            return keywords
        others = self._all_words.of_clusters(codes, count)
        return [words or more for words, more in zip(keywords, others, strict=True)]


def _label_text(value: object) -> str:
    """A label as text; whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read_texts(texts: Any, n: int) -> list[str]:
    if isinstance(texts, str | bytes):
        raise TypeError("texts must be a sequence with one text per point, got a single text")
    if not is_iterable(texts):
        raise TypeError(f"texts={texts!r} must be a sequence with one text per point")
    values = list(texts)
    if len(values) != n:
        raise ValueError(f"texts has {len(values)} entries, but there are {n} points: give one per point")
    array = np.empty(n, object)
    array[:] = values
    missing = missing_labels(array)
    return ["" if gap else str(value) for value, gap in zip(values, missing.tolist(), strict=True)]


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT_LENGTH else text[: _MAX_TEXT_LENGTH - 1].rstrip() + "…"


def _longer_names(terms: list[tuple[str, ...]]) -> list[str]:
    """Join the best terms of each cluster; clusters of equal names get further terms."""
    names = [", ".join(words[:_WORDS_PER_NAME]) or "no words" for words in terms]
    longest = max(map(len, terms), default=0)
    for count in range(_WORDS_PER_NAME + 1, longest + 1):
        taken = Counter(names)
        for cluster, words in enumerate(terms):
            if taken[names[cluster]] > 1:
                names[cluster] = ", ".join(words[:count]) or names[cluster]
    return names


def _numbered(names: list[str], kept: Mapping[int, str]) -> list[str]:
    """Number the second and further clusters of the same name, in the order of their codes.

    A cluster keeps the number that it has in the layer above.
    """
    fixed = {
        cluster: name
        for cluster, name in kept.items()
        if _without_number(name) == _without_number(names[cluster])
    }
    used = {*names, *fixed.values()}
    met = Counter(name for name in fixed.values() if name in names)
    result = []
    for cluster, name in enumerate(names):
        if cluster in fixed:
            result.append(fixed[cluster])
            continue
        met[name] += 1
        numbered = name
        while met[name] > 1 and (numbered := f"{name} ({met[name]})") in used:
            met[name] += 1
        used.add(numbered)
        result.append(numbered)
    return result


def _without_number(name: str) -> str:
    return re.sub(r" \(\d+\)$", "", name)
