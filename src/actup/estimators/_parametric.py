"""ParametricUMAP: a small network that has learnt a map, and can be exported to ONNX."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from actup._arguments import explain_unknown_arguments
from actup._device import to_host
from actup._output_path import output_path
from actup._typing import Rows
from actup._values import naming_memory
from actup._warnings import warn_user
from actup.backends import Backend
from actup.estimators._network import Network
from actup.estimators._state import FittedState
from actup.estimators._umap import UMAP

# Methods of umap-learn's ParametricUMAP, and what to use instead.
_OTHER_METHODS = {
    "to_ONNX": "use to_onnx(path)",
    "add_landmarks": "use partial_fit(X), which adds rows and keeps the old ones near their places",
    "parametric_model": "network_ has the layers as plain arrays, to_onnx(path) exports them",
    "encoder": "network_ has the layers as plain arrays, to_onnx(path) exports them",
    "decoder": "there is none: use inverse_transform(places)",
}
_ONNX_OPSET = 17
_ONNX_IR_VERSION = 9  # which releases of onnxruntime since 2023 read


@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class ParametricUMAP(UMAP):
    """UMAP whose ``transform`` is a small neural network.

    ``fit`` makes a map as ``UMAP`` does and then trains a network (scikit-learn's ``MLPRegressor``) to give
    each row its place. ``transform`` needs the network alone: it is smooth, as fast for one row as for many,
    does not search the training data, and can be exported. It is less exact than that of ``UMAP``: rows that
    lie between clusters of the data get places between clusters of the map.

    All parameters of ``UMAP`` are those of ``UMAP``.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(256, 256)
        Units of the hidden layers.
    n_training_epochs : int, default=50
        How often the network sees the data, at most; the training ends before, when it no longer helps.
        Ctrl-C ends it too, with a warning, and keeps the network.
    batch_size : int, default=128
        Rows per step of the training.

    Attributes
    ----------
    network_ : Network
        The layers as plain arrays.
    network_error_ : float
        Root-mean-square distance between the network's places and the map, as a share of the map's
        root-mean-square radius.

    See Also
    --------
    UMAP : Places new rows among their neighbours.

    Notes
    -----
    umap-learn's ParametricUMAP trains a Keras network on the loss of UMAP itself. This one learns a finished
    map, which needs neither Keras nor PyTorch. The training uses one thread: about two seconds for 1,500 rows
    of 784 columns, and in proportion for more. The network's bits depend on the library that multiplies
    matrices; those of ``embedding_`` do not.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import ParametricUMAP
    >>> X = load_digits().data
    >>> model = ParametricUMAP(random_state=0, n_training_epochs=3).fit(X[:300])
    >>> model.transform(X[300:305]).shape
    (5, 2)
    """

    _: KW_ONLY
    hidden_layer_sizes: Sequence[int] = (256, 256)
    n_training_epochs: int = 50
    batch_size: int = 128

    def __getattr__(self, name: str) -> Any:
        if name in _OTHER_METHODS:
            message = f"{type(self).__name__!r} object has no attribute {name!r}: {_OTHER_METHODS[name]}"
            raise AttributeError(message, name=name, obj=self)
        return super().__getattr__(name)

    def _check_choices(self) -> None:
        super()._check_choices()
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"hidden_layer_sizes={self.hidden_layer_sizes!r} must be integers of at least 1")
        for name in ("n_training_epochs", "batch_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name}={value!r} must be an integer of at least 1")
        metric = self.metric if isinstance(self.metric, str) else ""
        if metric == "precomputed" or self.transform_mode == "graph":
            raise ValueError(
                "ParametricUMAP needs rows and a map: metric='precomputed' and "
                "transform_mode='graph' have none"
            )
        if metric == "gower":
            raise ValueError(
                "ParametricUMAP needs rows of numbers, which metric='gower' does not: use UMAP, or encode X"
            )

    def _completed(self, state: FittedState) -> FittedState:
        """The state with a network that has learnt its map."""
        assert state._training is not None
        rows, places = _dense(to_host(state._training.rows)), to_host(state.embedding_)
        known = np.isfinite(places).all(axis=1)
        network = self._train(rows[known], places[known], state.seed_)
        misses = network(rows[known]).astype(np.float64) - places[known]
        radius = np.sqrt(places[known].var(axis=0, dtype=np.float64).sum()) or 1.0
        error = float(np.sqrt((misses**2).sum(axis=1).mean()) / radius)
        return replace(state, network_=network, network_error_=error)

    def _train(self, rows: np.ndarray, places: np.ndarray, seed: int) -> Network:
        from sklearn.neural_network import MLPRegressor

        largest = np.abs(rows).max(initial=0)
        if largest > np.finfo(np.float32).max:
            raise ValueError(f"X has values up to {largest:g}, but the network computes in float32: scale X")
        shift = rows.mean(axis=0, dtype=np.float64)
        deviation = np.sqrt(rows.var(axis=0, dtype=np.float64).mean()) or 1.0
        scale = np.array([min(1 / deviation, float(np.finfo(np.float32).max))])
        center, size = places.mean(axis=0, dtype=np.float64), float(places.std(dtype=np.float64)) or 1.0
        regressor = MLPRegressor(
            hidden_layer_sizes=tuple(np.atleast_1d(self.hidden_layer_sizes).tolist()),
            batch_size=min(int(self.batch_size), len(rows)),
            max_iter=int(self.n_training_epochs),
            random_state=seed % 2**32,
        )
        inputs, outputs = (rows - shift) * scale, (places - center) / size
        with naming_memory(self.hidden_layer_sizes, "hidden_layer_sizes"):
            _train_on_one_thread(regressor, inputs.astype(np.float32), outputs.astype(np.float32))
        weights = [np.asarray(part, np.float32) for part in regressor.coefs_]
        biases = [np.asarray(part, np.float32) for part in regressor.intercepts_]
        weights[-1], biases[-1] = weights[-1] * np.float32(size), biases[-1] * np.float32(size) + center
        biases[-1] = biases[-1].astype(np.float32)
        return Network(shift.astype(np.float32), scale.astype(np.float32), weights, biases)

    def _places_by_search(self) -> bool:
        return not hasattr(self, "network_")  # a run that has not been finished has trained none

    def _place(self, rows: Rows, backend: Backend) -> np.ndarray:
        if self._places_by_search():
            return np.asarray(to_host(super()._place(rows, backend)))
        places: np.ndarray = self.network_(_dense(to_host(rows)))
        finite = np.isfinite(places).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"row {finite.argmin()} of X is too far from the training data for a network that computes "
                "in float32: leave it out"
            )
        return places

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file that ONNX runtimes read: input "rows", output "places", both float32.

        Parameters
        ----------
        path : str or path-like
            The file to write, which ends in ".onnx"; missing folders are created.
        """
        from sklearn.utils.validation import check_is_fitted

        path = output_path(path, "an ONNX network", ".onnx")
        check_is_fitted(self, "network_")
        try:
            import onnx
        except ImportError:
            raise ImportError("to_onnx needs the package onnx: pip install actup[onnx]") from None
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(_onnx_model(onnx, self.network_), os.fspath(path))


def _train_on_one_thread(regressor: Any, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Train a network of scikit-learn; after Ctrl-C it is what it has become, and a warning says so.

    Several threads that multiply small matrices spend far more time waiting for each other.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("always")
        regressor.fit(inputs, outputs)
    for warning in caught:
        if "interrupted" in str(warning.message):  # scikit-learn has caught the KeyboardInterrupt
            warn_user(
                f"interrupted in epoch {regressor.n_iter_} of at most {regressor.max_iter} of the network's "
                "training: the map is complete, but transform uses the network as far as it has been "
                "trained; network_error_ says how far its places are from the map"
            )
        elif not issubclass(warning.category, ConvergenceWarning):  # the number of epochs is the caller's
            warn_user(str(warning.message))


def _dense(rows: Rows) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _onnx_model(onnx: Any, network: Network) -> Any:
    """The network as an ONNX graph: shift, scale, then products, sums and rectified linear units."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    constants = {"shift": network.shift, "scale": network.scale}
    nodes = [helper.make_node("Sub", ["rows", "shift"], ["shifted"])]
    nodes.append(helper.make_node("Mul", ["shifted", "scale"], ["layer0"]))
    last = len(network.weights)
    for i, (weights, biases) in enumerate(zip(network.weights, network.biases, strict=True), start=1):
        constants |= {f"weights{i}": weights, f"biases{i}": biases}
        summed = "places" if i == last else f"sum{i}"
        nodes.append(helper.make_node("Gemm", [f"layer{i - 1}", f"weights{i}", f"biases{i}"], [summed]))
        if i < last:
            nodes.append(helper.make_node("Relu", [summed], [f"layer{i}"]))
    graph = helper.make_graph(
        nodes,
        "ParametricUMAP",
        [helper.make_tensor_value_info("rows", kind, [None, len(network.shift)])],
        [helper.make_tensor_value_info("places", kind, [None, len(network.biases[-1])])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _ONNX_OPSET)])
    model.ir_version = _ONNX_IR_VERSION
    onnx.checker.check_model(model)
    return model
