"""Neighbours on the GPU, compared with all pairs in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from actup.backends import cuda_is_available

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU"),
]


def found(X, k, metric="euclidean"):
    """The exact neighbours as NumPy arrays."""
    import cupy as cp

    from actup.backends._cuda.neighbors import nearest_neighbors

    neighbors = nearest_neighbors(cp.asarray(X, cp.float32), k, metric, recall=1.0)
    assert neighbors.recall == 1.0
    return cp.asnumpy(neighbors.indices), cp.asnumpy(neighbors.distances)


def prefer_cells(monkeypatch):
    """Have few points searched in cells too."""
    from actup.backends._cuda import cells, neighbors

    monkeypatch.setattr(neighbors, "_INDEX_PRODUCTS", 0)
    monkeypatch.setattr(neighbors, "_SAMPLE_PRODUCTS", 0)
    monkeypatch.setattr(neighbors, "_MAX_PROBED_SHARE", 1)
    monkeypatch.setattr(cells, "_ROWS_PER_CELL", 500)


def all_distances(X, rows, metric="euclidean"):
    """Distances from some rows to all, in double precision; rows of zeros as backends._reference defines."""
    X = np.asarray(X, np.float32).astype(np.float64)
    if metric in ("cosine", "correlation"):
        X = X - X.mean(axis=1, keepdims=True) if metric == "correlation" else X
        length = np.sqrt((X**2).sum(axis=1))
        none = length == 0
        U = X / np.where(none, 1, length)[:, None]
        D = 1 - U[rows] @ U.T
        D[np.ix_(none[rows], none)] = 0
        return np.maximum(D, 0)
    Y = X[rows]
    if metric == "manhattan":
        return np.array([np.abs(X - y).sum(axis=1) for y in Y])
    if metric == "inner_product":
        return (X**2).sum(axis=1).max() - Y @ X.T
    if metric == "chebyshev":
        return np.array([np.abs(X - y).max(axis=1) for y in Y])
    return np.array([np.sqrt(((X - y) ** 2).sum(axis=1)) for y in Y])


def check(X, k, metric="euclidean", sample=200, tolerance=1e-5):
    """Check that the ids are distinct other rows at these distances, and that no point is nearer."""
    ids, distances = found(X, k, metric)
    n = len(X)
    assert ids.shape == distances.shape == (n, k)
    rows = np.unique(np.linspace(0, n - 1, min(n, sample)).astype(int))
    D = all_distances(X, rows, metric)
    D[np.arange(len(rows)), rows] = np.inf
    scale = max(D[np.isfinite(D)].max(), 1e-30)
    wanted = np.sort(D, axis=1)[:, :k]
    np.testing.assert_allclose(distances[rows], wanted, rtol=tolerance, atol=1e-6 * scale)
    np.testing.assert_allclose(
        np.take_along_axis(D, ids[rows].astype(int), axis=1), wanted, rtol=tolerance, atol=1e-6 * scale
    )
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (ids != np.arange(n)[:, None]).all()
    ordered = np.sort(ids, axis=1)
    assert (np.diff(ordered, axis=1) > 0).all()


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8"])
@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev", "inner_product"]
)
@pytest.mark.parametrize(("n", "columns"), [(700, 9), (5000, 9), (5000, 150)])
def test_narrow_values_give_what_float32_gives(n, columns, metric, dtype):
    import cupy as cp

    from actup.backends._cuda.neighbors import nearest_neighbors

    random = np.random.default_rng(n)
    low = 0 if dtype == "uint8" else -120
    X = cp.asarray(random.integers(low, 120, size=(n, columns)) // (1 + random.integers(9, size=(n, 1))))
    narrow = nearest_neighbors(X.astype(dtype), 12, metric, recall=1.0)
    wide = nearest_neighbors(X.astype(cp.float32), 12, metric, recall=1.0)
    assert (narrow.indices == wide.indices).all() and (narrow.distances == wide.distances).all()


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8"])
def test_narrow_values_in_cells_give_what_float32_gives(dtype, monkeypatch):
    import cupy as cp

    from actup.backends._cuda.neighbors import nearest_neighbors

    random = np.random.default_rng(2)
    X = 60 + 15 * random.normal(size=(100, 20))[random.integers(100, size=30_000)]
    X = cp.asarray(np.round(X + 5 * random.normal(size=X.shape)).clip(0, 120))
    prefer_cells(monkeypatch)
    narrow, wide = (nearest_neighbors(X.astype(type), 12, "euclidean") for type in (dtype, "float32"))
    assert narrow.method == "cells" and narrow.recall == wide.recall
    assert (narrow.indices == wide.indices).all() and (narrow.distances == wide.distances).all()


@pytest.mark.parametrize("products", [1e-9, 1e9])
def test_cells_that_are_left_out_are_made_up_for_by_refinement(products, monkeypatch):
    import cupy as cp

    from actup.backends._cuda import cells, neighbors, refine

    random = np.random.default_rng(3)
    X = cp.asarray(random.normal(size=(60_000, 20)), cp.float32)
    prefer_cells(monkeypatch)
    monkeypatch.setattr(refine, "_PRODUCTS_PER_VALUE", products)  # refinement costs nothing, or very much
    probed = []
    search = cells.CellIndex.search

    def watched(index, *arguments):
        probed.append(index.probed_share)
        return search(index, *arguments)

    monkeypatch.setattr(cells.CellIndex, "search", watched)
    assert neighbors.nearest_neighbors(X, 15, "euclidean").recall >= 0.97
    monkeypatch.setattr(refine, "_PRODUCTS_PER_VALUE", 1e9)
    neighbors.nearest_neighbors(X, 15, "euclidean")
    assert (probed[0] < probed[-1]) == (products < 1)


@pytest.mark.parametrize("n", [2, 3, 17, 64, 127, 129, 255, 300, 512, 600])
def test_few_points(n):
    X = np.random.default_rng(n).normal(size=(n, 7))
    check(X, min(15, n - 1))
    check(X, n - 1)


def test_no_neighbours_of_a_single_point():
    ids, distances = found(np.ones((1, 3)), 0)
    assert ids.shape == distances.shape == (1, 0)


@pytest.mark.parametrize("columns", [1, 2, 14, 15, 30, 50, 62, 63, 64, 126, 127, 130, 300, 784])
def test_any_number_of_columns(columns):
    X = np.random.default_rng(columns).normal(size=(3001, columns)) * np.geomspace(1, 0.1, columns)
    check(X, 15)


@pytest.mark.parametrize("k", [1, 2, 14, 15, 16, 47, 90, 150, 300, 600])
@pytest.mark.parametrize("columns", [20, 100])
def test_any_number_of_neighbours(k, columns):
    check(np.random.default_rng(k).normal(size=(5000, columns)), k, sample=60)


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "correlation", "inner_product", "manhattan", "chebyshev"]
)
@pytest.mark.parametrize("n", [500, 4000])
def test_metrics(metric, n):
    X = np.random.default_rng(0).normal(size=(n, 40)) + 1
    X[[3, 77]] = 0
    X[[5, 9]] = 2.5
    check(X, 10, metric, tolerance=2e-5)


@pytest.mark.parametrize("columns", [30, 200])
def test_many_duplicates(columns):
    """Ties go to the smaller id, however many there are."""
    distinct = np.random.default_rng(1).normal(size=(40, columns))
    X = distinct[np.arange(6000) % 40]
    ids, distances = found(X, 15)
    assert (distances == 0).all()
    for row in (0, 39, 1234, 5999):
        duplicates = np.arange(row % 40, 6000, 40)
        np.testing.assert_array_equal(ids[row], duplicates[duplicates != row][:15])


def test_all_points_equal():
    ids, distances = found(np.full((3000, 20), 7.5), 4)
    assert (distances == 0).all()
    np.testing.assert_array_equal(ids[2], [0, 1, 3, 4])


@pytest.mark.parametrize("columns", [20, 100])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_tight_clusters(columns, offset):
    """Clusters far smaller than the distances between them: 16 bits cannot distinguish their points."""
    random = np.random.default_rng(2)
    centers = random.normal(size=(30, columns))
    X = offset + centers[random.integers(30, size=6000)] + 1e-3 * random.normal(size=(6000, columns))
    check(X, 15, tolerance=1e-4)


def test_an_outlier_does_not_affect_the_others():
    X = np.random.default_rng(3).normal(size=(5000, 50))
    X[17] = 1e6
    check(X, 15)


def test_the_same_bits_in_every_run():
    X = np.random.default_rng(4).normal(size=(20_000, 50))
    first, second = found(X, 15), found(X, 15)
    assert (first[0] == second[0]).all() and (first[1] == second[1]).all()


def test_blocks_of_rows_give_the_same(monkeypatch):
    from actup.backends._cuda import candidates

    X = np.random.default_rng(5).normal(size=(9000, 50))
    whole = found(X, 15)
    monkeypatch.setattr(candidates, "free_bytes", lambda: 5_000_000)
    parts = found(X, 15)
    assert (whole[0] == parts[0]).all() and (whole[1] == parts[1]).all()


@pytest.mark.parametrize("columns", [20, 100])
def test_cells_find_nearly_all(monkeypatch, columns):
    """Beyond the exact search: the measured recall is close to the true one, and high."""
    import cupy as cp

    from actup.backends._cuda import neighbors

    random = np.random.default_rng(7)
    X = random.normal(size=(200, columns))[random.integers(200, size=60_000)]
    X = (X + 0.4 * random.normal(size=X.shape)).astype(np.float32)
    prefer_cells(monkeypatch)
    result = neighbors.nearest_neighbors(cp.asarray(X), 15, "euclidean")
    assert result.method == "cells"
    ids, distances = result.indices.get(), result.distances.get()
    assert (ids != np.arange(len(X))[:, None]).all() and (np.diff(np.sort(ids, axis=1), axis=1) > 0).all()
    rows = np.arange(7, 60_000, 300)
    D = all_distances(X, rows)
    np.testing.assert_allclose(
        np.take_along_axis(D, ids[rows].astype(int), axis=1), distances[rows], rtol=1e-4
    )
    D[np.arange(len(rows)), rows] = np.inf
    reach = np.sort(D, axis=1)[:, 14:15] * (1 + 1e-5)
    recall = (distances[rows] <= reach).mean()
    assert recall > 0.965 and abs(recall - result.recall) < 0.02
    again = neighbors.nearest_neighbors(cp.asarray(X), 15, "euclidean")
    assert (again.indices.get() == ids).all()


@pytest.mark.parametrize(("k", "columns"), [(15, 20), (40, 140)])
def test_refinement_takes_the_best_of_the_neighbours_of_neighbours(k, columns):
    """Compared with the same choice in NumPy, from lists of which a third are random points."""
    import cupy as cp

    from actup.backends._cuda.refine import _MAX_OFFERED, refine

    n, random = 2100, np.random.default_rng(9)
    X = random.normal(size=(n, columns)).astype(np.float32)
    ids = found(X, k)[0]
    D = all_distances(X, np.arange(n)) ** 2
    for row in range(n):
        others = np.setdiff1d(random.permutation(n)[: 2 * k], np.append(ids[row], row))
        ids[row, -(k // 3) :] = random.permutation(others)[: k // 3]
    order = np.argsort(np.take_along_axis(D, ids.astype(int), axis=1), axis=1)
    ids = np.take_along_axis(ids, order, axis=1)
    sums = np.take_along_axis(D, ids.astype(int), axis=1).astype(np.float32)
    new_ids, new_sums = cp.asarray(ids), cp.asarray(sums)
    places = cp.asarray(np.append(random.permutation(n), -1).astype(np.int32))
    refine(cp.asarray(X), places, new_ids, new_sums)
    new_ids, new_sums = new_ids.get(), new_sums.get()
    offer = max(1, min(k, _MAX_OFFERED // k))
    for row in range(0, n, 11):
        met = np.setdiff1d(np.append(ids[row], ids[ids[row], :offer]), row)
        best = met[np.argsort(D[row, met])[:k]]
        np.testing.assert_allclose(new_sums[row], D[row, best], rtol=1e-5)
        np.testing.assert_allclose(D[row, new_ids[row]], D[row, best], rtol=1e-5)
        assert len(set(new_ids[row])) == k
    assert new_sums.sum() < 0.99 * sums.sum()


def test_cells_of_data_without_structure_warn(monkeypatch):
    import cupy as cp

    from actup.backends._cuda import cells, neighbors

    X = cp.asarray(np.random.default_rng(10).normal(size=(30_000, 60)), cp.float32)
    prefer_cells(monkeypatch)
    monkeypatch.setattr(cells, "_MAX_PROBED_ROWS", 1000)
    monkeypatch.setattr(neighbors, "_MAX_REFINEMENT_ROUNDS", 0)
    with pytest.warns(UserWarning, match="of the nearest neighbours were found"):
        result = neighbors.nearest_neighbors(X, 15, "euclidean")
    assert result.recall < 0.9


@pytest.mark.parametrize("recall", [0.97, 1.0])
def test_rows_that_stay_on_the_host_give_the_same(recall, monkeypatch):
    """As for data that is too large for the device's memory."""
    from actup.backends._cuda import arrays, neighbors

    random = np.random.default_rng(11)
    X = random.normal(size=(50, 30))[random.integers(50, size=20_000)] + random.normal(size=(20_000, 30))
    X = np.ascontiguousarray(X, np.float32)
    exact = found(X, 15)
    monkeypatch.setattr(arrays, "_MAX_COPIED_SHARE", 0)
    prefer_cells(monkeypatch)
    result = neighbors.nearest_neighbors(X, 15, "euclidean", recall=recall)
    assert isinstance(result.indices, np.ndarray)
    assert result.method == ("exact" if recall == 1 else "cells")
    if result.method == "exact":
        assert (result.indices == exact[0]).all() and (result.distances == exact[1]).all()
    else:
        assert (result.distances <= exact[1][:, -1:]).mean() > 0.97


