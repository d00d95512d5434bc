"""t-SNE from start to end, on real and degenerate data: low loss, sane maps, same bits, bounded memory."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris

from actup import GDR, TSNE, embed, quality
from actup._engine import engine
from actup.graph._records import Graph
from actup.quality import _losses as losses
from actup.recipe._presets import preset

KERNEL, CURVE = engine.PotentialKind.kernel, engine.Curve(1, 1, 1)
FOLDER = os.environ.get("ACTUP_DATA")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return np.float32(X), y


@pytest.fixture(scope="module")
def model(digits):
    return TSNE(random_state=0).fit(digits[0])


def graph_of(model) -> Graph:
    return Graph(model.graph_.indptr, model.graph_.indices, model.graph_.data)


# --- the repulsion on a converged map ---


def assert_mesh_is_close(Y):
    force, _, total = engine.Mesh(KERNEL, CURVE, 0.0, 0.5, 1024).repel(Y, 2)
    exact, _, exact_total = engine.tree_repulsion(Y, KERNEL, CURVE, 0.0, 0.0, 2)
    assert total == pytest.approx(exact_total, rel=1e-3)
    assert np.sqrt(((force - exact) ** 2).sum() / (exact**2).sum()) < 0.05


def test_mesh_is_close_on_a_converged_map(model):
    assert_mesh_is_close(model.embedding_)


@pytest.mark.skipif(not FOLDER, reason="ACTUP_DATA names no folder with mnist.npz")
def test_mesh_is_close_on_a_converged_map_of_mnist():
    with np.load(Path(FOLDER) / "mnist.npz") as archive:
        X = np.float32(archive["X"][:5000])
    assert_mesh_is_close(TSNE(random_state=0).fit_transform(X))


# --- the loss ---


@pytest.mark.parametrize(
    "perplexity", [pytest.param(5, marks=pytest.mark.slow), 30, pytest.param(100, marks=pytest.mark.slow)]
)
def test_loss_is_no_higher_than_that_of_scikit_learn(digits, perplexity):
    from sklearn.manifold import TSNE as Peer
    from threadpoolctl import threadpool_limits

    X = digits[0][::5]
    ours = TSNE(perplexity=perplexity, random_state=0).fit(X)
    with threadpool_limits(1):  # its threads spin, which takes many times longer beside other processes
        theirs = Peer(perplexity=perplexity, random_state=0, method="exact").fit_transform(X)
    assert ours.kl_divergence_ <= quality.kl_divergence(graph_of(ours), theirs) + 1e-3


@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
@pytest.mark.parametrize(("perplexity", "n"), [(5, 200), (60, 200), (30, 1797), (200, 1797)])
def test_maps_are_sane_from_any_start(digits, init, perplexity, n):
    X = digits[0][:n]
    model = TSNE(perplexity=perplexity, init=init, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert 1 < model.embedding_.std() < 150
    assert np.abs(model.embedding_).max() < 6 * model.embedding_.std()  # no point lies far outside
    assert quality.neighbor_recall(X, model.embedding_, 10) > 0.45
    assert model.kl_divergence_ < {5: 1.0, 60: 0.35, 30: 0.8, 200: 0.6}[perplexity]


@pytest.mark.parametrize("method", ["mesh", "barnes_hut", "auto"])
def test_loss_by_mesh_or_tree_is_close_to_the_exact_one(model, method):
    graph, Y = graph_of(model), model.embedding_
    exact = quality.kl_divergence(graph, Y)
    assert quality.kl_divergence(graph, Y, method=method) == pytest.approx(exact, abs=2e-3)
    heavy = quality.kl_divergence(graph, Y, dof=0.5)
    assert quality.kl_divergence(graph, Y, dof=0.5, method=method) == pytest.approx(heavy, abs=2e-3)


def test_loss_says_how_it_was_found(model, monkeypatch):
    assert model.kl_divergence_method_ == "exact"
    Y = model.embedding_
    assert losses.kernel_sum_method(1_000_000, 2) == "mesh"
    assert losses.kernel_sum_method(1_000_000, 3) == "barnes_hut"
    assert losses.kernel_sum_method(1_000_000, 4) == "exact"
    monkeypatch.setattr(losses, "_MAX_EXACT_POINTS", 100)
    large = TSNE(random_state=0, max_iter=20).fit(Y)
    assert large.kl_divergence_method_ == "mesh"
    assert large.kl_divergence_ > 0
    far = Y.copy()
    far[0] = 1e6  # a mesh that is fine enough for the other points cannot reach this one
    assert losses.PairLosses(graph_of(model), far, 1, 1, 2, method="mesh").kernel_sum[1] == "barnes_hut"


def test_loss_rejects_methods_that_do_not_fit(model):
    Y = np.hstack([model.embedding_] * 2)
    graph = graph_of(model)
    with pytest.raises(ValueError, match="method='mesh' needs a map of at most 2 dimensions, got 4"):
        quality.kl_divergence(graph, Y, method="mesh")
    with pytest.raises(ValueError, match="method='tree' is not one of 'auto', 'exact'"):
        quality.kl_divergence(graph, Y, method="tree")


# --- three dimensions ---


def test_three_dimensions_keep_more_structure_than_two(digits, model):
    X = digits[0]
    deep = TSNE(3, random_state=0).fit(X)
    assert deep.embedding_.shape == (len(X), 3)
    assert deep.kl_divergence_ < model.kl_divergence_
    assert quality.neighbor_recall(X, deep.embedding_, 10) > quality.neighbor_recall(X, model.embedding_, 10)


def test_barnes_hut_changes_the_loss_little_in_three_dimensions(digits):
    X = digits[0][:900]
    recipe = preset("tsne").but(n_components=3, epochs=200)
    found = [embed(X, recipe.but(repulsion=name)) for name in ("exact", "barnes_hut")]
    exact, grouped = (quality.kl_divergence(one.graph, one.embedding) for one in found)
    assert grouped == pytest.approx(exact, rel=0.03)


# --- degenerate data ---


def test_perplexities_below_one_mean_one(digits):
    X = digits[0][:60]
    maps = [TSNE(perplexity=value, max_iter=30, random_state=0).fit_transform(X) for value in (0.5, 1, [0.2])]
    np.testing.assert_array_equal(maps[0], maps[1])
    assert np.isfinite(maps[2]).all()
    with pytest.raises(ValueError, match="perplexity=0"):
        TSNE(perplexity=0).fit(X)


@pytest.mark.parametrize("perplexity", [5, 30])
@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
def test_duplicates_end_up_together(digits, init, perplexity):
    X = np.repeat(digits[0][:300], 4, axis=0)
    Y = TSNE(perplexity=perplexity, init=init, random_state=0).fit_transform(X)
    assert np.isfinite(Y).all()
    groups = Y.reshape(300, 4, 2)
    within = np.linalg.norm(groups - groups.mean(axis=1, keepdims=True), axis=2)
    assert np.median(within) < 0.1 * Y.std()
    assert np.abs(Y).max() < 6 * Y.std()


def test_points_that_are_all_equal_stay_finite():
    Y = TSNE(perplexity=5, random_state=0).fit_transform(np.ones((60, 4)))
    assert np.isfinite(Y).all()


@pytest.mark.parametrize("n", [400, 4500])  # all pairs, and the mesh
@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
def test_components_of_the_graph_stay_apart_and_near(init, n):
    random = np.random.default_rng(0)
    labels = random.integers(6, size=n)
    X = 100 * random.standard_normal((6, 8))[labels] + random.standard_normal((n, 8))
    model = TSNE(perplexity=15, init=init, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.ptp(model.embedding_) < 600
    assert quality.knn_accuracy(model.embedding_, labels, k=10) > 0.995


@pytest.mark.parametrize("repulsion", ["mesh", "barnes_hut"])
def test_an_outlier_leaves_the_others_alone(digits, repulsion):
    X = digits[0][:600].copy()
    X[0] *= 1e4
    result = embed(X, preset("tsne").but(repulsion=repulsion, perplexity=15))
    assert np.isfinite(result.embedding).all()
    assert quality.neighbor_recall(X[1:], result.embedding[1:], 10) > 0.5


_FAR = """
from pathlib import Path
import numpy as np
from actup.backends import load_backend
from actup.recipe._presets import preset
from actup.graph._records import Graph

