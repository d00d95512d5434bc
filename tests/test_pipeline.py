"""The pipeline: the flow, accepted and rejected input, interruption."""

import _thread
import copy
import pickle
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from actup._pipeline import embed
from actup.backends import load_backend
from actup.graph._records import Graph, Neighbors
from actup.progress import Progress
from actup.recipe._presets import preset

cpu = load_backend("cpu")

GDR = preset("gdr_umap").but(epochs=30)
METHODS = ["umap", "tsne", "gdr_umap", "gdr_tsne", "sampled_umap"]


@pytest.fixture(scope="module")
def X():
    """Three clusters of small integers, which every numeric dtype can hold."""
    rng = np.random.default_rng(0)
    centers = rng.integers(20, 100, (3, 6))
    return (np.repeat(centers, 50, axis=0) + rng.integers(-9, 10, (150, 6))).astype(np.float32)


@pytest.fixture(scope="module")
def baseline(X):
    return embed(X, GDR, seed=1)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_embed_returns_the_results_of_all_stages(X, name, backend):
    recipe = preset(name).but(epochs=12)
    result = embed(X, recipe, seed=3, backend=backend)
    assert result.embedding.shape == (150, 2)
    assert result.embedding.dtype == np.float32
    assert np.isfinite(result.embedding).all()
    assert list(result.seconds) == ["neighbors", "graph", "start", "layout"]
    assert result.n_epochs == 12 and not result.interrupted
    assert result.recipe == recipe
    assert len(result.graph) == len(result.neighbors) == 150


@pytest.mark.parametrize("name", METHODS)
def test_threads_and_repeats_change_no_bit(X, name):
    recipe = preset(name).but(epochs=40)
    one, two, again = (embed(X, recipe, seed=5, threads=threads).embedding for threads in (1, 2, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(two, again)
    assert not np.array_equal(one, embed(X, recipe, seed=6).embedding)


def test_recipe_may_be_a_preset_name(X):
    by_name, by_value = (embed(X, recipe, seed=2) for recipe in ("gdr_umap", preset("gdr_umap")))
    np.testing.assert_array_equal(by_name.embedding, by_value.embedding)


def test_clusters_are_separated_on_the_map(X):
    Y = embed(X, preset("gdr_umap"), seed=0).embedding.reshape(3, 50, 2)
    centers = Y.mean(axis=1)
    radius = np.linalg.norm(Y - centers[:, None], axis=2).max()
    distance = min(np.linalg.norm(centers[i] - centers[j]) for i in range(3) for j in range(i))
    assert distance > 2 * radius


# Given neighbours, graphs and starts


def test_given_neighbors_and_graph_are_used(X, baseline):
    from_neighbors = embed(X, GDR, neighbors=baseline.neighbors, seed=1)
    from_graph = embed(X, GDR, graph=baseline.graph, seed=1)
    from_matrix = embed(X, GDR, graph=baseline.graph.to_scipy(), seed=1)
    for result in (from_neighbors, from_graph, from_matrix):
        np.testing.assert_array_equal(result.embedding, baseline.embedding)
    assert from_graph.neighbors is None
    assert "neighbors" not in from_graph.seconds and "graph" not in from_graph.seconds


def test_data_may_be_none_with_neighbors_or_a_graph(X, baseline):
    recipe = GDR.but(initialization="random")
    expected = embed(X, recipe, seed=1).embedding
    np.testing.assert_array_equal(
        embed(None, recipe, neighbors=baseline.neighbors, seed=1).embedding, expected
    )
    np.testing.assert_array_equal(embed(None, recipe, graph=baseline.graph, seed=1).embedding, expected)
    with pytest.raises(ValueError, match="X=None needs neighbors or graph"):
        embed(None, recipe)


def test_distances_that_overflow_float32_are_rejected():
    far = np.float32([[3e38, 0], [-3e38, 0], [0, 3e38]])
    with pytest.raises(ValueError, match="too large for float32"):
        embed(far, GDR.but(n_neighbors=3))


def test_surplus_given_neighbors_are_dropped(X):
    many = embed(X, GDR.but(n_neighbors=40), seed=1).neighbors
    cut = replace(many, indices=many.indices[:, :14], distances=many.distances[:, :14])
    from_many, from_cut = (embed(X, GDR, neighbors=given, seed=1) for given in (many, cut))
    assert from_many.neighbors.indices.shape == (150, 14)
    np.testing.assert_array_equal(from_many.embedding, from_cut.embedding)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda nb: replace(nb, indices=nb.indices[:, :5], distances=nb.distances[:, :5]), "at least 14"),
        (lambda nb: replace(nb, indices=nb.indices[:9], distances=nb.distances[:9]), "150 samples"),
        (lambda nb: replace(nb, indices=nb.indices + 150), "0 to 149"),
        (lambda nb: replace(nb, indices=nb.indices - 150), "0 to 149"),
        (lambda nb: replace(nb, distances=nb.distances * np.nan), "NaN"),
        (lambda nb: Neighbors(np.tile(np.arange(150)[:, None], 14), nb.distances), "its own neighbour"),
    ],
)
def test_invalid_neighbors_are_rejected(X, baseline, change, message):
    with pytest.raises(ValueError, match=message):
        embed(X, GDR, neighbors=change(baseline.neighbors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: Graph(g.offsets[:-1], g.indices, g.weights), r"graph: the last point ends at entry"),
        (lambda g: Graph(np.append(g.offsets, g.offsets[-1]), g.indices, g.weights), "151 points"),
        (lambda g: Graph(g.offsets, g.indices + 150, g.weights), "graph: point 0 has an entry in neighbour"),
        (lambda g: Graph(g.offsets, g.indices[:-1], g.weights), r"graph: the last point ends at entry"),
        (lambda g: Graph(g.offsets[::-1], g.indices, g.weights), "graph: point 0 begins at entry"),
        (lambda g: Graph(g.offsets, g.indices - 5, g.weights), "graph: point 2 has an entry in neighbour -1"),
        (
            lambda g: Graph(g.offsets, g.indices + np.int64(2**32), g.weights),
            r"graph has indices \(int64\)",
        ),
        (lambda g: replace(g, weights=-g.weights), "negative"),
        (lambda g: replace(g, weights=g.weights * np.nan), "NaN"),
        (lambda g: csr_matrix((150, 150)), "no edges"),
    ],
)
def test_invalid_graphs_are_rejected(X, baseline, change, message):
    with pytest.raises(ValueError, match=message):
        embed(X, GDR, graph=change(baseline.graph))


