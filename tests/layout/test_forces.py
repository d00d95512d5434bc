"""The force of one epoch on every backend, against the gradient of the loss and the effect of each switch."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import rel_entr

from actup.backends import backends, load_backend
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Loss, NonEdgeWeight, RepulsionMass, Sampling, Update
from variations import but, graph_of, start_of

KERNELS = [(1.0, 1.0), (1.577, 0.895), (0.6, 1.3), (2.5, 0.6)]
LOSSES = [(loss, normalized) for loss in Loss for normalized in (False, True)]

# One epoch moves the points by learning_rate times the force, exactly.
ONE_EPOCH = Recipe(
    a=1.577,
    b=0.895,
    repulsion="exact",
    repulsion_epsilon=1e-9,
    epochs=1,
    prune=False,
    learning_rate=1,
    momentum=0,
    step_cap=1e9,
)


def force(backend: str, graph: Graph, start: np.ndarray, recipe: Recipe, seed: int = 0) -> np.ndarray:
    """The displacement of one epoch, divided by the learning rate: (n, n_components)."""
    layout = load_backend(backend).make_layout(graph, start, recipe, seed, 1)
    layout.run(1)
    return (layout.embedding().astype(np.float64) - start) / recipe.learning_rate


def ring(n: int) -> Graph:
    """Each point has edges to its next three on both sides: all points have the same degree and strength."""
    weights = {1: 1.0, 2: 0.625, 3: 0.25}
    W = np.zeros((n, n))
    for i in range(n):
        for step, weight in weights.items():
            W[i, (i + step) % n] = W[i, (i - step) % n] = weight
    return Graph.from_scipy(W)


def spread_out(n: int, dimensions: int) -> np.ndarray:
    """Points so far apart that an epsilon of 1e-9 is negligible, on a lattice of 2^-10: steps are exact."""
    random = np.random.default_rng(dimensions)
    side = int(np.ceil(n ** (1 / dimensions)))
    cells = np.stack(np.unravel_index(np.arange(n), (side,) * dimensions), axis=1)
    return np.float32(np.round((cells + random.uniform(-0.3, 0.3, cells.shape)) * 0.8 * 2**10) / 2**10)


@cache
def descent(recipe: Recipe) -> np.ndarray:
    """Minus the gradient of the oracle's loss by central differences of fourth order: (24, n_components)."""
    n, h = 24, 2**-7
    graph, start = ring(n), spread_out(n, recipe.n_components)

    def potential(i, c, change):
        Y = start.copy()
        Y[i, c] += change
        value = load_backend("reference").make_layout(graph, Y, recipe, 0).loss()
        uses_negatives = not recipe.normalized and recipe.loss is Loss.KL
        return value - edge_repulsion(graph, Y, recipe.a, recipe.b) if uses_negatives else value

    gradient = np.empty(start.shape)
    for i, c in np.ndindex(*start.shape):
        near = potential(i, c, h) - potential(i, c, -h)
        far = potential(i, c, 2 * h) - potential(i, c, -2 * h)
        gradient[i, c] = (8 * near - far) / (12 * h)
    return -gradient


def edge_repulsion(graph: Graph, Y: np.ndarray, a: float, b: float) -> float:
    """sum r log(1 - q) over the edges: negatives repel with weight 1, the loss has weight 1 - r."""
    edges = graph.to_scipy().tocoo()
    power = a * ((np.float64(Y)[edges.row] - Y[edges.col]) ** 2).sum(axis=1) ** b
    return float((edges.data * np.log(power / (1 + power))).sum())


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(("loss", "normalized"), LOSSES)
@pytest.mark.parametrize(
    ("a", "b", "dimensions"), [(a, b, 2) for a, b in KERNELS] + [(*KERNELS[1], 1), (*KERNELS[1], 5)]
)
def test_force_is_minus_the_gradient_of_the_loss(backend, loss, normalized, a, b, dimensions):
    recipe = ONE_EPOCH.but(loss=loss, normalized=normalized, a=a, b=b, n_components=dimensions)
    expected = descent(recipe)
    n = len(expected)
    if not normalized:  # half the gradient, with repulsion of weight repulsion_rate * degree / n = 1
        expected = expected / 2
        recipe = recipe.but(repulsion_mass=RepulsionMass.DEGREE, repulsion_rate=n / 6)
    assert_force(backend, recipe, expected)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("dof", [0.4, 2.0, 7.5])
