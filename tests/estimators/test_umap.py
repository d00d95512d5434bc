"""UMAP as umap-learn has it: labels, set operations, density, several epochs, duplicates, lonely points."""

import inspect
import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from actup import GDR, TSNE, UMAP, nearest_neighbors
from actup.compat import umap as compat

# The signature of umap-learn 0.5.12, in its order; of the value None, only the name counts.
UMAP_LEARN = {
    "n_neighbors": 15, "n_components": 2, "metric": "euclidean", "metric_kwds": None,
    "output_metric": "euclidean", "output_metric_kwds": None, "n_epochs": None, "learning_rate": 1.0,
    "init": "spectral", "min_dist": 0.1,
    "spread": 1.0, "low_memory": True, "n_jobs": -1, "set_op_mix_ratio": 1.0, "local_connectivity": 1.0,
    "repulsion_strength": 1.0, "negative_sample_rate": 5, "transform_queue_size": 4.0, "a": None, "b": None,
    "random_state": None, "angular_rp_forest": False, "target_n_neighbors": -1,
    "target_metric": "categorical", "target_metric_kwds": None, "target_weight": 0.5,
    "transform_seed": 42, "transform_mode": "embedding",
    "force_approximation_algorithm": False, "verbose": False, "tqdm_kwds": None, "unique": False,
    "densmap": False, "dens_lambda": 2.0, "dens_frac": 0.3, "dens_var_shift": 0.1, "output_dens": False,
    "disconnection_distance": None, "precomputed_knn": (None, None, None),
}  # fmt: skip
OTHER_DEFAULTS = {
    "learning_rate": "auto",
    "precomputed_knn": None,
}  # documented: they mean the same or better


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600].astype(np.float32), y[:600]


def short(**parameters):
    return UMAP(**{"n_epochs": 40, "random_state": 0, **parameters})


def test_signature_is_that_of_umap_learn():
    parameters = inspect.signature(UMAP).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == list(UMAP_LEARN)
    for name, default in UMAP_LEARN.items():
        assert parameters[name].default == OTHER_DEFAULTS.get(name, default), name
    assert UMAP(*UMAP_LEARN.values()).get_params()["n_neighbors"] == 15


# Parameters that have no effect, as the docstring says.
WITHOUT_EFFECT = {
    "low_memory": False, "transform_queue_size": 8.0, "angular_rp_forest": True,
    "tqdm_kwds": {"disable": True}, "force_approximation_algorithm": True, "n_jobs": 1,
}  # fmt: skip
# A value of each other parameter that changes the map.
WITH_EFFECT = {
    "n_neighbors": 5, "n_components": 3, "metric": "cosine", "output_metric": "manhattan", "n_epochs": 7,
    "learning_rate": 1.0, "init": "pca", "min_dist": 0.5, "spread": 2.0, "set_op_mix_ratio": 0.3,
    "local_connectivity": 3.0, "repulsion_strength": 2.0, "negative_sample_rate": 3, "a": 1.2, "b": 0.9,
    "random_state": 1, "target_n_neighbors": 4, "target_metric": "euclidean", "target_weight": 0.9,
    "transform_seed": 7, "transform_mode": "graph", "verbose": True, "unique": True, "densmap": True,
    "dens_lambda": 0.5, "dens_frac": 0.8, "dens_var_shift": 1.0, "output_dens": True,
    "disconnection_distance": 20.0, "precomputed_knn": None, "metric_kwds": {"p": 3.0},
    "output_metric_kwds": {"p": 3.0}, "target_metric_kwds": {"support_size": 2.0},
}  # fmt: skip


def test_every_parameter_is_listed():
    assert set(WITHOUT_EFFECT) | set(WITH_EFFECT) == set(UMAP_LEARN)


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_parameters_without_effect(digits, name):
    X = digits[0][:200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = short(**{name: WITHOUT_EFFECT[name]}).fit_transform(X)
    np.testing.assert_array_equal(changed, short().fit_transform(X))


# What a parameter needs to have an effect.
BESIDES = {
    "a": {"a": 1.5, "b": 1.1}, "b": {"a": 1.5, "b": 1.1}, "metric_kwds": {"metric": "minkowski"},
    "output_metric_kwds": {"output_metric": "minkowski"},
    "target_metric_kwds": {"target_metric": "ordinal"},
    "target_n_neighbors": {"target_metric": "euclidean"}, "dens_lambda": {"densmap": True},
    "dens_frac": {"densmap": True}, "dens_var_shift": {"densmap": True}, "disconnection_distance": {},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in WITH_EFFECT if name not in ("precomputed_knn", "verbose")])
