"""The interface of openTSNE: every parameter, embeddings that are optimised further, and new rows."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris

from actup.compat import opentsne
from actup.compat.opentsne import affinity, initialization, nearest_neighbors
from actup.compat.opentsne._interpolation import InterpolationGrid
from actup.compat.opentsne.tsne import gradient_descent, kl_divergence_bh
from actup.graph._gaussian import gaussian_rows
from actup.quality._gradient import Repulsion, Similarities, kl_gradient

X = load_iris().data + np.random.default_rng(0).normal(0, 1e-3, (150, 4))
BH = {"negative_gradient_method": "bh"}
FFT = {"negative_gradient_method": "fft"}


def short(**parameters):
    defaults = {"early_exaggeration_iter": 20, "n_iter": 20, "random_state": 0}
    return opentsne.TSNE(**{**defaults, **parameters})


@pytest.fixture(scope="module")
def embedding():
    return short(n_iter=60).fit(X)


# --- parameters ---

WITHOUT_EFFECT = {"n_jobs": 2, "knn_kwargs": {"n_trees": 10}}
# parameter: (what it is compared with, what changes)
CHANGES = {
    "n_components": ({}, {"n_components": 1}),
    "perplexity": ({}, {"perplexity": [5, 20]}),
    "learning_rate": ({}, {"learning_rate": 5.0}),
    "early_exaggeration_iter": ({}, {"early_exaggeration_iter": 5}),
    "early_exaggeration": ({}, {"early_exaggeration": 4}),
    "n_iter": ({}, {"n_iter": 5}),
    "exaggeration": ({}, {"exaggeration": 2}),
    "dof": ({}, {"dof": 0.6}),
    "theta": (BH, {**BH, "theta": 0.9}),
    "n_interpolation_points": (FFT, {**FFT, "n_interpolation_points": 2}),
    "min_num_intervals": (FFT, {**FFT, "min_num_intervals": 1}),
    "ints_in_interval": (FFT, {**FFT, "ints_in_interval": 2}),
    "initialization": ({}, {"initialization": "spectral"}),
    "metric": ({}, {"metric": "manhattan"}),
    "metric_params": ({"metric": "minkowski"}, {"metric": "minkowski", "metric_params": {"p": 4}}),
    "initial_momentum": ({}, {"initial_momentum": 0.5}),
    "final_momentum": ({}, {"final_momentum": 0.5}),
    "max_grad_norm": ({}, {"max_grad_norm": 1e-4}),
    "max_step_norm": ({}, {"max_step_norm": 0.01}),
    "neighbors": ({}, {"neighbors": "annoy"}),
    "negative_gradient_method": (BH, FFT),
    "callbacks": ({}, {"callbacks": lambda *state: True, "callbacks_every_iters": 15}),
    "callbacks_every_iters": (
        {"callbacks": lambda *state: True},
        {"callbacks": lambda *state: True, "callbacks_every_iters": 10},
    ),
    "random_state": ({}, {"random_state": 1}),
}


def test_every_parameter_is_exercised():
    assert set(inspect.signature(opentsne.TSNE).parameters) == set(CHANGES) | set(WITHOUT_EFFECT) | {
        "verbose"
    }


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_changes_the_embedding(name):
    before, after = (short(**parameters).fit(X) for parameters in CHANGES[name])
    assert np.isfinite(after).all()
    assert before.shape != after.shape or not np.array_equal(before, after)


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_parameters_without_effect_leave_the_embedding_as_it_is(name):
    changed = short(**{name: WITHOUT_EFFECT[name]}).fit(X)
    assert np.array_equal(changed, short().fit(X))


def test_verbose_prints_the_divergence(capsys):
    short(verbose=True, n_iter=50).fit(X)
    assert "Iteration   50, KL divergence" in capsys.readouterr().out


def test_parameters_are_kept_as_they_were_given():
    model = opentsne.TSNE(early_exaggeration="auto", exaggeration=20)
    assert clone(model).get_params()["early_exaggeration"] == "auto"
    assert model._early_exaggeration() == 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": "fast"}, "learning_rate='fast' must be"),
        ({"negative_gradient_method": "exact"}, "negative_gradient_method='exact' is not"),
        ({"callbacks": 3}, "callbacks=3 must be callable"),
        ({"initialization": "isomap"}, "initialization='isomap' is not"),
        ({"neighbors": "faiss"}, "method='faiss' is not one of"),
        ({"metric": "imaginary"}, "imaginary"),
    ],
)
def test_wrong_parameters_are_rejected(parameters, message):
    with pytest.raises(ValueError, match=message):
        short(**parameters).fit(X)


# --- the gradient ---


def similarities(n=40):
    return affinity.PerplexityBasedNN(X[:n], perplexity=8).P


@pytest.mark.parametrize("dof", [1.0, 0.6, 2.0])
def test_gradient_is_the_derivative_of_the_divergence(dof):
    P, Y = Similarities.from_scipy(similarities()), np.random.default_rng(1).normal(size=(40, 2))
    exact = Repulsion("exact")
    gradient, _ = kl_gradient(P, Y, exact, dof=dof, threads=1)
    for at in [(0, 0), (7, 1), (39, 0)]:
        step = np.zeros_like(Y)
        step[at] = 1e-5
        ahead, behind = (kl_gradient(P, Y + sign * step, exact, dof=dof, threads=1)[1] for sign in (1, -1))
        assert 4 * gradient[at] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_forces_are_those_of_plain_numpy(dimensions):
    Y = np.random.default_rng(2).normal(size=(40, dimensions))
    P = similarities()
    gradient, divergence = kl_gradient(Similarities.from_scipy(P), Y, Repulsion("exact"), threads=2)
    difference = Y[:, None] - Y
    q = 1 / (1 + (difference**2).sum(axis=2))
    np.fill_diagonal(q, 0)
    dense = P.toarray()
    expected = (((dense - q / q.sum()) * q)[:, :, None] * difference).sum(axis=1)
    assert gradient == pytest.approx(expected, abs=1e-12)
    p, q = dense[dense > 0], q[dense > 0] / q.sum()
    assert divergence == pytest.approx((p * np.log(p / q)).sum())


@pytest.mark.parametrize("method", ["barnes_hut", "mesh"])
def test_approximate_gradients_are_close_to_the_exact_one(embedding, method):
    P, Y = Similarities.from_scipy(embedding.affinities.P), np.asarray(embedding)
    exact, divergence = kl_gradient(P, Y, Repulsion("exact"), threads=2)
    close, measured = kl_gradient(P, Y, Repulsion(method, spacing=0.3), threads=2)
    assert np.linalg.norm(close - exact) < 0.05 * np.linalg.norm(exact) + 1e-4
    assert measured == pytest.approx(divergence, abs=2e-3)


def test_unsafe_similarities_are_rejected():
    P = similarities()
    wrong = csr_matrix((P.data, np.where(P.indices == 3, 999, P.indices), P.indptr))
    wrong._shape = P.shape
    with pytest.raises(ValueError, match="column numbers"):
        Similarities.from_scipy(wrong)


# --- affinities ---


@pytest.mark.parametrize("perplexity", [2, 10, 45.5])
def test_gaussian_rows_have_the_perplexity(perplexity):
    distances = nearest_neighbors.Sklearn(X, k=100).build()[1]
    rows = gaussian_rows(distances, [perplexity])
    assert np.exp(-(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1)) == pytest.approx(perplexity)
    assert rows.sum(axis=1) == pytest.approx(1)


def test_gaussian_rows_of_equal_and_of_huge_distances_are_finite():
    equal, far = np.zeros((2, 10)), np.linspace(1e150, 1.1e150, 10)[None]
    assert gaussian_rows(equal, [3]) == pytest.approx(0.1)
    assert np.isfinite(gaussian_rows(np.ones((2, 10)) * 5, [3.0, 9.0])).all()
    assert np.isfinite(gaussian_rows(far / 1e140, [3.0])).all()


def test_the_index_survives_a_pickle():
    index = nearest_neighbors.NNDescent(X, k=5)
    index.build()
    loaded = pickle.loads(pickle.dumps(index))
    assert np.array_equal(loaded.query(X[:9], 5)[0], index.query(X[:9], 5)[0])


def test_given_affinities_are_not_changed():
    P = affinity.Uniform(X).P * 7
    before = P.data.copy()
    embedding = opentsne.TSNEEmbedding(
        initialization.random(150, random_state=0), affinity.PrecomputedAffinities(P)
    )
    embedding.optimize(5, exaggeration=12, inplace=True)
    assert np.array_equal(P.data, before)
    assert embedding.affinities.P.sum() == pytest.approx(1)


# --- optimisation ---


def test_optimize_runs_its_iterations_and_calls_back():
    start = short().prepare_initial(X)
    seen = []
    moved = start.optimize(
        35,
        callbacks=lambda iteration, error, points: seen.append((iteration, error)),
        callbacks_every_iters=10,
    )
    assert [iteration for iteration, _ in seen] == [10, 20, 30]
    in_steps = start
    for _ in range(7):
        in_steps = in_steps.optimize(5)
    assert np.array_equal(moved, in_steps)
    assert moved.kl_divergence == in_steps.kl_divergence
    assert seen[-1][1] == pytest.approx(start.optimize(29).kl_divergence)


def test_a_callback_stops_the_optimization():
    start = short().prepare_initial(X)
    options = {"callbacks": lambda iteration, error, points: iteration == 8, "callbacks_every_iters": 4}
    stopped = start.optimize(20, **options)
    assert np.array_equal(stopped, start.optimize(7))  # the callback sees the points before the eighth step
    with pytest.raises(opentsne.OptimizationInterrupt) as caught:
        start.optimize(20, propagate_exception=True, **options)
    assert np.array_equal(caught.value.final_embedding, stopped)


def test_an_own_objective_takes_the_place_of_the_gradient():
    def negated(*arguments, **options):
        error, gradient = kl_divergence_bh(*arguments, **options)
        return error, -gradient

    start = short().prepare_initial(X)
    assert (
        start.optimize(20, negative_gradient_method=negated, learning_rate=1).kl_divergence
        > start.optimize(20, learning_rate=1).kl_divergence
    )


def test_divergence_falls_and_is_that_of_the_points(embedding):
    further = embedding.optimize(50)
    assert further.kl_divergence < embedding.kl_divergence
    P = embedding.affinities.P
    assert embedding.kl_divergence == pytest.approx(
        opentsne.kl_divergence.kl_divergence_exact(P, embedding), abs=2e-3
    )


def test_embeddings_survive_a_pickle(embedding):
    loaded = pickle.loads(pickle.dumps(embedding))
    assert np.array_equal(loaded, embedding) and loaded.kl_divergence == embedding.kl_divergence
    assert np.array_equal(loaded.optimize(3), embedding.optimize(3))
    assert type(pickle.loads(pickle.dumps(embedding[:5]))) is opentsne.TSNEEmbedding


# --- new rows ---


@pytest.mark.parametrize("method", ["bh", "fft"])
def test_new_rows_land_among_their_neighbours_and_leave_the_map_alone(method):
    target = load_iris().target
    embedding = short(negative_gradient_method=method, n_iter=60).fit(X[::2])
    before = np.array(embedding)
    placed = embedding.transform(X[1::2], n_iter=30)
    assert np.array_equal(embedding, before)
    nearest = ((np.asarray(placed)[:, None] - before) ** 2).sum(axis=2).argmin(axis=1)
    assert (target[::2][nearest] == target[1::2]).mean() > 0.9
    one = embedding.transform(X[1:2], n_iter=30)
    assert np.asarray(one) == pytest.approx(np.asarray(placed[:1]), abs=1e-9)


def test_interpolation_grid_gives_the_repulsion(embedding):
    from actup._engine import engine

    points = np.ascontiguousarray(embedding).view(np.ndarray)
    grid = InterpolationGrid.of_embedding(points, 0.3, 0.25, 1.0, 2)
    places = np.random.default_rng(0).uniform(points.min(axis=0), points.max(axis=0), (50, 2))
    force, sums = grid.repulsion_at(places)
    exact_force, exact_sums = engine.repulsion_from_reference(places, points, 1.0, 2)
    assert sums == pytest.approx(exact_sums, rel=2e-3)
    assert force == pytest.approx(exact_force, abs=0.01 * np.abs(exact_force).max())


@pytest.mark.parametrize("start", ["median", "weighted", "random"])
def test_partial_embeddings_start_where_they_are_told(embedding, start):
    partial = embedding.prepare_partial(X[:10], initialization=start, perplexity=5)
    assert partial.shape == (10, 2) and np.isfinite(partial).all()
    assert partial.optimize(3, learning_rate=0.1).kl_divergence is not None


def test_optimizers_are_checked_and_copied():
    with pytest.raises(TypeError, match="must be a gradient_descent"):
        opentsne.TSNEEmbedding(np.zeros((150, 2)), affinity.Uniform(X), optimizer="adam")
    descent = gradient_descent()
    assert descent.copy().gains is None


def test_lists_of_rows_are_read():
    rows = X[:60].tolist()
    np.testing.assert_array_equal(short(perplexity=5).fit(rows), short(perplexity=5).fit(X[:60]))
    for make in (
        lambda data: affinity.PerplexityBasedNN(data, perplexity=5),
        lambda data: affinity.Multiscale(data, perplexities=[5]),
        lambda data: affinity.FixedSigmaNN(data, sigma=1, k=5),
        lambda data: affinity.Uniform(data, k_neighbors=5),
    ):
        assert (make(rows).P != make(X[:60]).P).nnz == 0
        with pytest.raises(TypeError, match="data is a single number"):
            make(np.float32(2))
    with pytest.raises(TypeError, match="X is a single number"):
        short().fit(np.float32(2))
    assert initialization.random(rows, 3).shape == (60, 3)


@pytest.mark.parametrize("start", [X[:, 0], np.float64(3), X[:, :0]])
def test_starts_that_are_no_matrix_are_rejected(start):
    for change in (initialization.rescale, initialization.jitter):
        with pytest.raises(ValueError, match=r"^x has shape .* give a start"):
            change(start)


@pytest.mark.parametrize("n_components", [2**42, 2**60, 10**400])
def test_starts_that_no_memory_holds_name_the_dimensions(n_components):
    with pytest.raises(MemoryError, match=r"^n_samples=150 with n_components=.* needs more memory"):
        initialization.random(X, n_components)
