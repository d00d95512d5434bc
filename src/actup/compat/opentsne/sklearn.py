"""TSNE: openTSNE's estimator with the methods of scikit-learn's."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from actup.compat.opentsne import tsne

__all__ = ["TSNE"]


class TSNE(tsne.TSNE):
    """openTSNE's ``TSNE`` with the methods of scikit-learn: ``fit`` returns the estimator itself.

    The parameters are those of ``actup.compat.opentsne.TSNE``.

    Attributes
    ----------
    embedding_ : TSNEEmbedding
        The embedding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from actup.compat.opentsne.sklearn import TSNE
    >>> X = load_iris().data
    >>> model = TSNE(n_iter=50, random_state=0).fit(X[::2])
    >>> model.transform(X[1::2]).shape
    (75, 2)
    """

    embedding_: tsne.TSNEEmbedding

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Embed X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Embed X and return the embedding.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.
        y : None
            Not used.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self.embedding_ = super().fit(X)
        return self.embedding_.view(np.ndarray)

    def transform(self, X: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """Place new rows on the embedding.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            The new rows.
        *args, **kwargs
            Parameters of ``TSNEEmbedding.transform``.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        return self.embedding_.transform(X, *args, **kwargs).view(np.ndarray)