@pytest.mark.filterwarnings("ignore:.*of your vertices")
def test_parameters_with_an_effect(digits, name):
    X, y = digits[0][:200].copy(), digits[1][:200]
    X[1] = X[0]  # a duplicate
    besides = BESIDES.get(name, {})
    before, after = short(**besides), short(**{**besides, name: WITH_EFFECT[name]})
    assert not same(results(before, X, y), results(after, X, y))


def results(model, X, y):
    fitted = model.fit_transform(X, y)
    return [fitted, model.transform(X[:20] + 0.25)]


def same(one, other):
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    one, other = (part.toarray() if sparse.issparse(part) else np.asarray(part) for part in (one, other))
    return one.shape == other.shape and np.array_equal(one, other)


def test_verbose_shows_a_bar(digits, capfd):
    short(verbose=True).fit(digits[0][:200])
    assert "layout" in capfd.readouterr().err


# unknown arguments


@pytest.mark.parametrize(
    ("name", "meant"),
    [("n_neighbours", "n_neighbors"), ("min_distance", "min_dist"), ("seed", "random_state"),
     ("metrics", "metric"), ("n_component", "n_components"), ("device", "backend")],
)  # fmt: skip
def test_unknown_arguments_are_explained(name, meant):
    with pytest.raises(TypeError, match=f"^UMAP has no parameter '{name}': did you mean '{meant}'"):
        UMAP(**{name: 3})


@pytest.mark.parametrize("estimator", [UMAP, TSNE, GDR, compat.UMAP])
def test_unknown_arguments_of_methods_are_explained(estimator):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for method in (estimator().fit, estimator().fit_transform):
        with pytest.raises(TypeError, match="'sample_weights': did you mean 'sample_weight'"):
            method(X, sample_weights=np.ones(40))
        with pytest.raises(TypeError, match="'labels': did you mean 'y'"):
            method(X, labels=np.ones(40))
    model = estimator().fit(X)
    with pytest.raises(TypeError, match=r"transform\(\) has no parameter 'ensure_finite': did you mean"):
        model.transform(X, ensure_finite=True)
    with pytest.raises(ValueError, match="'n_component': did you mean 'n_components'"):
        model.set_params(n_component=3)
    assert model.set_params(n_components=3).n_components == 3
    assert list(inspect.signature(estimator.fit).parameters)[:4] == ["self", "X", "y", "ensure_all_finite"]


@pytest.mark.parametrize("estimator", [UMAP, compat.UMAP])
def test_the_former_name_of_ensure_all_finite(estimator):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[0, 0] = np.nan
    model = estimator(metric=lambda a, b: float(np.nansum(np.abs(a - b))), n_epochs=2)
    for method in (model.fit, model.fit_transform, model.transform):
        with pytest.raises(ValueError, match="NaN"):
            method(X, force_all_finite=True)
        method(X, force_all_finite="allow-nan")


def test_unknown_argument_without_a_resemblance():
    with pytest.raises(TypeError, match=r"^UMAP has no parameter 'xyz'; its parameters are n_neighbors, "):
        UMAP(xyz=1)


# labels


def separation(Y, y):
    """The mean distance between the classes' centres over the mean distance to the own centre."""
    centers = np.array([Y[y == label].mean(axis=0) for label in np.unique(y)])
    within = np.sqrt(((Y - centers[y]) ** 2).sum(axis=1)).mean()
    between = np.sqrt(((centers[:, None] - centers[None]) ** 2).sum(axis=2))
    return between[between > 0].mean() / within


def test_labels_pull_classes_together(digits):
    X, y = digits
    plain, labelled = short().fit_transform(X), short().fit_transform(X, y)
    assert separation(labelled, y) > 1.3 * separation(plain, y)
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    np.testing.assert_array_equal(short().fit_transform(X, names), labelled)
    np.testing.assert_array_equal(short().fit_transform(X, list(y)), labelled)


def test_unknown_labels(digits):
    X, y = digits
    plain = short().fit_transform(X)
    half = np.where(np.arange(len(y)) % 2, y, -1)
    np.testing.assert_array_equal(
        short().fit_transform(X, np.where(half < 0, np.nan, half)), short().fit_transform(X, half)
    )
    assert separation(plain, y) < separation(short().fit_transform(X, half), y)


def test_new_rows_of_a_supervised_map_fall_into_their_classes(digits):
    X, y = digits
    model = short(n_epochs=100).fit(X[:450], y[:450])
    known = KNeighborsClassifier().fit(model.embedding_, y[:450])
    assert known.score(model.transform(X[450:]), y[450:]) > 0.85


def test_target_values(digits):
    X, _ = digits
    values = X.mean(axis=1)
    near = short(target_metric="euclidean").fit_transform(X, values)
    assert not np.array_equal(near, short().fit_transform(X))
    np.testing.assert_array_equal(near, short().fit_transform(X, values))  # numbers that are not whole
    both = np.column_stack([values, values**2])
    assert short().fit(X, both).embedding_.shape == (600, 2)


