"""Every parameter of the estimators and functions, one by one, with values of wrong kinds.

Fuzzing draws such calls at random; here none is left out. Each must work, or raise an error that ActUp has
written for the caller.
"""

import contextlib
import copy
import inspect
import io
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup import distributed, quality, viewer
from actup.compat import umap as umap_learn

from .oracle import Wrong, check_error

X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
Y = X[:, :2]
LABELS = np.arange(30) % 3
GRAPH = actup.UMAP(n_epochs=0, n_neighbors=4, random_state=0).fit(X)._derived.graph
WRONG = {
    "array": np.array([1, 2]),
    "empty array": np.array([]),
    "texts": np.array(["a", "b"]),
    "number in an array": np.array(3),
    "rows": X,
    "masked": np.ma.masked,
    "dict": {},
    "list": [],
    "object": object(),
    "infinite": np.inf,
    "NaN": np.nan,
    "huge": 10**400,
    "large": 1e300,
    "complex": 1j,
    "surrogate": "\ud800",
    "bytes": b"x",
    "None": None,
    "True": True,
}
SHORT = {"n_neighbors": 4, "random_state": 0, "n_jobs": 1}
ESTIMATORS = {
    "UMAP": lambda: actup.UMAP(**SHORT, n_epochs=2),
    "TSNE": lambda: actup.TSNE(max_iter=2, perplexity=4, random_state=0, n_jobs=1),
    "GDR": lambda: actup.GDR(**SHORT, epochs=2),
    "ParametricUMAP": lambda: actup.ParametricUMAP(
        **SHORT, n_epochs=2, hidden_layer_sizes=(4,), n_training_epochs=1
    ),
    "umap.UMAP": lambda: umap_learn.UMAP(n_neighbors=4, random_state=0, n_epochs=2),
    "KNeighborsTransformer": lambda: actup.KNeighborsTransformer(n_neighbors=4, n_jobs=1),
}
BEFORE_FIT = {
    "fit": lambda model, folder: model.fit(X, LABELS),
    "memory_estimate": lambda model, folder: model.memory_estimate(X, LABELS),
    "fit_files": lambda model, folder: model.fit_files(X, work=folder / "work"),
}
AFTER_FIT = {
    "refit": lambda model, folder: model.refit(X + 0.1),
    "transform": lambda model, folder: model.transform(X[:3] + 0.1),
    "update": lambda model, folder: model.update(X[:3] + 0.1),
    "partial_fit": lambda model, folder: model.partial_fit(X[:3] + 0.1),
    "subset": lambda model, folder: model.subset(range(20)),
    "save": lambda model, folder: model.save(folder / "model.actup"),
    "inverse_transform": lambda model, folder: model.inverse_transform(Y[:2]),
    "get_feature_names_out": lambda model, folder: model.get_feature_names_out(),
}
WITHOUT = {("umap.UMAP", "save")}  # saved with pickle


