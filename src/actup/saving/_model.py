"""load(): a fitted model from a file, and how an estimator writes itself into one."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

import actup
from actup._device import to_host
from actup._output_path import output_path, read_path
from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup.backends import check_backend
from actup.estimators._inputs import reject_arrays
from actup.estimators._state import FittedState, check_has_graph, snapshot
from actup.graph._records import Graph
from actup.neighbors._chunks import row_chunks
from actup.neighbors._comparison import is_compiled, resolve
from actup.neighbors._metrics import compares_missing, record_of
from actup.neighbors._rows import read_rows
from actup.recipe._recipe import Recipe
from actup.saving._codec import Decoder, Encoder, decode_fields, encode_fields
from actup.saving._container import ModelFile, SavedModelError, rejecting, write_file
from actup.transform._new_rows import TrainingRows, check_map
from actup.transform._placement import make_placement

if TYPE_CHECKING:
    from actup.estimators._base import Embedder

_FORMAT = "actup model"
_FORMAT_VERSION = 1  # a change that older releases would misread raises it
_KEYS = {"format", "version", "actup", "class", "parameters", "fitted", "output"}
_CLASSES = ("UMAP", "TSNE", "GDR", "ParametricUMAP")  # of actup.estimators
_NOT_SAVED = ("callback",)  # functions of the running program
_OUTPUT_CONFIG = "_sklearn_output_config"  # what set_output has set
_OUTPUTS = (None, "default", "pandas", "polars")
_DATA = ("full", "half", None)
_HALF_ERROR = 2.0**-10  # of a value, relative to the largest one of its row; float16 has 11 bits
_CHUNK_VALUES = 2**20
_MAX_PLACEMENT_NUMBER = 1e30  # its products with forces and distances, or quotients, stay in float32's range


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file that ``model.save`` has written.

    Reading runs no code of the file, whoever made it, and takes memory in proportion to the size of the file.
    Everything is checked before the model is made.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    UMAP, TSNE or GDR
        The model as it was saved: its parameters, the map, the graph and what ``transform`` needs.

    Raises
    ------
    actup.saving.SavedModelError
        A ``ValueError``: the file is damaged, truncated, of another kind, or of a newer release of ActUp.
    OSError
        If the file cannot be opened.

    See Also
    --------
    actup.UMAP.save : Writes the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import actup
    >>> from sklearn.datasets import load_digits
    >>> model = actup.TSNE(perplexity=10, random_state=0).fit(load_digits().data[:200])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "digits.actup")
    ...     model.save(path, data=None)
    ...     loaded = actup.load(path)
    >>> type(loaded).__name__, loaded.embedding_.shape, loaded.kl_divergence_ == model.kl_divergence_
    ('TSNE', (200, 2), True)
    """
    name = read_path(path)
    with open(name, "rb") as file, rejecting(name), np.errstate(all="ignore"):
        return _read_model(ModelFile(file))


def save_model(model: Embedder, path: str | os.PathLike[str], data: str | None, compress: bool) -> None:
    """Write a fitted estimator; everything is checked before the file is touched."""
    path = output_path(path, "a model", ".actup")
    if not (data is None or isinstance(data, str)) or data not in _DATA:
        raise ValueError(f"data={data!r} is not one of 'full', 'half', None")
    if _class_named(type(model).__name__) is not type(model):
        name = f"{type(model).__module__}.{type(model).__qualname__}"
        raise TypeError(
            f"the model is a {name}, but actup.load makes only {', '.join(_CLASSES)} of actup: use pickle"
        )
    check_has_graph(model)
    model = snapshot(model)
    attributes: dict[str, Any] = {field.name: vars(model).get(field.name) for field in fields(FittedState)}
    state = FittedState(**attributes)
    _check_run_parameters(model)
    places = np.asanyarray(to_host(state.embedding_))  # a mask is rejected
    assert state._derived is not None
    derived = replace(state._derived, graph=_on_host(state._derived.graph))
    state = replace(state, embedding_=places, _training=_reduced(state._training, data), _derived=derived)
    _check_state(state)
    encoder = Encoder(half_sparse=data == "half")
    parameters = {
        name: None if name in _NOT_SAVED else encoder.encode(_without_index(name, value), name)
        for name, value in model.get_params(deep=False).items()
    }
    output = getattr(model, _OUTPUT_CONFIG, {}).get("transform")
    header = {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "actup": actup.__version__,
        "class": type(model).__name__,
        "parameters": parameters,
        "fitted": encode_fields(encoder, state, ""),
        "output": output if output in _OUTPUTS else None,
    }
    write_file(path, header, encoder.arrays, compress, encoder.nested)