def test_given_start_is_used(X):
    start = np.random.default_rng(1).normal(size=(150, 2))
    before = start.copy()
    result = embed(X, GDR.but(epochs=0), init=start)
    assert result.n_epochs == 0 and not result.interrupted
    spread_before, spread_after = np.ptp(start, axis=0), np.ptp(result.embedding, axis=0)
    shape = (start - start.min(0)) / spread_before
    np.testing.assert_allclose((result.embedding - result.embedding.min(0)) / spread_after, shape, atol=1e-2)
    np.testing.assert_array_equal(start, before)


@pytest.mark.parametrize("init", [np.zeros((149, 2)), np.zeros((150, 3)), np.full((150, 2), np.nan)])
def test_invalid_starts_are_rejected(X, init):
    with pytest.raises(ValueError, match=r"init|NaN"):
        embed(X, GDR, init=init)


# Pickles and copies


@pytest.mark.parametrize("copied", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy])
def test_pickles_and_deep_copies_leave_the_layout_out(X, copied):
    made = embed(X, GDR, seed=1)
    again = copied(made)
    assert made.layout is not None and again.layout is None
    np.testing.assert_array_equal(again.embedding, made.embedding)
    np.testing.assert_array_equal(again.graph.weights, made.graph.weights)
    np.testing.assert_array_equal(again.neighbors.indices, made.neighbors.indices)
    for name in ("recipe", "init_used", "n_epochs", "interrupted", "seconds"):
        assert getattr(again, name) == getattr(made, name)
    assert not np.shares_memory(again.embedding, made.embedding)


def test_shallow_copies_share_the_layout(X):
    made = embed(X, GDR, seed=1)
    assert copy.copy(made).layout is made.layout


