"""The matrix of umap-learn's parameters: each one changes something, or is documented to have no effect."""

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

import actup
from actup.compat.umap import UMAP
from actup.compat.umap.umap_ import nearest_neighbors

# The signature of umap.UMAP in umap-learn 0.5.12, in its order.
SIGNATURE = {
    "n_neighbors": 15, "n_components": 2, "metric": "euclidean", "metric_kwds": None,
    "output_metric": "euclidean", "output_metric_kwds": None, "n_epochs": None, "learning_rate": 1.0,
    "init": "spectral", "min_dist": 0.1, "spread": 1.0, "low_memory": True, "n_jobs": -1,
    "set_op_mix_ratio": 1.0, "local_connectivity": 1.0, "repulsion_strength": 1.0, "negative_sample_rate": 5,
    "transform_queue_size": 4.0, "a": None, "b": None, "random_state": None, "angular_rp_forest": False,
    "target_n_neighbors": -1, "target_metric": "categorical", "target_metric_kwds": None,
    "target_weight": 0.5, "transform_seed": 42, "transform_mode": "embedding",
    "force_approximation_algorithm": False, "verbose": False, "tqdm_kwds": None, "unique": False,
    "densmap": False, "dens_lambda": 2.0, "dens_frac": 0.3, "dens_var_shift": 0.1, "output_dens": False,
    "disconnection_distance": None, "precomputed_knn": (None, None, None),
}  # fmt: skip
# Defaults that stand for the same: ActUp's own descent, and no neighbours.
OTHER_DEFAULTS = {"learning_rate": "auto", "precomputed_knn": None}

ROWS = load_digits().data[:200].astype(np.float32)
NEW_ROWS = load_digits().data[200:210].astype(np.float32)
TWICE = np.concatenate([ROWS[:100], ROWS[:100]])
LABELS = np.arange(200) % 4
TARGETS = np.random.default_rng(0).random((200, 2))
OTHER_NEIGHBORS = nearest_neighbors(ROWS[:, ::-1] ** 2, 15, "manhattan", {}, False, 0)


def case(value, X=ROWS, y=None, **others):
    """The value that is tried, the data, and the parameters of the run to compare with."""
    return value, X, y, others


CASES = {
    "n_neighbors": case(5),
    "n_components": case(3),
    "metric": case("manhattan"),
    "metric_kwds": case({"p": 1.5}, metric="minkowski"),
    "output_metric": case("haversine"),
    "output_metric_kwds": case({"p": 4}, output_metric="minkowski"),
    "n_epochs": case(15),
    "learning_rate": case(0.5),
    "init": case("random"),
    "min_dist": case(0.6),
    "spread": case(2.0),
    "set_op_mix_ratio": case(0.3),
    "local_connectivity": case(3.0),
    "repulsion_strength": case(2.0),
    "negative_sample_rate": case(10),
    "a": case(2.0, a=1.5, b=0.8),
    "b": case(0.7, a=1.5, b=0.8),
    "random_state": case(5),
    "target_n_neighbors": case(4, y=TARGETS, target_metric="euclidean"),
    "target_metric": case("euclidean", y=LABELS),
    "target_metric_kwds": case({"p": 1}, y=TARGETS, target_metric="minkowski"),
    "target_weight": case(0.95, y=LABELS),
    "transform_seed": case(7),
    "transform_mode": case("graph"),
    "unique": case(True, X=TWICE),
    "densmap": case(True),
    "dens_lambda": case(5.0, densmap=True),
    "dens_frac": case(0.8, densmap=True),
    "dens_var_shift": case(0.9, densmap=True),
    "output_dens": case(True),
    "disconnection_distance": case(30.0),
    "precomputed_knn": case(OTHER_NEIGHBORS),
}
# Parameters of umap-learn's search, threads and progress bar. The documentation of actup.UMAP says so.
WITHOUT_EFFECT = {
    "low_memory": False,
    "n_jobs": 1,
    "transform_queue_size": 9.0,
    "angular_rp_forest": True,
    "force_approximation_algorithm": True,
    "tqdm_kwds": {"desc": "Moving"},
}


def results(X, y, parameters, transforms=True):
    """Everything that a parameter may change: the map, new rows on it, the graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = UMAP(**{"random_state": 0, "n_epochs": 30, **parameters})
        made = model.fit_transform(X, y)
        parts = made if isinstance(made, tuple) else (made,)
        if transforms:
            parts = (*parts, model.transform(NEW_ROWS))
    parts = (*parts, model.graph_)
    return [part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in parts]


def are_equal(one, other):
    return len(one) == len(other) and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True)
    )


def test_the_matrix_is_complete():
    assert CASES.keys() | WITHOUT_EFFECT.keys() | {"verbose"} == SIGNATURE.keys()


@pytest.mark.parametrize("kind", [UMAP, actup.UMAP], ids=["compat", "actup"])
def test_the_signature_is_that_of_umap_learn(kind):
    parameters = inspect.signature(kind).parameters
    assert list(parameters)[: len(SIGNATURE)] == list(SIGNATURE)
    for name, default in {**SIGNATURE, **OTHER_DEFAULTS}.items():
        assert parameters[name].default == default, name
        assert parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, name


def test_every_parameter_by_position():
    model = UMAP(*SIGNATURE.values())
    assert {name: model.get_params()[name] for name in SIGNATURE} == SIGNATURE
    model.set_params(n_epochs=10)
    assert model.fit_transform(ROWS).shape == (200, 2)


@pytest.mark.parametrize("name", CASES)
def test_the_parameter_changes_something(name):
    value, X, y, others = CASES[name]
    transforms = name == "transform_seed"
    changed = results(X, y, {**others, name: value}, transforms)
    assert not are_equal(changed, results(X, y, others, transforms))


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_the_parameter_has_no_effect_as_documented(name):
    assert are_equal(results(ROWS, None, {name: WITHOUT_EFFECT[name]}), results(ROWS, None, {}))
    described = re.search(rf"^    {name} : .*\n((?:        .*\n)+)", actup.UMAP.__doc__, re.MULTILINE)
    assert described is not None
    assert re.search(r"[Nn]o effect|without effect|never changes the map", described[1])


def test_verbose_shows_progress(capsys):
    results(ROWS, None, {})
    quiet = capsys.readouterr()
    results(ROWS, None, {"verbose": True})
    shown = capsys.readouterr()
    assert quiet.out + quiet.err == ""
    assert shown.out + shown.err != ""
