"""Graphs of many components on the GPU: labels, starts and maps, compared with the CPU's.

The kernels that find the components also run on the CPU, interleaved at random, where there is no GPU.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components as scipy_components
from sklearn.datasets import make_blobs

import actup
from actup import datasets, preset
from actup.backends import cuda_is_available, load_backend
from actup.backends._cuda.compile import source_of
from actup.graph._records import Graph
from actup.start import _coordinates

cpu = load_backend("cpu")
needs_gpu = pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")

NATIVE_TESTS = Path(__file__).parents[1] / "native"
REPEATS = 20  # runs of one input: a race shows in some of them only


def graph_of_edges(n: int, heads: np.ndarray, tails: np.ndarray, seed: int = 0) -> Graph:
    """A symmetric graph with random weights; points without edges stay isolated."""
    weights = np.random.default_rng(seed).uniform(0.1, 1, len(heads))
    directed = coo_matrix((weights, (heads, tails)), (n, n)).tocsr()
    symmetric = directed.maximum(directed.T)
    symmetric.setdiag(0)
    symmetric.eliminate_zeros()
    return Graph.from_scipy(symmetric)


def chain(n, random):
    return graph_of_edges(n, np.arange(n - 1), np.arange(1, n))


def shuffled_chain(n, random):
    order = random.permutation(n)
    return graph_of_edges(n, order[:-1], order[1:])


def star(n, random):
    centre = int(random.integers(n))
    others = np.delete(np.arange(n), centre)
    return graph_of_edges(n, np.full(n - 1, centre), others)


def pairs(n, random):
    order = random.permutation(n)[: n // 2 * 2]
    return graph_of_edges(n, order[::2], order[1::2])


def nearest_only(n, random):
    """One random edge per point: many components of all sizes."""
    near = np.clip(np.arange(n) + random.integers(-3, 4, n), 0, n - 1)
    return graph_of_edges(n, np.arange(n), near)


def giant_and_pairs(n, random):
    """A dense component of half of the points; the others are pairs and isolated points."""
    order = random.permutation(n)
    giant, rest = order[: n // 2], order[n // 2 :]
    rest = rest[: len(rest) // 4 * 2]
    heads = np.concatenate([random.choice(giant, 2 * n), rest[::2]])
    tails = np.concatenate([random.choice(giant, 2 * n), rest[1::2]])
    return graph_of_edges(n, heads, tails)


def two_random_edges(n, random):
    return graph_of_edges(n, random.integers(0, n, n), random.integers(0, n, n))


def no_edges(n, random):
    return graph_of_edges(n, np.zeros(0, int), np.zeros(0, int))


SHAPES = {
    shape.__name__: shape
    for shape in (
        chain,
        shuffled_chain,
        star,
        pairs,
        nearest_only,
        giant_and_pairs,
        two_random_edges,
        no_edges,
    )
}


def components_of(graph: Graph) -> tuple[int, np.ndarray]:
    return scipy_components(graph.to_scipy(), directed=False)


def smallest_points(labels: np.ndarray) -> np.ndarray:
    """The smallest point of each point's component."""
    return np.unique(labels, return_index=True)[1][labels]


# ---- the kernels, run by the CPU ----

RUN_ON_HOST = """
extern "C" int find_components(const int64_t* offsets, const int* ids, int n, int* parent, uint64_t seed) {
  int count = 0;
  Launch::run(n, 64, seed, [&] { number_points(n, parent); });
  Launch::run(int64_t{kPanel} * n, 2048, seed, [&] { join_components(offsets, ids, n, parent); });
  Launch::run(n, 2048, seed, [&] { flatten_components(n, parent, &count); });
  return count;
}
"""


def compile_for_host(source: str, folder: Path) -> Callable[[Graph, int], tuple[int, np.ndarray]]:
    """The kernels of spectrum.cu as a function of a graph and a seed of the interleaving."""
    code, library = folder / "components.cpp", folder / "components.so"
    code.write_text(f'#include "kernels_on_host.hpp"\n{source}{RUN_ON_HOST}')
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-w", f"-I{NATIVE_TESTS}"]
    subprocess.run([*command, "-o", library, code], check=True, capture_output=True, text=True)
    call = ctypes.CDLL(str(library)).find_components

    def find(graph: Graph, seed: int) -> tuple[int, np.ndarray]:
        roots = np.empty(len(graph), np.int32)
        arrays = (graph.offsets, graph.indices, roots)
        offsets, ids, out = (array.ctypes.data_as(ctypes.c_void_p) for array in arrays)
        return call(offsets, ids, len(graph), out, ctypes.c_uint64(seed)), roots

    return find


needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="needs Linux's coroutines and g++"
)


@needs_compiler
def test_kernels_find_the_components_in_any_interleaving(tmp_path):
    find = compile_for_host(source_of("spectrum"), tmp_path)
    for seed in range(12):
        random = np.random.default_rng(seed)
        for name, shape in SHAPES.items():
            graph = shape(int(random.integers(2, 100)), random)
            count, labels = components_of(graph)
            found, roots = find(graph, seed)
            assert found == count, (name, seed)
            np.testing.assert_array_equal(roots, smallest_points(labels), f"{name}, seed {seed}")


@needs_compiler
def test_interleaving_shows_a_path_that_overwrites_a_root(tmp_path):
    """The test above is able to fail: it does if shortening a path is a plain write."""
    source = source_of("spectrum")
    atomic = "if (next != above) atomicMin(parent + i, next);"
    assert atomic in source
    plain = source.replace(atomic, "if (next != above) Launch::give_up_control(), parent[i] = next;")
    plain = plain.replace("atomicMin(parent + i, root);", "parent[i] = root;")
    find = compile_for_host(plain, tmp_path)
    graph = shuffled_chain(120, np.random.default_rng(0))
    assert any(find(graph, seed)[1].any() for seed in range(20))  # all points are of component 0