# Types and containers of X


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.uint8, np.int64, object])
def test_every_dtype_gives_the_same_map(X, baseline, dtype):
    np.testing.assert_array_equal(embed(X.astype(dtype), GDR, seed=1).embedding, baseline.embedding)


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    "make",
    [
        np.asfortranarray,
        _read_only,
        np.ndarray.tolist,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: pytest.importorskip("pandas").DataFrame(X),
        lambda X: memoryview(X),
    ],
    ids=["fortran", "read-only", "list", "strided", "pandas", "memoryview"],
)
def test_every_container_gives_the_same_map_and_is_not_modified(X, baseline, make):
    given = make(X)
    before = np.array(given)
    np.testing.assert_array_equal(embed(given, GDR, seed=1).embedding, baseline.embedding)
    np.testing.assert_array_equal(np.array(given), before)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (np.array([[0.0, np.nan], [1, 2], [3, 4]]), ValueError, "NaN"),
        (np.array([[0.0, np.inf], [1, 2], [3, 4]]), ValueError, "infinity"),
        (np.array([[0.0, 1e300], [1, 2], [3, 4]]), ValueError, "too large for dtype"),
        (np.zeros(5), ValueError, "one dimension"),
        (np.zeros((5, 2, 2)), ValueError, "3 dimensions"),
        (np.zeros((0, 2)), ValueError, "0 sample"),
        (np.zeros((5, 0)), ValueError, "0 feature"),
        (np.array([["a", "b"], ["c", "d"]]), ValueError, "X holds 'a' in column 0, row 0: convert or drop"),
        (np.zeros((5, 2), complex), ValueError, "[Cc]omplex"),
    ],
)
def test_invalid_data_are_rejected(bad, error, message):
    with pytest.raises(error, match=message):
        embed(bad, GDR.but(n_neighbors=2))


# Few points


def test_one_point_is_placed_at_the_origin():
    for name in METHODS:
        result = embed(np.ones((1, 3)), preset(name).but(n_components=3))
        np.testing.assert_array_equal(result.embedding, np.zeros((1, 3)))
        assert result.layout is None and result.graph.to_scipy().shape == (1, 1)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("start", ["spectral", "pca", "random"])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.filterwarnings("ignore:n_neighbors=15")
def test_few_points_get_distinct_finite_places(n, start, backend):
    X = np.random.default_rng(n).normal(size=(n, 4))
    for name in METHODS:
        recipe = preset(name).but(epochs=20, perplexity=1.5, initialization=start)
        result = embed(X, recipe, backend=backend)
        assert result.embedding.shape == (n, 2)
        assert np.isfinite(result.embedding).all()
        assert len(np.unique(result.embedding, axis=0)) == n


def test_too_large_n_neighbors_is_lowered_with_a_warning(X):
    with pytest.warns(UserWarning, match="n_neighbors=15 is larger .* using 10"):
        result = embed(X[:10], GDR)
    assert result.recipe.n_neighbors == 10
    assert result.neighbors.indices.shape == (10, 9)
    embed(X[:10], GDR.but(n_neighbors=10))  # exactly enough: no warning


@pytest.mark.parametrize("name", ["tsne", "gdr_umap"])
def test_too_large_perplexity_is_rejected(X, name):
    recipe = preset(name).but(affinity="gaussian", distance="plain", perplexity=10)
    with pytest.raises(ValueError, match=r"perplexity=10.0 must be less than .* 10"):
        embed(X[:10], recipe)


# Interruption and callbacks


class InterruptedLayout:
    """A layout in which Ctrl-C is pressed at the second call of ``run``."""

    def __init__(self, layout):
        self._layout = layout
        self._calls = 0

    def __getattr__(self, name):
        return getattr(self._layout, name)

    def run(self, until):
        self._calls += 1
        if self._calls == 2:
            raise KeyboardInterrupt
        self._layout.run(until)


def test_keyboard_interrupt_returns_the_map_so_far(X, monkeypatch):
    make_layout = cpu.make_layout
    monkeypatch.setattr(cpu, "make_layout", lambda *settings: InterruptedLayout(make_layout(*settings)))
    with pytest.warns(UserWarning, match="interrupted at epoch 1 of 30"):
        result = embed(X, GDR, seed=1)
    assert result.interrupted and result.n_epochs == 1
    monkeypatch.undo()
    np.testing.assert_array_equal(result.embedding, embed_epochs(X, GDR, 1, seed=1))