def peak():
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

n = 30_000
ids = np.arange(n)
ring = np.sort(np.c_[ids - 1, ids + 1] % n, axis=1)
graph = Graph(np.arange(0, 2 * n + 1, 2), ring.ravel(), np.ones(2 * n))
start = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
start[0] = 1e4 * start.std()
before = peak()
layout = load_backend("cpu").make_layout(graph, start, preset("tsne").but(repulsion="mesh"), 0, 2)
layout.run(5)
assert np.isfinite(layout.embedding()).all()
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not report peak memory")
def test_memory_is_bounded_beside_an_outlier():
    done = subprocess.run([sys.executable, "-c", _FAR], capture_output=True, text=True, check=True)
    assert 1 < float(done.stdout) < 200  # megabytes: the largest grid has about 110


# --- bits ---


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("repulsion", ["exact", "mesh", "barnes_hut"])
def test_threads_change_no_bit_of_a_whole_descent(digits, repulsion, dimensions):
    if repulsion == "mesh" and dimensions == 3:
        pytest.skip("the mesh has two dimensions")
    recipe = preset("tsne").but(
        repulsion=repulsion, n_components=dimensions, epochs=60, perplexity=10, initialization="random"
    )
    one, two, three = (embed(digits[0], recipe, threads=threads).embedding for threads in (1, 2, 3))
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(three, one)


