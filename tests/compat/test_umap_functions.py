"""The functions of umap-learn's modules: what they return, and that it is what umap-learn computes."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances

from actup.compat import umap
from actup.compat.umap import distances, spectral, umap_, utils, validation
from actup.compat.umap import sparse as sparse_distances
from actup.compat.umap.umap_ import (
    compute_membership_strengths,
    discrete_metric_simplicial_set_intersection,
    find_ab_params,
    fuzzy_simplicial_set,
    general_simplicial_set_intersection,
    general_simplicial_set_union,
    init_graph_transform,
    make_epochs_per_sample,
    nearest_neighbors,
    noisy_scale_coords,
    raise_disconnected_warning,
    reset_local_connectivity,
    simplicial_set_embedding,
    smooth_knn_dist,
)

RNG = np.random.default_rng(0)
X = load_digits().data[:250].astype(np.float32)
A, B = find_ab_params(1.0, 0.1)


def layout(graph, **changes):
    arguments = {
        "data": X, "graph": graph, "n_components": 2, "initial_alpha": 1.0, "a": A, "b": B, "gamma": 1.0,
        "negative_sample_rate": 5, "n_epochs": 60, "init": "spectral",
        "random_state": np.random.RandomState(0), "metric": "euclidean", "metric_kwds": {},
        "densmap": False, "densmap_kwds": {}, "output_dens": False,
    }  # fmt: skip
    return simplicial_set_embedding(**{**arguments, **changes})


# neighbours


@pytest.mark.parametrize("random_state", [None, 3, np.random.RandomState(3)], ids=["none", "int", "object"])
def test_nearest_neighbors(random_state):
    indices, lengths, index = nearest_neighbors(X, 10, "euclidean", None, False, random_state)
    assert indices.shape == lengths.shape == (250, 10)
    assert (indices[:, 0] == np.arange(250)).all()
    exact = np.sort(pairwise_distances(X), axis=1)[:, :10]
    assert lengths == pytest.approx(exact, abs=1e-2)
    assert all(np.array_equal(a, b) for a, b in zip(index.neighbor_graph, (indices, lengths), strict=True))


def test_the_index_searches_new_rows_also_after_pickling():
    _, _, index = nearest_neighbors(X, 10, "cosine", {}, True, 0, low_memory=False, n_jobs=1, verbose=False)
    new = X[:5] + 0.5
    expected = np.sort(pairwise_distances(new, X, metric="cosine"), axis=1)[:, :4]
    for each in (index, pickle.loads(pickle.dumps(index))):
        ids, found = each.query(new, k=4, epsilon=0.2)
        assert ids.shape == (5, 4)
        assert found == pytest.approx(expected, abs=1e-5)
    assert index._angular_trees
    index.update(xs_fresh=new)
    assert index.query(new, 1)[0][:, 0].tolist() == [250, 251, 252, 253, 254]


def test_metrics_in_which_umap_learn_compares_no_sparse_rows():
    rows = sparse.random(50, 20, density=0.5, format="csr", random_state=0)
    for metric in ("seuclidean", "wminkowski", "no such metric"):
        with pytest.raises(ValueError, match=f"{metric}.*sparse"):
            nearest_neighbors(rows, 5, metric, {}, False, 0)
    for metric in ("euclidean", "l2", "sqeuclidean", "jaccard", "dot"):
        assert nearest_neighbors(rows, 5, metric, {}, False, 0)[0].shape == (50, 5)


def test_nearest_neighbors_among_given_distances():
    D = pairwise_distances(X)
    D[0, 5:] = np.inf
    indices, lengths, index = nearest_neighbors(D, 10, "precomputed", {}, False, None)
    assert index is None
    assert (indices[0, 5:] == -1).all()
    assert np.array_equal(indices[1:], np.argsort(D, axis=1, kind="stable")[1:, :10])
    assert np.isinf(lengths[0, 5:]).all()


def test_fewer_rows_than_neighbors():
    indices, lengths, _ = nearest_neighbors(X[:4], 6, "euclidean", {}, False, 0)
    assert (indices[:, 4:] == -1).all()
    assert np.isinf(lengths[:, 4:]).all()


# the graph


def test_bandwidths_sum_to_log2_of_k():
    _, lengths, _ = nearest_neighbors(X, 12, "euclidean", {}, False, 0)
    sigmas, rhos = smooth_knn_dist(lengths, 12.0)
    assert rhos == pytest.approx(lengths[:, 1])
    sums = np.exp(-np.maximum(lengths[:, 1:] - rhos[:, None], 0) / sigmas[:, None]).sum(axis=1)
    assert sums == pytest.approx(np.full(250, np.log2(12)), rel=1e-3)
    halfway = smooth_knn_dist(lengths, 12.0, local_connectivity=1.5)[1]
    assert halfway == pytest.approx((lengths[:, 1] + lengths[:, 2]) / 2, rel=1e-5)
    assert (smooth_knn_dist(lengths, 12.0, bandwidth=1.5)[0] > sigmas).all()


def test_membership_strengths():
    ids, lengths = (
        np.array([[0, 1, 2], [1, 2, -1]]),
        np.array([[0.0, 1.0, 3.0], [0.0, 2.0, np.inf]], np.float32),
    )
    sigmas, rhos = np.array([2.0, 1.0], np.float32), np.array([1.0, 1.0], np.float32)
    rows, columns, values, none = compute_membership_strengths(ids, lengths, sigmas, rhos)
    assert none is None
    assert rows.tolist() == [0, 0, 0, 1, 1, 0]
    assert columns.tolist() == [0, 1, 2, 1, 2, 0]
    assert values == pytest.approx([0, 1, np.exp(-1), 0, np.exp(-1), 0], rel=1e-6)
    of_others = compute_membership_strengths(ids, lengths, sigmas, rhos, True, True)
    assert of_others[2] == pytest.approx([1, 1, np.exp(-1), 1, np.exp(-1), 0], rel=1e-6)
    assert of_others[3][:5] == pytest.approx([0, 1, 3, 0, 2])


def test_the_graph_is_that_of_the_estimator():
    graph, sigmas, rhos = fuzzy_simplicial_set(X, 15, np.random.RandomState(0), "euclidean")
    assert sigmas.shape == rhos.shape == (250,)
    assert abs(graph - umap.UMAP(n_epochs=0, random_state=0).fit(X).graph_).max() < 1e-4


def test_the_graph_of_given_neighbors_as_scanpy_asks_for_it():
    indices, lengths, _ = nearest_neighbors(X, 15, "euclidean", {}, False, 0)
    graph, _, _ = fuzzy_simplicial_set(
        sparse.coo_matrix((250, 1)), 15, None, None, knn_indices=indices, knn_dists=lengths,
        set_op_mix_ratio=1.0, local_connectivity=1.0,
    )  # fmt: skip
    plain = fuzzy_simplicial_set(X, 15, 0, "euclidean")[0]
    assert abs(graph.tocsr() - plain).max() < 1e-6
    assert graph.dtype == np.float32


def test_parts_of_the_graph():
    union, both = (fuzzy_simplicial_set(X, 10, 0, "euclidean", set_op_mix_ratio=r)[0] for r in (1.0, 0.0))
    directed = fuzzy_simplicial_set(X, 10, 0, "euclidean", apply_set_operations=False)[0].tocsr()
    product = directed.multiply(directed.T)
    assert abs(directed + directed.T - product - union).max() < 1e-6
    assert abs(product - both).max() < 1e-6
    graph, _, _, lengths = fuzzy_simplicial_set(X, 10, 0, "euclidean", return_dists=True)
    row, column = graph.tocoo().row[0], graph.tocoo().col[0]
    assert lengths[row, column] == pytest.approx(np.linalg.norm(X[row] - X[column]), rel=1e-4)
    assert fuzzy_simplicial_set(X, 10, 0, "euclidean", return_dists=False)[3] is None


def random_graph(seed):
    matrix = sparse.random(60, 60, 0.15, "csr", np.float32, random_state=seed)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return matrix.maximum(matrix.T).tocsr()


def test_set_operations():
    one, other = random_graph(0), random_graph(1)
    union = general_simplicial_set_union(one, other).tocsr()
    both = (one != 0).multiply(other != 0)
    expected = (one + other - one.multiply(other)).multiply(both)
    assert abs(union.multiply(both) - expected).max() < 1e-5
    product = general_simplicial_set_intersection(one, other, weight=0.5).tocsr()
    assert abs(product.multiply(both) - one.multiply(other).multiply(both)).max() < 1e-5
    left = general_simplicial_set_intersection(one, other, weight=0.0).tocsr()
    assert abs(left.multiply(one != 0) - one).max() < 1e-5
    contrast = general_simplicial_set_intersection(one, other, right_complement=True).tocsr()
    complement = min(max(1 - other.data.max(), 2e-8) / 2, 1e-4)  # of an edge that the right graph lacks
    alone = (one != 0) > both
    assert abs(contrast.multiply(alone) - complement * one.multiply(alone)).max() < 1e-6
    assert abs(contrast.multiply(both) - (one - one.multiply(other)).multiply(both)).max() < 1e-5


@pytest.mark.parametrize("reset_local_metric", [False, True])
def test_reset_local_connectivity(reset_local_metric):
    graph = random_graph(2) * 0.5
    before = graph.copy()
    reset = reset_local_connectivity(graph, reset_local_metric=reset_local_metric)
    assert reset.max(axis=1).toarray().ravel() == pytest.approx(np.ones(60), rel=1e-5)
    assert abs(reset - reset.T).max() < 1e-6
    assert abs(graph - before).max() == 0


def test_intersection_with_labels():
    graph, labels = random_graph(3), np.arange(60) % 3
    labels[::7] = -1
    result = discrete_metric_simplicial_set_intersection(graph, labels, far_dist=50.0).tocoo()
    one, other = labels[result.row], labels[result.col]
    known = (one >= 0) & (other >= 0)
    assert result.data[known & (one == other)].mean() > 0.3
    assert result.data[known & (one != other)].max(initial=0) < 1e-6
    ordinal = discrete_metric_simplicial_set_intersection(graph, labels, metric="ordinal", metric_scale=2.0)
    assert ordinal.shape == (60, 60)
    with pytest.raises(ValueError, match="metric='no such'"):
        discrete_metric_simplicial_set_intersection(graph, labels, metric="no such")


# the layout


@pytest.fixture(scope="module")
def graph():
    return fuzzy_simplicial_set(X, 15, 0, "euclidean")[0].tocoo()


@pytest.mark.parametrize(
    "init", ["spectral", "tswspectral", "pca", "random", RNG.normal(size=(250, 2))], ids=str
)
def test_layouts(graph, init):
    embedding, aux_data = layout(graph, init=init, n_epochs=None)
    assert embedding.shape == (250, 2)
    assert embedding.dtype == np.float32
    assert aux_data == {}
    assert trustworthiness(X, embedding, n_neighbors=10) > 0.95


def test_layouts_as_scanpy_asks_for_them(graph):
    """The defaults of umap-learn, which scanpy passes on, are those of ActUp's own descent."""
    embedding, _ = layout(graph, n_epochs=500, parallel=False, verbose=False)
    assert trustworthiness(X, embedding, n_neighbors=10) > 0.95
    own, _ = layout(graph, n_epochs=None)
    assert np.array_equal(embedding, own)
    assert np.isfinite(layout(graph, data=sparse.coo_matrix((250, 1)), metric=None)[0]).all()


