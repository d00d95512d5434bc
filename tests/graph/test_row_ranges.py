"""The affinity graph made range by range of rows has the bits of the one made at once."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup._engine import engine, level, offered_levels
from actup.backends import load_backend
from actup.graph._disconnection import disconnect
from actup.graph._memberships import engine_affinity
from actup.graph._records import Graph, Neighbors
from actup.neighbors import nearest_neighbors
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe

cpu = load_backend("cpu")

RECIPES = {
    "umap": Recipe(),
    "umap-plain": Recipe(distance="plain", local_connectivity=2.5),
    "umap-intersection": Recipe(set_op_mix_ratio=0),
    "umap-mixed": Recipe(set_op_mix_ratio=0.3),
    "tsne": preset("tsne").but(perplexity=9.0),
    "multiscale": preset("tsne").but(affinity="multiscale", perplexities=(3.0, 9.0)),
    "fixed_sigma": preset("tsne").but(affinity="fixed_sigma", sigma=11.0),
    "uniform": Recipe(affinity="uniform"),
}


def digits() -> np.ndarray:
    return load_digits().data


def lists_of_digits() -> Neighbors:
    return nearest_neighbors(digits(), 28)


def lists_with_copies() -> Neighbors:
    """100 rows nine times each, so that eight of a row's twelve distances are 0, and 600 other rows."""
    X = np.concatenate([np.repeat(digits()[:100], 9, axis=0), digits()[100:700]])
    return nearest_neighbors(X, 12)


def lists_of_copies() -> Neighbors:
    return nearest_neighbors(np.ones((300, 4)), 15)


def lists_with_disconnected() -> Neighbors:
    lists = lists_of_digits()
    return disconnect(lists, float(np.quantile(lists.distances, 0.4)))[0]


LISTS = {
    "digits": lists_of_digits,
    "copies": lists_with_copies,
    "only-copies": lists_of_copies,
    "disconnected": lists_with_disconnected,
}


def cuts(n: int) -> dict[str, list[int]]:
    """Boundaries of ranges of rows."""
    random = np.sort(np.random.default_rng(n).integers(n + 1, size=9))
    return {
        "one": [0, n],
        "halves": [0, n // 2, n],
        "random": [0, *random.tolist(), n],
        "empty": [0, 0, 1, n // 3, n // 3, n // 3, n, n],
    }


def graph_by_ranges(lists: Neighbors, recipe: Recipe, boundaries: list[int], threads: int = 2) -> Graph:
    """The graph, from ranges that know only their own rows and the edges that other ranges send."""
    n = len(lists)
    ranges = [slice(first, end) for first, end in pairwise(boundaries)]
    sums = [engine.row_sums(lists.distances[rows], threads) for rows in ranges]
    count = n + sum(int(connected.sum()) for _, connected in sums)
    mean_of_all = 0.0
    for row_sums, _ in sums:
        mean_of_all = engine.add_means(row_sums, count, mean_of_all)
    own, sent = [], []
    for rows in ranges:
        weights = engine.range_affinities(
            rows.start,
            lists.indices[rows],
            lists.distances[rows],
            n,
            engine_affinity(recipe),
            engine.Distance[recipe.distance.value],
            recipe.scales(),
            recipe.sigma or 1.0,
            recipe.subtracted_neighbor(),
            mean_of_all,
            threads,
        )
        own.append((rows.start, lists.indices[rows], weights))
        sent.append(engine.edges_by_range(*own[-1], np.array(boundaries), threads))
    parts = []
    for number, edges in enumerate(own):
        received = [
            tuple(part[offsets[number] : offsets[number + 1]] for part in directed)
            for offsets, *directed in sent
        ]
        incoming = map(np.concatenate, zip(*received, strict=True))
        kind = engine.Symmetrization[recipe.symmetrization.value]
        parts.append(engine.symmetric_rows(*edges, *incoming, kind, recipe.union_share(), threads))
    degrees = np.concatenate([np.diff(offsets) for offsets, _, _ in parts])
    return Graph(
        np.concatenate([[0], np.cumsum(degrees)]),
        *(np.concatenate([part[which] for part in parts]) for which in (1, 2)),
    )


def assert_same_bits(found: Graph, expected: Graph) -> None:
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.weights.view(np.uint32), expected.weights.view(np.uint32))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS)
def test_any_cut_gives_the_same_bits(lists, recipe):
    neighbors = lists()
    whole = cpu.affinity_graph(neighbors, recipe, 2)
    for boundaries in cuts(len(neighbors)).values():
        for threads in (1, 3):
            assert_same_bits(graph_by_ranges(neighbors, recipe, boundaries, threads), whole)