# --- the normalised Frobenius loss ---


@pytest.mark.parametrize("name", ["gdr_tsne", "sampled_gdr_tsne", "paper_gdr_tsne"])
def test_normalised_frobenius_gives_a_map_like_that_of_kl(digits, name):
    X, y = digits
    accuracy = {
        loss: quality.knn_accuracy(embed(X, preset(name).but(loss=loss)).embedding, y, k=20)
        for loss in ("kl", "frobenius")
    }
    assert accuracy["frobenius"] > accuracy["kl"] - 0.04


def test_gdr_lowers_the_normalised_frobenius_loss(digits):
    X = digits[0]
    found = {}
    for loss in ("kl", "frobenius"):
        model = GDR(normalized=True, loss=loss, random_state=0).fit(X)
        found[loss] = quality.frobenius_loss(graph_of(model), model.embedding_, normalized=True)
    assert found["frobenius"] < found["kl"]


def test_frobenius_on_the_mesh_and_the_tree_follows_all_pairs(digits):
    X = digits[0][:800]
    recipe = preset("gdr_tsne").but(loss="frobenius", exaggeration=4, epochs=40)
    maps = {name: embed(X, recipe.but(repulsion=name)).embedding for name in ("exact", "mesh", "barnes_hut")}
    for name in ("mesh", "barnes_hut"):
        difference = np.linalg.norm(maps[name] - maps["exact"], axis=1)
        assert np.median(difference) < 0.05 * maps["exact"].std()


def test_backends_agree_on_the_unit_of_points(digits):
    X = digits[0][:150]
    recipe = preset("paper_gdr_tsne").but(loss="frobenius", epochs=5)
    begun = embed(X, recipe.but(epochs=0))
    result, other = (
        embed(X, recipe, init=begun.embedding, graph=begun.graph, backend=backend)
        for backend in ("cpu", "reference")
    )
    np.testing.assert_allclose(result.embedding, other.embedding, atol=1e-3 * np.ptp(other.embedding))


# --- the parameters of scikit-learn ---

IRIS = load_iris().data
CLASSIC = {"learning_rate": 50.0, "max_iter": 600}
TREE = {"method": "barnes_hut"}
# parameter: (what it is compared with, what changes)
CHANGES = {
    "n_components": ({}, {"n_components": 1}),
    "perplexity": ({}, {"perplexity": 10}),
    "early_exaggeration": ({}, {"early_exaggeration": 4.0}),
    "learning_rate": ({}, {"learning_rate": 50.0}),
    "max_iter": ({}, {"max_iter": 30}),
    "n_iter_without_progress": (
        {**CLASSIC, "learning_rate": 1e8},
        {**CLASSIC, "learning_rate": 1e8, "n_iter_without_progress": -1},
    ),
    "min_grad_norm": (CLASSIC, {**CLASSIC, "min_grad_norm": 1e3}),
    "metric": ({}, {"metric": "manhattan"}),
    "metric_params": ({"metric": "minkowski"}, {"metric": "minkowski", "metric_params": {"p": 4}}),
    "init": ({}, {"init": "random"}),
    "random_state": ({"init": "random"}, {"init": "random", "random_state": 1}),
    "method": ({}, TREE),
    "angle": (TREE, {**TREE, "angle": 0.9}),
}
WITHOUT_EFFECT = {"n_jobs": 2, "verbose": 0}


def short(**parameters):
    return TSNE(**{"max_iter": 60, "random_state": 0, **parameters})


def test_every_parameter_of_scikit_learn_is_exercised():
    from sklearn.manifold import TSNE as Peer

    assert set(inspect.signature(Peer).parameters) == set(CHANGES) | set(WITHOUT_EFFECT)
    assert set(inspect.signature(Peer).parameters) <= set(inspect.signature(TSNE).parameters)


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_of_scikit_learn_changes_the_map(name):
    before, after = (short(**parameters).fit(IRIS) for parameters in CHANGES[name])
    assert np.isfinite(after.embedding_).all()
    shapes = before.embedding_.shape, after.embedding_.shape
    assert shapes[0] != shapes[1] or not np.array_equal(before.embedding_, after.embedding_)


@pytest.mark.parametrize("parameters", [WITHOUT_EFFECT, {"square_distances": True}])
def test_parameters_without_effect_leave_the_map_as_it_is(parameters):
    assert np.array_equal(short(**parameters).fit_transform(IRIS), short().fit_transform(IRIS))


