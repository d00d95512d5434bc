"""Maps that take in new rows, follow new data, show a selection; pinned points and weights of samples."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

import actup
from actup import GDR, TSNE, UMAP, ParametricUMAP, nearest_neighbors

SHORT = {UMAP: {"n_epochs": 30}, TSNE: {"max_iter": 60, "perplexity": 10}, GDR: {"epochs": 30}}
KINDS = list(SHORT)


def short(kind, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, 6)) * 6
    return np.concatenate([rng.normal(center, 1, (40, 6)) for center in centers]).astype(np.float32)


@pytest.fixture(scope="module")
def groups():
    return np.repeat(np.arange(4), 40)


def same_group_share(Y, groups, k=5):
    """The share of the k nearest points on a map that belong to the same group."""
    distances = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :k]
    return (groups[nearest] == groups[:, None]).mean()


# partial_fit and update


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_kind", [np.asarray, sparse.csr_matrix])
def test_partial_fit_keeps_old_points_and_places_new_ones(X, groups, kind, as_kind):
    order = np.random.default_rng(1).permutation(len(X))
    first, second = order[:110], order[110:]
    model = short(kind).partial_fit(as_kind(X[first]))
    before = model.embedding_.copy()
    assert model.partial_fit(as_kind(X[second])) is model
    np.testing.assert_array_equal(model.embedding_[:110], before)
    assert model.embedding_.shape == (160, 2) and np.isfinite(model.embedding_).all()
    assert same_group_share(model.embedding_, groups[order]) > 0.9
    assert model.graph_.shape == (160, 160)
    np.testing.assert_array_equal(model.transform(as_kind(X[order])), model.embedding_)


def test_update_is_partial_fit_of_a_fitted_model(X):
    with pytest.raises(NotFittedError):
        short(UMAP).update(X)
    one, other = short(UMAP).fit(X[:100]), short(UMAP).fit(X[:100])
    np.testing.assert_array_equal(one.update(X[100:]).embedding_, other.partial_fit(X[100:]).embedding_)


def test_partial_fit_with_labels(X, groups):
    model = short(UMAP).partial_fit(X[::2], groups[::2])
    with pytest.raises(ValueError, match=r"^y must have one label for each of 80 new rows"):
        model.partial_fit(X[1::2])
    assert len(model.embedding_) == 80
    model.partial_fit(X[1::2], groups[1::2])
    assert same_group_share(model.embedding_, np.concatenate([groups[::2], groups[1::2]])) > 0.95


def test_update_names_the_method_that_takes_labels(X, groups):
    model = short(UMAP).fit(X[::2], groups[::2])
    with pytest.raises(ValueError, match=r"^y must have one label.*use partial_fit\(X, y\)"):
        model.update(X[1::2])
    with pytest.raises(TypeError, match=r"^ensure_all_finite is a ndarray.*partial_fit"):
        model.update(X[1::2], groups[1::2])


def test_failing_partial_fit_changes_nothing(X):
    model = short(UMAP).fit(X)
    before = pickle.dumps(model.embedding_)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3])
    assert pickle.dumps(model.embedding_) == before and len(model._training) == 160


def test_partial_fit_needs_rows(X):
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = short(UMAP, metric="precomputed").fit(distances)
    with pytest.raises(ValueError, match="partial_fit needs rows"):
        model.partial_fit(distances)


def test_networks_learn_the_grown_map(X):
    model = ParametricUMAP(n_epochs=20, n_training_epochs=20, hidden_layer_sizes=(20,), random_state=0)
    list(model.iter_fit(X[:100]))
    first = model.network_
    model.partial_fit(X[100:])
    assert model.network_ is not first and model.transform(X).shape == (160, 2)
    assert model.subset(np.arange(80)).transform(X[:5]).shape == (5, 2)
    assert model.refit(X[:120]).transform(X[:5]).shape == (5, 2)


def test_partial_fit_after_given_neighbors_and_of_another_kind(X):
    found = nearest_neighbors(X[:100], 20)
    model = short(TSNE, precomputed_knn=(found.indices, found.distances), perplexity=5).fit(X[:100])
    before = model.embedding_.copy()
    model.partial_fit(sparse.csr_matrix(X[100:]))
    np.testing.assert_array_equal(model.embedding_[:100], before)


def test_disconnected_samples_get_a_place_when_neighbors_come(X):
    rows = np.vstack([np.eye(20, dtype=bool)[:1], np.random.default_rng(0).random((40, 20)) < 0.5])
    rows[1:, 0] = False
    with pytest.warns(UserWarning, match="of your vertices"):
        model = short(UMAP, metric="jaccard", n_neighbors=5, disconnected="nan").fit(rows)
    before = model.embedding_.copy()
    assert np.isnan(before[0]).all()
    near = np.repeat(rows[:1], 6, axis=0)
    near[:, 1:7] |= np.eye(6, dtype=bool)
    model.partial_fit(near)
    np.testing.assert_array_equal(model.embedding_[1:41], before[1:])
    assert np.isfinite(model.embedding_).all()


# pinned points


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_points_stay_and_others_settle(X, groups, kind):
    free = np.random.default_rng(2).random(160) < 0.3
    made = short(kind).fit_transform(X)
    init = np.where(free[:, None], np.nan, made)
    Y = short(kind, init=init).fit(X, fixed=~free).embedding_
    np.testing.assert_array_equal(Y[~free], made[~free])
    assert np.isfinite(Y).all() and same_group_share(Y, groups) > 0.9


def test_shares_of_fixed_points(X):
    start = short(UMAP).fit_transform(X)
    moved = [
        np.abs(short(UMAP, init=start).fit(X, fixed=np.full(160, share)).embedding_ - start).mean()
        for share in (0.0, 0.9, 1.0)
    ]
    assert moved[0] > moved[1] > moved[2] == 0


@pytest.mark.parametrize(
    ("fixed", "init", "message"),
    [
        (np.ones(160), "pca", "fixed needs places"),
        (np.ones(3), np.zeros((160, 2)), r"fixed has shape \(3,\)"),
        (np.full(160, 2.0), np.zeros((160, 2)), r"fixed has 2.0 \(row 0\)"),
        (np.full(160, np.nan), np.zeros((160, 2)), r"fixed has nan \(row 0\)"),
        (
            np.ones(160),
            np.full((160, 2), np.nan),
            "fixed keeps sample 0 at its place, but its row of init is",
        ),
    ],
)
def test_wrong_fixed(X, fixed, init, message):
    with pytest.raises(ValueError, match=message):
        short(UMAP, init=init).fit(X, fixed=fixed)


# weights of samples


def test_sample_weights(X):
    plain = short(UMAP).fit_transform(X)
    np.testing.assert_array_equal(short(UMAP).fit(X, sample_weight=np.ones(160)).embedding_, plain)
    weights = np.linspace(0.1, 3, 160)
    assert not np.array_equal(short(UMAP).fit(X, sample_weight=weights).embedding_, plain)
    for wrong in (weights[:5], -weights, weights * np.nan):
        with pytest.raises(ValueError, match="sample_weight"):
            short(UMAP).fit(X, sample_weight=wrong)


LEFT_OUT = [{}, {"unique": True}, {"metric": "precomputed"}, {"init": "array"}, {"precomputed_knn": "lists"}]


@pytest.mark.parametrize("parameters", [*LEFT_OUT, {"densmap": True}], ids=str)
def test_samples_of_weight_zero_are_left_out(X, parameters):
    """The map of the others is that of a fit without them, to the bit, and new rows are placed alike."""
    weights = np.arange(160) % 8 / 3.5
    kept, data = np.flatnonzero(weights), X
    if parameters.get("metric") == "precomputed":
        data = pairwise_distances(X).astype(np.float32)
    without = data[np.ix_(kept, kept)] if data is not X else X[kept]
    ours, theirs = dict(parameters), dict(parameters)
    if "init" in parameters:
        ours["init"] = np.random.default_rng(0).normal(size=(160, 2)).astype(np.float32)
        theirs["init"] = ours["init"][kept]
    if "precomputed_knn" in parameters:  # lists long enough to keep 14 neighbours in any case
        search = NearestNeighbors(n_neighbors=60, algorithm="kd_tree")
        ours["precomputed_knn"] = search.fit(X).kneighbors()[::-1]
        theirs["precomputed_knn"] = search.fit(X[kept]).kneighbors()[::-1]
    model = short(UMAP, **ours).fit(data, sample_weight=weights)
    smaller = short(UMAP, **theirs).fit(without, sample_weight=weights[kept])
    np.testing.assert_array_equal(model.embedding_[kept], smaller.embedding_)
    new = np.random.default_rng(1).normal(size=(5, X.shape[1])).astype(np.float32)
    if data is X:
        np.testing.assert_array_equal(model.transform(new), smaller.transform(new))
        np.testing.assert_array_equal(model.inverse_transform([[0, 0]]), smaller.inverse_transform([[0, 0]]))
        np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert np.isfinite(model.embedding_).all()
    assert same_group_share(model.embedding_, np.repeat(np.arange(4), 40)) > 0.95
    if not parameters.get("unique"):
        graph = model.graph_
        assert graph.shape == (160, 160) and not graph[weights == 0].nnz
        assert (graph[np.ix_(kept, kept)] != smaller.graph_).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_weight_zero_of_every_estimator(kind, X):
    weights = (np.arange(160) % 2).astype(float)
    model = short(kind).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.embedding_[1::2], short(kind).fit_transform(X[1::2]))


def test_what_models_with_samples_of_weight_zero_can_do(X, tmp_path):
    weights = (np.arange(160) % 4 > 0).astype(float)
    model = short(UMAP).fit(X, sample_weight=weights)
    model.save(tmp_path / "model")
    for loaded in (actup.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(loaded.transform(X[:9] + 0.1), model.transform(X[:9] + 0.1))
    memberships = (
        clone(model).set_params(transform_mode="graph").fit(X, sample_weight=weights).transform(X[:9])
    )
    assert memberships.shape == (9, 160) and memberships.nnz
    assert not memberships[:, weights == 0].nnz
    assert model.subset(np.arange(80)).embedding_.shape == (80, 2)
    before = model.embedding_
    model.partial_fit(X[:5] + 0.1)
    np.testing.assert_array_equal(model.embedding_[:160], before)
    apart = X.copy()
    apart[[1, 2]] += 1000 * np.eye(2, X.shape[1])  # disconnected, and sample 0 has weight 0
    model = short(UMAP, disconnected="nan", disconnection_distance=100)
    with pytest.warns(UserWarning, match="2 of 120 samples"):
        Y = model.fit_transform(apart, sample_weight=weights)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(Y).any(axis=1)), [1, 2])
    np.testing.assert_array_equal(model.transform(apart), Y)


# refit


@pytest.mark.parametrize("kind", KINDS)
def test_refit_resembles_the_map_before(X, kind):
    model = short(kind).fit(X[:150])
    before = model.embedding_.copy()
    new = model.refit(X[10:])
    np.testing.assert_array_equal(model.embedding_, before)
    assert new is not model and new.embedding_.shape == (150, 2)
    assert 0 <= new.movement_ < 0.5
    fresh = short(kind, init="random", random_state=5).fit(X[10:]).embedding_
    radius = np.sqrt(before.var(axis=0).sum())
    moved, anew = (
        np.sqrt(((Y[:140] - before[10:]) ** 2).sum(axis=1).mean()) / radius for Y in (new.embedding_, fresh)
    )
    assert moved < anew
    assert new.movement_ == pytest.approx(moved, rel=1e-5)
    assert new.n_shared_ == 140


STEADY = [
    (UMAP(random_state=0), 0.025),
    (TSNE(random_state=0), 0.025),
    (GDR(random_state=0), 0.025),
    (GDR(normalized=True, random_state=0), 0.025),
    (UMAP(random_state=0, learning_rate=1.0), 0.04),  # sampled repulsion moves points at random
    (UMAP(random_state=0, n_components=3), 0.04),
]


@pytest.mark.parametrize(("model", "limit"), STEADY, ids=str)
def test_refit_of_unchanged_data_stays_put(model, limit):
    X = load_digits().data[:600]
    new = model.fit(X).refit(X)
    assert new.n_shared_ == 600 and new.movement_ <= limit
    assert new.recipe_ == model.recipe_


@pytest.mark.parametrize("kind", KINDS)
def test_refit_of_changed_data_is_as_good_as_a_fit(kind):
    X = load_digits().data
    new = kind(random_state=0).fit(X[:600]).refit(X[300:900])
    fitted = kind(random_state=0).fit(X[300:900])
    measured, expected = (trustworthiness(X[300:900], part.embedding_) for part in (new, fitted))
    assert measured > expected - 0.005
    assert new.movement_ < 0.3


def test_refit_without_shared_rows_has_no_movement(X, tmp_path):
    new = short(UMAP).fit(X).refit(X + np.float32(0.01))
    assert new.n_shared_ == 0 and np.isnan(new.movement_)
    new.save(tmp_path / "model")
    assert np.isnan(actup.load(tmp_path / "model").movement_)


def test_refit_of_models_whose_transform_gives_no_places(X):
    assert short(UMAP, transform_mode="graph").fit(X).refit(X).n_shared_ == 160
    network = {"n_training_epochs": 2, "hidden_layer_sizes": (5,)}
    assert short(UMAP).fit(X).set_output(transform="pandas").refit(X).n_shared_ == 160
    assert ParametricUMAP(n_epochs=20, random_state=0, **network).fit(X).refit(X).n_shared_ == 160


def test_refit_of_disconnected_samples(X):
    apart = X.copy()
    apart[0] += 1000
    model = short(UMAP, disconnected="nan", disconnection_distance=100)
    with pytest.warns(UserWarning, match="1 of 160 samples"):
        new = model.fit(apart).refit(apart)
    assert np.isnan(new.embedding_[0]).all() and np.isfinite(new.embedding_[1:]).all()
    assert new.n_shared_ == 159 and np.isfinite(new.movement_)


def test_refit_that_is_stopped_keeps_what_it_has_reached(X):
    model = short(UMAP).fit(X[:100])
    model.set_params(callback=lambda stage, fraction, embedding: stage == "layout" and fraction > 0.2)
    new = model.refit(X)
    assert 0 < new.n_epochs_ < 30 and new.n_shared_ == 100


# subset


@pytest.mark.parametrize("kind", KINDS)
def test_subset(X, groups, kind):
    model = short(kind).fit(X)
    selected = groups < 2
    part = model.subset(selected)
    assert part.embedding_.shape == (80, 2) and model.embedding_.shape == (160, 2)
    np.testing.assert_array_equal(part.graph_.toarray(), model.graph_[selected][:, selected].toarray())
    assert same_group_share(part.embedding_, groups[selected]) > 0.9
    np.testing.assert_array_equal(part.transform(X[selected]), part.embedding_)
    by_number = model.subset(np.flatnonzero(selected))
    np.testing.assert_array_equal(part.embedding_, by_number.embedding_)


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        (np.ones(3, bool), ValueError, r"selection has shape \(3,\)"),
        ([0.5, 1.5], TypeError, "selection holds float64"),
        ([3], ValueError, "selection has 1 samples"),
        ([3, 200], ValueError, "numbers 3 to 200"),
        ([3, 3], ValueError, "names a sample twice"),
        ([0, 159], ValueError, "none of which is a neighbour"),
    ],
)
def test_wrong_selections(X, selection, error, message):
    with pytest.raises(error, match=message):
        short(UMAP).fit(X).subset(selection)
