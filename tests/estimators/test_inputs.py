"""Inputs of the estimators and the pipeline: metrics, sparse rows, distances, known neighbours, dtypes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from actup._embed_many import embed_many
from actup._pipeline import embed
from actup.backends import load_backend
from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.graph._records import Neighbors
from actup.neighbors import _cluster_search, nearest_neighbors
from actup.neighbors._metrics import compiled_metrics
from actup.recipe._presets import preset

KINDS = [UMAP, TSNE, GDR]
SHORT = {UMAP: {"n_epochs": 10}, TSNE: {"max_iter": 10, "perplexity": 5}, GDR: {"epochs": 10}}


def short(kind, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = np.abs(np.concatenate([rng.normal(center, 1, (40, 6)) for center in (1, 4, 9)])).round(1)
    X[rng.random(X.shape) < 0.2] = 0
    return X.astype(np.float32)


@pytest.mark.parametrize("metric", [name for name in compiled_metrics() if name != "haversine"])
def test_embed_accepts_every_compiled_metric(X, metric):
    recipe = preset("gdr_umap").but(metric=metric, epochs=5)
    result = embed(X, recipe)
    assert np.isfinite(result.embedding).all()
    wanted = nearest_neighbors(X, 14, metric=metric)
    np.testing.assert_array_equal(result.neighbors.indices, wanted.indices)


@pytest.mark.parametrize("kind", KINDS)
def test_estimators_accept_functions_and_metric_parameters(X, kind):
    def cityblock(x, y):
        return np.abs(x - y).sum()

    plain = short(kind, metric="manhattan").fit(X)
    named = short(kind, metric="minkowski", metric_kwds={"p": 1}).fit(X)
    np.testing.assert_array_equal(named.embedding_, plain.embedding_)
    other = short(kind, metric="minkowski", metric_kwds={"p": 1, "w": np.arange(6.0)}).fit(X)
    given = short(kind, metric=cityblock).fit(X)
    different = [abs(model.graph_ - plain.graph_).sum() / plain.graph_.sum() for model in (given, other)]
    assert different[0] < 0.02 < different[1]  # ties may fall the other way


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows(X, kind, form):
    given = form(X)
    model = short(kind, metric="cosine").fit(given)
    assert model.n_features_in_ == 6
    assert model.init_used_ == ("pca" if kind is TSNE else "spectral")
    assert (sparse.csr_matrix(given) != sparse.csr_matrix(X)).nnz == 0
    dense = short(kind, metric="cosine").fit(X)
    same = (model.graph_ > 0).multiply(dense.graph_ > 0).sum() / (dense.graph_ > 0).sum()
    assert same > 0.99  # ties may fall the other way


@pytest.mark.parametrize("kind", KINDS)
def test_precomputed_distances(X, kind):
    distances = cdist(X, X)
    rows = short(kind, init="spectral").fit(X)
    model = short(kind, metric="precomputed", init="spectral").fit(distances)
    assert abs(model.graph_ - rows.graph_).max() < 1e-3
    assert model.init_used_ == "spectral" and np.isnan(model.recall_) == np.isnan(rows.recall_)
    entries = kneighbors_graph(X, 20, mode="distance")
    model = short(kind, metric="precomputed", init="spectral").fit(entries)
    assert abs(model.graph_ - rows.graph_).max() < 1e-3
    assert np.isnan(model.recall_)
    assert model.__sklearn_tags__().input_tags.pairwise and not rows.__sklearn_tags__().input_tags.pairwise


def test_distances_have_no_principal_components(X):
    model = short(TSNE, metric="precomputed").fit(cdist(X, X))
    assert model.init_used_ == "spectral (there are no rows to take principal components of)"


def test_too_few_entries_are_rejected(X):
    entries = kneighbors_graph(X, 5, mode="distance")
    with pytest.raises(ValueError, match=r"row .* has only 5 entries .*, but 14 are needed"):
        short(UMAP, metric="precomputed").fit(entries)
    with pytest.raises(ValueError, match="square matrix of distances"):
        short(UMAP, metric="precomputed").fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_precomputed_neighbors(X, kind):
    plain = short(kind).fit(X)
    found = nearest_neighbors(X, 20)
    own = np.arange(len(X))[:, None]
    with_self = np.hstack([own, found.indices]), np.hstack([0 * own, found.distances])
    shifted = with_self[0].copy(), with_self[1].copy()
    for part in shifted:
        part[7, :2] = part[7, 1::-1]  # the point is not the first of its list
    for lists in (
        found,
        (found.indices, found.distances),
        (*with_self, None),
        [with_self[0].astype(np.int64), with_self[1].astype(float)],
        shifted,
    ):
        model = short(kind, precomputed_knn=lists).fit(X)
        np.testing.assert_array_equal(model.embedding_, plain.embedding_)
        assert np.isnan(model.recall_) == (lists is not found)
    assert plain.recall_ == 1
    np.testing.assert_array_equal(
        short(kind, precomputed_knn=(None, None, None)).fit_transform(X), plain.embedding_
    )


def test_lists_where_a_point_is_missing_from_its_own():
    indices = np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [1, 3, 0]])
    found = Neighbors.from_lists(indices, np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(found.indices, [[1, 2], [0, 2], [1, 0], [1, 0]])
    np.testing.assert_array_equal(found.distances, [[1, 2], [3, 4], [7, 8], [9, 11]])


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


# What is wrong with lists of neighbours: (indices, distances) -> wrong lists, the error and its message
WRONG_LISTS = {
    "shapes": (lambda i, d: (i, d[:, 1:]), ValueError, r"shape \(120, 20\).* shape \(120, 19\)"),
    "one dimension": (lambda i, d: (i[0], d[0]), ValueError, r"shape \(20,\)"),
    "float ids": (lambda i, d: (i.astype(float), d), TypeError, "float64.* whole numbers"),
    "boolean ids": (lambda i, d: (i > 50, d), TypeError, "bool.* whole numbers"),
    "masked ids": (lambda i, d: (np.ma.masked_array(i, i > 50), d), TypeError, "masked array"),
    "masked distances": (lambda i, d: (i, np.ma.masked_array(d, d > 1)), TypeError, "masked array"),
    "complex distances": (lambda i, d: (i, d + 1j), TypeError, "complex64.* real numbers"),
    "words": (lambda i, d: (i, d.astype(str)), TypeError, "<U.* real numbers"),
    "objects": (lambda i, d: (i, d.astype(object)), TypeError, "object.* real numbers"),
    "missing": (lambda i, d: (changed(i, (7, 3), -1), d), ValueError, "ids -1 to 119.*0 to 119.*not found"),
    "other data": (lambda i, d: (i + 30, d), ValueError, "ids 30 to 149.* 0 to 119.*other data"),
    "64 bits": (lambda i, d: (i + np.int64(2**32), d), ValueError, "ids 4294967296 to 42949674"),
    "few and missing": (lambda i, d: (i[:, :3] * 0 - 1, d[:, :3]), ValueError, "ids -1 to -1"),
    "few": (lambda i, d: (i[:, :3], d[:, :3]), ValueError, "3 neighbours .* at least 1[45]"),
    "rows": (lambda i, d: (i[:60], d[:60]), ValueError, "60 rows.* 120 samples"),
    "negative": (lambda i, d: (i, changed(d, (9, 2), -1)), ValueError, r"distance of -1.0 \(row 9\)"),
    "nan": (lambda i, d: (i, changed(d, (9, 2), np.nan)), ValueError, r"distance of nan \(row 9\)"),
    "infinite": (lambda i, d: (i, changed(d, (9, 2), np.inf)), ValueError, r"distance of inf \(row 9\)"),
    "duplicates": (
        lambda i, d: (changed(i, (9, 2), i[9, 1]), d),
        ValueError,
        "has an id twice in row 9",
    ),
    "unsorted": (
        lambda i, d: (i, changed(d, (9, 2), 0)),
        ValueError,
        r"distances that decrease in row 9.*nearest first",
    ),
    "too large": (
        lambda i, d: (i, changed(d.astype(float), (9, 2), 1e300)),
        ValueError,
        r"distance of inf \(row 9\).* float32",
    ),
}


@pytest.fixture
def no_search(monkeypatch):
    def no_work(*settings):
        raise AssertionError("work has begun")

    for stage in ("nearest_neighbors", "affinity_graph", "make_layout"):
        monkeypatch.setattr(load_backend("cpu"), stage, no_work)


@pytest.mark.parametrize("wrong", WRONG_LISTS)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_lists_are_rejected_by_the_name_of_the_parameter(X, kind, wrong, no_search):
    if kind is UMAP and wrong in ("few and missing", "few", "rows"):
        return  # as umap-learn, it warns and searches: tests/estimators/test_umap.py
    change, error, message = WRONG_LISTS[wrong]
    found = nearest_neighbors(X, 20)
    lists = change(found.indices, found.distances)
    with pytest.raises(error, match=rf"^precomputed_knn.*{message}"):
        short(kind, precomputed_knn=lists).fit(X)
    with pytest.raises(error, match=rf"^(neighbors|indices|distances).*{message}"):
        embed(X, "umap", neighbors=Neighbors.from_lists(*lists))
    with pytest.raises(error, match=rf"^(neighbors|indices|distances).*{message}"):
        embed(X, "umap", neighbors=Neighbors(*lists))


@pytest.mark.parametrize("lists", [3, (1, 2, 3, 4), "knn"])
def test_wrong_types_of_lists_are_rejected(X, lists):
    with pytest.raises(TypeError, match=r"^precomputed_knn=.* must be \(indices, distances\)"):
        short(UMAP, precomputed_knn=lists).fit(X)


def test_own_ids_in_neighbors_are_rejected_by_the_name_of_the_parameter(X):
    lists = Neighbors(np.tile(np.arange(120)[:, None], 20), np.zeros((120, 20)))
    with pytest.raises(ValueError, match="precomputed_knn names a point as its own neighbour"):
        short(UMAP, precomputed_knn=lists).fit(X)


def test_missing_neighbors_beyond_those_needed_are_allowed(X):
    """Some libraries fill long lists with -1."""
    found = nearest_neighbors(X, 20)
    padded = changed(found.indices, (slice(None), slice(14, None)), -1)
    model = short(UMAP, precomputed_knn=(padded, found.distances)).fit(X)
    np.testing.assert_array_equal(model.embedding_, short(UMAP).fit_transform(X))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_neighbors_at_an_infinite_distance_have_no_edge(X, kind):
    """As umap-learn has it: id -1 at distance infinity."""
    found = nearest_neighbors(X, 20)
    own, nothing = np.arange(120)[:, None], np.zeros((120, 1), np.float32)
    few = (slice(40, 80), slice(5, None))  # 40 samples have five neighbours
    lists = changed(found.indices, few, -1), changed(found.distances, few, np.inf)
    model = short(kind, precomputed_knn=lists).fit(X)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.graph_.data).all()
    pairs = {(i, j) for i in range(120) for j in lists[0][i] if j >= 0}
    edges = zip(*(part.tolist() for part in model.graph_.nonzero()), strict=True)
    assert all((i, j) in pairs or (j, i) in pairs for i, j in edges)
    with_self = np.hstack([own, lists[0]]), np.hstack([nothing, lists[1]])
    again = short(kind, precomputed_knn=with_self).fit(X)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_missing_neighbors_leave_samples_disconnected(X):
    found = nearest_neighbors(X, 20)
    lone = (slice(0, 1), slice(None))
    ids = np.where(found.indices == 0, -1, found.indices)  # no sample names sample 0
    lengths = np.where(ids == -1, np.inf, found.distances).astype(np.float32)
    order = np.argsort(lengths, axis=1, kind="stable")
    ids, lengths = (np.take_along_axis(part, order, axis=1) for part in (ids, lengths))
    lists = changed(ids, lone, -1), changed(lengths, lone, np.inf)
    with pytest.warns(UserWarning, match="1 of 120 samples have no neighbour that counts"):
        model = short(UMAP, precomputed_knn=lists, disconnected="nan").fit(X)
    assert np.isnan(model.embedding_[0]).all() and np.isfinite(model.embedding_[1:]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8])
def test_small_dtypes_reach_the_search_unconverted(kind, dtype, monkeypatch):
    seen = []
    search = _cluster_search.ClusterSearch.__init__

    def watched(self, X, *rest):
        seen.append(X.dtype)
        search(self, X, *rest)

    monkeypatch.setattr(_cluster_search, "exact_is_cheaper", lambda *shape: False)
    monkeypatch.setattr(_cluster_search.ClusterSearch, "__init__", watched)
    whole = np.random.default_rng(0).integers(0, 100, (600, 20))
    model = short(kind).fit(whole.astype(dtype))
    assert seen == [dtype]
    assert model.recall_ >= 0.97
    np.testing.assert_array_equal(model.embedding_, short(kind).fit_transform(whole.astype(np.float32)))


def test_low_recall_warns(monkeypatch):
    for exact in ("exact_is_cheaper", "codes_are_cheaper"):
        monkeypatch.setattr(_cluster_search, exact, lambda *shape: False)
    monkeypatch.setattr(_cluster_search, "_MAX_ROW_NS", 0)
    monkeypatch.setattr(_cluster_search, "_ALL_CLUSTERS_MAX_ROWS", 0)
    monkeypatch.setattr(_cluster_search, "_EXACT_PAIR_NS", 1e9)  # so that the exact search is never chosen,
    monkeypatch.setattr(_cluster_search, "_MAX_REFINEMENT_ROUNDS", 0)  # and there are no refinement rounds
    X = np.random.default_rng(3).normal(size=(3000, 60))
    with pytest.warns(UserWarning, match="of the nearest neighbours were found"):
        model = short(UMAP).fit(X)
    assert model.recall_ < 0.9


def test_many_maps_share_a_metric(X):
    recipes = [preset(name).but(metric="canberra", epochs=3) for name in ("gdr_umap", "umap")]
    found = embed_many(sparse.csr_matrix(X), recipes)
    assert len(found.results) == 2
    with pytest.raises(ValueError, match="only maps with one metric can share"):
        embed_many(X, [recipes[0], recipes[1].but(metric=cdist)])


@pytest.mark.parametrize("kind", KINDS)
def test_memory_maps(X, kind, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(short(kind).fit_transform(mapped), short(kind).fit_transform(X))


def test_maps_distinguish_large_integers(X):
    ids = np.random.default_rng(0).integers(0, 3, (300, 40)) + 2**40
    model = short(UMAP, metric="hamming").fit(ids)
    expected = nearest_neighbors(ids, 5, metric="hamming").indices
    assert all(np.isin(expected[row], model.graph_[row].indices).all() for row in range(0, 300, 11))
    with pytest.raises(ValueError, match="row 0 of X is too small for float32"):
        short(UMAP).fit(1e-50 * X.astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_any_byte_order(kind, X):
    np.testing.assert_array_equal(short(kind).fit_transform(X.astype(">f4")), short(kind).fit_transform(X))


def test_times_and_masked_arrays_are_rejected(X):
    times = np.zeros((40, 2), "datetime64[s]")
    for make in (short(UMAP).fit, lambda rows: embed(rows, preset("umap"))):
        with pytest.raises(TypeError, match="X holds dates or durations"):
            make(times)
        with pytest.raises(TypeError, match="X is a masked array"):
            make(np.ma.masked_array(X, X > 1))


def test_masks_that_hide_nothing_are_accepted(X):
    np.testing.assert_array_equal(embed(np.ma.masked_array(X), "umap").embedding, embed(X, "umap").embedding)


def with_value(value):
    """Columns of numbers, but for one value in row 7 of column "b"."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.arange(120.0).reshape(40, 3), columns=list("abc")).astype(object)
    frame.iat[7, 1] = pandas.NA if value == "NA" else value
    return frame


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("NA", TypeError, "holds <NA>.*: .*fill .*or drop"),
        ("word", ValueError, "holds 'word'.*: .*convert"),
        ({"key": 1}, TypeError, "holds {'key': 1}.*: .*convert"),
        ("long " * 1000, ValueError, "holds 'long.{,50}'.*: .*convert"),
    ],
)
def test_values_that_are_no_numbers_are_rejected_by_name_column_and_row(value, error, message):
    frame = with_value(value)
    for read in (short(UMAP).fit, lambda X: nearest_neighbors(X, 5)):
        with pytest.raises(error, match=rf"^X {message}") as caught:
            read(frame)
        assert "column 'b', row 7" in str(caught.value) and len(str(caught.value)) < 300
        with pytest.raises(error, match=rf"^X {message}") as caught:
            read(frame.to_numpy())
        assert "column 1, row 7" in str(caught.value)
    model = short(UMAP).fit(np.arange(120.0).reshape(40, 3))
    with pytest.raises(error, match=rf"^X {message}"):
        model.transform(frame.to_numpy())


