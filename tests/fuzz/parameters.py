"""Draw parameters of estimators and recipes: right values of every switch, wrong values, wrong types.

Values that would only take long (a billion epochs) are left out.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import actup
from actup.neighbors._metrics import METRICS
from actup.recipe import _switches as switches

from .arrays import draw_generator, draw_graph_of_neighbors, draw_places

FRACTIONS = [0, 0.0, 0.3, 1, 1.0, 0.999]
SIZES = [1e-300, 1e-45, 1e-6, 0.1, 0.5, 1, 2.0, 10, 1e6, 1e38, 1e300, np.float32(0.5)]
FACTORS = [1e-6, 0.1, 0.5, 1, 2.0, 12, 1e3]
COUNTS = [1, 2, 3, 5, 14, np.int64(4), 3.0]
EPOCHS = [0, 1, 2, 3, 7]
BOOLEANS = [True, False, np.True_]
WRONG = [None, -1, 0, -0.5, "", "x", "auto", b"x", [], [1], (), {}, float("nan"), float("inf"), 1e400]
WRONG += [10**30, 2**31 - 1, 2**31, 2**63, True, object(), np.array([1, 2]), 2 + 1j, lambda: 3, "\ud800", 0.5]


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).sum())


def nan_distance(a: np.ndarray, b: np.ndarray) -> float:
    return float("nan")


METRIC_VALUES = ["euclidean"] * 8 + list(METRICS) + ["precomputed", "nan_euclidean", distance, nan_distance]
METRIC_VALUES += ["l1", "cityblock", "wminkowski", "sokalmichener", "braycurtis"]
OUTPUT_METRICS = ["euclidean"] * 4 + [
    "manhattan",
    "cosine",
    "correlation",
    "haversine",
    "hyperboloid",
    "chebyshev",
]
OUTPUT_METRICS += ["minkowski", "canberra", "braycurtis", "gaussian_energy", "poincare", "hellinger"]
STARTS = ["spectral", "random", "pca", "tswspectral"]


def enum_values(kind: type) -> list[str]:
    return [str(member) for member in kind]  # type: ignore[attr-defined]


SHARED: dict[str, list[Any]] = {
    "n_components": [1, 2, 2, 3, 5],
    "metric": METRIC_VALUES,
    "random_state": [0, 1, 2**32 - 1, None, np.random.RandomState(0), np.random.default_rng(0), np.int64(3)],
    "n_jobs": [1, 2, -1, None],
    "recall": [0.5, 0.97, 1.0, 1],
    "backend": ["cpu", "reference", "cuda", "auto"],
    "verbose": [False, 0],
}
UMAP: dict[str, list[Any]] = {
    **SHARED,
    "n_neighbors": [2, 3, 5, 15, 39, 100],
    "n_epochs": [*EPOCHS, [1, 3]],
    "learning_rate": ["auto", *FACTORS],
    "init": STARTS,
    "min_dist": [0, 0.1, 1.0, 1e-300],
    "spread": [0.5, 1.0, 2, 1e-6, 1e6],
    "output_metric": OUTPUT_METRICS,
    "set_op_mix_ratio": FRACTIONS,
    "local_connectivity": [0, 0.5, 1, 1.5, 3, 100, 1e300],
    "repulsion_strength": [0, *FACTORS],
    "negative_sample_rate": [0, 0.5, 1, 5, 30],
    "transform_queue_size": FACTORS,
    "a": [None, 0.5, 1.5],
    "b": [None, 0.5, 0.9, 1, 3],
    "target_n_neighbors": [-1, 2, 5],
    "target_metric": ["categorical", "euclidean", "l1", "manhattan", "levenshtein", distance],
    "target_weight": FRACTIONS,
    "transform_seed": [0, 42],
    "transform_mode": ["embedding", "graph"],
    "force_approximation_algorithm": BOOLEANS,
    "unique": BOOLEANS,
    "densmap": BOOLEANS,
    "dens_lambda": [0, 2.0, 1e3],
    "dens_frac": FRACTIONS,
    "dens_var_shift": [0, 0.1, 1e3],
    "output_dens": BOOLEANS,
    "disconnection_distance": [None, 0, 0.1, 1.0, 1e300],
    "disconnected": ["place", "nan"],
    "low_memory": BOOLEANS,
    "angular_rp_forest": BOOLEANS,
}
TSNE: dict[str, list[Any]] = {
    **SHARED,
    "perplexity": [1, 2, 3.5, 12, 30, 1e3, 1e300, [2, 4], (3,)],
    "early_exaggeration": [1, 4.0, 12, "auto", 1e3],
    "learning_rate": ["auto", *FACTORS],
    "max_iter": [None, *EPOCHS, 300],
    "n_iter_without_progress": [-1, 1, 50],
    "min_grad_norm": [0, 1e-7, 1.0],
    "init": ["pca", "random", "spectral"],
    "method": ["auto", "exact", "barnes_hut", "fft", "mesh"],
    "angle": [0, 0.5, 1.0],
    "exaggeration": [None, *FACTORS],
    "dof": [0.1, 0.5, 1, 2.0, 100],
}
GDR: dict[str, list[Any]] = {
    **SHARED,
    "normalized": [None, *BOOLEANS],
    "preset": [*actup.presets(), "auto"],
    "n_neighbors": UMAP["n_neighbors"],
    "perplexity": [1, 2, 12, 30, 1e300],
    "perplexities": [(2, 4), [3], np.array([2.0, 5.0])],
    "sigma": SIZES,
    "affinity": enum_values(switches.Affinity),
    "distance": enum_values(switches.Distance),
    "symmetrization": enum_values(switches.Symmetrization),
    "set_op_mix_ratio": FRACTIONS,
    "local_connectivity": UMAP["local_connectivity"],
    "initialization": enum_values(switches.Initialization),
    "start_extent": enum_values(switches.Extent),
    "start_size": SIZES,
    "a": SIZES,
    "b": FACTORS,
    "min_dist": UMAP["min_dist"],
    "spread": UMAP["spread"],
    "dof": TSNE["dof"],
    "output_metric": OUTPUT_METRICS,
    "partition": SIZES,
    "loss": enum_values(switches.Loss),
    "symmetric_attraction": BOOLEANS,
    "sampling": enum_values(switches.Sampling),
    "repulsion": enum_values(switches.Repulsion),
    "negatives": [1, 2, 7, 64, 1000],
    "repulsion_mass": enum_values(switches.RepulsionMass),
    "repulsion_rate": [0, *SIZES],
    "non_edge_weight": enum_values(switches.NonEdgeWeight),
    "repulsion_epsilon": SIZES,
    "mesh_spacing": [0.1, 0.5, 1, 1e6, 1e-6],
    "theta": [0, 0.5, 1, 10, 1e300],
    "horizon": SIZES,
    "density_weight": [0, *FACTORS],
    "density_share": FRACTIONS,
    "density_shift": [0, *SIZES],
    "update": enum_values(switches.Update),
    "optimizer": enum_values(switches.Optimizer),
    "epochs": EPOCHS,
    "prune": BOOLEANS,
    "learning_rate": SIZES,
    "learning_rate_unit": enum_values(switches.LearningRateUnit),
    "decay_start": FRACTIONS,
    "decay_power": [0, *SIZES],
    "momentum": FRACTIONS,
    "exaggeration": FACTORS,
    "exaggeration_share": FRACTIONS,
    "late_exaggeration": FACTORS,
    "step_cap": SIZES,
    "force_scale": SIZES,
    "gradient_clip": [None, *SIZES],
}
BASE: dict[type, dict[str, Any]] = {
    actup.UMAP: {"n_epochs": 3, "n_neighbors": 4, "random_state": 0, "n_jobs": 1},
    actup.TSNE: {"max_iter": 3, "perplexity": 3, "random_state": 0, "n_jobs": 1},
    actup.GDR: {"epochs": 3, "n_neighbors": 4, "random_state": 0, "n_jobs": 1},
}
TABLES: dict[type, dict[str, list[Any]]] = {actup.UMAP: UMAP, actup.TSNE: TSNE, actup.GDR: GDR}
RECIPE = {key: value for key, value in GDR.items() if key in actup.recipe._recipe.switches()}


def draw_changes(draw: random.Random, table: dict[str, list[Any]], n: int = 20) -> dict[str, Any]:
    """Some parameters by name: mostly right values, seldom wrong ones."""
    changes: dict[str, Any] = {}
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3, 5])):
        name = draw.choice(list(table))
        changes[name] = draw.choice(WRONG) if draw.random() < 0.1 else draw.choice(table[name])
    slow = isinstance(changes.get("backend"), str) and changes["backend"] == "reference"
    if slow and draw.random() < 0.9:  # and no compiled code
        del changes["backend"]
    if "metric" in changes and draw.random() < 0.3:
        changes["metric_kwds"] = draw_metric_parameters(draw)
    if "init" in table and draw.random() < 0.08:
        changes["init"] = draw_places(draw, n)
    if "random_state" in table and draw.random() < 0.04:
        changes["precomputed_knn"] = draw_graph_of_neighbors(draw, n)
    return changes


def draw_metric_parameters(draw: random.Random) -> Any:
    columns = draw.randrange(1, 9)
    return draw.choice([
        {}, None, {"p": 3}, {"p": 0}, {"p": float("nan")}, {"p": "x"}, {"V": np.ones(columns)}, {"q": 1},
        {"w": np.arange(columns)}, {"VI": np.eye(columns)},
        {"VI": draw_generator(draw).normal(size=(columns, columns))},
        {"V": -np.eye(columns)}, [("p", 2)], "p", {1: 2}, {"p": 1e300}, {"p": -1}, {"V": None},
    ])  # fmt: skip


def draw_parameters(draw: random.Random, kind: type, n: int) -> dict[str, Any]:
    """All parameters of an estimator for n rows."""
    return {**BASE[kind], **draw_changes(draw, TABLES[kind], n)}