def test_parameters_of_the_layout(graph):
    plain = layout(graph)[0]
    assert np.array_equal(plain, layout(graph)[0])
    changes = [
        {"initial_alpha": 0.5}, {"a": 2.0}, {"b": 0.7}, {"gamma": 2.0}, {"negative_sample_rate": 10},
        {"n_epochs": 20}, {"random_state": np.random.RandomState(1)}, {"init": "random"},
    ]  # fmt: skip
    for change in changes:
        assert not np.array_equal(layout(graph, **change)[0], plain), change
    assert layout(graph, n_components=3)[0].shape == (250, 3)


def test_the_map_at_several_epochs(graph):
    embedding, aux_data = layout(graph, n_epochs=[0, 10, 30])
    maps = aux_data["embedding_list"]
    assert len(maps) == 3
    assert np.array_equal(maps[-1], embedding)
    assert not np.array_equal(maps[0], maps[1])


def test_radii_of_the_layout(graph):
    lengths = fuzzy_simplicial_set(X, 15, 0, "euclidean", return_dists=True)[3]
    options = {"graph_dists": lengths, "n_neighbors": 15, "lambda": 2.0, "frac": 0.3, "var_shift": 0.1}
    _, aux_data = layout(graph, output_dens=True, densmap_kwds=options)
    assert aux_data["rad_orig"].shape == aux_data["rad_emb"].shape == (250,)
    _, dense = layout(graph, densmap=True, output_dens=True, densmap_kwds=options, n_epochs=None)
    plain = np.corrcoef(aux_data["rad_orig"], aux_data["rad_emb"])[0, 1]
    assert np.corrcoef(dense["rad_orig"], dense["rad_emb"])[0, 1] > plain