def test_categories_are_read_as_the_values_they_stand_for(X):
    pandas = pytest.importorskip("pandas")
    frame, plain = pandas.DataFrame(X), pandas.DataFrame(X)
    plain["category"] = np.arange(len(X)) % 3
    frame["category"] = pandas.Categorical(plain["category"])
    frame.columns = plain.columns = [str(name) for name in plain.columns]
    np.testing.assert_array_equal(short(UMAP).fit_transform(frame), short(UMAP).fit_transform(plain))
    frame["category"] = pandas.Categorical(["word"] * len(X))
    with pytest.raises(ValueError, match=r"^X holds 'word' in column 'category', row 0"):
        short(UMAP).fit(frame)
    frame["category"] = pandas.Categorical([1.0, None] * (len(X) // 2))
    with pytest.raises(ValueError, match="X contains NaN"):
        short(UMAP).fit(frame)


def test_lists_of_words_are_rejected_by_name():
    with pytest.raises(ValueError, match=r"^X holds 'b' in column 1, row 0: convert or drop the column, or "):
        nearest_neighbors([["1", "b"]] * 9, 5)


def test_missing_values_of_a_start_are_rejected_in_one_line(X):
    pandas = pytest.importorskip("pandas")
    init = pandas.DataFrame(X[:, :2]).astype(object)
    init.iat[3, 1] = pandas.NA
    with pytest.raises(TypeError, match=r"^init=<DataFrame of shape \(120, 2\)> must be an array of numbers"):
        short(UMAP, init=init).fit(X)


def test_infinite_distances_beyond_the_neighbours_are_allowed(X):
    distances = cdist(X, X)
    distances[distances > np.sort(distances, axis=1)[:, 20:21]] = np.inf
    assert np.isfinite(short(UMAP, metric="precomputed").fit_transform(distances)).all()


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_missing_values_are_rejected_in_metrics_that_cannot_compare_them(X, backend):
    X = X.copy()
    X[3, 2] = np.nan
    for metric in ("euclidean", "cosine"):
        with pytest.raises(ValueError, match=r"NaN.*metric='nan_euclidean' and metric='gower'"):
            TSNE(metric=metric, backend=backend).fit(X)
        with pytest.raises(ValueError, match="NaN"):
            embed(X, preset("tsne").but(metric=metric), backend=backend)


@pytest.mark.parametrize("metric", ["nan_euclidean", "gower"])
@pytest.mark.parametrize("kind", KINDS)
def test_maps_of_rows_with_missing_values(X, kind, metric):
    X = X.copy()
    X[3, 2] = X[7, 0] = np.nan
    model = short(kind, metric=metric).fit(X)
    assert np.isfinite(model.embedding_).all() and model.embedding_.dtype == np.float32
    reason = " (there are no rows to take principal components of)"
    assert model.init_used_ == "spectral" + (reason if kind is TSNE else "")
    new = X[:9] + np.float32(0.01)
    placed = model.transform(new)
    assert np.isfinite(placed).all()
    np.testing.assert_array_equal(model.transform(new[3:4])[0], placed[3])
    np.testing.assert_array_equal(model.transform(X[3:4])[0], model.embedding_[3])
    wanted = nearest_neighbors(X, 15, metric=metric)
    made = embed(X, preset("gdr_umap").but(metric=metric, epochs=2, n_neighbors=16))
    np.testing.assert_array_equal(made.neighbors.indices, wanted.indices)


def manhattan_of_known(x, y):
    return float(np.nansum(np.abs(np.clip(x, -9, 9) - np.clip(y, -9, 9))))


def test_ensure_all_finite_lets_values_through_to_a_function(X):
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 2.*use ensure_all_finite='allow-nan'"):
        short(UMAP, metric=manhattan_of_known).fit(X)
    model = short(UMAP, metric=manhattan_of_known).fit(X, ensure_all_finite="allow-nan")
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ValueError, match="row 3"):
        model.transform(X[:5])
    assert np.isfinite(model.transform(X[:5], ensure_all_finite="allow-nan")).all()
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in row 5"):
        short(UMAP, metric=manhattan_of_known).fit(X, ensure_all_finite="allow-nan")
    assert np.isfinite(short(TSNE, metric=manhattan_of_known).fit_transform(X, None, False)).all()
    with pytest.raises(ValueError, match="infinity in row 5"):
        short(UMAP, metric="nan_euclidean").fit(X, ensure_all_finite=False)
    with pytest.raises(ValueError, match="ensure_all_finite='sometimes' must be True, False or 'allow-nan'"):
        short(UMAP).fit(X, ensure_all_finite="sometimes")


def test_tiny_values_are_only_rejected_where_they_are_searched(X):
    """Values that underflow float32 do not matter if neighbours are given."""
    given = nearest_neighbors(X, 20)
    tiny = X.astype(np.float64) * 1e-60
    assert np.isfinite(embed(tiny, preset("gdr_umap").but(epochs=3), neighbors=given).embedding).all()
    with pytest.raises(ValueError, match="too small for float32"):
        embed(tiny, preset("gdr_umap").but(epochs=3))


def test_swapped_neighbour_arrays_are_noticed(X):
    found = nearest_neighbors(X, 15)
    message = (
        r"precomputed_knn\[0\] holds float32.*are precomputed_knn\[0\] and precomputed_knn\[1\] swapped\?"
    )
    with pytest.raises(TypeError, match=message):
        UMAP(precomputed_knn=(found.distances, found.indices)).fit(X)


def test_errors_do_not_name_another_number_of_neighbours(X):
    graph = kneighbors_graph(X, 10, mode="distance")
    with pytest.raises(ValueError, match=r"^row 0 of .* has only 10 entries .*, but 14 are needed"):
        UMAP(n_neighbors=15, metric="precomputed").fit(graph)


def test_asymmetric_distances_cause_a_warning(X):
    distances = cdist(X, X)
    short(UMAP, metric="precomputed").fit(distances)
    distances[3, 7] += 0.5 * distances.max()
    with pytest.warns(UserWarning, match=r"not symmetric: X\[(3, 7|7, 3)\] is .* use \(X \+ X.T\) / 2"):
        short(UMAP, metric="precomputed").fit(distances)


@pytest.mark.parametrize("flat", ["constant column", "line"])
def test_a_start_on_a_line_is_jittered_with_a_warning(X, flat):
    t = np.random.default_rng(0).normal(size=len(X))
    init = np.column_stack([t, np.full(len(t), 3.0) if flat == "constant column" else 2 * t + 1])
    with pytest.warns(UserWarning, match="init has no spread in one direction"):
        places = short(UMAP, init=init).fit_transform(X)
    widths = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    assert widths[1] > 0.05 * widths[0]


def test_errors_of_a_metric_function_name_it_and_the_rows():
    rows = np.arange(20.0)[:, None]

    def fails_at_seven(a, b):
        if b[0] == 7 and a[0] == 3:
            raise RuntimeError("no distance")
        return float(np.abs(a - b).sum())

    with pytest.raises(RuntimeError, match="no distance") as raised:
        nearest_neighbors(rows, 3, metric=fails_at_seven)
    assert raised.value.__notes__ == ["raised by metric=fails_at_seven for row 3 and row 7 of the data"]


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_routed_through_a_pipeline(X, kind):
    import sklearn
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    weights = np.linspace(0.5, 2, len(X))
    init = np.random.default_rng(0).normal(size=(len(X), 2)).astype(np.float32)
    fixed = np.arange(len(X)) < 10
    with sklearn.config_context(enable_metadata_routing=True):
        model = short(kind, init=init).set_fit_request(sample_weight=True, fixed=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, sample_weight=weights, fixed=fixed)
        placed = pipeline.transform(X)
    scaled = StandardScaler().fit_transform(X)
    direct = short(kind, init=init).fit(scaled, sample_weight=weights, fixed=fixed)
    np.testing.assert_array_equal(pipeline[-1].embedding_, direct.embedding_)
    np.testing.assert_array_equal(direct.embedding_[:10], init[:10])
    assert placed.shape == (len(X), 2)


class Recorder:
    """A callback of scikit-learn that notes what it is told."""

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.told.append(("begin", hasattr(estimator, "embedding_"), len(X)))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None):
        self.told.append(("end", hasattr(estimator, "embedding_"), len(X)))

    def teardown(self, estimator, context):
        self.told.append("teardown")


@pytest.mark.parametrize("kind", KINDS)
def test_callbacks_of_scikit_learn_see_a_fit(X, kind):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    model = short(kind).set_callbacks(recorder).fit(X)
    assert recorder.told == ["setup", ("begin", False, 120), ("end", True, 120), "teardown"]
    np.testing.assert_array_equal(model.embedding_, short(kind).fit_transform(X))
    assert not [name for name in vars(model) if "callback_fit" in name or "teardown" in name]
    recorder.told.clear()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan)
    assert recorder.told == ["setup", ("begin", True, 120), "teardown"]
    model.set_callbacks().fit(X)
    assert len(recorder.told) == 3


@pytest.mark.parametrize("wrong", [np.ones(40), [1, 2], None, 1])
def test_weights_in_the_place_of_ensure_all_finite(X, wrong):
    with pytest.raises(TypeError, match=r"^ensure_all_finite is a .*sample_weight=") as caught:
        short(UMAP).fit(X, None, wrong)
    assert isinstance(caught.value, ValueError)
