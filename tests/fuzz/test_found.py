"""What fuzzing has found, each as a test: inputs that once crashed, hung or failed in another way."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import actup
from actup import quality
from actup.compat.opentsne import affinity, initialization
from actup.recipe import Phase, Role
from actup.start._coordinates import pca_start

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
SHORT = {"n_epochs": 3, "n_neighbors": 4, "random_state": 0, "n_jobs": 1}


def umap(**parameters):
    return actup.UMAP(**{**SHORT, **parameters})


def beyond_int64():
    return np.full((20, 2), 2.0**70, np.longdouble) + np.arange(20)[:, None] * 2.0**20


def graph_of(weights):
    return actup.Graph(np.array([0, 1, 2]), np.array([1, 0]), weights)


REJECTED = {
    "text without rows": (lambda: umap().fit(np.zeros((0, 5), "U3")), "0 sample|no rows|text|string"),
    "dates in a list": (lambda: umap().fit([np.array(["1970-01-01"] * 3, "M8[s]")] * 20), "datetime64"),
    "a layout beyond float32": (
        lambda: actup.GDR(
            epochs=3, n_neighbors=4, learning_rate=1e30, repulsion_rate=1e30, random_state=0
        ).fit(X),
        "left the range of float32",
    ),
    "a parameter beyond float32": (lambda: actup.Recipe(repulsion_rate=1e300), "repulsion_rate=1e\\+300"),
    "an array as a flag": (lambda: umap(densmap=np.array([1, 2])).fit(X), "densmap=.* is an array"),
    "an array as a name": (
        lambda: umap(output_metric=np.array([1, 2])).fit(X),
        "output_metric=.* is an array",
    ),
    "an array as verbose": (lambda: umap(verbose=np.array([1, 2])).fit(X), "verbose"),
    "a dict as a backend": (lambda: umap(backend={}).fit(X), "backend"),
    "weights that are one text": (
        lambda: umap(unique=True).fit(np.vstack([X, X]), sample_weight="x"),
        "sample_weight",
    ),
    "labels that are one text": (lambda: umap(unique=True).fit(np.vstack([X, X]), "x"), "y|label"),
    "maps of text": (lambda: actup.viewer.align_maps({"a": np.full((3, 2), "x")}), "maps\\['a'\\]"),
    "maps of uneven rows": (lambda: actup.viewer.align_maps({"a": [[1, 2], [3]]}), "maps\\['a'\\]"),
    "a measured map of uneven rows": (lambda: quality.knn_accuracy([[1, 2], [3]], [0, 1]), "Y"),
    "one label": (lambda: quality.voters("label"), "labels"),
    "uneven labels": (lambda: quality.voters([[1, 2], [3]]), "labels"),
    "a text as kernel": (lambda: quality.kl_divergence(graph_of(np.ones(2)), np.zeros((2, 2)), "x"), "a='x'"),
    "a map beyond float32": (
        lambda: quality.kl_divergence(graph_of(np.ones(2)), np.array([[0.0], [1e30]])),
        "Y",
    ),
    "a graph that is a text": (lambda: actup.Graph.from_scipy("graph"), "graph"),
    "a graph without offsets": (
        lambda: actup.embed(None, "umap", graph=actup.Graph(np.zeros(0, int), np.zeros(0, int), np.zeros(0))),
        "graph",
    ),
    "weights of two dimensions": (lambda: graph_of(np.ones((2, 1))).check_structure(), "graph"),
    "threshold that is a text": (lambda: graph_of(np.ones(2)).pruned("x"), "weakest"),
    "neighbours that are lists": (lambda: actup.Neighbors([[1], [0]], [[1.0], [1.0]]), "indices"),
    "names that are a number": (lambda: actup.embed_many(X, ["umap"], names=3), "names"),
    "a dict as selection": (lambda: actup.find_clusters(X, selection={}), "selection"),
    "an array as space": (lambda: actup.find_clusters(X, space=np.array([1, 2])), "space"),
    "an array as algorithm": (lambda: actup.nearest_neighbors(X, algorithm=np.array([1, 2])), "algorithm"),
    "an array as a measured metric": (
        lambda: quality.triplet_accuracy(X, X, metric=np.array([1, 2])),
        "metric",
    ),
    "bits of negative numbers": (
        lambda: actup.nearest_neighbors(X * 1e10, 3, metric="bit_hamming"),
        "bit_hamming",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_is_rejected_by_name(name):
    call, message = REJECTED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_numbers_beyond_every_type_are_rejected_without_a_warning_of_numpy():
    X = np.full((20, 2), 2**64 - 1, np.uint64)
    X[0] = 1
    with pytest.raises(ValueError, match="18446744073709551615"):
        umap().fit(X)


def test_a_disconnection_distance_beyond_float32_cuts_nothing():
    expected = umap().fit_transform(X)
    assert np.array_equal(umap(disconnection_distance=1e300).fit_transform(X), expected)


def test_components_of_equal_centers_and_huge_scores_have_a_start():
    assert np.isfinite(
        actup.TSNE(perplexity=3, max_iter=2, random_state=0).fit_transform(X[:, :1] * 1e30)
    ).all()
    groups = np.repeat(X[:2].round() * 0, 15, axis=0)
    graph = sparse.block_diag([np.ones((5, 5)) - np.eye(5)] * 6, "csr")
    recipe = actup.preset("umap").but(epochs=2)
    made = actup.embed(groups, recipe, graph=actup.Graph.from_scipy(graph))
    assert np.isfinite(made.embedding).all()


@pytest.mark.parametrize("ids", [np.uint8, np.int16, np.uint64])
def test_ids_of_any_type(ids):
    matrix = sparse.csr_matrix(X)
    matrix.indices = matrix.indices.astype(ids)
    found, expected = actup.nearest_neighbors(matrix, 3), actup.nearest_neighbors(sparse.csr_matrix(X), 3)
    assert np.array_equal(found.indices, expected.indices)


def test_a_failed_fit_leaves_the_transformer_as_it_was():
    model = actup.KNeighborsTransformer(n_neighbors=99)
    with pytest.raises(ValueError, match="n_neighbors=99"):
        model.fit_transform(X)
    assert set(vars(model)) == set(model.get_params())


def test_rows_of_longdouble_are_measured():
    Y = X[:, :2]
    assert quality.neighbor_recall(X.astype(np.longdouble), Y) == quality.neighbor_recall(X, Y)


def test_a_cluster_size_beyond_all_points_finds_none():
    assert (actup.find_clusters(X[:, :2], min_cluster_size=2**63).labels == -1).all()


def test_complex_numbers_are_rejected_by_name():
    with pytest.raises(ValueError, match="X holds complex numbers"):
        actup.nearest_neighbors(X * 1j, 3, metric="gower")


def test_a_sparse_start_is_rejected_beside_fixed_samples():
    with pytest.raises((TypeError, ValueError), match="init"):
        umap(init=sparse.csr_array(X[:, :2])).fit(X, fixed=np.zeros(30))


def test_queries_below_float32_have_neighbours():
    rng = np.random.default_rng(0)
    points, queries = rng.integers(-1, 2, (19, 3)), rng.normal(size=(20, 3)) * 1e-42
    points[rng.random((19, 3)) < 0.6] = 0
    found = actup.NeighborIndex(points).query(queries, 3)
    exact = np.sort(np.linalg.norm(queries[:, None] - points, axis=2), axis=1)[:, :3]
    np.testing.assert_allclose(found.distances, exact, atol=1e-30)


def test_a_graph_whose_ids_stand_twice_in_a_row_does_not_hang():
    graph = actup.Graph(np.array([0, 2, 4, 6]), np.array([1, 1, 1, 1, 1, 1]), np.ones(6))
    Y = actup.embed(None, actup.Recipe(epochs=2), graph=graph, threads=1).embedding
    assert np.isfinite(Y).all()


def test_an_array_as_transform_mode_is_rejected_by_name_after_the_fit():
    model = umap().fit(X).set_params(transform_mode=np.zeros(2))
    with pytest.raises(ValueError, match=r"transform_mode=.* must be 'embedding' or 'graph'"):
        model.transform(X)


@pytest.mark.parametrize("metric", ["minkowski", "gower", lambda x, y, **_: abs(x[0] - y[0])])
def test_names_of_metric_parameters_are_text(metric):
    with pytest.raises(TypeError, match="metric_kwds has the key 3"):
        actup.nearest_neighbors(X, 3, metric=metric, metric_kwds={3: 1, "p": 2})


@pytest.mark.parametrize("scale", [1e-38, 1e-42, 1e-44])
def test_groups_of_rows_below_float32_are_placed(scale):
    rows = (np.repeat(np.arange(6), 5)[:, None] + 0.01 * X[:, :2]) * scale
    Y = umap(n_neighbors=2).fit_transform(rows.astype(np.float32))
    assert np.isfinite(Y).all()


def test_principal_components_below_float32_are_those_of_larger_rows():
    start = initialization.pca(X.astype(np.float32), add_jitter=False)
    tiny = initialization.pca((X * 1e-38).astype(np.float32), add_jitter=False)
    np.testing.assert_allclose(tiny, start, atol=1e-6)


def test_a_start_of_equal_rows_is_finite():
    Y = initialization.pca(np.full((6, 2), 3.0), random_state=0)
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == 6


@pytest.mark.parametrize("k", [0, -1, 30])
def test_numbers_of_neighbors_of_affinities_are_rejected_by_name(k):
    with pytest.raises(ValueError, match=f"k_neighbors={k} must be at least 1, and less than"):
        affinity.Uniform(X, k_neighbors=k)
    with pytest.raises(ValueError, match=f"k={k} must be at least 1, and less than"):
        affinity.FixedSigmaNN(X, sigma=1.0, k=k)


def test_maps_whose_distances_overflow_are_measured():
    Y, labels = X[:, :2], np.arange(30) % 3
    assert quality.knn_accuracy(Y * 1e300, labels) == quality.knn_accuracy(Y, labels)
    assert quality.seed_stability([Y, Y * 1e300]).jaccard == 1.0


def test_samples_beyond_all_pairs_are_all_pairs():
    Y = X[:9, :2]
    for measure in (quality.distance_correlation, quality.triplet_accuracy):
        assert measure(X[:9], Y, sample=2**63) == measure(X[:9], Y, sample=None)


def test_an_array_as_the_kind_of_labels_is_rejected_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"label_kind=.* must be 'auto'"):
        actup.viewer.write_page(tmp_path / "page.html", X[:, :2], label_kind=np.array([1, 2]))


def test_names_of_metric_parameters_of_a_recipe_are_text():
    with pytest.raises(TypeError, match="metric_kwds has the key 1"):
        actup.Recipe(metric="gower", metric_kwds={1: 2, "p": 2})


def test_the_radius_of_a_single_point_is_unknown():
    Y, before, after = umap(output_dens=True).fit_transform(X[:1])
    assert Y.tolist() == [[0.0, 0.0]] and np.isnan(before).all() and np.isnan(after).all()


@pytest.mark.parametrize("n", [28, 31])
def test_neighbors_of_other_samples_are_rejected_beside_sample_weights(n):
    found = actup.nearest_neighbors(RNG.normal(size=(n, 4)), 5)
    model = umap(precomputed_knn=(found.indices, found.distances))
    with pytest.raises(ValueError, match=f"precomputed_knn has {n} rows, but there are 30 samples"):
        model.fit(X, sample_weight=np.arange(30) % 3)


def test_an_array_as_a_flag_of_pages_is_rejected_by_name(tmp_path):
    with pytest.raises(TypeError, match=r"side_by_side=.* must be True or False"):
        actup.viewer.write_page(tmp_path / "page.html", X[:, :2], side_by_side=np.array([1, 2]))


def test_flags_of_clusters_are_rejected_by_name():
    with pytest.raises(TypeError, match=r"assign_all=array\(\[1, 2\]\) must be True or False"):
        actup.find_clusters(X[:, :2], assign_all=np.array([1, 2]))


def test_complex_places_are_rejected_beside_fixed():
    with pytest.raises(TypeError, match="init holds complex numbers"):
        umap(init=X[:, :2] + 1j).fit(X, fixed=np.ones(30, bool))


def test_rows_far_from_all_others_are_fitted_again():
    lonely = 100.0 * np.arange(12)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that no row has a neighbour
        model = umap(n_neighbors=4, disconnection_distance=0.1, disconnected="nan").fit(lonely)
        again = model.refit(lonely + 0.5)
    assert len(again.embedding_) == 12 and again.n_shared_ == 0 and np.isnan(again.movement_)


def test_a_covariance_beyond_doubles_is_rejected_by_name():
    with pytest.raises(ValueError, match="the covariance of X is not finite"):
        actup.NeighborIndex(X * 1e200, metric="mahalanobis")


def test_a_power_that_is_no_number_is_rejected_by_name():
    with pytest.raises((TypeError, ValueError), match="p"):
        actup.KNeighborsTransformer(n_neighbors=5, metric="minkowski", p={}).fit_transform(X)


def test_what_is_no_table_is_rejected_by_name_for_gower():
    with pytest.raises(TypeError, match="X is object, but must be a matrix or data frame"):
        actup.nearest_neighbors(object(), 3, metric="gower")


@pytest.mark.parametrize("size", [1e-200, 1e-40, 1e-25, 1e15, 1e19, 1e30, 3e37, 1e39, 1e200])
def test_principal_components_of_very_large_or_small_rows(size):
    rows = X * size
    rows = rows if size > 1e38 or size < 1e-100 else rows.astype(np.float32)
    Y = pca_start(rows, 5, 0, 1)
    expected = pca_start(X.astype(np.float32), 5, 0, 1)
    assert np.isfinite(Y).all()
    if size > 1e-38 or size < 1e-100:  # else float32 has few digits of the rows
        assert np.allclose(Y / Y.max(), expected / expected.max(), atol=1e-4)


def test_measures_of_sparse_rows_too_far_apart_are_rejected_by_name():
    rows = sparse.csr_matrix(X * 1e38).astype(np.float32)
    with pytest.raises(ValueError, match="overflow"):
        quality.neighbor_recall(rows, X[:, :2], 3)


@pytest.mark.parametrize("kind", ["dok", "lil", "coo"])
def test_sparse_distances_of_every_format(kind):
    distances = np.abs(X[:12, :1] - X[:12, 0])
    graph = sparse.csr_array(distances).asformat(kind)
    model = actup.TSNE(max_iter=3, perplexity=3, metric="precomputed", init="random", random_state=0)
    assert np.array_equal(model.fit_transform(graph), model.fit_transform(sparse.csr_array(distances)))
    with pytest.raises(ValueError, match="X has a negative value, -"):
        model.fit(sparse.csr_array(-distances).asformat(kind))


def test_progress_of_functions_may_be_true(capsys):
    actup.embed(X, actup.Recipe(epochs=2, n_neighbors=4), progress=True)
    actup.embed_many(X, [actup.Recipe(epochs=2, n_neighbors=4)], progress=True)
    assert "layout" in capsys.readouterr().err
    for call in (lambda: actup.embed(X, "umap", progress="x"), lambda: actup.embed_many(X, [], progress=1)):
        with pytest.raises(TypeError, match=r"progress=.* must be True, False or"):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [("dpi", "x"), ("dpi", 0), ("columns", 1.5), ("columns", 0), ("point_size", []), ("point_size", 2**31),
     ("theme", []), ("theme", "dim"), ("names", np.array([1, 2])), ("view", {}), ("note", 2), ("ax", 1),
     ("colorbar", "x")],
)  # fmt: skip
def test_choices_of_pictures_are_rejected_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=rf"^{name}="):
        actup.plot(X[:, :2], **{name: value})


def test_choices_of_other_functions_are_rejected_by_name(tmp_path):
    model = umap().fit(X)
    for call, name in [
        (lambda: quality.kl_divergence(model.graph_, X[:, :2], 1.0, 1.0, method=np.array([1, 2])), "method"),
        (lambda: quality.quality_report(X, X[:, :2], others=3), "others"),
        (lambda: quality.quality_report(X, X[:, :2], verbose=[]), "verbose"),
        (lambda: quality.knn_accuracy(X[:, :2], X[:, 0] > 0, shrink="x"), "shrink"),
        (lambda: actup.find_clusters(X[:, :2], texts=3), "texts"),
        (lambda: model.save(tmp_path / "model.actup", data=np.array([1, 2])), "data"),
        (lambda: actup.backends.load_backend([]), "backend"),
        (lambda: actup.progress.Progress(verbose=""), "verbose"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"^{name}="):
            call()


def test_overflowing_distances_of_rows_with_gaps_are_rejected_by_name():
    with pytest.raises(ValueError, match="distances"):
        actup.nearest_neighbors(X * 1e180, 3, metric="nan_euclidean")


def test_rows_of_different_lengths_are_no_map():
    with pytest.raises(ValueError, match="Y must be a map, a matrix of one row per point"):
        actup.find_clusters([[1, 2], [3]])


def test_sparse_rows_of_a_fitted_model_are_rejected_by_the_gpu():
    model = umap().fit(sparse.csr_matrix(np.abs(X))).set_params(backend="cuda")
    with pytest.raises((TypeError, ImportError, RuntimeError), match=r"cuda|CuPy"):
        model.subset(range(20))


def test_maps_of_any_width_are_clustered_for_the_v_measure():
    Y, labels = X[:, :2], X[:, 0] > 0
    assert quality.v_measure(Y * 1e300, labels) == quality.v_measure(Y, labels)


def test_distances_that_are_not_square_are_rejected_beside_sample_weights():
    model = actup.GDR(epochs=3, n_neighbors=4, metric="precomputed")
    with pytest.raises(ValueError, match=r"needs a square matrix of distances, got shape \(30, 4\)"):
        model.fit(np.abs(X), sample_weight=np.arange(30) % 3)


def test_radii_beyond_float32_are_compared():
    rows = sparse.csr_matrix(
        np.where(RNG.random((60, 8)) < 0.5, X[0, 0] * 3e37, 0) * np.arange(60)[:, None] / 60
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = actup.nearest_neighbors(rows, 5, algorithm="approximate")
    assert np.isfinite(found.distances).all()


def test_phases_without_epochs_cannot_fill_epochs():
    phases = (Phase(Role.EXAGGERATE, epochs=0, momentum=0.5),)
    with pytest.raises(ValueError, match=r"epochs=3 cannot be divided among phases="):
        actup.embed(X, actup.preset("umap").but(phases=phases, epochs=3))
    assert actup.embed(X, actup.preset("umap").but(phases=phases, epochs=0)).n_epochs == 0


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        ([["a", "b"]], "frame is a list"),
        ({"\ud800": np.arange(30)}, "UTF-8"),
        ({"c": ["\ud800"] * 30}, "frame has a column 'c' that parquet cannot hold"),
        ({"c": [1, "b", *range(28)]}, "frame has a column 'c' that parquet cannot hold"),
        ({"c": np.ones((30, 2))}, "frame has a column 'c' that parquet cannot hold"),
        ({"c": np.arange(30), "d": [1]}, "different lengths"),
    ],
)
def test_columns_that_parquet_cannot_hold_are_named(tmp_path, frame, match):
    pytest.importorskip("pyarrow")
    with pytest.raises((TypeError, ValueError), match=match):
        actup.write_atlas(tmp_path / "map.parquet", X[:, :2], frame)
    with pytest.raises(ValueError, match="x=None must be a text"):
        actup.write_atlas(tmp_path / "map.parquet", X[:, :2], x=None)


def test_a_network_computes_with_rows_of_any_scale():
    model = actup.ParametricUMAP(**SHORT, hidden_layer_sizes=(4,), n_training_epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        small = (X * 1e-41).astype(np.float32)
        assert np.isfinite(model.fit(small).transform(small)).all()
        with pytest.raises(ValueError, match=r"row 0 of X is too far from the training data|float32"):
            model.transform(np.full((1, 4), 1e200))
        assert np.isfinite(model.fit(X * 1e37).embedding_).all()


def test_numbers_of_a_slice_may_be_arrays_without_axes():
    slices, relations = [X, X], [{i: i for i in range(30)}]
    model = actup.AlignedUMAP(n_epochs=2, n_neighbors=np.array(4), random_state=0)
    with pytest.raises((TypeError, ValueError), match="n_neighbors"):
        model.fit(slices, relations=relations)


@pytest.mark.parametrize("algorithm", [{}, np.array([1]), 3])
def test_an_algorithm_is_a_text(algorithm):
    with pytest.raises((TypeError, ValueError), match="algorithm"):
        actup.KNeighborsTransformer(algorithm=algorithm, n_neighbors=3).fit(X).transform(X)


def test_a_share_beyond_floats_is_named():
    graph = graph_of(np.ones(2, np.float32))
    with pytest.raises(ValueError, match="weakest=an integer of 400 digits"):
        graph.pruned(10**400)


def test_values_that_a_network_cannot_hold_are_rejected():
    model = actup.ParametricUMAP(**SHORT, metric="sokalmichener", hidden_layer_sizes=(4,))
    with pytest.raises(ValueError, match="the network computes in float32"):
        model.fit(np.where(X > 0, 1e300, 0))


def test_numbers_of_a_loss_beyond_floats_are_named():
    with pytest.raises(ValueError, match="a=an integer of 400 digits"):
        quality.kl_divergence(graph_of(np.ones(2, np.float32)), X[:2, :2], 10**400, 1.0)


@pytest.mark.parametrize("exponent", [-142, 100, 126])
def test_starts_of_sparse_rows_of_any_scale(exponent):
    rows = sparse.csr_matrix(np.ldexp(np.random.default_rng(0).random((12, 3), np.float32), exponent))
    scores = pca_start(rows, 2, seed=0, threads=1)
    assert np.isfinite(scores).all() and np.ptp(scores, axis=0).all()


def test_rows_beyond_float32_are_rejected_by_the_reference_backend():
    with pytest.raises(
        ValueError, match=r"too large for dtype\('float32'\): .* divide X by its largest value"
    ):
        umap(backend="reference").fit(X * 1e150)


def test_wrong_lists_of_neighbors_are_no_attribute():
    model = actup.UMAP(**SHORT).fit(X)
    assert model.set_params(precomputed_knn=-1).knn_indices is None


def signaling_nan(array):
    """A copy with a NaN whose conversion and arithmetic NumPy warns of."""
    array = np.array(array, np.float64)
    array.reshape(-1).view(np.uint64)[3] = 0x7FF0000000000001
    return array


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_every_kind_of_nan_is_nan(tmp_path):
    with pytest.raises(ValueError, match="graph has weights that are infinite or NaN"):
        actup.Graph.from_scipy(signaling_nan(np.abs(X @ X.T)))
    lists = np.argsort(np.abs(X))[:, :4], signaling_nan(np.sort(np.abs(X), axis=1))
    with pytest.raises(ValueError, match="precomputed_knn has a distance of nan"):
        umap(precomputed_knn=lists).fit(X)
    assert actup.nearest_neighbors(signaling_nan(X), 4, metric="gower").indices.shape == (30, 4)
    assert actup.find_clusters(signaling_nan(X[:, :2]), min_cluster_size=5).labels[1] == -1


def test_estimates_of_rows_without_columns():
    with pytest.raises(ValueError, match="X has 5 rows and 0 columns"):
        umap().memory_estimate(np.zeros((5, 0)))


def test_estimates_reject_names_of_types_that_cannot_be_encoded():
    with pytest.raises(TypeError, match=r"dtype=.* must be a type of numbers"):
        actup.memory_estimate((100, 5), dtype="\ud800")


def test_estimates_reject_arrays_as_parameters():
    with pytest.raises((TypeError, ValueError), match=r"metric=.* is an array"):
        umap(metric=np.array(["a", "b"]), unique=True).memory_estimate(X)


def test_angles_of_huge_rows():
    index = actup.NeighborIndex(X, metric="true_angular", n_jobs=1)
    huge, usual = (index.query(np.full((1, 4), value), 3) for value in (1e200, 1.0))
    np.testing.assert_array_equal(huge.indices, usual.indices)
    np.testing.assert_allclose(huge.distances, usual.distances)


@pytest.mark.parametrize("rows", [X * 1e200, sparse.csr_matrix(X * 1e200)], ids=["dense", "sparse"])
def test_variances_beyond_floats_are_named(rows):
    with pytest.raises(ValueError, match=r"variance is too large .*column 0.*: divide X"):
        actup.nearest_neighbors(rows, 2, metric="seuclidean")


def test_distances_beside_the_largest_values():
    rows = X.copy()
    rows[3] = 3e38
    index = actup.NeighborIndex(rows, metric="minkowski", metric_kwds={"p": 3}, algorithm="exact", n_jobs=1)
    distances = index.query(X, 1).distances[:, 0]
    assert np.isfinite(distances).all() and (distances[np.arange(30) != 3] == 0).all()
    with pytest.raises(ValueError, match="too large for float32"):
        index.query(X, 30)
