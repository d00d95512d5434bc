"""Short models to save, and what a loaded model has in common with the saved one."""

from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

import actup
from actup.estimators._network import Network
from actup.estimators._state import FittedState
from actup.graph._records import Neighbors

GDR, TSNE, UMAP = actup.GDR, actup.TSNE, actup.UMAP
SHORT = {
    UMAP: {"n_epochs": 3, "n_neighbors": 5},
    TSNE: {"max_iter": 3, "perplexity": 3},
    GDR: {"epochs": 3, "n_neighbors": 5},
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
NEW = RNG.normal(size=(7, 5))
KNN = actup.nearest_neighbors(X, 10)
INTEGERS = RNG.integers(0, 100, (40, 5))
SPARSE = sparse.random(60, 30, 0.3, "csr", dtype=np.float64, random_state=np.random.RandomState(0))
ROWS = {
    "float64": (X, NEW),
    "float32": (X.astype(np.float32), NEW.astype(np.float32)),
    "float16": (X.astype(np.float16), NEW.astype(np.float16)),
    "uint8": (INTEGERS.astype(np.uint8), INTEGERS[:9].astype(np.uint8) + 1),
    "int8": (INTEGERS.astype(np.int8), INTEGERS[:9].astype(np.int8) + 1),
    "int64": (INTEGERS, INTEGERS[:9] + 1),
    "bool": (INTEGERS > 50, INTEGERS[:9] > 30),
    "big-endian": (X.astype(">f8"), NEW.astype(">f4")),
    "fortran": (np.asfortranarray(X), NEW),
    "csr_matrix": (SPARSE[:50], SPARSE[50:]),
    "csr_array": (
        sparse.csr_array(SPARSE[:50]).astype(np.float32),
        sparse.csr_array(SPARSE[50:]).astype(np.float32),
    ),
    "int csc": ((SPARSE[:50] * 9).astype(np.int64).tocsc(), (SPARSE[50:] * 9).astype(np.int64)),
}


def make(kind=UMAP, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


def round_trip(model, tmp_path, **options):
    path = tmp_path / "model.actup"
    model.save(path, **options)
    return actup.load(path)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are of one type and equal, NaN included."""
    if type(a) is not type(b):
        return False
    if sparse.issparse(a):
        return a.shape == b.shape and all(
            equal(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr")
        )
    if isinstance(a, np.ndarray):
        same = (a == b) | ((a != a) & (b != b))
        return a.dtype == b.dtype and a.shape == b.shape and bool(same.all())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.random.RandomState):
        return equal(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, np.random.Generator):
        return a.bit_generator.state == b.bit_generator.state
    if isinstance(a, Neighbors | Network):
        return equal(vars(a), vars(b))
    return a == b or (a != a and b != b)


def assert_same(loaded, model, new=None):
    """Same class, parameters, attributes and transform, to the bit."""
    assert type(loaded) is type(model)
    assert equal(loaded.get_params(), {**model.get_params(), "callback": None})
    names = [field.name for field in fields(FittedState) if not field.name.startswith("_")]
    for name in [*names, "graph_"]:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            assert equal(getattr(loaded, name), getattr(model, name)), name
    check_is_fitted(loaded)
    if new is not None:
        assert equal(loaded.transform(new), model.transform(new))
