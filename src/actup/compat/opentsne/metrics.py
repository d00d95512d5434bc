"""pBIC(): compare embeddings of different perplexities."""

from __future__ import annotations

import math

from actup.compat.opentsne.tsne import TSNEEmbedding

__all__ = ["pBIC"]


def pBIC(embedding: TSNEEmbedding) -> float:
    """The pseudo Bayesian information criterion of an embedding; the lower, the better its perplexity fits.

    Parameters
    ----------
    embedding : TSNEEmbedding
        An optimised embedding whose affinities have one perplexity (``PerplexityBasedNN``).

    Returns
    -------
    float
        2 KL + perplexity log(n) / n.

    Raises
    ------
    TypeError
        If the affinities have no attribute ``perplexity``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat import opentsne
    >>> X = load_iris().data
    >>> affinities = opentsne.affinity.PerplexityBasedNN(X, perplexity=20)
    >>> embedding = opentsne.TSNE(n_iter=100, random_state=0).fit(X, affinities)
    >>> opentsne.metrics.pBIC(embedding) > 2 * embedding.kl_divergence
    True
    """
    perplexity = getattr(embedding.affinities, "perplexity", None)
    if perplexity is None:
        raise TypeError(
            f"{type(embedding.affinities).__name__} has no attribute perplexity: use PerplexityBasedNN"
        )
    if embedding.kl_divergence is None:
        raise ValueError("the embedding has no KL divergence yet: call optimize first")
    n_samples = len(embedding)
    return float(2 * embedding.kl_divergence + math.log(n_samples) * perplexity / n_samples)