@pytest.mark.parametrize(("a", "b"), KERNELS[:2])
def test_force_with_other_dof_is_minus_the_gradient(backend, loss, dof, a, b):
    recipe = ONE_EPOCH.but(loss=loss, normalized=True, a=a, b=b, dof=dof)
    assert_force(backend, recipe, descent(recipe))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(("partition", "dof"), [(0.02, 1.0), (0.5, 1.0), (0.1, 0.4)])
def test_force_at_a_fixed_partition_is_minus_the_gradient(backend, partition, dof):
    recipe = ONE_EPOCH.but(normalized=True, partition=partition, dof=dof)
    assert_force(backend, recipe, descent(recipe))


def assert_force(backend: str, recipe: Recipe, expected: np.ndarray):
    """The force of one epoch on the ring is the expected one."""
    n, recipe = len(expected), recipe.but(learning_rate=1 / np.abs(expected).max())
    found = force(backend, ring(n), spread_out(n, recipe.n_components), recipe)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("backend", backends())
def test_fixed_partition_scales_the_repulsion(backend):
    """The map's own partition changes nothing, and twice that value halves the repulsion."""
    n, recipe = 60, ONE_EPOCH.but(normalized=True, learning_rate=100)
    graph, start = graph_of(n, recipe), start_of(n, 2)
    a, b = recipe.kernel()
    q = 1 / (1 + a * ((np.float64(start)[:, None] - start) ** 2).sum(axis=2) ** b)
    own_partition = (q.sum() - n) / n**2
    forces = {
        partition: force(backend, graph, start, recipe.but(partition=partition))
        for partition in (None, own_partition, 2 * own_partition, 1e9)
    }
    assert_close(forces[own_partition], forces[None])
    assert_close(forces[2 * own_partition], (forces[None] + forces[1e9]) / 2)
    computed, fixed = (
        load_backend(backend).make_layout(graph, start, recipe.but(partition=value), 0, 1).loss()
        for value in (None, own_partition)
    )
    assert fixed == pytest.approx(computed, rel=1e-5)


@pytest.mark.parametrize("backend", backends())
def test_sampled_repulsion_at_a_fixed_partition_is_unbiased(backend):
    exact = ONE_EPOCH.but(normalized=True, partition=0.05, learning_rate=100)
    sampled = exact.but(repulsion="sampled", negatives=8)
    n, seeds = 40, 300
    graph, start = graph_of(n, exact), start_of(n, 2)
    draws = np.array([force(backend, graph, start, sampled, seed) for seed in range(seeds)])
    error = draws.mean(axis=0) - force(backend, graph, start, exact)
    assert np.abs(error * np.sqrt(seeds) / draws.std(axis=0)).max() < 5


# The losses of the paper, over all ordered pairs.
DEFINITIONS = {
    Loss.KL: lambda p, q, normalized: (
        rel_entr(p, q).sum() + (0 if normalized else rel_entr(1 - p, 1 - q).sum())
    ),
    Loss.FROBENIUS: lambda p, q, normalized: ((p - q) ** 2).sum(),
}


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(
    ("loss", "normalized", "dof"),
    [(loss, normalized, 1.0) for loss in DEFINITIONS for normalized in (False, True)]
    + [(loss, True, dof) for loss in DEFINITIONS for dof in (0.5, 3.0)],
)
def test_loss_equals_its_definition(backend, loss, normalized, dof):
    n, recipe = 60, ONE_EPOCH.but(loss=loss, normalized=normalized, dof=dof)
    graph, start = graph_of(n, recipe), start_of(n, 2)
    a, b = recipe.kernel()
    others = ~np.eye(n, dtype=bool)
    Y = start.astype(np.float64)
    q = (1 + a * (((Y[:, None] - Y) ** 2).sum(axis=2)[others]) ** b / dof) ** -dof
    p = np.float64(graph.to_scipy().toarray()[others])
    p, q = (p / p.sum(), q / q.sum()) if normalized else (p / p.max(), q)
    expected = DEFINITIONS[loss](p, q, normalized)
    layout = load_backend(backend).make_layout(graph, start, recipe, 0, 1)
    assert layout.loss() == pytest.approx(expected, rel=2e-5)