def test_layouts_in_other_metrics(graph):
    by_name = layout(graph, output_metric="haversine", euclidean_output=False)[0]
    function = distances.named_distances_with_gradients["haversine"]
    by_function = layout(graph, output_metric=function, euclidean_output=False)[0]
    assert np.array_equal(by_name, by_function)
    with pytest.raises(ValueError, match="output_metric"):
        layout(graph, output_metric=lambda x, y: 0.0, euclidean_output=False)


# small functions


def test_kernel_parameters():
    """As SciPy's curve_fit finds them for umap-learn."""
    assert find_ab_params(1.0, 0.1) == pytest.approx((1.57694, 0.89506), abs=1e-5)
    assert find_ab_params(1.0, 0.5) == pytest.approx((0.58303, 1.33417), abs=1e-5)
    assert find_ab_params(2.0, 0.1) == pytest.approx((0.54466, 0.84206), abs=1e-5)
    assert find_ab_params(1.5, 0.99) == pytest.approx((0.10626, 1.51646), abs=1e-5)


def test_small_functions_of_the_layout():
    epochs = make_epochs_per_sample(np.array([0.5, 1.0, 0.25, 0.0]), 20)
    assert epochs == pytest.approx([2, 1, 4, -1])
    scaled = noisy_scale_coords(np.array([[1.0, -4.0], [2.0, 0.0]]), np.random.RandomState(0), noise=1e-3)
    assert scaled.dtype == np.float32
    assert scaled == pytest.approx(np.array([[2.5, -10], [5, 0]]), abs=0.01)
    edges = sparse.csr_matrix([[0.0, 0.25, 0.75], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])
    places = init_graph_transform(edges, np.array([[0.0, 0.0], [4.0, 8.0], [0.0, 4.0]]))
    assert places[0] == pytest.approx([1, 5])
    assert places[1] == pytest.approx([4, 8])
    assert np.isnan(places[2]).all()


