"""Prepare rows for a map: sample, missing values, categories, scale, principal components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from actup._cli.chosen import Chosen
from actup._cli.column_names import find_columns
from actup._cli.dominant_columns import warn_of_dominant_columns
from actup._cli.existing_maps import MODEL_SUFFIX
from actup._cli.options import PreparingOptions
from actup._cli.reporting import InputError, complain
from actup._cli.unusable_columns import as_option
from actup._elementary import log

_MIN_ROWS = 2
_MAX_LISTED = 5  # columns in an error
_MAX_DENSE_CATEGORIES = 1000  # columns that --one-hot makes before the rows become sparse


def prepare_rows(chosen: Chosen, options: PreparingOptions, metric: str, seed: int, threads: int) -> Chosen:
    """The rows as the map takes them.

    Parameters
    ----------
    chosen : Chosen
    options : PreparingOptions
    metric : str
        "gower" and "nan_euclidean" compare missing values, so that they stay.
    seed : int
        Of the sample and of the principal components.
    threads : int
    """
    if options.sample is not None and options.sample < len(chosen):
        kept = np.random.default_rng([seed, 0]).choice(len(chosen), options.sample, replace=False)
        chosen = chosen.selected(np.sort(kept))
    categories = find_columns(options.one_hot, chosen.names, "--one-hot", chosen.source)
    if categories:
        chosen = _one_hot(chosen, categories)
    if metric != "gower":
        if chosen.X.dtype == object:
            chosen = replace(chosen, X=chosen.X.astype(np.float64))
        chosen = _without_missing(chosen, options.missing, compared=metric == "nan_euclidean")
    if len(chosen) < _MIN_ROWS:
        what = "one row" if len(chosen) else "no rows"
        raise InputError(f"{chosen.source} has {what} to make a map of: a map needs at least {_MIN_ROWS}")
    if options.scale != "none":
        if chosen.X.dtype == object:
            raise InputError(f"--scale {options.scale} needs numbers, and --metric gower scales by itself")
        chosen = chosen.changed(_SCALES[options.scale](chosen.X), f"--scale {options.scale}")
    warn_of_dominant_columns(chosen, metric)
    if options.pca is not None:
        chosen = _principal(chosen, options.pca, seed, threads)
    return chosen


def warn_of_unsaved_preparation(chosen: Chosen, paths: Sequence[Path]) -> None:
    """Print a line if a model is saved whose rows were changed: it does not change new rows."""
    saved = next((path for path in paths if path.suffix.lower() == MODEL_SUFFIX), None)
    if saved is None or not chosen.changes:
        return
    tools = (_TOOLS.get(option) or _TOOLS[option.split()[0]] for option in chosen.changes)
    complain(
        f"warning: {saved} holds the prepared rows, but not how they were prepared "
        f"({' '.join(chosen.changes)}): prepare new rows in the same way before transform, with "
        f"{', then '.join(tools)} of scikit-learn, fitted to the rows of this map"
    )


def _without_missing(chosen: Chosen, policy: str, compared: bool) -> Chosen:
    """The rows without missing values: rejected, dropped or filled. Infinite values count as missing ones.

    ``compared`` is whether the metric compares missing values, which then stay by default.
    """
    X = chosen.X
    numbers = X.data if sparse.issparse(X) else X
    if X.dtype.kind != "f" or np.isfinite(numbers).all():
        return chosen
    if policy == "error":
        if compared and not np.isinf(numbers).any():
            return chosen
        _reject_empty_columns(chosen)
        raise InputError(_where_missing(chosen, compared))
    if sparse.issparse(X):
        raise InputError(f"{chosen.source}: --missing {policy} needs dense rows; fill the values first")
    _reject_empty_columns(chosen)
    missing = ~np.isfinite(X)
    if policy == "drop":
        kept = np.flatnonzero(~missing.any(axis=1))
        complain(f"{len(chosen) - len(kept):,} of {len(chosen):,} rows have missing values and are dropped")
        return chosen.selected(kept)
    X = np.where(missing, np.nan, X)
    fill = np.nanmean(X, axis=0) if policy == "mean" else np.nanmedian(X, axis=0)
    return chosen.changed(np.where(missing, fill, X), f"--missing {policy}")


def _reject_empty_columns(chosen: Chosen) -> None:
    """Reject columns without any number, which no policy could fill."""
    if sparse.issparse(chosen.X):
        return
    names = [chosen.names[column] for column in np.flatnonzero(~np.isfinite(chosen.X).any(axis=0))]
    if names:
        what, have = ("column", "has") if len(names) == 1 else ("columns", "have")
        listed = ", ".join(map(repr, names[:_MAX_LISTED])) + (", …" if len(names) > _MAX_LISTED else "")
        raise InputError(
            f"{what} {listed} of {chosen.source} {have} missing values only: leave out with "
            f"{as_option('--exclude', names)}"
        )


def _where_missing(chosen: Chosen, compared: bool) -> str:
    """The error for missing values, or for infinite ones if there are no others to reject."""
    X = chosen.X
    numbers = X.data if sparse.issparse(X) else X
    infinite = compared or not np.isnan(numbers).any()
    wrong = np.isinf(numbers) if infinite else np.isnan(numbers)
    where = ""
    if not sparse.issparse(X):
        row, column = (int(found[0]) for found in np.nonzero(wrong))
        where = f", the first in row {chosen.rows[row]}, column {chosen.names[column]!r}"
    metric = "" if infinite else ", or --metric nan_euclidean"
    return (
        f"{chosen.source} has {int(wrong.sum()):,} {'infinite' if infinite else 'missing'} values{where}: "
        f"give --missing drop, mean or median{metric}"
    )


def _one_hot(chosen: Chosen, categories: list[str]) -> Chosen:
    """The rows with columns of 0 and 1 in place of columns of categories; missing ones are 0 everywhere."""
    if sparse.issparse(chosen.X):
        raise InputError("--one-hot needs a table of columns, not a sparse matrix")
    numbers = [name for name in chosen.names if name not in categories]
    blocks: list[Any] = []
    names: list[str] = []
    if numbers:
        columns = [chosen.names.index(name) for name in numbers]
        blocks.append(np.asarray(chosen.X[:, columns], np.float64))
        names += numbers
    for name in categories:
        values = chosen.X[:, chosen.names.index(name)]
        known, codes = _codes(values)
        present = codes >= 0
        ones = np.ones(int(present.sum()), np.float32)
        cells = (ones, (np.flatnonzero(present), codes[present]))
        blocks.append(sparse.csr_matrix(cells, shape=(len(values), len(known))))
        names += [f"{name}={value}" for value in known]
    wide = len(names) > _MAX_DENSE_CATEGORIES
    stacked = sparse.hstack(blocks, format="csr")
    option = as_option("--one-hot", categories)
    return chosen.changed(stacked if wide else stacked.toarray(), option, names)


def _codes(values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The categories in their order, and the number of each value's category; -1 if it is missing."""
    texts = [None if value is None or value != value else str(value) for value in values.tolist()]
    known = sorted({text for text in texts if text is not None})
    numbers = {text: number for number, text in enumerate(known)}
    return known, np.array([-1 if text is None else numbers[text] for text in texts], np.int64)