def _without_index(name: str, value: Any) -> Any:
    """The value of a parameter; of umap-learn's (indices, distances, index), the lists without the index."""
    is_triple = name == "precomputed_knn" and isinstance(value, tuple | list) and len(value) == 3
    return (*value[:2], None) if is_triple else value


def _class_named(name: str) -> type[Embedder] | None:
    from actup import estimators

    return getattr(estimators, name) if name in _CLASSES else None


def _read_model(file: ModelFile) -> Embedder:
    header = file.header
    _check_version(header)
    if header.keys() != _KEYS:
        raise SavedModelError(f"its header has not exactly the entries {', '.join(sorted(_KEYS))}")
    kind = _class_named(header["class"]) if isinstance(header["class"], str) else None
    if kind is None:
        raise SavedModelError(f"it holds a {str(header['class'])[:50]!r}, not one of {', '.join(_CLASSES)}")
    decoder = Decoder(file, str(header["actup"])[:50])
    model = kind(**_read_parameters(kind, header["parameters"], decoder))
    _check_run_parameters(model)
    state = _read_state(header["fitted"], decoder)
    file.check_all_read()
    _check_state(state)
    state.replace_state_of(model)
    if header["output"] is not None:
        if header["output"] not in _OUTPUTS:
            raise SavedModelError("its output is not one of 'default', 'pandas', 'polars'")
        model.__dict__[_OUTPUT_CONFIG] = {"transform": header["output"]}
    return model


def _check_version(header: dict[str, Any]) -> None:
    version = header.get("version")
    if header.get("format") != _FORMAT or type(version) is not int or version < 1:
        raise SavedModelError("it is no ActUp model: give a file that model.save has written")
    if version > _FORMAT_VERSION:
        raise SavedModelError(
            f"ActUp {str(header.get('actup'))[:50]} has written it in format {version}, this is ActUp "
            f"{actup.__version__}, which reads formats up to {_FORMAT_VERSION}: update ActUp"
        )


def _read_parameters(kind: type[Embedder], content: Any, decoder: Decoder) -> dict[str, Any]:
    """The parameters of an estimator; those that an earlier release lacked take their defaults."""
    if not isinstance(content, dict):
        raise SavedModelError("its parameters are no object")
    if any(content.get(name) is not None for name in _NOT_SAVED):
        raise SavedModelError(f"its parameters {', '.join(_NOT_SAVED)} must be null")
    unknown = sorted(content.keys() - set(kind._get_param_names()))
    if unknown:
        raise decoder.unknown(f"{kind.__name__} has a parameter {unknown[0][:50]!r}")
    return {name: decoder.decode(value, name) for name, value in content.items()}


def _read_state(content: Any, decoder: Decoder) -> FittedState:
    """The fitted state; the recipe comes first, because the training rows need its metric."""
    if not isinstance(content, dict) or "recipe_" not in content:
        raise SavedModelError("it holds no fitted model")
    recipe = decoder.decode(content["recipe_"], "recipe_")
    if not isinstance(recipe, Recipe):
        raise SavedModelError("recipe_ is no recipe")
    decoder.recipe = recipe
    state: FittedState = decode_fields(FittedState, decoder, content, "fitted", {"recipe_": recipe})
    return state