def test_warning_of_disconnected_rows():
    with pytest.warns(UserWarning, match="A few of your vertices"):
        raise_disconnected_warning(20, 2, 1.0, 100)
    with pytest.warns(UserWarning, match="A large number of your vertices"):
        raise_disconnected_warning(200, 20, 1.0, 100)
    raise_disconnected_warning(20, 0, 1.0, 100)


def test_constants():
    assert umap_.INT32_MAX == 2**31 - 2
    assert umap_.INT32_MIN == -(2**31) + 1
    assert umap_.DISCONNECTION_DISTANCES["cosine"] == 2
    assert np.random.RandomState(0).randint(umap_.INT32_MIN, umap_.INT32_MAX, 3).shape == (3,)


@pytest.mark.parametrize("function", [spectral.spectral_layout, spectral.tswspectral_layout])
def test_spectral_coordinates(function, graph):
    places = function(X, graph, 2, np.random.RandomState(0), metric="euclidean", metric_kwds={})
    assert places.shape == (250, 2)
    assert trustworthiness(X, places, n_neighbors=10) > 0.8
    apart = sparse.block_diag([graph, graph])
    assert np.isfinite(function(np.concatenate([X, X + 9]), apart, 2, 0)).all()


def test_spectral_coordinates_say_if_a_tolerance_is_not_reached(graph, recwarn):
    for function in (spectral.spectral_layout, spectral.tswspectral_layout):
        function(None, graph, 2, 0, tol=1e-3)
        assert not recwarn.list
        with pytest.warns(UserWarning, match="did not converge to tol=1e-15"):
            function(None, graph, 2, 0, maxiter=2, tol=1e-15)


