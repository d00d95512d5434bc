"""Hash the results of a fixed list of runs, to show that no bit of them depends on a change or a machine.

Run it before and after a refactoring and compare the lines::

    python benchmarks/same_bits.py > before.txt
    python benchmarks/same_bits.py > after.txt
    diff before.txt after.txt

The hashes are the same on every processor and at every level of the engine (``ACTUP_CPU``), except those of
metrics that NumPy computes (symmetric_kl). ``--quick`` runs smaller inputs, in
seconds: tests compare its lines between the levels. ``--golden`` runs ten of them, whose hashes are in
tests/golden_hashes.txt.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

import actup
from actup.backends import PointInputs, load_backend
from actup.graph._radii import edge_lengths, local_radii, standardize

DENSE_METRICS = {
    "euclidean": {},
    "manhattan": {},
    "chebyshev": {},
    "minkowski": {"p": 3},
    "seuclidean": {},
    "mahalanobis": {},
    "cosine": {},
    "correlation": {},
    "hellinger": {},
    "inner_product": {},
    "canberra": {},
    "braycurtis": {},
    "hamming": {},
    "softmax_hellinger": {},
    "jaccard": {},
    "dice": {},
    "matching": {},
    "kulsinski": {},
    "rogerstanimoto": {},
    "russellrao": {},
    "sokalmichener": {},
    "sokalsneath": {},
    "yule": {},
    "symmetric_kl": {},
    "sqeuclidean": {},
}
APPROXIMATE_METRICS = (
    "euclidean", "cosine", "correlation", "inner_product", "manhattan", "chebyshev", "jaccard",
)  # fmt: skip
NOT_COMPILED = ("symmetric_kl",)
NOT_SPARSE = ("chebyshev", "mahalanobis", "softmax_hellinger", "symmetric_kl")

Run = tuple[str, Callable[[], list[np.ndarray]]]


def hash_of(arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def lists(found: actup.Neighbors) -> list[np.ndarray]:
    return [found.indices, found.distances, np.float64([found.recall])]


def blobs(n: int, columns: int) -> np.ndarray:
    """Clusters of rows from uniform draws: normal ones depend on the mathematical library."""
    random = np.random.default_rng(0)
    centers = random.uniform(-1, 1, (30, columns))
    spread = sum(random.uniform(-1, 1, (n, columns)) for _ in range(4))
    return (10 * centers[np.arange(n) % 30] + 2.5 * spread).astype(np.float32)


def sheet(n: int) -> np.ndarray:
    """A curved surface in three dimensions."""
    x, y = np.random.default_rng(1).uniform(-1, 1, (2, n))
    return np.column_stack([4 * x, y, x * x - 2 * x * y * y])


def neighbor_runs() -> Iterator[Run]:
    digits = load_digits().data
    queries = digits[:100] + 0.5
    far = digits + 1e6
    mixed = sparse.random(3000, 400, density=0.05, format="csr", random_state=0, dtype=np.float64)
    many = blobs(24_000, 40)
    for metric, parameters in DENSE_METRICS.items():
        X = digits + 0.01 if metric in ("mahalanobis", "seuclidean", "symmetric_kl") else digits
        X = X + np.random.default_rng(0).uniform(0, 0.1, X.shape) if metric == "mahalanobis" else X

        def search(X=X, metric=metric, parameters=parameters) -> list[np.ndarray]:
            index = actup.NeighborIndex(X, metric=metric, metric_kwds=parameters)
            found = actup.nearest_neighbors(X, 15, metric=metric, metric_kwds=parameters)
            return lists(found) + lists(index.query(queries, 10))

        yield f"neighbors {metric} dense", search
        if metric not in NOT_SPARSE:

            def search_sparse(metric=metric, parameters=parameters) -> list[np.ndarray]:
                return lists(actup.nearest_neighbors(mixed, 15, metric=metric, metric_kwds=parameters))

            yield f"neighbors {metric} sparse", search_sparse
    for metric in APPROXIMATE_METRICS:

        def approximate(metric=metric) -> list[np.ndarray]:
            X = many if metric != "jaccard" else (many > 0).astype(np.uint8)
            index = actup.NeighborIndex(X, metric=metric, algorithm="approximate")
            found = actup.nearest_neighbors(X, 15, metric=metric, algorithm="approximate")
            return lists(found) + lists(index.query(X[:500], 10))

        yield f"neighbors {metric} approximate", approximate
    large_sparse = sparse.random(9000, 500, density=0.04, format="csr", random_state=1, dtype=np.float32)
    yield (
        "neighbors cosine sparse approximate",
        lambda: lists(actup.nearest_neighbors(large_sparse, 15, metric="cosine", algorithm="approximate")),
    )
    yield "neighbors automatic", lambda: lists(actup.nearest_neighbors(many, 15))
    yield "neighbors of float64 far from 0", lambda: lists(actup.nearest_neighbors(far, 15))
    towns = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    yield "neighbors haversine", lambda: lists(actup.nearest_neighbors(towns, 15, metric="haversine"))
    duplicates = np.repeat(many[:3000], 10, axis=0)
    yield (
        "neighbors of copies",
        lambda: lists(actup.nearest_neighbors(duplicates, 15, algorithm="approximate")),
    )


def map_runs() -> Iterator[Run]:
    digits = load_digits().data.astype(np.float32)
    many = blobs(6000, 20)
    for name in actup.presets():

        def embed(name=name) -> list[np.ndarray]:
            recipe = actup.preset(name).but(epochs=60)
            return [actup.embed(X, recipe, seed=3).embedding for X in (digits, many)]

        yield f"map {name}", embed
    changes = {
        "normalized frobenius mesh": {"normalized": True, "loss": "frobenius", "repulsion": "mesh"},
        "frobenius barnes_hut": {"loss": "frobenius", "repulsion": "barnes_hut"},
        "three dimensions": {"n_components": 3, "epochs": 30},
        "five dimensions": {"n_components": 5, "epochs": 30},
        "one dimension": {"n_components": 1},
        "heavy tails": {"normalized": True, "dof": 0.6},
        "gaussian affinity": {"normalized": True, "affinity": "gaussian", "distance": "plain"},
        "multiscale affinity": {"affinity": "multiscale", "perplexities": [10, 50], "distance": "plain"},
        "fixed sigma": {"affinity": "fixed_sigma", "sigma": 20.0, "distance": "plain"},
        "uniform affinity": {"affinity": "uniform", "symmetrization": "tsne"},
        "pca start": {"initialization": "pca"},
        "random start": {"initialization": "random"},
        "gains": {"optimizer": "gains", "epochs": 50},
        "accelerated": {"sampling": "accelerated", "epochs": 50},
        "in place frobenius": {"update": "in_place", "loss": "frobenius", "momentum": 0.0, "epochs": 30},
    }
    for name, switches in changes.items():
        yield (
            f"gdr {name}",
            lambda switches=switches: [actup.GDR(**switches, random_state=0).fit_transform(digits)],
        )
    yield "map with pinned points", lambda: pinned_maps(digits)
    yield "map with density", lambda: density_maps(digits)
    apart = np.concatenate([digits[:300], digits[300:500] + 1000, digits[500:504] - 1000])
    yield "map of components", lambda: [actup.UMAP(random_state=0).fit_transform(apart)]
    yield "map in cosine", lambda: [actup.UMAP(metric="cosine", random_state=0).fit_transform(digits)]
    yield (
        "map of float64",
        lambda: [actup.TSNE(random_state=0).fit_transform(digits.astype(np.float64) + 1e5)],
    )
    yield (
        "map of sparse rows",
        lambda: [actup.TSNE(random_state=0).fit_transform(sparse.csr_matrix(digits))],
    )
    yield (
        "map of distances",
        lambda: [
            actup.UMAP(metric="precomputed", random_state=0).fit_transform(
                np.linalg.norm(digits[:500, None] - digits[None, :500], axis=2)
            )
        ],
    )
    yield "map from landmarks", lambda: [actup.embed(blobs(201_000, 4), "gdr_umap", seed=0).embedding]
    yield (
        "embed_many",
        lambda: [
            done.embedding
            for done in actup.embed_many(digits, ["tsne", "umap", "gdr_umap"], seed=1).results.values()
        ],
    )


def with_inputs(X: np.ndarray, recipe: actup.Recipe, mobility: bool, density: bool) -> np.ndarray:
    """A map whose layout has pinned points, the density term, or both."""
    cpu = load_backend("cpu")
    neighbors = cpu.nearest_neighbors(X, recipe.neighbors_searched(len(X)), recipe.metric, 2)
    graph = cpu.affinity_graph(neighbors, recipe, 2)
    random = np.random.default_rng(0)
    start = (5 * random.uniform(-1, 1, (len(X), recipe.n_components))).astype(np.float32)
    points = PointInputs(
        mobility=(1.5 * random.uniform(-1, 1, len(X)) + 0.5).clip(0, 1) if mobility else None,
        log_radii=standardize(local_radii(graph, edge_lengths(graph, neighbors))) if density else None,
    )
    layout = cpu.make_layout(graph, start, recipe, 3, 2, points)
    layout.run(layout.n_epochs)
    return layout.embedding()


def pinned_maps(X: np.ndarray) -> list[np.ndarray]:
    recipes = [
        actup.preset(name).but(epochs=30) for name in ("umap", "sampled_umap", "tsne", "paper_gdr_umap")
    ]
    recipes += [actup.preset("sampled_umap").but(n_components=5, epochs=20)]
    return [with_inputs(X, recipe, mobility=True, density=False) for recipe in recipes]


def density_maps(X: np.ndarray) -> list[np.ndarray]:
    recipes = [
        actup.preset(name).but(density_weight=2.0, epochs=40)
        for name in ("umap", "sampled_gdr_umap", "accelerated_gdr_umap", "paper_gdr_umap")
    ]
    recipes += [actup.preset("umap").but(n_components=n, density_weight=2.0, epochs=20) for n in (1, 3, 5)]
    maps = [with_inputs(X, recipe, mobility=False, density=True) for recipe in recipes]
    return [*maps, with_inputs(X, recipes[0], mobility=True, density=True)]


# From a number of epochs, None for the usual ones, to an estimator.
TRANSFORMED: dict[str, Callable[[int | None], Any]] = {
    "UMAP": lambda epochs: actup.UMAP(n_epochs=epochs, random_state=0),
    "UMAP manhattan": lambda epochs: actup.UMAP(metric="manhattan", n_epochs=epochs, random_state=0),
    "TSNE": lambda epochs: actup.TSNE(max_iter=epochs, random_state=0),
    "GDR": lambda epochs: actup.GDR(epochs=epochs, random_state=0),
    "GDR normalized": lambda epochs: actup.GDR(normalized=True, epochs=epochs, random_state=0),
    "sampled UMAP": lambda epochs: actup.UMAP(
        learning_rate=1.0, n_components=3, n_epochs=epochs, random_state=0
    ),
}


def transform_runs() -> Iterator[Run]:
    digits = load_digits().data
    for name, make in TRANSFORMED.items():
        yield f"transform {name}", lambda make=make: [make(None).fit(digits[:1500]).transform(digits[1400:])]


def quick_runs() -> Iterator[Run]:
    """All presets, metrics, kinds of transform and a start from landmarks, on three small data sets."""
    digits = load_digits().data[:800].astype(np.float32)
    data = {"digits": digits, "blobs": blobs(4200, 15), "sheet": sheet(600)}
    for name in actup.presets():
        for kind, X in data.items():

            def embed(name=name, X=X) -> list[np.ndarray]:
                done = actup.embed(X, actup.preset(name).but(epochs=8), seed=3)
                graph = done.graph
                return [*lists(done.neighbors), graph.indices, graph.weights, done.embedding]

            yield f"map {name} {kind}", embed
    yield "map with pinned points", lambda: pinned_maps(digits)
    yield "map with density", lambda: density_maps(digits)
    noise = np.random.default_rng(0).uniform(0, 0.1, (450, 64))
    rows = sparse.random(500, 200, density=0.05, format="csr", random_state=0, dtype=np.float64)
    many = np.maximum(blobs(800, 30), 0)
    for metric, parameters in DENSE_METRICS.items():
        if metric in NOT_COMPILED:
            continue
        options = {"metric": metric, "metric_kwds": parameters}
        for kind, X in data.items():
            positive = np.abs(X[:450]) + noise[: len(X), : X.shape[1]]  # of full rank

            def search(X=positive[:400], new=positive[400:], options=options) -> list[np.ndarray]:
                index = actup.NeighborIndex(X, **options)
                return lists(actup.nearest_neighbors(X, 15, **options)) + lists(index.query(new, 10))

            yield f"neighbors {metric} {kind}", search
        if metric not in NOT_SPARSE:
            yield (
                f"neighbors {metric} sparse",
                lambda options=options: lists(actup.nearest_neighbors(rows, 15, **options)),
            )
        yield (
            f"neighbors {metric} approximate",
            lambda options=options: lists(
                actup.nearest_neighbors(many, 15, algorithm="approximate", **options)
            ),
        )
    far_groups = np.random.default_rng(0).uniform(-1, 1, (600, 8))
    far_groups[300:] += 1e8
    far_groups[:40] *= 1e-9  # compared in float64
    of_far_groups = {
        "euclidean": {},
        "manhattan": {},
        "minkowski": {"p": 3},
        "mahalanobis": {"VI": np.eye(8) + 0.3},
        "canberra": {},
    }
    for metric, parameters in of_far_groups.items():
        options = {"metric": metric, "metric_kwds": parameters}
        yield (
            f"neighbors {metric} of far groups",
            lambda options=options: lists(actup.nearest_neighbors(far_groups, 15, **options)),
        )
    towns = np.random.default_rng(0).uniform(-1, 1, (800, 2))
    yield "neighbors haversine", lambda: lists(actup.nearest_neighbors(towns, 15, metric="haversine"))
    yield (
        "neighbors cosine sparse approximate",
        lambda: lists(actup.nearest_neighbors(rows, 15, metric="cosine", algorithm="approximate")),
    )
    apart = np.concatenate([digits[:300], digits[300:500] + 1000, digits[500:504] - 1000])
    for dimensions in (2, 3):
        recipe = actup.preset("gdr_umap").but(epochs=8, n_components=dimensions)
        yield (
            f"map of components in {dimensions} dimensions",
            lambda recipe=recipe: [actup.embed(apart, recipe, seed=0).embedding],
        )
    yield "map of sparse rows", lambda: [actup.embed(rows, "umap", seed=0).embedding]
    yield (
        "map in one dimension",
        lambda: [actup.GDR(n_components=1, epochs=20, random_state=0).fit_transform(digits)],
    )
    for kind, X in data.items():
        yield f"map from landmarks {kind}", lambda X=X: [landmark_start(X)]
        for name, make in TRANSFORMED.items():
            yield (
                f"transform {name} {kind}",
                lambda X=X, make=make: [make(60).fit(X[:500]).transform(X[450:650])],
            )


def landmark_start(X: np.ndarray) -> np.ndarray:
    """A map whose start is made from landmarks, as those of 200,000 points are."""
    from actup.start import _landmarks

    usual = _landmarks.LANDMARK_MIN_POINTS, _landmarks.LANDMARKS
    _landmarks.LANDMARK_MIN_POINTS, _landmarks.LANDMARKS = 500, 100
    try:
        done = actup.embed(X, actup.preset("gdr_umap").but(epochs=8), seed=0)
    finally:
        _landmarks.LANDMARK_MIN_POINTS, _landmarks.LANDMARKS = usual
    assert "landmarks" in done.init_used
    return done.embedding


def cluster_runs() -> Iterator[Run]:
    """Clusters of maps, of rows in more dimensions and of graphs."""
    graph = actup.embed(blobs(2000, 20), "umap", seed=0).graph
    places = {
        "2 dimensions": blobs(6000, 2),
        "5 dimensions": blobs(3000, 5),
        "a lattice": np.round(blobs(3000, 2)),
    }
    for name, Y in places.items():
        yield f"clusters in {name}", lambda Y=Y: layers_of(actup.find_clusters(Y))
    yield "clusters of a graph", lambda: layers_of(actup.find_clusters(blobs(2000, 2), graph=graph))
    texts = [f"word{i % 7} word{i % 30} word{i % 11}" for i in range(3000)]
    yield (
        "names of clusters",
        lambda: [np.array(layer.names) for layer in actup.find_clusters(blobs(3000, 2), texts=texts).layers],
    )


def layers_of(clusters: actup.clusters.Clusters) -> list[np.ndarray]:
    parts = ((layer.codes, layer.centers, layer.persistence, layer.parents) for layer in clusters.layers)
    return [array for part in parts for array in part]


GOLDEN = (
    "map umap digits", "map tsne blobs", "map gdr_umap sheet", "map sampled_umap digits",
    "map of components in 3 dimensions", "map from landmarks blobs", "neighbors cosine approximate",
    "neighbors mahalanobis digits", "neighbors minkowski sparse", "transform UMAP digits",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="only runs whose name contains this")
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--golden", action="store_true", help="the runs of tests/golden_hashes.txt")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    total = hashlib.sha256()
    quick = arguments.quick or arguments.golden
    for runs in (
        (quick_runs, cluster_runs) if quick else (neighbor_runs, map_runs, transform_runs, cluster_runs)
    ):
        for name, run in runs():
            if arguments.only in name and (name in GOLDEN or not arguments.golden):
                line = f"{hash_of(run())}  {name}"
                total.update(line.encode())
                print(line, flush=True)
    if not arguments.golden:
        print(f"{total.hexdigest()[:16]}  all of them", flush=True)


if __name__ == "__main__":
    sys.exit(main())
