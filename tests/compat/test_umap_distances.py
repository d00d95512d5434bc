"""The distances of umap-learn's modules, called by Python and by functions that numba compiles."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.metrics import pairwise_distances

from actup.compat.umap import _compiled, distances
from actup.compat.umap import sparse as sparse_distances

RNG = np.random.default_rng(0)

NONZERO = RNG.random((6, 8)) + 0.1
BINARY = RNG.random((6, 8)) > 0.5
VALUES = {
    "euclidean": "euclidean", "manhattan": "cityblock", "chebyshev": "chebyshev", "minkowski": "euclidean",
    "canberra": "canberra", "cosine": "cosine", "correlation": "correlation", "braycurtis": "braycurtis",
    "hamming": "hamming", "jaccard": "jaccard", "dice": "dice", "rogerstanimoto": "rogerstanimoto",
    "russellrao": "russellrao", "sokalsneath": "sokalsneath", "yule": "yule",
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_distances_are_those_of_scipy(name):
    rows = BINARY if name in list(VALUES)[8:] else NONZERO
    expected = pairwise_distances(rows, metric=VALUES[name])
    np.fill_diagonal(expected, 0)
    found = [[distances.named_distances[name](a, b) for b in rows] for a in rows]
    assert np.array(found) == pytest.approx(expected, abs=1e-9)


def test_distances_with_parameters():
    a, b, w = NONZERO[0], NONZERO[1], NONZERO[2]
    named = distances.named_distances
    assert named["minkowski"](a, b, 3) == pytest.approx((np.abs(a - b) ** 3).sum() ** (1 / 3))
    assert named["wminkowski"](a, b, w, 3) == pytest.approx((w * np.abs(a - b) ** 3).sum() ** (1 / 3))
    assert named["seuclidean"](a, b, w) == pytest.approx(np.sqrt(((a - b) ** 2 / w).sum()))
    assert named["mahalanobis"](a, b, np.diag(w)) == pytest.approx(np.sqrt((w * (a - b) ** 2).sum()))
    assert named["haversine"]([0.0, 0.0], [0.0, np.pi / 2]) == pytest.approx(np.pi / 2)
    assert named["poincare"](np.zeros(2), np.array([0.5, 0.0])) == pytest.approx(np.log(3))
    assert named["hellinger"](np.array([1.0, 0]), np.array([0, 1.0])) == 1
    assert named["categorical"]("a", "b") == 1
    assert named["ordinal"](1, 4, 10) == pytest.approx(0.3)
    levels = [{"oak": 0, "elm": 1, "cat": 2}, {"oak": 0, "elm": 0, "cat": 1}]
    assert named["hierarchical_categorical"]("oak", "elm", levels) == 0.5
    assert named["hierarchical_categorical"]("oak", "cat", levels) == 1
    assert named["string"]("kitten", "sitting") == 3
    assert named["myers"]("kitten", "sitting", 7.0) == pytest.approx(3 / 7)
    assert named["string"]("a" * 50, "b") == 20


POINTS = {
    "haversine": RNG.uniform(0.5, 1.5, (2, 2)),
    "spherical_gaussian_energy": RNG.uniform(0.5, 1.5, (2, 3)),
    "diagonal_gaussian_energy": RNG.uniform(0.5, 1.5, (2, 4)),
    "gaussian_energy": RNG.uniform(0.5, 1.5, (2, 5)),
}


@pytest.mark.parametrize("name", sorted(distances.named_distances_with_gradients))
def test_gradients(name):
    x, y = POINTS.get(name, NONZERO[:2])
    function = distances.named_distances_with_gradients[name]
    if name == "symmetric_kl":  # its gradient is by probabilities
        x, y = x / x.sum(), y / y.sum()
        numeric = approx_fprime(x, lambda p: ((p - y) * np.log(p / y)).sum() / 2, 1e-7)
    else:
        numeric = approx_fprime(x, lambda point: function(point, y)[0], 1e-7)
    before = x.copy()
    value, gradient = function(x, y)
    assert np.array_equal(x, before)
    assert gradient == pytest.approx(numeric, abs=1e-4)
    if name in distances.named_distances and name != "haversine":
        assert value == pytest.approx(distances.named_distances[name](x, y))
    assert np.isfinite(function(x, x)[1]).all()


@pytest.mark.parametrize("name", sorted(sparse_distances.sparse_named_distances))
def test_sparse_distances(name):
    rows = np.where(RNG.random((2, 9)) < 0.4, 0, np.ceil(RNG.random((2, 9)) * 5))
    a, b = (sparse.csr_matrix(row) for row in rows)
    extra = (9,) if name in sparse_distances.sparse_need_n_features else ()
    found = sparse_distances.sparse_named_distances[name](a.indices, a.data, b.indices, b.data, *extra)
    if name == "hamming":
        assert found == pytest.approx((rows[0] != rows[1]).mean())
    else:
        assert found == pytest.approx(distances.named_distances[name](*rows))
    assert callable(sparse_distances.sparse_bray_curtis)


def test_sparse_arithmetic():
    a, b = (np.array([0, 2, 5]), np.array([1.0, 2.0, 3.0])), (np.array([2, 5, 7]), np.array([2.0, -3.0, 4.0]))
    indices, values = sparse_distances.sparse_sum(*a, *b)
    assert (indices.tolist(), values.tolist()) == ([0, 2, 7], [1, 4, 4])
    indices, values = sparse_distances.sparse_diff(*a, *b)
    assert (indices.tolist(), values.tolist()) == ([0, 5, 7], [1, 6, -4])
    indices, values = sparse_distances.sparse_mul(*a, *b)
    assert (indices.tolist(), values.tolist()) == ([2, 5], [4, -9])


def test_pairwise_special_metric():
    rows = RNG.random((5, 4))
    found = distances.pairwise_special_metric(rows, metric="hellinger")
    assert found[1, 2] == pytest.approx(distances.hellinger(rows[1], rows[2]))
    own = distances.pairwise_special_metric(rows, rows[:2], metric=lambda a, b, f: f * a[0], kwds={"f": 2.0})
    assert own.shape == (5, 2)
    with pytest.raises(ValueError, match="NaN"):
        distances.pairwise_special_metric(np.full((2, 2), np.nan))


# calls from functions that numba compiles


def compiled_call(numba, function):
    @numba.njit
    def call(a, b):
        return function(a, b)

    return call


VECTORS = RNG.random((2, 5)) / 3 + 0.1
# Distances of vectors of other lengths.
LENGTHS = {
    "haversine": 2,
    "spherical_gaussian_energy": 3,
    "diagonal_gaussian_energy": 4,
    "gaussian_energy": 5,
}


def check_compiled_call(name, function):
    numba = pytest.importorskip("numba")
    _compiled.offer_to_numba()
    x, y = VECTORS[:, : LENGTHS.get(name, 5)]
    found, expected = compiled_call(numba, function)(x, y), function(x, y)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for part, expected_part in pairs:
        np.testing.assert_allclose(part, expected_part, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", ["euclidean", "jaccard"])
def test_compiled_functions_call_distances(name):
    check_compiled_call(name, distances.named_distances[name])


def test_numba_finds_the_distances_by_an_entry_point():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, function = project["project"]["entry-points"]["numba_extensions"]["init"].partition(":")
    assert getattr(importlib.import_module(module), function) is _compiled.offer_to_numba


@pytest.mark.slow
@pytest.mark.parametrize("table", [distances.named_distances, distances.named_distances_with_gradients])
def test_compiled_functions_call_all_distances_of_vectors(table):
    for name, function in table.items():
        if name not in distances.DISCRETE_METRICS:
            check_compiled_call(name, function)


def test_importing_the_package_is_light():
    code = (
        "import sys, actup.compat.umap; print([name for name in ('numpy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