@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
def test_places_of_components(linkage):
    means = np.array([[0.0, 0], [1, 0], [0, 9], [1, 9], [9, 9], [9, 0]])
    labels = np.repeat(np.arange(6), 4)
    rows = means[labels] + RNG.normal(0, 0.01, (24, 2))
    from_rows = spectral.component_layout(rows, 6, labels, 2, np.random.RandomState(0))
    options = {"metric": "precomputed", "metric_kwds": {"linkage": linkage}}
    from_distances = spectral.component_layout(pairwise_distances(rows), 6, labels, 2, 0, **options)
    for places in (from_rows, from_distances):
        assert places.shape == (6, 2)
        assert np.abs(places).max() == pytest.approx(1)
        apart = pairwise_distances(places)
        assert apart[0, 1] < apart[0, 4]
    with pytest.raises(ValueError, match="linkage='median'"):
        spectral.component_layout(np.eye(24), 6, labels, 2, 0, "precomputed", {"linkage": "median"})


def test_utilities():
    D = RNG.random((6, 6))
    assert utils.fast_knn_indices(D, 3).tolist() == np.argsort(D, axis=1)[:, :3].tolist()
    assert utils.submatrix(D, utils.fast_knn_indices(D, 3), 3) == pytest.approx(np.sort(D, axis=1)[:, :3])
    assert utils.norm(np.array([3.0, 4.0])) == 5
    rows = sparse.csr_matrix(np.repeat(np.eye(3), 2, axis=0))
    index, inverse, counts = utils.csr_unique(rows)
    assert (rows[index][inverse] != rows).nnz == 0
    assert counts.tolist() == [2, 2, 2]
    assert len(utils.csr_unique(rows, return_index=False, return_counts=False)) == 1
    assert utils.average_nn_distance(sparse.csr_matrix(np.eye(2) * 3)).tolist() == [3, 3]
    state = np.array([2**31 - 5, -(2**30), 12345], np.int64)
    draws = [utils.tau_rand(state) for _ in range(2000)]
    assert np.mean(draws) == pytest.approx(0.5, abs=0.05)
    assert utils.ts()


# names that programs import less often


def test_small_names_of_umap():
    assert umap_.flattened([1, (2, [3, "four"])]) == (1, 2, 3, "four")
    assert umap_.dist is distances and umap_.sparse is sparse_distances
    path = sparse.diags([np.ones(9), np.ones(9)], [-1, 1]).tocsr()
    assert umap_.breadth_first_search(path, 4, min_vertices=2).tolist() == [4, 3, 5, 2]
    assert sorted(umap_.breadth_first_search(path, 4, min_vertices=20).tolist()) == list(range(10))


def test_weights_changed_in_place():
    rows, columns = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    values = np.ones(4, np.float32)
    umap_.fast_intersection(rows, columns, values, np.array([1, 1, 2, -1]), 1.0, 5.0)
    np.testing.assert_allclose(values, np.exp([0, -5, -1, -1]), rtol=1e-6)
    values = np.ones(4)
    umap_.fast_metric_intersection(
        rows, columns, values, np.arange(4.0), distances.ordinal_distance, (2.0,), 3.0
    )
    np.testing.assert_allclose(values, np.exp(-3 * np.array([0.5, 0.5, 0.5, 1.5])))
    weights = RNG.random(40)
    assert umap_.reprocess_row(weights, 15).sum() == pytest.approx(np.log2(15), abs=1e-4)
    graph = sparse.random(20, 60, density=0.6, format="csr", random_state=0)
    umap_.reset_local_metrics(graph.indptr, graph.data)
    np.testing.assert_allclose(graph.sum(axis=1), np.log2(15), atol=1e-3)


