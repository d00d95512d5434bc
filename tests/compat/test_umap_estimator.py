"""What programs for umap-learn rely on: checks of parameters, attributes, copies and seeds."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from actup.compat import umap
from actup.compat.umap import UMAP
from umap_models import DIGITS, NUMBERS, short

# validation of parameters


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": 0.5},
        {"n_neighbors": 0},
        {"n_neighbors": 1},
        {"n_neighbors": -5},
        {"n_components": -1},
        {"n_components": 0},
        {"n_components": "2"},
        {"n_components": 1.5},
        {"n_components": [0]},
        {"metric": 45},
        {"metric": "no such metric"},
        {"output_metric": "no such metric"},
        {"output_metric": "precomputed"},
        {"output_metric": "ll_dirichlet"},
        {"n_epochs": -2},
        {"n_epochs": 1.5},
        {"n_epochs": "10"},
        {"n_epochs": [10, -1]},
        {"learning_rate": -1.5},
        {"init": "no such start"},
        {"init": 42},
        {"init": np.zeros((120, 3))},
        {"init": np.zeros((5, 2))},
        {"min_dist": -1.0},
        {"min_dist": 2.0, "spread": 1.0},
        {"spread": -1.0},
        {"n_jobs": 0},
        {"n_jobs": -2},
        {"set_op_mix_ratio": -1.0},
        {"set_op_mix_ratio": 1.5},
        {"local_connectivity": -1.0},
        {"repulsion_strength": -0.5},
        {"negative_sample_rate": -1},
        {"target_n_neighbors": 1},
        {"target_metric": "no such metric"},
        {"target_weight": 1.5},
        {"transform_mode": "no such mode"},
        {"tqdm_kwds": 3},
        {"densmap": True, "dens_lambda": -1.0},
        {"densmap": True, "dens_frac": 1.5},
        {"densmap": True, "dens_frac": -0.1},
        {"densmap": True, "dens_var_shift": -1.0},
        {"densmap": True, "output_metric": "haversine"},
        {"disconnection_distance": "far"},
        {"random_state": "seed"},
        {"precomputed_knn": (None,)},
        {"precomputed_knn": (np.zeros((120, 15), int),)},
        {"precomputed_knn": 3},
        {"precomputed_knn": ([[1]] * 120, np.ones((120, 1)))},
        {"precomputed_knn": (np.ones((120, 1), int), [[1.0]] * 120)},
        {"precomputed_knn": (np.ones((120, 1), int), np.ones((120, 1))), "unique": True},
        {"target_metric_kwds": 3},
        {"target_metric": "euclidean", "target_metric_kwds": 3},
    ],
    ids=lambda parameters: ",".join(
        f"{name}={type(value).__name__ if isinstance(value, tuple) else np.shape(value) or value}"
        for name, value in parameters.items()
    ),
)
def test_wrong_parameters_raise_value_error_in_fit(parameters):
    model = UMAP(**parameters)
    y = np.arange(120) % 4 if any("target" in name for name in parameters) else None
    with pytest.raises(ValueError):
        model.fit(NUMBERS, y)


def test_what_umap_learn_accepts():
    for parameters in (
        {"target_metric": "no such metric"},
        {"target_weight": 2.0},
        {"local_connectivity": 0.5},
    ):
        assert short(**parameters).fit(NUMBERS).embedding_.shape == (120, 2)


def test_unknown_parameters():
    with pytest.raises(TypeError, match="n_neighbours"):
        UMAP(n_neighbours=10)


# the estimator


def test_attributes_that_other_programs_read():
    model = short(n_neighbors=12).fit(NUMBERS)
    assert model._raw_data.shape == (120, 5)
    assert model._knn_indices.shape == model._knn_dists.shape == (120, 12)
    assert (model._knn_indices[:, 0] == np.arange(120)).all()
    assert (model._a, model._b) == pytest.approx((1.577, 0.895), abs=1e-3)
    assert model._n_neighbors == 12
    assert model._metric_kwds == {}
    assert model._small_data
    assert not model._sparse_data
    assert model._sigmas.shape == model._rhos.shape == (120,)
    assert model._rhos == pytest.approx(model._knn_dists[:, 1])
    indices, distances = model._knn_search_index.query(NUMBERS[:3], 4)
    assert indices.shape == distances.shape == (3, 4)
    assert model._input_distance_func is umap.distances.named_distances["euclidean"]
    assert model._output_distance_func is umap.distances.named_distances_with_gradients["euclidean"]
    with pytest.raises(AttributeError, match="_no_such"):
        model._no_such  # noqa: B018
    assert not hasattr(UMAP(), "_raw_data")
    assert model.knn_indices is model.knn_dists is model.knn_search_index is model.n_epochs_list is None
    assert not model._supervised


def test_private_attributes_follow_a_new_fit():
    model = short(n_neighbors=12).fit(NUMBERS)
    assert model._knn_indices.shape == (120, 12)
    model.set_params(n_neighbors=7).fit(NUMBERS[:90])
    assert model._knn_indices.shape == (90, 7)
    assert model._raw_data.shape == (90, 5)


def test_a_model_made_of_known_places():
    """The life of a model in scanpy's ``ingest``."""
    fitted = UMAP(n_neighbors=20, min_dist=0.5, random_state=0).fit(DIGITS.data[:300])
    model = UMAP(metric="euclidean", random_state=0)
    model._initial_alpha = model.learning_rate
    model._raw_data = DIGITS.data[:300]
    model.knn_dists = None
    model._validate_parameters()
    model.embedding_ = fitted.embedding_
    model._sparse_data = False
    model._small_data = True
    model._metric_kwds = {}
    model._n_neighbors = model.n_neighbors = 20
    model._knn_search_index = fitted._knn_search_index
    model._a, model._b = fitted._a, fitted._b
    model._input_hash = None
    new = DIGITS.data[300:350]
    assert np.array_equal(model.transform(new), fitted.transform(new))


def test_a_stripped_model_still_transforms():
    """FiftyOne removes large attributes, pickles the model and restores them."""
    model = short().fit(NUMBERS)
    expected = model.transform(NUMBERS[:5] + 0.01)
    for name in ("_raw_data", "_knn_search_index", "_input_distance_func", "_output_distance_func"):
        setattr(model, name, None)
    model = pickle.loads(pickle.dumps(model))
    model._raw_data = NUMBERS
    assert np.array_equal(model.transform(NUMBERS[:5] + 0.01), expected)


def test_estimators_are_cloned_copied_and_pickled():
    model = short(n_neighbors=9).fit(NUMBERS)
    assert clone(model).get_params() == model.get_params()
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(same.transform(NUMBERS[:4] + 0.1), model.transform(NUMBERS[:4] + 0.1))
    assert list(model.get_feature_names_out()) == ["umap0", "umap1"]


def test_seeds():
    first, same, other = (short(random_state=seed).fit_transform(NUMBERS) for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert np.array_equal(first, short(random_state=1, n_jobs=2).fit_transform(NUMBERS))