def test_many_edges():
    """Enough edges that the graph itself is made in several ranges, with hubs and rows without edges."""
    rng = np.random.default_rng(0)
    n, k = 150_000, 15
    steps = np.sort(np.argsort(rng.random((n, 40)), axis=1)[:, :k] + 1, axis=1)
    ids = (np.arange(n)[:, None] + steps) % n
    ids[:, -1] = np.where((ids == 7).any(axis=1) | (np.arange(n) == 7), ids[:, -1], 7)  # point 7 is a hub
    distances = np.sort(rng.random((n, k)), axis=1).astype(np.float32)
    cut = rng.random(n) < 0.1
    ids[cut], distances[cut] = -1, np.inf
    neighbors = Neighbors(ids, distances)
    recipe = Recipe()
    whole = cpu.affinity_graph(neighbors, recipe, 2)
    assert np.diff(whole.offsets).max() > 100_000
    for boundaries in ([0, n], [0, 1000, 1001, 90_000, n]):
        assert_same_bits(graph_by_ranges(neighbors, recipe, boundaries), whole)
    assert_same_bits(cpu.affinity_graph(neighbors, recipe, 1), whole)


def test_edges_by_range_keep_their_order():
    ids = np.array([[3, 5], [0, -1], [5, 4]], np.int32)
    weights = np.arange(6, dtype=np.float32).reshape(3, 2)
    offsets, targets, sources, of_edges = engine.edges_by_range(1, ids, weights, np.array([0, 2, 4, 4, 6]), 2)
    assert offsets.tolist() == [0, 1, 2, 2, 5]
    assert targets.tolist() == [0, 3, 5, 5, 4]
    assert sources.tolist() == [2, 1, 1, 3, 3]
    assert of_edges.tolist() == [2, 0, 1, 4, 5]


@pytest.mark.parametrize(
    ("ids", "boundaries", "message"),
    [
        ([[1, 4]], [0, 4], "ids must be other rows"),
        ([[0, 1]], [0, 4], "ids must be other rows"),
        ([[-2, 1]], [0, 4], "ids must be other rows"),
        ([[1, 2]], [0, 4, 3], "boundaries must be"),
        ([[1, 2]], [1, 4], "boundaries must be"),
        ([[1, 2]], [4], "boundaries must be"),
    ],
)
def test_edges_by_range_reject(ids, boundaries, message):
    ids, weights = np.array(ids, np.int32), np.ones((1, 2), np.float32)
    with pytest.raises(ValueError, match=message):
        engine.edges_by_range(0, ids, weights, np.array(boundaries), 2)


@pytest.mark.parametrize(
    ("targets", "sources", "message"),
    [
        ([2, 2], [5, 4], "sources of incoming edges must ascend"),
        ([2, 2], [5, 5], "sources of incoming edges must ascend"),
        ([2, 2], [2, 5], "differ from it"),
        ([1, 2], [0, 5], "targets of incoming edges must be rows of the range"),
        ([2, 3], [0, 5], "targets of incoming edges must be rows of the range"),
        ([2, 2], [-1, 5], "targets of incoming edges must be rows of the range"),
        ([2], [1, 5], "must have the same length"),
    ],
)
def test_symmetric_rows_reject(targets, sources, message):
    own = 2, np.array([[4, 5]], np.int32), np.ones((1, 2), np.float32)
    incoming = np.array(targets, np.int32), np.array(sources, np.int32), np.ones(2, np.float32)
    with pytest.raises(ValueError, match=message):
        engine.symmetric_rows(*own, *incoming, engine.Symmetrization.umap, 1.0, 2)


@pytest.mark.parametrize(("ids", "message"), [([[4, 4]], "must differ"), ([[2, 4]], "not the row's own")])
def test_symmetric_rows_reject_own_edges(ids, message):
    nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    own = 2, np.array(ids, np.int32), np.ones((1, 2), np.float32)
    with pytest.raises(ValueError, match=message):
        engine.symmetric_rows(*own, *nothing, engine.Symmetrization.umap, 1.0, 2)


@pytest.mark.parametrize("ids", [[[1, 10]], [[1, 5]], [[-1, 2]]])
def test_range_affinities_reject_ids_beyond_the_data(ids):
    """Row 5 of 10 points."""
    ids, distances = np.array(ids, np.int32), np.ones((1, 2), np.float32)
    umap = engine.Affinity.umap, engine.Distance.pseudo, (), 1.0, 1.0
    with pytest.raises(ValueError, match="neighbour ids must be other rows"):
        engine.range_affinities(5, ids, distances, 10, *umap, 0.5, 1)


@pytest.mark.parametrize("other", [name for name in offered_levels() if name != level])
def test_at_every_level(other):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "any_cut", __file__],
        env={**os.environ, "ACTUP_CPU": other},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