def mistake_of(function, kind):
    """What is wrong with the error of a call; None if it works, or its error is as it should be."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            function()
        except FileNotFoundError as error:
            return None if "source=" in str(error) else f"{kind}: {error!r}"
        except Exception as error:
            try:
                check_error(error, kind)
            except Wrong as wrong:
                return str(wrong)
    return None


@pytest.mark.parametrize("call", [*BEFORE_FIT, *AFTER_FIT])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_of_estimators(estimator, call, tmp_path):
    first = ESTIMATORS[estimator]()
    if not callable(getattr(first, call, None)) or (estimator, call) in WITHOUT:
        pytest.skip(f"{estimator} has no {call}")
    use = {**BEFORE_FIT, **AFTER_FIT}[call]
    if call in AFTER_FIT:
        first.fit(X)
    use(copy.deepcopy(first), tmp_path)
    mistakes = []
    for name in first.get_params():
        for wrong, value in WRONG.items():
            model = copy.deepcopy(first).set_params(**{name: value})
            kind = f"{estimator}({name}={wrong}).{call}"
            mistakes.append(mistake_of(partial(use, model, tmp_path), kind))
    assert not any(mistakes), "\n".join(filter(None, mistakes))


def test_refit_keeps_the_number_of_dimensions():
    model = ESTIMATORS["UMAP"]().fit(X).set_params(n_components=3)
    with pytest.raises(ValueError, match="n_components=3, but refit begins with a map in 2 dimensions"):
        model.refit(X + 0.1)


def test_models_of_other_libraries_are_not_placed_on(tmp_path):
    for model in (KNeighborsClassifier(), actup.KNeighborsTransformer().fit(X)):
        with pytest.raises(TypeError, match=r"model=.* must be a fitted estimator of ActUp"):
            distributed.transform(model, X, work=tmp_path)
    with pytest.raises(AttributeError, match="mappers_"):
        distributed.transform(actup.AlignedUMAP(), X, work=tmp_path)


FUNCTIONS = {
    "nearest_neighbors": (actup.nearest_neighbors, {"X": X, "n_neighbors": 4}),
    "NeighborIndex": (actup.NeighborIndex, {"X": X}),
    "NeighborIndex.query": (actup.NeighborIndex(X).query, {"X_new": X, "n_neighbors": 3}),
    "embed": (actup.embed, {"X": X, "recipe": actup.preset("umap").but(epochs=2, n_neighbors=4)}),
    "embed_many": (
        actup.embed_many,
        {"X": X, "recipes": [actup.preset("umap").but(epochs=2, n_neighbors=4)]},
    ),
    "memory_estimate": (actup.memory_estimate, {"X": (1000, 5)}),
    "find_clusters": (actup.find_clusters, {"model_or_Y": Y}),
    "preset": (actup.preset, {"name": "umap"}),
    "Recipe": (actup.Recipe, {}),
    "quality_report": (quality.quality_report, {"X": X, "Y": Y, "y": LABELS}),
    "knn_accuracy": (quality.knn_accuracy, {"Y": Y, "labels": LABELS}),
    "v_measure": (quality.v_measure, {"Y": Y, "labels": LABELS}),
    "trustworthiness": (quality.trustworthiness, {"X": X, "Y": Y, "k": 5}),
    "continuity": (quality.continuity, {"X": X, "Y": Y, "k": 5}),
    "neighbor_recall": (quality.neighbor_recall, {"X": X, "Y": Y}),
    "triplet_accuracy": (quality.triplet_accuracy, {"X": X, "Y": Y}),
    "distance_correlation": (quality.distance_correlation, {"X": X, "Y": Y}),
    "kl_divergence": (quality.kl_divergence, {"graph": GRAPH, "Y": Y}),
    "cross_entropy": (quality.cross_entropy, {"graph": GRAPH, "Y": Y}),
    "frobenius_loss": (quality.frobenius_loss, {"graph": GRAPH, "Y": Y}),
    "voters": (quality.voters, {"labels": LABELS}),
    "write_page": (viewer.write_page, {"path": "page.html", "maps": Y}),
    "plot": (actup.plot, {"model_or_Y": Y}),
    "view": (actup.view, {"maps": Y}),
    "seed_stability": (quality.seed_stability, {"embeddings": [Y, Y + 0.1], "k": 5}),
    "align_maps": (viewer.align_maps, {"maps": {"a": Y, "b": Y}}),
    "write_atlas": (actup.write_atlas, {"path": "map.parquet", "embedding": Y}),
    "distributed.embed": (distributed.embed, {"source": X, "recipe": "umap", "work": "work"}),
    "distributed.make_plan": (distributed.make_plan, {"source": X, "recipe": "umap", "work": "work"}),
    "distributed.transform": (
        distributed.transform,
        {"model": ESTIMATORS["UMAP"]().fit(X), "source": X, "out": "placed.npy", "work": "placing"},
    ),
    "Graph.from_scipy": (actup.Graph.from_scipy, {"matrix": sparse.eye_array(5, format="csr")}),
    "Graph.pruned": (GRAPH.pruned, {"weakest": 0.1}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_functions(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = FUNCTIONS[name]
    function(**given)
    parameters = inspect.signature(function).parameters
    names = [
        other
        for other, parameter in parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    mistakes = [
        mistake_of(partial(function, **{**given, other: value}), f"{name}({other}={wrong})")
        for other in dict.fromkeys([*given, *names])
        for wrong, value in WRONG.items()
    ]
    assert not any(mistakes), "\n".join(filter(None, mistakes))