def embed_epochs(X, recipe, epochs, **settings):
    """The map of a run after its first ``epochs`` epochs."""
    progress = Progress(callback=lambda stage, fraction, embedding: stage == "layout")
    layout = embed(X, recipe, progress=progress, **settings).layout
    layout.run(epochs)
    return layout.embedding()


@pytest.fixture
def python_handles_interrupts():
    """Install Python's handler: a background process ignores SIGINT, and then nothing would be tested."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_interrupts")
def test_control_c_stops_a_long_layout_promptly(X):
    started = []

    def interrupt_soon(stage, fraction, embedding):
        if stage == "layout" and not started:
            started.append(time.perf_counter())
            threading.Timer(0.3, _thread.interrupt_main).start()

    progress = Progress(callback=interrupt_soon)
    with pytest.warns(UserWarning, match="interrupted at epoch .* of 1000000"):
        result = embed(X, GDR.but(epochs=1_000_000, prune=False), progress=progress)
    assert time.perf_counter() - started[0] < 10
    assert result.interrupted and np.isfinite(result.embedding).all()


def test_keyboard_interrupt_before_the_layout_propagates(X, monkeypatch):
    def interrupted(*settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(cpu, "affinity_graph", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embed(X, GDR)


def test_callback_sees_every_stage(X):
    seen = []
    result = embed(X, GDR, seed=1, progress=Progress(callback=lambda *arguments: seen.append(arguments)))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == ["neighbors", "graph", "start", "layout"]
    for stage in stages:
        fractions = [fraction for name, fraction, _ in seen if name == stage]
        assert fractions[0] == 0 and fractions[-1] == 1 and fractions == sorted(fractions)
    assert all((embedding is None) == (stage != "layout") for stage, _, embedding in seen)
    np.testing.assert_array_equal(seen[-1][2], result.embedding)


def test_layout_resumes_after_the_callback_stopped_it(X, baseline):
    progress = Progress(callback=lambda stage, fraction, embedding: stage == "layout" and fraction > 0)
    stopped = embed(X, GDR, seed=1, progress=progress)
    assert stopped.interrupted and 0 < stopped.n_epochs < 30
    stopped.layout.run(30)
    np.testing.assert_array_equal(stopped.layout.embedding(), baseline.embedding)


def test_callback_can_stop_before_the_layout(X):
    progress = Progress(callback=lambda stage, *_: stage == "neighbors")
    with pytest.warns(UserWarning, match="the callback stopped the run in stage 'neighbors': no epoch"):
        stopped = embed(X, GDR, seed=1, progress=progress)
    assert stopped.interrupted and stopped.n_epochs == 0
    np.testing.assert_array_equal(stopped.embedding, embed(X, GDR.but(epochs=0), seed=1).embedding)


def test_exception_in_the_callback_propagates(X):
    def fail(stage, fraction, embedding):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        embed(X, GDR, progress=Progress(callback=fail))


# Other invalid arguments


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range_is_rejected(X, seed):
    with pytest.raises(ValueError, match=f"seed={seed}"):
        embed(X, GDR, seed=seed)


@pytest.mark.parametrize("seed", ["a", 1.5, None])
def test_seed_of_a_wrong_type_is_rejected(X, seed):
    with pytest.raises(TypeError, match=f"seed={seed!r} must be an integer"):
        embed(X, GDR, seed=seed)


def test_invalid_threads_are_rejected(X):
    with pytest.raises(ValueError, match="threads=0"):
        embed(X, GDR, threads=0)


def test_unknown_backend_is_rejected(X):
    with pytest.raises(ValueError, match="backend='abacus'"):
        embed(X, GDR, backend="abacus")


def test_recipes_and_neighbors_of_wrong_types_are_rejected():
    X = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(TypeError, match="recipe=5 must be a Recipe or the name of a preset"):
        embed(X, 5)
    lists = np.zeros((50, 14), int), np.zeros((50, 14))
    with pytest.raises(TypeError, match=r"neighbors is a tuple: .*Neighbors\.from_lists"):
        embed(None, "umap", neighbors=lists)