def _check_run_parameters(model: Embedder) -> None:
    """Check what ``transform`` reads of the parameters; the others are checked by the next fit."""
    reject_arrays(model.get_params(deep=False))
    count_threads(model.n_jobs)
    model._transform_seed()
    check_backend(model.backend)


def _check_state(state: FittedState) -> None:
    """Reject a state that compiled code would read out of bounds with, or that contradicts itself."""
    training, recipe, n = state._training, state.recipe_, len(state.embedding_)
    if training is not None and len(training) != n:
        check_map(state.embedding_, len(training), recipe.n_components)  # names the shape
    points = _check_points(state, n)
    _check_placement(recipe, n)
    if not 0 <= state.seed_ < 2**64 or state.n_epochs_ < 0:
        raise ValueError(f"seed_={state.seed_} or n_epochs_={state.n_epochs_} is out of range")
    if not (np.isnan(state.recall_) or 0 <= state.recall_ <= 1):
        raise ValueError(f"recall_={state.recall_} is no share")
    columns, names = state.n_features_in_, state.feature_names_in_
    if not 0 < columns < 2**31 or (names is not None and names.shape != (columns,)):
        raise ValueError(f"n_features_in_={columns} is out of range, or has another number of names")
    if state._derived is None:
        raise ValueError("the model has no graph")
    _check_graph(state._derived.graph, points)
    _check_edge_lengths(state._derived.graph, state._edge_lengths)
    if state.network_ is not None:
        state.network_.check(columns, recipe.n_components)
    if training is None:
        return
    if training.rows is None:
        if recipe.metric == "precomputed" and columns != n:
            raise ValueError(f"distances to {columns} rows belong to no map of {n} rows")
        return
    if recipe.metric == "precomputed" or training.rows.shape != (n, columns):
        raise ValueError(f"training rows do not have shape {(n, columns)}")
    rows = training.rows
    read_rows(rows, recipe.metric, name="training rows")
    parameters = dict(recipe.metric_kwds)
    if parameters and is_compiled(recipe.metric, parameters):
        assert isinstance(recipe.metric, str)
        resolve(recipe.metric, parameters, rows[:1])


def _check_points(state: FittedState, n: int) -> int:
    """Check the map, and what belongs to its points; gives the number of points of the graph."""
    inverse, dimensions = state._unique_inverse_, state.recipe_.n_components
    points = n
    if inverse is not None:
        if inverse.shape != (n,) or inverse.dtype.kind != "i" or inverse.min(initial=0) < 0:
            raise ValueError("_unique_inverse_ does not name a point for each row")
        points = int(inverse.max(initial=0)) + 1
        if points > n:
            raise ValueError(f"_unique_inverse_ names {points} points of {n} rows")
    hidden = np.zeros(points, bool) if state._disconnected is None else state._disconnected
    if hidden.shape != (points,) or hidden.dtype != bool:
        raise ValueError(f"_disconnected does not say for {points} points whether they are")
    hidden = hidden if inverse is None else hidden[inverse]
    weightless = state._weightless
    if weightless is not None and (
        weightless.shape != (points,) or weightless.dtype != bool or weightless.all()
    ):
        raise ValueError(f"_weightless does not say which of {points} points were left out")
    for places in (state.embedding_, *(state.embedding_list_ or ())):
        check_map(np.where(hidden[:, None], np.float32(0), places), n, dimensions)
    for name in ("rad_orig_", "_labels"):
        values = getattr(state, name)
        if values is not None and len(values) not in (n, points):
            raise ValueError(f"{name} has {len(values)} values for {n} rows")
    return points


def _check_placement(recipe: Recipe, n: int) -> None:
    """Reject a recipe whose numbers would overflow where new rows are placed, which is done in float32."""
    for name, value in vars(make_placement(recipe, n, seed=0)).items():
        numbers = np.abs(np.atleast_1d(np.asarray(value, np.float64)))
        numbers = numbers[numbers != 0]
        if not ((numbers > 1 / _MAX_PLACEMENT_NUMBER) & (numbers < _MAX_PLACEMENT_NUMBER)).all():
            raise ValueError(f"recipe_ gives new rows {name}={value}, outside the range of float32")