def test_former_names_of_parameters_are_accepted():
    with pytest.warns(FutureWarning, match="n_iter is deprecated: use max_iter"):
        former = TSNE(n_iter=60, random_state=0).fit(IRIS)
    assert np.array_equal(former.embedding_, short().fit_transform(IRIS))
    for name in ("metric_params", "metric_kwds"):
        assert short(metric="minkowski", **{name: {"p": 3}})._recipe().metric_kwds == (("p", 3),)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "fft"}, r"^method='fft' is not one of 'auto', 'barnes_hut', 'exact'"),
        ({"angle": 1.5}, r"^angle=1.5 must be a number from 0 to 1"),
        ({"angle": "wide"}, r"^angle='wide' must be a number"),
        ({"min_grad_norm": -1.0}, r"^min_grad_norm=-1.0 must be a number at least 0"),
        ({"n_iter_without_progress": -2}, r"^n_iter_without_progress=-2 must be an integer at least -1"),
        ({"n_iter_without_progress": 2.5}, r"^n_iter_without_progress=2.5 must be an integer"),
        (
            {"metric_params": {"p": 1}, "metric_kwds": {"p": 2}},
            "^metric_params and metric_kwds are two names",
        ),
        ({"n_iter": 5}, "^n_iter=5 and max_iter=60 are two names"),
        ({"method": "barnes_hut", "n_components": 4}, "^'n_components' should be inferior to 4"),
        ({"metric": "precomputed", "init": "pca"}, '^The parameter init="pca" cannot be used with'),
    ],
)
def test_wrong_parameters_of_scikit_learn_are_rejected(parameters, message):
    with pytest.raises(ValueError, match=message):
        short(**parameters).fit(IRIS)


def test_wrong_parameters_raise_the_error_of_scikit_learn():
    from sklearn.utils._param_validation import InvalidParameterError

    for parameters in ({"method": "fft"}, {"perplexity": 0.0}, {"learning_rate": "fast"}, {"max_iter": -1}):
        with pytest.raises(InvalidParameterError):
            short(**parameters).fit(IRIS)


def test_distances_are_checked_as_in_scikit_learn():
    distances = np.abs(IRIS[:, :1] - IRIS[:, :1].T)
    model = short(metric="precomputed")
    with pytest.raises(ValueError, match="square distance matrix"):
        model.fit(distances[:50])
    with pytest.raises(ValueError, match="should contain positive distances"):
        model.fit(distances - 1)
    with pytest.raises(TypeError, match="X is sparse"):
        short(metric="precomputed", method="exact").fit(csr_matrix(distances))
    with pytest.raises(
        ValueError, match="91 neighbors per samples are required, but some samples have only 2"
    ):
        model.fit(csr_matrix(np.eye(150) + np.roll(np.eye(150), 1, axis=1)))


def test_a_descent_of_scikit_learn_stops_when_it_has_converged():
    stopped = TSNE(learning_rate=50.0, max_iter=2000, min_grad_norm=1e-3, random_state=0).fit(IRIS)
    assert 250 < stopped.n_iter_ < 2000
    assert stopped.n_iter_ % 50 == 0
    full = TSNE(learning_rate=50.0, max_iter=stopped.n_iter_, random_state=0)
    full._EXPLORATION_MAX_ITER = 250
    assert np.array_equal(full.fit_transform(IRIS), stopped.embedding_)  # measuring changes nothing
    assert stopped.learning_rate_ == 50.0


def test_the_automatic_descent_stops_early_only_if_it_is_asked_to():
    plain = TSNE(random_state=0).fit(IRIS)
    assert plain.learning_rate_ == 1.0
    assert TSNE(random_state=0, min_grad_norm=10.0).fit(IRIS).n_iter_ < plain.n_iter_


def test_verbose_2_prints_the_lines_of_scikit_learn(capsys):
    model = TSNE(verbose=2, random_state=0).fit(IRIS)
    printed = capsys.readouterr().out
    assert "[t-SNE] Computing 90 nearest neighbors..." in printed
    assert re.search(r"\[t-SNE\] Mean sigma: \d", printed)
    error = re.findall(r"error = (\d+\.\d+)", printed)[-1]
    assert float(error) == pytest.approx(model.kl_divergence_, abs=1e-5)
    assert np.array_equal(model.embedding_, TSNE(random_state=0).fit_transform(IRIS))


@pytest.mark.parametrize("method", ["barnes_hut", "exact"])
def test_methods_give_maps_of_about_the_same_loss(method):
    chosen, automatic = (TSNE(method=name, random_state=0).fit(IRIS) for name in (method, "auto"))
    assert chosen.recipe_.repulsion == method
    assert chosen.kl_divergence_ == pytest.approx(automatic.kl_divergence_, abs=0.02)