# ---- on the GPU ----


@pytest.mark.cuda
@needs_gpu
def test_components_are_numbered_as_by_scipy():
    """Two hundred random graphs of different shapes and sizes."""
    from actup.backends._cuda.arrays import device_graph
    from actup.backends._cuda.graph import connected_components

    for seed in range(25):
        random = np.random.default_rng(seed)
        for name, shape in SHAPES.items():
            graph = shape(int(10 ** random.uniform(0.5, 4.5)), random)
            count, labels = components_of(graph)
            found, mine = connected_components(device_graph(graph))
            assert found == count, (name, seed)
            np.testing.assert_array_equal(mine.get(), labels, f"{name}, seed {seed}")


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("name", SHAPES)
def test_components_of_many_points_in_every_run(name):
    """Deep trees, hubs and thousands of tiny components of 100,000 points."""
    from actup.backends._cuda.arrays import device_graph
    from actup.backends._cuda.graph import connected_components

    graph = SHAPES[name](100_000, np.random.default_rng(0))
    count, labels = components_of(graph)
    on_device = device_graph(graph)
    for _ in range(REPEATS):
        found, mine = connected_components(on_device)
        assert found == count
        np.testing.assert_array_equal(mine.get(), labels)


def rings(random, sizes) -> Graph:
    """Rings with chords, of the given sizes, whose points are shuffled."""
    heads, tails, begin = [], [], 0
    for size in sizes:
        own = np.arange(size)
        for step in (1, 2, 5):
            heads.append(begin + own)
            tails.append(begin + (own + step) % size)
        begin += size
    place = random.permutation(begin)
    return graph_of_edges(begin, place[np.concatenate(heads)], place[np.concatenate(tails)])


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize(
    "sizes",
    [[8] * 600, [3] * 3000, [1500, *[2] * 800, *[1] * 50], list(range(3, 90)), [9, 1]],
    ids=["eights", "threes", "one large", "all sizes", "one isolated"],
)
def test_start_of_many_components_equals_that_of_the_cpu(sizes):
    from actup.backends._cuda.arrays import device_graph
    from actup.backends._cuda.start import spectral_start

    graph = rings(np.random.default_rng(1), sizes)
    theirs = _coordinates.spectral_start(graph, 2, 0, 1, cpu.spectral_coordinates)
    for _ in range(3):
        mine = spectral_start(device_graph(graph), 2, 0, 1).get()
        np.testing.assert_allclose(mine, theirs, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("shape", [chain, shuffled_chain, star, giant_and_pairs, pairs, no_edges])
def test_spectral_coordinates_of_degenerate_graphs_are_finite(shape):
    """Equal eigenvalues, dependent vectors, and a graph of many components that is given as one."""
    from actup.backends._cuda.start import spectral_coordinates, spectral_start

    graph = shape(5000, np.random.default_rng(2))
    assert np.isfinite(spectral_coordinates(graph, 2, 0)).all()
    assert np.isfinite(spectral_start(graph, 2, 0, 1).get()).all()


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_weights_that_are_not_finite_start_at_random(wrong):
    """As on the CPU: the eigenvectors are NaN, and the start becomes a random one."""
    from actup.backends._cuda.start import scale_start, spectral_start

    graph = shuffled_chain(3000, np.random.default_rng(3))
    weights = graph.weights.copy()
    weights[7] = wrong
    graph = Graph(graph.offsets, graph.indices, weights)
    recipe = preset("umap")
    Y = scale_start(spectral_start(graph, 2, 0, 1), recipe.start_extent, recipe.start_size, 0).get()
    assert np.isfinite(Y).all() and np.ptp(Y, axis=0).min() > 0


@pytest.fixture(scope="module")
def clustered():
    X, _ = make_blobs(12_000, 10, centers=900, cluster_std=0.1, center_box=(-50, 50), random_state=0)
    return X.astype(np.float32)


@pytest.fixture(scope="module")
def mnist():
    try:
        return datasets.load("mnist").X.astype(np.float32)
    except datasets.MissingDataset as error:
        pytest.skip(str(error))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("n_neighbors", [2, 3, 5])
@pytest.mark.parametrize("data", ["clustered", "mnist"])
def test_few_neighbours_in_every_run(data, n_neighbors, request):
    X = request.getfixturevalue(data)
    recipe = preset("umap").but(n_neighbors=n_neighbors, epochs=5)
    first = actup.embed(X, recipe, backend="cuda")
    assert np.isfinite(first.embedding).all()
    for _ in range(REPEATS - 1):
        again = actup.embed(X, recipe, neighbors=first.neighbors, backend="cuda")
        np.testing.assert_array_equal(again.embedding, first.embedding)


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("data", ["clustered", "mnist"])
@pytest.mark.parametrize(
    "estimator",
    [
        actup.UMAP(n_neighbors=2, random_state=0, backend="cuda"),
        actup.UMAP(n_neighbors=3, random_state=0, backend="cuda"),
        actup.TSNE(perplexity=1.5, random_state=0, backend="cuda"),
        actup.GDR(n_neighbors=2, random_state=0, backend="cuda"),
    ],
    ids=["umap 2", "umap 3", "tsne", "gdr 2"],
)
def test_whole_maps_of_few_neighbours_are_finite(data, estimator, request):
    X = request.getfixturevalue(data)
    Y = estimator.fit_transform(X)
    assert Y.shape == (len(X), 2) and np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) > 0.99 * len(Y)
