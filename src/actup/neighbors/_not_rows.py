"""Errors for an X that is no matrix of rows: files, dicts, generators, ragged lists, arrays of other shapes.

They name what was given and the remedy, and never print the data.
"""

from __future__ import annotations

import io
import os
import reprlib
from collections.abc import Iterator, KeysView, Mapping, Set, ValuesView
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

from actup._errors import WrongType

_READING = "read it first, e.g. with pandas.read_csv, numpy.loadtxt or numpy.load"


def reject_other_kinds(X: Any, name: str) -> None:
    """Reject objects that are no array, sparse matrix, data frame or list of rows of one length."""
    reason = _reason(X, name)
    if reason is not None:
        raise WrongType(reason)
    _reject_other_lists(X, name)


def with_shape(data: Any, name: str = "data") -> Any:
    """Rows that have a shape: lists become arrays. Rejects what is no matrix of rows, except None."""
    if data is None:
        return None
    reject_other_kinds(data, name)
    rows = np.asarray(data) if isinstance(data, list | tuple) else data
    reject_other_shapes(rows, name)
    return rows


def _reason(X: Any, name: str) -> str | None:
    """What X is instead of rows, with the remedy; None if it may hold rows."""
    if sparse.issparse(X):  # SciPy's matrices of keys are dicts
        return None
    if X is None:
        return f"{name} is None: give an array of rows and columns"
    if isinstance(X, str | bytes | os.PathLike):
        return f"{name} is {reprlib.repr(X)}: if that is a file, {_READING}"
    if isinstance(X, io.IOBase):
        return f"{name} is an open file: {_READING}"
    if isinstance(X, Mapping):
        return (
            f"{name} is a {type(X).__name__}: give pandas.DataFrame({name}) if its values are columns, "
            f"np.array(list({name}.values())) if they are rows"
        )
    if isinstance(X, Iterator | KeysView | ValuesView):
        return f"{name} is a {type(X).__name__}, which is no array: give np.array(list({name}))"
    if isinstance(X, Set):
        return f"{name} is a {type(X).__name__}, whose elements have no order: give a list of rows"
    if isinstance(X, type) or (callable(X) and not hasattr(X, "__array__")):
        return f"{name} is {reprlib.repr(X)}: give an array of rows and columns, not a class or function"
    if isinstance(X, Number):
        return f"{name} is a single number, {reprlib.repr(X)}: give an array of rows and columns"
    return None


def reject_other_shapes(X: Any, name: str) -> None:
    """Reject arrays that are no matrix: structured ones, and those of one, three or more dimensions."""
    names = getattr(getattr(X, "dtype", None), "names", None)
    if names:
        raise WrongType(
            f"{name} is a structured array of the fields {', '.join(map(repr, names))}: give "
            f"numpy.lib.recfunctions.structured_to_unstructured({name}), or pandas.DataFrame({name})"
        )
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) == 2:
        return
    if len(shape) == 0:
        raise ValueError(f"{name} is an array without dimensions: give an array of rows and columns")
    if shape == (0,):
        raise ValueError(f"{name} is empty: give at least one row")
    if len(shape) == 1:
        raise ValueError(
            f"{name} has one dimension, shape {shape}, but needs rows and columns. Reshape your data: "
            f"{name}.reshape(-1, 1) for one column, {name}.reshape(1, -1) for one row"
        )
    raise ValueError(
        f"{name} has {len(shape)} dimensions, shape {tuple(shape)}, but needs rows and columns: "
        f"{name}.reshape(len({name}), -1) makes a row of each of its {shape[0]} elements"
    )


def _reject_other_lists(X: Any, name: str) -> None:
    """Reject lists whose elements are no rows of one length."""
    if not isinstance(X, list | tuple | range):
        return
    if any(isinstance(row, Mapping) for row in X):
        raise WrongType(f"{name} is a list of dicts: give pandas.DataFrame({name})")
    lengths = [_length(row) for row in X]
    if all(length is None for length in lengths):
        reject_other_shapes(np.empty(len(X)), name)
    other = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    if other is not None:
        sizes = lengths[0], lengths[other]
        first, second = ("is no row" if size is None else f"has length {size}" for size in sizes)
        raise ValueError(
            f"{name} is a list of rows of several lengths: row 0 {first}, row {other} {second}. Give rows of "
            "one length, e.g. filled with NaN for a metric that compares missing values"
        )


def _length(row: Any) -> int | None:
    """The number of values of a row; None for what is no row."""
    if isinstance(row, str | bytes):
        return None
    try:
        return len(row)
    except TypeError:  # also of objects with a method __len__, such as sparse matrices
        return None