@pytest.mark.parametrize("recall", [0.97, 1.0])
def test_pairs_of_blocks_give_the_same(recall, monkeypatch):
    """Data whose search does not fit the free memory is searched two blocks of rows at a time."""
    import cupy as cp

    from actup.backends._cuda import blocks, neighbors
    from actup.backends._cuda.candidates import make_plan

    random = np.random.default_rng(12)
    X = random.normal(size=(50, 30))[random.integers(50, size=12_000)] + random.normal(size=(12_000, 30))
    X[11_000:] = X[:1000]  # duplicates in other blocks
    exact = found(X, 15)
    prefer_cells(monkeypatch)
    monkeypatch.setattr(blocks, "free_bytes", lambda: 3_000_000)
    assert 3 < blocks.count_blocks(12_000, 30, 15, make_plan(30, 15)) < 20
    result = neighbors.nearest_neighbors(cp.asarray(X, cp.float32), 15, "euclidean", recall=recall)
    assert result.method == ("exact" if recall == 1 else "cells")
    ids, distances = result.indices.get(), result.distances.get()
    if result.method == "exact":
        np.testing.assert_allclose(distances, exact[1], rtol=1e-5, atol=1e-5)
        assert (ids == exact[0]).mean() > 0.999  # rounding may swap two neighbours
    else:
        assert (distances <= exact[1][:, -1:] * (1 + 1e-5)).mean() > 0.97
    assert (np.diff(np.sort(ids, axis=1), axis=1) > 0).all() and (ids != np.arange(12_000)[:, None]).all()