def test_pipelines_pass_labels_in_silence(digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = make_pipeline(short(), LogisticRegression(max_iter=1000)).fit(X[:450], y[:450])
    assert pipeline.score(X[450:], y[450:]) > 0.7


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [({}, [1, 2], "y has"), ({"target_weight": 2}, None, "target_weight=2"),
     ({"target_n_neighbors": 1, "target_metric": "euclidean"}, None, "target_n_neighbors=1"),
     ({"target_metric": "nothing"}, None, "target_metric='nothing'")],
)  # fmt: skip
def test_wrong_targets(digits, parameters, y, message):
    X, labels = digits
    with pytest.raises(ValueError, match=message):
        short(**parameters).fit(X, labels if y is None else y)


# epochs, density, graphs


@pytest.mark.parametrize("y", [None, np.arange(200) % 3])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target_metric": "foo"}, "target_metric='foo'"),
        ({"target_metric": 45}, "target_metric=45"),
        ({"target_metric_kwds": 3}, "target_metric_kwds=3 must be a dict"),
        ({"target_weight": 2.0}, "target_weight=2.0"),
        ({"target_weight": "much"}, "target_weight='much'"),
        ({"target_n_neighbors": 1}, "target_n_neighbors=1"),
        ({"target_n_neighbors": 2.5}, "target_n_neighbors=2.5 must be an integer"),
    ],
)
def test_wrong_parameters_of_targets_are_rejected_also_without_a_target(digits, parameters, message, y):
    with pytest.raises(ValueError, match=message):
        UMAP(**parameters).fit(digits[0][:200], y)


def test_distances_along_the_edges(digits):
    X = digits[0][:300]
    assert UMAP(n_epochs=1).fit(X).graph_dists_ is None
    for parameters in ({"densmap": True}, {"output_dens": True}):
        model = UMAP(n_epochs=1, random_state=0, **parameters).fit(X)
        lengths, graph = model.graph_dists_.tocoo(), model.graph_.tocoo()
        np.testing.assert_array_equal(lengths.row, graph.row)
        np.testing.assert_array_equal(lengths.col, graph.col)
        exact = np.linalg.norm(X[graph.row] - X[graph.col], axis=1)
        np.testing.assert_allclose(lengths.data, exact, rtol=1e-5)


def test_edges_of_target_values_have_no_distance(digits):
    X = digits[0][:300]
    for parameters in ({"densmap": True}, {"output_dens": True}):
        model = UMAP(n_epochs=5, target_metric="euclidean", random_state=0, **parameters).fit(X, X[:, 20])
        assert np.isfinite(model.rad_orig_).all() and np.isfinite(model.rad_emb_).all()
        assert 0 < model.graph_dists_.nnz < model.graph_.nnz


def test_parts_of_given_neighbors_and_epochs_are_attributes(digits):
    X = digits[0][:300]
    found = nearest_neighbors(X, 15)
    ids, distances = found.indices, found.distances
    model = UMAP(n_epochs=[1, 2], precomputed_knn=(ids, distances), random_state=0).fit(X)
    assert model.knn_indices is ids and model.knn_dists is distances and model.knn_search_index is None
    assert model.n_epochs_list == [1, 2]
    plain = UMAP(n_epochs=1).fit(X)
    assert plain.knn_indices is plain.knn_dists is plain.n_epochs_list is None
    assert not hasattr(UMAP(), "knn_indices") and not hasattr(UMAP(), "graph_dists_")


def test_list_of_epochs(digits):
    X = digits[0][:200]
    model = short(n_epochs=[0, 10, 25]).fit(X)
    assert len(model.embedding_list_) == 3 and model.n_epochs_ == 25
    np.testing.assert_array_equal(model.embedding_list_[-1], model.embedding_)
    np.testing.assert_array_equal(model.embedding_, short(n_epochs=25).fit_transform(X))
    assert not hasattr(short().fit(X), "embedding_list_")
    for wrong in ([], [1.5], [-1], [[1]]):
        with pytest.raises(ValueError, match=r"^n_epochs="):
            short(n_epochs=wrong).fit(X)


def test_densmap_preserves_local_radii():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(i * 30, 1 + 3 * i, (150, 10)) for i in range(3)]).astype(np.float32)
    Y, data, shown = short(n_epochs=200, densmap=True, output_dens=True).fit_transform(X)
    _, same_data, plain = short(n_epochs=200, output_dens=True).fit_transform(X)
    np.testing.assert_array_equal(data, same_data)
    assert Y.shape == (450, 2) and data.shape == shown.shape == (450,)
    assert np.corrcoef(data, shown)[0, 1] > max(0.8, np.corrcoef(data, plain)[0, 1])


