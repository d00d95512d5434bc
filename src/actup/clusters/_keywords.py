"""Keywords: the words that tell the texts of a cluster from those of others, by class-based tf-idf."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup import _elementary as elementary
from actup.clusters._stop_words import ENGLISH_FUNCTION_WORDS

_MAX_TEXTS = 200_000  # texts that are read; of more, evenly spaced ones
_MAX_TERMS = 200_000  # the most frequent ones are kept
_TERMS_PER_CLUSTER = 10
_COMMON_TEXT_SHARE = 0.8  # a word is common if it is in so many texts of a cluster ...
_COMMON_CLUSTER_SHARE = 0.9  # ... in so many of the clusters
_MIN_LIFT = 1.5  # a keyword is in this many times the share of texts that it has in other clusters
_WORD = r"(?u)\b[^\W\d_]\w+\b"  # two characters or more, the first one a letter
# Endings that make forms of the same word; the longest that fits is cut off.
_ENDINGS = ("ings", "ions", "ics", "ing", "ion", "ies", "ers", "ed", "er", "es", "en", "ly", "e", "s", "y")
_MIN_STEM = 4  # letters, except before a plural "s"


class Keywords:
    """Counts of words and pairs of words in all texts, from which clusters take their keywords.

    Parameters
    ----------
    texts : list of str
    stop_words : "english", list of str or None
    """

    def __init__(self, texts: list[str], stop_words: str | list[str] | None) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        step = -(-len(texts) // _MAX_TEXTS)
        self._rows = np.arange(0, len(texts), max(step, 1))
        vectorizer = CountVectorizer(
            ngram_range=(1, 2),
            stop_words=_left_out(stop_words),
            token_pattern=_WORD,
            max_features=_MAX_TERMS,
        )
        try:
            self._counts: Any = vectorizer.fit_transform([texts[row] for row in self._rows])
            self._terms = vectorizer.get_feature_names_out()
            self._parts = _word_ids(self._terms)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            self._counts = None

    def of_clusters(self, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
        """Up to ten keywords of each cluster, best first; none where no shared word tells it from others."""
        if self._counts is None or count == 0:
            return [()] * count
        codes = codes[self._rows]
        totals = _sums(codes, self._counts, count)
        frequency = np.asarray(totals.sum(axis=0), np.float64).ravel()
        lengths = np.asarray(totals.sum(axis=1), np.float64).ravel()
        rarity = elementary.log(1 + lengths.mean() / np.maximum(frequency, 1))
        scores = totals.astype(np.float64)
        per_entry = np.repeat(np.arange(count), np.diff(totals.indptr))
        scores.data = totals.data / np.maximum(lengths, 1)[per_entry] * rarity[totals.indices]
        telling = (totals.data > 1) & self._is_telling(codes, totals)
        return [self._best(scores, cluster, telling) for cluster in range(count)]

    def _is_telling(self, codes: np.ndarray, totals: Any) -> np.ndarray:
        """Whether each entry of ``totals`` is a term that is more frequent than in other clusters' texts.

        Terms with a word that is in nearly all texts tell nothing.
        """
        count = totals.shape[0]
        holds = self._counts.copy()
        holds.data = np.minimum(holds.data, 1)
        texts = _sums(codes, holds, count)  # that hold each term; the entries are those of totals
        sizes = np.bincount(codes[codes >= 0], minlength=count).astype(np.float64)
        per_entry = np.repeat(np.arange(count), np.diff(texts.indptr))
        inside = texts.data / sizes[per_entry]
        everywhere = np.bincount(texts.indices, texts.data, len(self._terms))
        others = np.maximum(sizes.sum() - sizes[per_entry], 1)
        outside = (everywhere[texts.indices] - texts.data) / others
        filled = np.bincount(texts.indices[inside >= _COMMON_TEXT_SHARE], minlength=len(self._terms))
        common = filled >= max(_COMMON_CLUSTER_SHARE * np.count_nonzero(sizes), 2)
        common = common[self._parts].any(axis=1)
        return np.asarray((inside >= _MIN_LIFT * outside) & ~common[texts.indices])

    def _best(self, scores: Any, cluster: int, allowed: np.ndarray) -> tuple[str, ...]:
        """Terms of the highest class-based tf-idf among those that are allowed, no word in two of them."""
        entries = slice(scores.indptr[cluster], scores.indptr[cluster + 1])
        ids, values = scores.indices[entries][allowed[entries]], scores.data[entries][allowed[entries]]
        pairs = self._parts[ids, 0] != self._parts[ids, 1]  # they win ties
        chosen: list[str] = []
        known: set[str] = set()
        for place in np.lexsort((self._terms[ids].astype(str), ~pairs, -values)).tolist():
            term = str(self._terms[ids[place]])
            stems = {stem(word) for word in term.split()}
            if not stems & known:
                chosen.append(term)
                known |= stems
            if len(chosen) == _TERMS_PER_CLUSTER:
                break
        return tuple(chosen)


def stem(word: str) -> str:
    """Return a word without its ending, the same for most forms of an English word.

    Parameters
    ----------
    word : str
        In lower case.
    """
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= (3 if ending == "s" else _MIN_STEM):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "aeiouls"
            return rest[:-1] if doubled else rest
    return word


def _word_ids(terms: np.ndarray) -> np.ndarray:
    """The ids of the words of each term, shape (terms, 2); of a single word, twice the same."""
    id_of = {term: place for place, term in enumerate(terms.tolist())}
    parts = [term.split() for term in terms.tolist()]
    ids = [(id_of.get(words[0], place), id_of.get(words[-1], place)) for place, words in enumerate(parts)]
    return np.array(ids, np.int64).reshape(-1, 2)


def _sums(codes: np.ndarray, counts: Any, clusters: int) -> Any:
    """Sums of the counts over the texts of each cluster: (clusters, terms) CSR."""
    from scipy.sparse import csr_matrix

    inside = np.flatnonzero(codes >= 0)
    members = csr_matrix(
        (np.ones(len(inside), np.int64), (codes[inside], inside)), shape=(clusters, len(codes))
    )
    sums = (members @ counts).tocsr()
    sums.sort_indices()
    return sums


def _left_out(stop_words: str | list[str] | None) -> list[str] | None:
    """The words that are not counted, as a list."""
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(f"stop_words={stop_words!r} must be 'english', a list of words or None")
        return sorted(ENGLISH_FUNCTION_WORDS)
    return [str(word) for word in stop_words]
