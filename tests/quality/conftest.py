"""Fixtures that the tests of quality measures share: data, its map, labels and a graph."""

from __future__ import annotations

import numpy as np
import pytest

from plain_measures import N, random_graph


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 12)) + 3 * rng.integers(0, 3, N)[:, None] + 100


@pytest.fixture
def Y(X, rng):
    return X[:, :2] + rng.normal(scale=0.5, size=(N, 2))


@pytest.fixture
def labels(X):
    return np.digitize(X.mean(axis=1), [101.5, 104.5])


@pytest.fixture
def graph(rng):
    return random_graph(rng, N)