def test_radii_are_attributes_only_if_asked_for(digits):
    model = short().fit(digits[0][:200])
    assert not hasattr(model, "rad_orig_") and not hasattr(model, "rad_emb_")


def test_graph_mode(digits):
    X = digits[0][:200]
    model = short(transform_mode="graph")
    graph = model.fit_transform(X)
    assert graph.shape == (200, 200) and abs(graph - short().fit(X).graph_).max() == 0
    new = model.transform(digits[0][200:230])
    assert new.shape == (30, 200) and new.format == "csr" and 0 < new.data.min() <= new.data.max() <= 1
    with pytest.raises(ValueError, match="transform_mode='matrix'"):
        short(transform_mode="matrix").fit(X)


def test_models_are_combined(digits):
    X, y = digits[0][:300], digits[1][:300]
    one, other = short().fit(X[:, :32]), short().fit(X[:, 32:])
    for model in (one * other, one + other, one - other):
        assert model.embedding_.shape == (300, 2) and np.isfinite(model.embedding_).all()
        assert abs(model.graph_ - model.graph_.T).max() < 1e-6
        with pytest.raises(ValueError, match="was combined of two others"):
            model.transform(X)
    assert separation((one * other).embedding_, y) > 0.9 * separation(one.embedding_, y)
    with pytest.raises(ValueError, match="300 and 100 samples"):
        one * short().fit(X[:100])
    with pytest.raises(TypeError):
        one * 3


# duplicates and lonely points


@pytest.mark.parametrize("as_kind", [np.asarray, sparse.csr_matrix])
def test_unique(digits, as_kind):
    X = digits[0][:150]
    order = np.random.default_rng(0).integers(0, 150, 400)
    model = short(unique=True).fit(as_kind(X[order]))
    for i in range(150):
        assert len(np.unique(model.embedding_[order == i], axis=0)) <= 1
    assert model.graph_.shape[0] == len(np.unique(order)) and model.embedding_.shape == (400, 2)
    np.testing.assert_array_equal(model.transform(as_kind(X[order])), model.embedding_)
    with pytest.raises(ValueError, match="unique=True needs rows"):
        short(unique=True, metric="precomputed").fit(np.zeros((20, 20)))


def lonely_rows(count):
    """Rows of bits of which the last ones have nothing in common with any other."""
    X = np.random.default_rng(0).random((60, 30)) < 0.5
    own = np.zeros((60 + count, count), bool)
    own[60:] = np.eye(count)
    return np.hstack([np.vstack([X, np.zeros((count, 30), bool)]), own])


@pytest.mark.parametrize(("count", "amount"), [(2, "A few"), (20, "A large number")])
def test_disconnected_samples(count, amount):
    X = lonely_rows(count)
    with pytest.warns(UserWarning, match=f"{amount} of your vertices .* {count} of {60 + count} samples"):
        placed = short(metric="jaccard", n_neighbors=5).fit(X)
    assert np.isfinite(placed.embedding_).all()
    assert (placed.graph_.sum(axis=1)[60:] == 0).all()
    with pytest.warns(UserWarning, match="of your vertices"):
        model = short(metric="jaccard", n_neighbors=5, disconnected="nan").fit(X)
    assert np.isnan(model.embedding_[60:]).all() and np.isfinite(model.embedding_[:60]).all()
    new = model.transform(X[55:65])
    np.testing.assert_array_equal(new, model.embedding_[55:65])


def test_disconnection_distance(digits):
    X = digits[0][:200]
    limit = float(np.median(np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)))) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = short(disconnection_distance=limit).fit(X)
    rows, columns = model.graph_.nonzero()
    assert np.sqrt(((X[rows] - X[columns]) ** 2).sum(axis=1)).max() < limit
    assert model.graph_.nnz < short().fit(X).graph_.nnz
    for wrong in ("far", -1, math.nan):
        with pytest.raises(ValueError, match="disconnection_distance="):
            short(disconnection_distance=wrong).fit(X)


# neighbours that are given


def test_too_few_given_neighbors_are_searched_again(digits):
    X = digits[0][:200]
    indices = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, :5]
    distances = np.sqrt(((X[:, None] - X[indices]) ** 2).sum(axis=2))
    with pytest.warns(UserWarning, match="precomputed_knn has 4 neighbours of each of 200 samples"):
        Y = short(precomputed_knn=(indices, distances)).fit_transform(X)
    np.testing.assert_array_equal(Y, short().fit_transform(X))


def test_clone_and_parameters_of_a_fitted_model(digits):
    model = UMAP(*UMAP_LEARN.values()).set_params(random_state=0, n_epochs=[5, 10])
    before = dict(model.get_params())
    model.fit(digits[0][:100], digits[1][:100])
    assert model.get_params() == before == clone(model).get_params()
