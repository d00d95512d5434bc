"""Warnings point at the user's own line."""

import numpy as np
import pytest

import actup


@pytest.mark.parametrize("name", ["fit", "fit_transform"])
def test_warnings_of_former_names_point_here(name):
    X = np.random.default_rng(0).normal(size=(40, 4))
    with pytest.warns(FutureWarning, match="n_iter is deprecated") as caught:
        getattr(actup.TSNE(n_iter=5, perplexity=3), name)(X)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "work",
    [
        lambda X: actup.UMAP(n_neighbors=15).fit(X),
        lambda X: actup.UMAP(n_neighbors=15).fit_transform(X),
        lambda X: actup.GDR(n_neighbors=5, repulsion="exact", theta=0.3).fit(X),
        lambda X: actup.embed(X, "umap"),
    ],
    ids=["fit", "fit_transform", "a switch without effect", "embed"],
)
def test_warnings_point_here(work):
    X = np.random.default_rng(0).normal(size=(12, 4))
    with pytest.warns(UserWarning) as caught:
        work(X)
    assert [warning.filename for warning in caught] == [__file__] * len(caught)