def attraction_repulsion(backend: str, recipe: Recipe, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Attraction and repulsion of the unnormalised setting, separated by setting repulsion_rate to 0."""
    graph, start = graph_of(n, recipe), start_of(n, recipe.n_components)
    attraction = force(backend, graph, start, recipe.but(repulsion_rate=0))
    return attraction, force(backend, graph, start, recipe) - attraction


def assert_close(found, expected, tolerance=1e-4):
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("loss", Loss)
class TestForceSwitches:
    def test_exaggeration_and_symmetry_multiply_the_attraction(self, backend, loss):
        attraction, repulsion = attraction_repulsion(backend, ONE_EPOCH.but(loss=loss))
        changes = {"exaggeration": 3, "exaggeration_share": 1, "symmetric_attraction": True}
        more_attraction, same_repulsion = attraction_repulsion(backend, ONE_EPOCH.but(loss=loss, **changes))
        assert_close(more_attraction, 6 * attraction)
        assert_close(same_repulsion, repulsion)

    def test_repulsion_follows_degree_or_strength(self, backend, loss):
        W = graph_of(60, ONE_EPOCH).to_scipy()
        mass = {"degree": np.diff(W.indptr), "strength": W.sum(axis=1).A1 / W.max()}
        repulsions = {
            name: attraction_repulsion(backend, ONE_EPOCH.but(loss=loss, repulsion_mass=name))[1]
            for name in mass
        }
        assert np.ptp(mass["strength"] / mass["degree"]) > 0.05
        assert_close(
            repulsions["degree"] * mass["strength"][:, None], repulsions["strength"] * mass["degree"][:, None]
        )

    def test_mean_non_edge_weight_lowers_the_repulsion(self, backend, loss):
        weights = graph_of(60, ONE_EPOCH).weights
        attraction, repulsion = attraction_repulsion(backend, ONE_EPOCH.but(loss=loss))
        changed = ONE_EPOCH.but(loss=loss, non_edge_weight=NonEdgeWeight.MEAN)
        same_attraction, less_repulsion = attraction_repulsion(backend, changed)
        assert_close(same_attraction, attraction)
        assert_close(less_repulsion, repulsion * (1 - (weights / weights.max()).mean()))

    def test_sampled_repulsion_is_unbiased(self, backend, loss):
        exact = ONE_EPOCH.but(loss=loss, repulsion_epsilon=1.0)
        sampled = exact.but(repulsion="sampled", negatives=8)
        n, seeds = 40, 300
        graph, start = graph_of(n, exact), start_of(n, 2)
        draws = np.array([force(backend, graph, start, sampled, seed) for seed in range(seeds)])
        error = draws.mean(axis=0) - force(backend, graph, start, exact)
        standard_error = draws.std(axis=0) / np.sqrt(seeds)
        assert np.abs(error / standard_error).max() < 5


@pytest.mark.parametrize("backend", backends())
def test_epsilon_weakens_the_repulsion(backend):
    graph = Graph.from_scipy(np.array([[0, 1], [1, 0]]))
    start = np.array([[0, 0], [0.5, 0]], np.float32)
    repulsions = []
    for epsilon in (1e-9, 0.3):
        recipe = ONE_EPOCH.but(repulsion_epsilon=epsilon)
        without = force(backend, graph, start, recipe.but(repulsion_rate=0))
        repulsions.append(force(backend, graph, start, recipe) - without)
    assert repulsions[0][0, 0] < 0 < repulsions[0][1, 0]
    assert_close(repulsions[1], repulsions[0] * 0.25 / (0.3 + 0.25))


# Strong attraction in small steps: two close points approach in exactly the epochs in which their edge acts.
STRONG_ATTRACTION = ONE_EPOCH.but(
    repulsion="sampled", negatives=1, epochs=20, exaggeration=1e3, exaggeration_share=1, learning_rate=1e-5
)
SAMPLINGS = [
    but(STRONG_ATTRACTION, sampling=sampling, normalized=normalized, update=update)
    for sampling in Sampling
    for normalized in (False, True)
    for update in Update
]


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("recipe", [recipe for recipe in SAMPLINGS if recipe is not None])
def test_edge_acts_in_its_share_of_the_epochs(backend, recipe):
    weight = 0.35
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1
    W[2, 3] = W[3, 2] = weight
    start = np.array([[0, -1], [0, 1], [1e4, -1], [1e4, 1]], np.float32)
    layout = load_backend(backend).make_layout(Graph.from_scipy(W), start, recipe, 0, 1)
    lengths = [2.0]
    for epoch in range(layout.n_epochs):
        layout.run(epoch + 1)
        Y = layout.embedding()
        lengths.append(float(Y[3, 1] - Y[2, 1]))
    approaches = np.count_nonzero(np.diff(lengths) < 0)
    assert approaches == (20 if recipe.sampling is Sampling.EXHAUSTIVE else int(20 * weight))
