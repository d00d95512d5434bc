"""ParametricUMAP: a network that has learnt a map."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from actup import UMAP, ParametricUMAP


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def model(digits):
    return ParametricUMAP(random_state=0, n_epochs=60).fit(digits[0][:1200])


def test_the_map_is_that_of_umap(digits, model):
    plain = UMAP(random_state=0, n_epochs=60).fit(digits[0][:1200])
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)


def test_new_rows_fall_into_their_classes(digits, model):
    X, y = digits
    assert model.network_error_ < 0.1
    known = KNeighborsClassifier().fit(model.embedding_, y[:1200])
    assert known.score(model.transform(X[1200:]), y[1200:]) > 0.75


def test_places_do_not_depend_on_other_rows(digits, model):
    X = digits[0][1200:1210]
    one_by_one = np.concatenate([model.transform(X[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(model.transform(X), one_by_one, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.transform(X), pickle.loads(pickle.dumps(model)).transform(X))


def test_sparse_rows(digits, model):
    X = sparse.csr_matrix(digits[0][:300])
    again = ParametricUMAP(random_state=0, n_epochs=10, n_training_epochs=2).fit(X)
    assert again.transform(X[:5]).shape == (5, 2)


def test_an_interrupt_keeps_the_network_and_says_so(digits, monkeypatch):
    from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

    steps, update = [], AdamOptimizer.update_params

    def interrupted_update(self, *args):
        steps.append(1)
        if len(steps) == 20:
            raise KeyboardInterrupt
        update(self, *args)

    monkeypatch.setattr(AdamOptimizer, "update_params", interrupted_update)
    X = digits[0][:300]
    with pytest.warns(UserWarning, match="interrupted in epoch .* transform uses the network") as caught:
        model = ParametricUMAP(random_state=0, n_epochs=10).fit(X)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert len(steps) == 20
    assert np.isfinite(model.transform(X)).all()


def test_the_training_uses_one_thread(digits, monkeypatch):
    from sklearn.neural_network import MLPRegressor
    from threadpoolctl import threadpool_info

    threads, fit = [], MLPRegressor.fit

    def counting_fit(self, X, y):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        assert X.dtype == y.dtype == np.float32
        return fit(self, X, y)

    monkeypatch.setattr(MLPRegressor, "fit", counting_fit)
    ParametricUMAP(random_state=0, n_epochs=10, n_training_epochs=1).fit(digits[0][:100])
    assert set(threads) <= {1}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes"),
        ({"n_training_epochs": 0}, "n_training_epochs=0"),
        ({"batch_size": 1.5}, "batch_size=1.5"),
        ({"metric": "precomputed"}, "needs rows"),
    ],
)
def test_wrong_parameters(digits, parameters, message):
    with pytest.raises(ValueError, match=message):
        ParametricUMAP(**parameters).fit(np.zeros((20, 20)))


def test_onnx(digits, model, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "map.onnx")
    session = runtime.InferenceSession(str(tmp_path / "map.onnx"), providers=["CPUExecutionProvider"])
    rows = digits[0][1200:1250].astype(np.float32)
    (places,) = session.run(None, {"rows": rows})
    np.testing.assert_allclose(places, model.transform(rows), rtol=1e-3, atol=1e-3)


def test_onnx_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install actup\[onnx\]"):
        model.to_onnx(tmp_path / "map.onnx")
