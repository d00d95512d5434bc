"""Kinds of data that layouts must serve: rows, labels and metric of each, by name.

Sets are made up from MNIST, Fashion-MNIST and GloVe, or drawn at random, with fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import actup
from actup.datasets import load


@dataclass(frozen=True)
class Kind:
    """Rows of one kind.

    Attributes
    ----------
    X : ndarray of shape (n, columns), float32
    y : ndarray of shape (n,) or None
        Labels, if the rows have some.
    metric : str
    """

    X: np.ndarray
    y: np.ndarray | None
    metric: str = "euclidean"


def blend(rows: np.ndarray, y: np.ndarray | None, n: int, noise: float, metric: str = "euclidean") -> Kind:
    """Random convex combinations of three near rows, plus noise; labelled as the heaviest of the three."""
    random = np.random.default_rng(0)
    near = actup.nearest_neighbors(rows, 10, metric=metric).indices
    first = random.integers(len(rows), size=n)
    members = np.column_stack([first, near[first[:, None], random.integers(10, size=(n, 2))]])
    weights = random.dirichlet([1.0, 1.0, 1.0], size=n).astype(np.float32)
    X = np.einsum("nj,njc->nc", weights, rows[members])
    X += random.normal(scale=noise, size=X.shape).astype(np.float32)
    return Kind(X, None if y is None else y[members[np.arange(n), weights.argmax(axis=1)]], metric)


def images(name: str, n: int) -> Kind:
    """Blended rows of a set of images, in 50 principal components."""
    from sklearn.decomposition import PCA

    data = load(name)
    rows = PCA(50, random_state=0).fit_transform(data.X[:60_000].astype(np.float32)).astype(np.float32)
    return blend(rows, data.y[:60_000], n, noise=20)


def first_rows(name: str) -> Callable[[int], Kind]:
    """The first rows of a data set, as they are."""

    def make(n: int) -> Kind:
        data = load(name)
        return Kind(np.ascontiguousarray(data.X[:n], np.float32), data.y[:n])

    return make


def digits(n: int) -> Kind:
    """Scikit-learn's handwritten digits."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return Kind(np.ascontiguousarray(data.data[:n], np.float32), data.target[:n])


def iris(n: int) -> Kind:
    """Scikit-learn's irises."""
    from sklearn.datasets import load_iris

    data = load_iris()
    return Kind(np.ascontiguousarray(data.data[:n], np.float32), data.target[:n])


def table(n: int) -> Kind:
    """A standardised table: 10 columns of a mixture, and two categories as 4 and 40 rare binary columns."""
    random = np.random.default_rng(0)
    component = random.choice(24, size=n, p=random.dirichlet(np.ones(24)))
    centres = random.normal(scale=1.5, size=(24, 10))
    spreads = random.uniform(0.3, 1.0, size=(24, 10))
    numbers = centres[component] + spreads[component] * random.normal(size=(n, 10))
    columns = [numbers]
    for values in (4, 40):  # a category's distribution depends on the component
        shares = random.dirichlet(np.full(values, 0.15), size=24).cumsum(axis=1)
        value = (random.random((n, 1)) > shares[component]).sum(axis=1).clip(max=values - 1)
        columns.append(np.eye(values)[value])
    X = np.concatenate(columns, axis=1)
    deviation = X.std(axis=0)
    return Kind(((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)).astype(np.float32), component)


def outliers(n: int) -> Kind:
    """Blended rows of MNIST, 1 % of them far outside, each in a direction of its own."""
    kind = images("mnist", n)
    random = np.random.default_rng(1)
    far = random.random(n) < 0.01
    kind.X[far] *= random.uniform(3, 30, size=(far.sum(), 1)).astype(np.float32)
    kind.X[far] += random.normal(scale=2_000, size=(far.sum(), 50)).astype(np.float32)
    return kind


def disconnected(n: int) -> Kind:
    """Sixty Gaussian groups of very different sizes, so far apart that no neighbour is in another group."""
    random = np.random.default_rng(0)
    group = random.choice(60, size=n, p=random.dirichlet(np.ones(60)))
    X = random.normal(scale=100, size=(60, 20))[group] + random.normal(size=(n, 20))
    return Kind(X.astype(np.float32), group)


def duplicates(n: int) -> Kind:
    """A tenth as many different rows, of blended Fashion-MNIST, some of which occur very often."""
    kind = images("fashion_mnist", n // 10)
    random = np.random.default_rng(1)
    popularity = random.pareto(1.2, size=len(kind.X)) + 0.05
    rows = random.choice(len(kind.X), size=n, p=popularity / popularity.sum())
    return Kind(kind.X[rows], None if kind.y is None else kind.y[rows])


def words(n: int) -> Kind:
    """Word vectors under the cosine metric; blended if more are wanted than there are."""
    rows = np.ascontiguousarray(load("word_vectors").X, np.float32)
    return Kind(rows[:n], None, "cosine") if n <= len(rows) else blend(rows, None, n, 0.05, "cosine")


Kinds = dict[str, tuple[Callable[[int], Kind], int]]  # how a kind is made, and of how many points
SMALL_KINDS: Kinds = {
    "iris": (iris, 150),
    "digits 300": (digits, 300),
    "mnist 500": (first_rows("mnist"), 500),
    "digits 1000": (digits, 1_000),
    "digits": (digits, 1_797),
    "mnist 2000": (first_rows("mnist"), 2_000),
    "single cells": (first_rows("single_cell"), 3_724),
    "mnist 5000": (first_rows("mnist"), 5_000),
    "fashion 5000": (first_rows("fashion_mnist"), 5_000),
    "coil100": (first_rows("coil100"), 7_200),
    "usps": (first_rows("usps"), 9_298),
    "table": (table, 12_000),
    "outliers": (outliers, 10_000),
    "disconnected": (disconnected, 10_000),
    "duplicates": (duplicates, 10_000),
    "words": (words, 20_000),
}
KINDS: Kinds = {
    "mnist": (first_rows("mnist"), 60_000),
    "words": (words, 50_000),
    "blended mnist": (lambda n: images("mnist", n), 250_000),
    "blended fashion": (lambda n: images("fashion_mnist", n), 250_000),
    "table": (table, 580_000),
    "outliers": (outliers, 120_000),
    "disconnected": (disconnected, 150_000),
    "duplicates": (duplicates, 200_000),
    "blended words": (words, 200_000),
}