def _principal(chosen: Chosen, count: int, seed: int, threads: int) -> Chosen:
    from actup.neighbors._rows import read_rows
    from actup.start._coordinates import pca_start

    if chosen.X.dtype == object:
        raise InputError(f"--pca {count} needs numbers: turn categories into numbers with --one-hot")
    if count > min(chosen.X.shape):
        raise InputError(
            f"--pca {count} must be at most {min(chosen.X.shape)}: {chosen.source} has "
            f"{chosen.X.shape[0]} rows and {chosen.X.shape[1]} columns"
        )
    scores = pca_start(read_rows(chosen.X, "euclidean", name=chosen.source), count, seed, threads)
    return chosen.changed(scores, f"--pca {count}", [f"PC{number + 1}" for number in range(count)])


def _standard(X: Any) -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(_floats(X))


def _robust(X: Any) -> Any:
    from sklearn.preprocessing import RobustScaler

    return RobustScaler(with_centering=not sparse.issparse(X)).fit_transform(_floats(X))


def _minmax(X: Any) -> Any:
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

    return (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()).fit_transform(_floats(X))


def _unit(X: Any) -> Any:
    from sklearn.preprocessing import normalize

    return normalize(_floats(X))


def _log1p(X: Any) -> Any:
    X = _floats(X).copy()
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() <= -1:
        raise InputError(f"--scale log1p needs values above -1, the least is {values.min():g}")
    flat = values.reshape(-1)
    flat[:] = log(1.0 + flat.astype(np.float64))  # the same bits on every processor
    return X


def _floats(X: Any) -> Any:
    return X if X.dtype.kind == "f" else X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


# What of scikit-learn prepares new rows as an option did.
_TOOLS = {
    "--one-hot": "OneHotEncoder",
    "--missing": "SimpleImputer",
    "--scale standard": "StandardScaler",
    "--scale robust": "RobustScaler",
    "--scale minmax": "MinMaxScaler (MaxAbsScaler if sparse)",
    "--scale unit": "Normalizer",
    "--scale log1p": "FunctionTransformer(numpy.log1p)",
    "--pca": "PCA",
}
_SCALES: dict[str, Callable[[Any], Any]] = {
    "standard": _standard,
    "robust": _robust,
    "minmax": _minmax,
    "unit": _unit,
    "log1p": _log1p,
}
