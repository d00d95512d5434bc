"""Draw parameters of estimators and recipes: right values of every switch, wrong values, wrong types.

Values that would only take long (a billion epochs) are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import actup
from actup.neighbors._metrics import METRICS
from actup.recipe import Phase, Role
from actup.recipe import _switches as switches

from .arrays import draw_generator, draw_graph_of_neighbors, draw_places
from .oracle import Stop

# What a parameter may be: one of these values, or what is drawn for a number of rows.
Values = list[Any] | Callable[[random.Random, int], Any]

FRACTIONS = [0, 0.0, 0.3, 1, 1.0, 0.999]
SIZES = [1e-300, 1e-45, 1e-6, 0.1, 0.5, 1, 2.0, 10, 1e6, 1e38, 1e300, np.float32(0.5)]
FACTORS = [1e-6, 0.1, 0.5, 1, 2.0, 12, 1e3]
COUNTS = [1, 2, 3, 5, 14, np.int64(4), 3.0]
EPOCHS = [0, 1, 2, 3, 7]
BOOLEANS = [True, False, np.True_]
WRONG = [None, -1, 0, -0.5, "", "x", "auto", b"x", [], [1], (), {}, float("nan"), float("inf")]
WRONG += [10**30, 2**31 - 1, 2**31, 2**63, True, object(), np.array([1, 2]), 2 + 1j, lambda: 3, "\ud800", 0.5]
WRONG += [10**400, -(10**400), np.array([10**400]), np.array(10**400)]

# Of rows, right and wrong, for estimates of memory.
SHAPES = [
    (20, 3),
    (10**6, 50),
    (0, 3),
    (20, 0),
    (-1, 3),
    (2.5, 3),
    (20,),
    (10**400, 3),
    (2**31, 3),
    ("x", 3),
]


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


def go_on(*_: object) -> None:
    """Callbacks that have nothing to say."""


def say_true(*_: object) -> bool:
    return True


def say_false(*_: object) -> bool:
    return False


def throw(*_: object) -> None:
    raise Stop("thrown by a callback")


def draw_metric_parameters(draw: random.Random, n: int = 0) -> Any:
    columns = draw.randrange(1, 9)
    return draw.choice([
        {}, None, {"p": 3}, {"p": 0}, {"p": float("nan")}, {"p": "x"}, {"V": np.ones(columns)}, {"q": 1},
        {"w": np.arange(columns)}, {"VI": np.eye(columns)},
        {"VI": draw_generator(draw).normal(size=(columns, columns))},
        {"V": -np.eye(columns)}, [("p", 2)], "p", {1: 2}, {"p": 1e300}, {"p": -1}, {"V": None},
        {"p": 10**400}, {"w": np.full(columns, 10**400, object)},
        {"w": np.ma.masked_array(np.ones(columns), np.arange(columns) == 0)},
    ])  # fmt: skip


def draw_start(draw: random.Random, n: int) -> Any:
    return draw_places(draw, n) if draw.random() < 0.5 else draw.choice(STARTS)


def draw_phases(draw: random.Random, n: int) -> Any:
    """Phases of optimizer "stiffness"; the first of a wrong value says so when it is made."""
    drawn = [
        (draw.choice(enum_values(Role)), draw.choice([0, 1, 2]), draw.choice([0, 0.5, 0.9]))
        for _ in range(draw.randrange(4))
    ]
    phases = [Phase(Role(role), epochs, momentum) for role, epochs, momentum in drawn]
    return draw.choice([phases, phases, tuple(phases), drawn, [*phases, None], np.array(drawn)])


def end_iteration(*_: object) -> None:
    raise StopIteration("thrown by a callback")


CALLBACKS = [None, go_on, go_on, say_true, say_false, throw, end_iteration]


def enum_values(kind: type) -> list[str]:
    return [str(member) for member in kind]  # type: ignore[attr-defined]


SHARED: dict[str, Values] = {
    "n_components": [1, 2, 2, 3, 5],
    "metric": METRIC_VALUES,
    "random_state": [0, 1, 2**32 - 1, None, np.random.RandomState(0), np.random.default_rng(0), np.int64(3)],
    "n_jobs": [1, 2, -1, None],
    "recall": [0.5, 0.97, 1.0, 1],
    "backend": ["cpu", "reference", "cuda", "auto"],
    "verbose": [False, 0],
    "metric_kwds": draw_metric_parameters,
    "callback": CALLBACKS,
}
# Parameters of estimators whose fit is given all rows.
IN_MEMORY: dict[str, Values] = {
    "precomputed_knn": draw_graph_of_neighbors,
    "max_memory": [None, 10**9, 1e9, "1GB", "512 MiB", 10**5, "50 kB", 1, "1 kB", "", "4 bananas", "1e400"],
}
UMAP: dict[str, Values] = {
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
    "output_metric_kwds": draw_metric_parameters,
    "target_metric_kwds": draw_metric_parameters,
    "tqdm_kwds": [None, {}, {"desc": "x"}, {"disable": True}, {"no_such_word": 1}],
    **IN_MEMORY,
}
PARAMETRIC: dict[str, Values] = {
    **UMAP,
    "hidden_layer_sizes": [(4,), [3, 2], np.array([5]), (1,), ()],
    "n_training_epochs": [1, 2, np.int64(2)],
    "batch_size": [1, 8, 200, 10**6],
}
TSNE: dict[str, Values] = {
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
    "n_iter": [None, *EPOCHS],
    "square_distances": [True, False, "legacy", "deprecated"],
    "metric_params": draw_metric_parameters,
    "callbacks": [*CALLBACKS, [], [go_on, say_false], (throw,), [None]],
    "callbacks_every_iters": [1, 2, 50],
    **IN_MEMORY,
}
GDR: dict[str, Values] = {
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
    "init": draw_start,
    "phases": draw_phases,
    "output_metric_kwds": draw_metric_parameters,
    **IN_MEMORY,
}
ALIGNED: dict[str, Values] = {name: UMAP[name] for name in actup.AlignedUMAP().get_params() if name in UMAP}
ALIGNED |= {
    "alignment_regularisation": [0, 0.01, 1.0],
    "alignment_window_size": [1, 3],
    "n_neighbors": [3, [3, 4]],
}
TRANSFORMER: dict[str, Values] = {name: SHARED[name] for name in ("metric", "n_jobs", "recall")}
TRANSFORMER |= {
    "n_neighbors": [1, 5],
    "mode": ["distance", "connectivity"],
    "p": [2, 1, 3],
    "metric_params": draw_metric_parameters,
    "random_state": [0, 1],
    "algorithm": ["auto", "exact", "approximate", "brute", "ball_tree", "kd_tree"],
    "leaf_size": [1, 30],
}
BASE: dict[type, dict[str, Any]] = {
    actup.UMAP: {"n_epochs": 3, "n_neighbors": 4, "random_state": 0, "n_jobs": 1},
    actup.TSNE: {"max_iter": 3, "perplexity": 3, "random_state": 0, "n_jobs": 1},
    actup.GDR: {"epochs": 3, "n_neighbors": 4, "random_state": 0, "n_jobs": 1},
}
BASE[actup.ParametricUMAP] = {**BASE[actup.UMAP], "hidden_layer_sizes": (4,), "n_training_epochs": 1}
TABLES: dict[type, dict[str, Values]] = {
    actup.UMAP: UMAP,
    actup.TSNE: TSNE,
    actup.GDR: GDR,
    actup.ParametricUMAP: PARAMETRIC,
    actup.AlignedUMAP: ALIGNED,
    actup.KNeighborsTransformer: TRANSFORMER,
}
RECIPE = {name: values for name, values in GDR.items() if name in actup.recipe._recipe.switches()}


def draw_value(draw: random.Random, values: Values, n: int) -> Any:
    return values(draw, n) if callable(values) else draw.choice(values)


def draw_changes(draw: random.Random, table: dict[str, Values], n: int = 20) -> dict[str, Any]:
    """Some parameters by name: mostly right values, seldom wrong ones."""
    changes: dict[str, Any] = {}
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3, 5])):
        name = draw.choice(list(table))
        changes[name] = draw.choice(WRONG) if draw.random() < 0.1 else draw_value(draw, table[name], n)
    slow = isinstance(changes.get("backend"), str) and changes["backend"] == "reference"
    if slow and draw.random() < 0.9:  # and no compiled code
        del changes["backend"]
    if "metric" in changes and "metric_kwds" in table and draw.random() < 0.3:
        changes["metric_kwds"] = draw_metric_parameters(draw)
    if "init" in table and draw.random() < 0.08:
        changes["init"] = draw_places(draw, n)
    if "precomputed_knn" in table and draw.random() < 0.04:
        changes["precomputed_knn"] = draw_graph_of_neighbors(draw, n)
    return changes


def draw_parameters(draw: random.Random, kind: type, n: int) -> dict[str, Any]:
    """All parameters of an estimator for n rows."""
    return {**BASE[kind], **draw_changes(draw, TABLES[kind], n)}