def test_first_places_of_new_points():
    places = RNG.random((6, 2)).astype(np.float32)
    ids, weights = np.array([[0, 1], [4, 5]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    found = umap_.init_transform(ids, weights, places)
    np.testing.assert_allclose(found, [0.25 * places[0] + 0.75 * places[1], places[4]], rtol=1e-6)
    start = np.vstack([places, np.zeros((2, 2), np.float32)])
    neighbors = np.vstack([np.zeros((6, 3), int), [[0, 2, 7], [7, 6, 7]]])
    umap_.init_update(start, 6, neighbors)
    np.testing.assert_allclose(start[6], (places[0] + places[2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(start[7], 0)


def test_weights_of_joined_graphs():
    one, other = (sparse.random(30, 30, density=0.3, format="csr", random_state=seed) for seed in (0, 1))
    edges = (one + other).tocoo()
    arrays = (
        one.indptr,
        one.indices,
        one.data,
        other.indptr,
        other.indices,
        other.data,
        edges.row,
        edges.col,
    )
    for weight in (0.3, 0.5, 0.8):
        joined = general_simplicial_set_intersection(one, other, weight).tocsr()
        values = np.zeros(edges.nnz)
        sparse_distances.general_sset_intersection(*arrays, values, False, weight)
        expected = np.asarray(joined[edges.row, edges.col]).ravel()
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-7)
    united, values = general_simplicial_set_union(one, other).tocsr(), np.zeros(edges.nnz)
    sparse_distances.general_sset_union(*arrays, values)
    np.testing.assert_allclose(values, np.asarray(united[edges.row, edges.col]).ravel(), rtol=1e-5, atol=1e-7)
    assert set(sparse_distances.SPARSE_SPECIAL_METRICS.values()) == {"hellinger", "ll_dirichlet"}
    assert sparse_distances.norm(np.array([3.0, 4.0])) == 5


def test_small_distances():
    assert [distances.sign(value) for value in (-2.0, 0.0, 3.0)] == [-1, 1, 1]
    assert distances.log_beta(3.0, 4.0) == pytest.approx(np.log(1 / 60))
    assert distances.log_single_beta(3.0) == pytest.approx(np.log(1 / 30))
    assert distances.approx_log_Gamma(5.0) == pytest.approx(np.log(24))
    bins = np.arange(4.0)
    cost = np.abs(bins[:, None] - bins)
    left, right = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])
    assert distances.sinkhorn_distance(left, right, np.exp(-20 * cost), cost) == pytest.approx(2, abs=1e-3)
    x, y = np.array([0.5, -1.0, 0.7]), np.array([0.1, 0.2, 0.4])
    energy, gradient = distances.spherical_gaussian_grad(x, y)
    assert energy == pytest.approx((0.4**2 + 1.2**2) / 1.1 + 2 * np.log(1.1) + np.log(2 * np.pi))
    numeric = approx_fprime(x, lambda point: distances.spherical_gaussian_grad(point, y)[0])
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5)
    assert distances.spherical_gaussian_grad(x, -x)[0] == 10
    assert distances.ll_dirichlet(np.zeros(3), np.zeros(3)) == 0
    assert distances.ll_dirichlet(np.zeros(3), np.ones(3)) == 1e8


def test_trustworthiness_of_listed_neighbors():
    places = RNG.random((80, 2))
    data = RNG.random((80, 4))
    order = np.argsort(pairwise_distances(data), axis=1)
    near = np.argsort(pairwise_distances(places), axis=1)[:, 1:11]
    expected = [trustworthiness(data, places, n_neighbors=k) for k in range(1, 11)]
    np.testing.assert_allclose(validation.trustworthiness_vector_bulk(order, near, 10)[1:], expected)
    calculate = validation.make_trustworthiness_calculator(distances.euclidean)
    np.testing.assert_allclose(calculate(data, near, 10), [1.0, *expected])


def test_names_that_actup_lacks_say_what_to_use_instead():
    with pytest.raises(AttributeError, match=r"actup\.plotting"):
        umap.plot  # noqa: B018
    with pytest.raises(AttributeError, match=r"actup\.ParametricUMAP"):
        umap.parametric_umap  # noqa: B018
    with pytest.raises(AttributeError, match="simplicial_set_embedding"):
        umap.layouts.optimize_layout_euclidean  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'no_such'$"):
        umap.layouts.no_such  # noqa: B018


@pytest.mark.parametrize("metric", sparse_distances.sparse_need_n_features)
def test_sparse_distances_take_n_features_by_name(metric):
    vectors = np.array([1, 4]), np.array([1.0, 2.0]), np.array([4, 7]), np.array([2.0, 3.0])
    distance = sparse_distances.sparse_named_distances[metric]
    assert distance(*vectors, n_features=64) == distance(*vectors, 64) > 0


def test_sparse_minkowski_takes_its_power_by_name():
    vectors = np.array([1]), np.array([3.0]), np.array([4]), np.array([4.0])
    assert sparse_distances.sparse_minkowski(*vectors) == pytest.approx(5)
    assert sparse_distances.sparse_minkowski(*vectors, p=1) == pytest.approx(7)


@pytest.mark.parametrize("n_neighbors", [2**42, 2**60])
def test_neighbors_that_no_memory_holds_are_named(n_neighbors):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(MemoryError, match=f"^n_neighbors={n_neighbors} needs more memory"):
        umap_.nearest_neighbors(X, n_neighbors, "euclidean", {}, False, 0)
