"""Keywords: the words that tell the texts of a cluster from those of others, by class-based tf-idf."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup import _elementary as elementary

_MAX_TEXTS = 200_000  # texts that are read; of more, evenly spaced ones
_MAX_TERMS = 200_000  # the most frequent ones are kept
_TERMS_PER_CLUSTER = 10
_WORD = r"(?u)\b[^\W\d_]\w+\b"  # two characters or more, the first one a letter
# What is left of contractions when words are split at the apostrophe.
_CONTRACTIONS = (
    "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll", "shouldn", "ve", "wasn",
    "weren", "won", "wouldn",
)  # fmt: skip


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
            self._words = np.array([term.count(" ") for term in self._terms])  # pairs win ties
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            self._counts = None

    def of_clusters(self, codes: np.ndarray, count: int) -> list[tuple[str, ...]]:
        """Up to ten keywords of each cluster, best first; none for clusters whose texts share no word."""
        if self._counts is None or count == 0:
            return [()] * count
        totals = self._totals(codes[self._rows], count)
        frequency = np.asarray(totals.sum(axis=0), np.float64).ravel()
        lengths = np.asarray(totals.sum(axis=1), np.float64).ravel()
        rarity = elementary.log(1 + lengths.mean() / np.maximum(frequency, 1))
        return [self._best(totals, cluster, lengths[cluster], rarity) for cluster in range(count)]

    def _totals(self, codes: np.ndarray, count: int) -> Any:
        """How often each term occurs in the texts of each cluster: (count, terms) CSR."""
        from scipy.sparse import csr_matrix

        inside = np.flatnonzero(codes >= 0)
        members = csr_matrix(
            (np.ones(len(inside), np.int64), (codes[inside], inside)), shape=(count, len(codes))
        )
        return (members @ self._counts).tocsr()

    def _best(self, totals: Any, cluster: int, length: float, rarity: np.ndarray) -> tuple[str, ...]:
        """Terms of the highest class-based tf-idf that occur more than once, none a part of another."""
        entries = slice(totals.indptr[cluster], totals.indptr[cluster + 1])
        ids, counts = totals.indices[entries], totals.data[entries]
        ids, counts = ids[counts > 1], counts[counts > 1]
        scores = counts / max(length, 1) * rarity[ids]
        chosen: list[str] = []
        for place in np.lexsort((self._terms[ids].astype(str), -self._words[ids], -scores)).tolist():
            term = str(self._terms[ids[place]])
            words = set(term.split())
            if not any(words <= set(other.split()) or set(other.split()) <= words for other in chosen):
                chosen.append(term)
            if len(chosen) == _TERMS_PER_CLUSTER:
                break
        return tuple(chosen)


def _left_out(stop_words: str | list[str] | None) -> list[str] | None:
    """The words that are not counted, as a list."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(f"stop_words={stop_words!r} must be 'english', a list of words or None")
        return sorted(ENGLISH_STOP_WORDS.union(_CONTRACTIONS))
    return [str(word) for word in stop_words]