def hard_rows(kind, n):
    """Rows that 16-bit numbers, cells or both find hard to tell apart."""
    random = np.random.default_rng(13)
    if kind == "rare binary columns":
        share = np.geomspace(1, 1e-4, 30)
        rare = np.eye(30)[random.choice(30, p=share / share.sum(), size=n)]
        X = np.concatenate([random.normal(size=(n, 10)), rare], axis=1)
        return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    if kind == "tight groups":
        return 1e3 * random.normal(size=(60, 40))[random.integers(60, size=n)] + random.normal(size=(n, 40))
    if kind == "huge column":
        return np.concatenate([1e6 * random.random((n, 1)), random.normal(size=(n, 30))], axis=1)
    if kind == "geographic":
        return (
            50
            + random.normal(size=(40, 2))[random.integers(40, size=n)] * 8
            + 0.01 * random.normal(size=(n, 2))
        )
    if kind == "duplicates":
        return random.normal(size=(n // 20, 30))[random.integers(n // 20, size=n)]
    return np.round(2 * random.normal(size=(n, 12)))  # quantised


HARD_ROWS = ["rare binary columns", "tight groups", "huge column", "geographic", "duplicates", "quantised"]


@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize("kind", HARD_ROWS)
def test_hard_rows_reach_the_recall(kind, cells, monkeypatch):
    """Without comparing many rows with all others, which would take too long for more of them."""
    import cupy as cp

    from actup.backends._cuda import neighbors

    n, k = 24_000, 15
    X = hard_rows(kind, n).astype(np.float32)
    if cells:
        prefer_cells(monkeypatch)
    monkeypatch.setattr(neighbors, "_MAX_SCAN_SHARE", 0)  # as for many rows
    result = neighbors.nearest_neighbors(cp.asarray(X), k, "euclidean")
    rows = np.arange(5, n, 60)
    D = all_distances(X, rows)
    reached = np.take_along_axis(D, result.indices.get()[rows].astype(int), axis=1)
    D[np.arange(len(rows)), rows] = np.inf
    kth = np.sort(D, axis=1)[:, k - 1 : k]
    recall = (reached <= kth * (1 + 1e-5) + 1e-6).mean()
    assert recall > 0.955 and abs(recall - result.recall) < 0.03


def test_rows_in_groups_of_centers_get_a_near_one(monkeypatch):
    """Very many rows are compared with the centres of some groups only."""
    import cupy as cp

    from actup.backends._cuda import cells

    random = np.random.default_rng(14)
    X = cp.asarray(random.normal(size=(20_000, 8)), cp.float32)
    centers = cells.find_centers(X, 300)
    exact = cells.nearest_center(X, centers)
    monkeypatch.setattr(cells, "_TWO_LEVEL_PAIRS", 0)
    near = cells.nearest_center(X, centers)
    assert float((near == exact).mean()) > 0.8
    radius = [float(cp.linalg.norm(X - centers[labels], axis=1).mean()) for labels in (exact, near)]
    assert radius[0] <= radius[1] < 1.05 * radius[0]


@pytest.fixture
def hopper():
    """Skip a test where candidates_hopper.cu is not used."""
    from actup.backends._cuda.compile import hopper_is_usable

    if not hopper_is_usable():
        pytest.skip("needs a Hopper GPU and a compiler that knows its instructions")


@pytest.mark.usefixtures("hopper")
@pytest.mark.parametrize(
    ("n", "columns", "k"),
    [(3001, 63, 1), (3073, 64, 15), (3001, 126, 90), (3201, 127, 300), (9000, 300, 47), (6001, 784, 15)],
)
def test_hopper_finds_what_every_gpu_finds(n, columns, k, monkeypatch):
    """Whole and partial tiles of rows and coordinates, even and odd numbers of tiles."""
    from actup.backends._cuda import candidates

    assert candidates.make_plan(columns, k).hopper
    X = np.random.default_rng(n).normal(size=(n, columns)) * np.geomspace(1, 0.1, columns)
    check(X, k, sample=60)
    first, second = found(X, k), found(X, k)
    assert (first[0] == second[0]).all() and (first[1] == second[1]).all()
    monkeypatch.setattr(candidates, "_USE_HOPPER", False)
    portable = found(X, k)
    np.testing.assert_allclose(first[1], portable[1], rtol=1e-5)
    assert (first[0] == portable[0]).mean() > 0.999  # rounding may swap two neighbours


@pytest.mark.usefixtures("hopper")
def test_hopper_searches_ranges_of_rows(monkeypatch):
    """Of one tile each, the least that memory allows."""
    from actup.backends._cuda import candidates

    X = np.random.default_rng(5).normal(size=(2900, 100))
    whole = found(X, 15)
    monkeypatch.setattr(candidates, "free_bytes", lambda: 0)
    parts = found(X, 15)
    assert (whole[0] == parts[0]).all() and (whole[1] == parts[1]).all()


def test_unknown_metrics_are_rejected():
    with pytest.raises(ValueError, match="metric='hamming' is not one of"):
        found(np.ones((30, 5)), 5, "hamming")


@pytest.mark.parametrize("metric", ["euclidean", "inner_product"])
def test_very_many_neighbours_are_searched_on_the_cpu(metric):
    check(np.random.default_rng(6).normal(size=(2700, 5)), 2600, metric, sample=20, tolerance=2e-5)


@pytest.mark.parametrize("n", [400, 4000])
def test_distances_that_nearly_cancel_are_accurate(n):
    """Inner products of long rows that differ little: M - <x, y> is far smaller than either."""
    random = np.random.default_rng(8)
    X = 1000 * np.ones((n, 20)) + random.normal(size=(n, 20))
    ids, distances = found(X, 5, "inner_product")
    X = X.astype(np.float32).astype(np.float64)
    D = (X**2).sum(axis=1).max() - X @ X.T
    np.testing.assert_allclose(distances, np.take_along_axis(D, ids, axis=1), rtol=1e-4)


@pytest.mark.parametrize("columns", [3, 62, 63, 300])
@pytest.mark.parametrize("k", [1, 15, 90])
def test_inner_products(columns, k):
    """Rows of very different lengths, a few of which are the nearest of all others, and rows of zeros."""
    random = np.random.default_rng(columns)
    X = random.normal(size=(5000, columns)) * random.gamma(1, size=(5000, 1))
    X[::700] = 0
    check(X, k, "inner_product", tolerance=2e-5)


def test_inner_products_of_duplicates():
    """Ties go to the smaller id."""
    X = np.random.default_rng(1).normal(size=(40, 30))[np.arange(6000) % 40]
    ids, _ = found(X, 15, "inner_product")
    for row in (0, 39, 1234, 5999):
        best = np.arange(np.argmax(X[:40].astype(np.float32) @ X[row].astype(np.float32)), 6000, 40)
        np.testing.assert_array_equal(ids[row], best[best != row][:15])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "inner_product"])
def test_candidates_prove_nearly_all(metric, monkeypatch):
    """Only the few rows that 16 bits cannot decide are compared with all points."""
    from actup.backends._cuda import neighbors

    scanned = []
    scan = neighbors.scan

    def counting(X, rows, *arguments, **options):
        scanned.append(len(rows))
        scan(X, rows, *arguments, **options)

    monkeypatch.setattr(neighbors, "scan", counting)
    random = np.random.default_rng(9)
    X = random.normal(size=(30, 100))[random.integers(30, size=20_000)] + random.normal(size=(20_000, 100))
    check(X, 15, metric, tolerance=2e-5)
    assert sum(scanned) < 200