def _on_host(graph: Any) -> Any:
    """A graph whose arrays lie in the memory of the host."""
    if not isinstance(graph, Graph):
        return graph
    return Graph(*map(to_host, (graph.offsets, graph.indices, graph.weights)))


def _check_graph(graph: Any, n: int) -> None:
    if sparse.issparse(graph):
        if graph.shape != (n, n):
            raise ValueError(f"graph has shape {graph.shape}, but the map has {n} points")
        graph = Graph(graph.indptr, graph.indices, graph.data)
    if not isinstance(graph, Graph) or len(graph) != n:
        raise ValueError(f"graph is none of {n} points")
    graph.check_structure()
    if not np.isfinite(graph.weights).all() or graph.weights.min(initial=0) < 0:
        raise ValueError("graph has weights that are negative, infinite or NaN")


def _check_edge_lengths(graph: Graph | CsrMatrix, lengths: np.ndarray | None) -> None:
    edges = len(graph.weights) if isinstance(graph, Graph) else graph.nnz
    if lengths is not None and (lengths.shape != (edges,) or lengths.dtype.kind != "f"):
        raise ValueError(f"_edge_lengths has shape {lengths.shape}, but the graph has {edges} edges")


# ---- what is kept of X ----


def _reduced(training: TrainingRows | None, data: str | None) -> TrainingRows | None:
    """The training rows as ``data`` says; those of the model itself stay as they are."""
    if training is None or training.metric == "precomputed" or (data is None and training.rows is None):
        return training
    reduced = snapshot(training)
    reduced._search = reduced._lookup = reduced._counted = None
    if data is None:
        reduced.rows = None
        return reduced
    training.check_searchable()
    reduced.rows = to_host(training.rows)
    if data == "half":
        reduced.rows = _half_precision(reduced.rows, training.metric)
    return reduced


def _half_precision(rows: Any, metric: Any) -> Any:
    """Rows in float16, which a sparse matrix has in float32; rows of one or two bytes stay as they are."""
    if rows.dtype.kind not in "fiu" or rows.dtype.itemsize <= 2:
        return rows
    if compares_missing(metric):
        raise ValueError(
            f"data='half' keeps neither text nor gaps, which metric={metric!r} compares: use data='full'"
        )
    values = rows.data if sparse.issparse(rows) else rows
    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    record = record_of(metric)
    if record is not None and record.presence and np.count_nonzero(half) != np.count_nonzero(values):
        raise ValueError(f"data='half' makes values 0 that metric={metric!r} counts: use data='full'")
    if sparse.issparse(rows):
        rounded = type(rows)((half.astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
    else:
        rounded = half
    for chunk in row_chunks(rows, _CHUNK_VALUES):
        _reject_rounded(rows[chunk], rounded[chunk], chunk.start)
    return rounded


def _reject_rounded(rows: Any, rounded: Any, first: int) -> None:
    """Reject rows of which float16 keeps too few digits: values above 65504, or all of them tiny."""
    if sparse.issparse(rows):
        difference, largest = abs(rounded.astype(np.float64) - rows).max(axis=1), abs(rows).max(axis=1)
        difference, largest = difference.toarray().ravel(), largest.toarray().ravel()
    else:
        difference = np.abs(rounded.astype(np.float64) - rows).max(axis=1)
        largest = np.abs(rows.astype(np.float64)).max(axis=1)
    wrong = ~(difference <= _HALF_ERROR * largest)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"data='half' changes row {first + at} of X by more than a thousandth of its largest value, "
            f"{largest[at]:g}: float16 holds values from 6e-5 to 65504, so scale X, or use data='full'"
        )
