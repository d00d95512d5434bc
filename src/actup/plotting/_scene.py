"""What static pictures and the interactive page share: labels, captions, places for class names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from actup._labels import label_array, missing_labels
from actup._values import to_floats
from actup._warnings import warn_user
from actup.plotting._colors import MISSING, OTHER, categorical_palette, ramp
from actup.plotting._dates import as_dates, days, seconds_since_1970

# Integer labels with more distinct values than this are read as values, not as classes.
_MAX_INTEGER_CLASSES = 128
_MAX_DATE_CLASSES = 12  # dates with more distinct values are shown on a scale
_MAX_COUNTED_RANGE = 1 << 16  # whole numbers within such a range are counted instead of sorted
_QUICK_LOOK = 10_000  # entries that usually show that labels are no whole numbers
_CHUNK_LABELS = 1 << 18
_MAX_NAMED_CLASSES = 1000  # more cannot be told apart, and a legend of more is useless
_LINE_BINS = 128  # bins of the histogram that gives one-dimensional maps their height
_SPOT_CELLS = 64  # cells per side of the grid on which class names find a dense spot


@dataclass(frozen=True)
class Classes:
    """Labels that name classes.

    Attributes
    ----------
    codes : ndarray of shape (n,), int32
        Class of every point, -1 where its label is missing (None, NaN, NaT, pandas' NA or masked).
    names : list of str
    colors : list of str
        One ``"#rrggbb"`` per class.
    has_rest : bool
        Whether the last class stands for all small classes together; its name is not written on a map.
    missing_name : str
        What legends call the points without a class.
    """

    codes: np.ndarray
    names: list[str]
    colors: list[str]
    has_rest: bool = False
    missing_name: str = "missing"

    def entries(self) -> list[tuple[str, str]]:
        """Names and colours for a legend, with one for missing labels at the end if there are any."""
        missing = [(self.missing_name, MISSING)] if (self.codes < 0).any() else []
        return [*zip(self.names, self.colors, strict=True), *missing]

    def selected(self, kept: np.ndarray) -> Classes:
        """The same classes of some of the points."""
        return replace(self, codes=self.codes[kept])

    def point_colors(self) -> np.ndarray:
        """Colours of the points, shape (n, 3), uint8."""
        table = [tuple(bytes.fromhex(color[1:])) for color in [*self.colors, MISSING]]
        return np.asarray(np.array(table, np.uint8)[self.codes])


@dataclass(frozen=True)
class Values:
    """Labels that are values on a scale.

    Attributes
    ----------
    values : ndarray of shape (n,), float64
        NaN where missing.
    low, high : float
        Ends of the colour ramp: the 1st and 99th percentile, so that outliers do not use up the ramp.
    scale : {"number", "date", "duration"}
        What the values are: numbers, seconds since 1970 of dates, or days of durations.
    """

    values: np.ndarray
    low: float
    high: float
    scale: str = "number"

    def selected(self, kept: np.ndarray) -> Values:
        """The values of some of the points, on the same scale."""
        return replace(self, values=self.values[kept])

    def point_colors(self) -> np.ndarray:
        """Colours of the points, shape (n, 3), uint8."""
        known = np.isfinite(self.values)
        colors = np.empty((len(self.values), 3), np.uint8)
        colors[known] = ramp(self.values[known], self.low, self.high)
        colors[~known] = tuple(bytes.fromhex(MISSING[1:]))
        return colors


def read_captions(captions: Mapping[str, str] | None, names: Collection[str]) -> dict[str, str]:
    """Return the captions by map name; a map without one gets an empty caption."""
    captions = {} if captions is None else captions
    if not isinstance(captions, Mapping):
        raise TypeError(f"captions must be a mapping of map names to text, got {type(captions).__name__}")
    unknown = [name for name in map(str, captions) if name not in names]
    if unknown:
        raise ValueError(f"captions name maps that are not shown: {unknown}; the maps are {list(names)}")
    return dict.fromkeys(names, "") | {str(name): str(text) for name, text in captions.items()}


def read_labels(
    labels: ArrayLike | None, n: int, kind: str = "auto", name: str = "labels"
) -> Classes | Values | None:
    """Decide whether labels are classes or values, and prepare them for colouring.

    Text, Booleans, whole numbers with at most 128 distinct values and dates with at most twelve name classes;
    other numbers and dates, and durations, are values.

    Parameters
    ----------
    labels : array-like of shape (n,) or None
    n : int
        Number of points.
    kind : {"auto", "classes", "values"}
        Overrides the decision.
    name : str
        What errors call the labels.
    """
    if not isinstance(kind, str) or kind not in ("auto", "classes", "values"):
        raise ValueError(f"label_kind={kind!r} must be 'auto', 'classes' or 'values'")
    if labels is None:
        return None
    if isinstance(labels, str):
        raise TypeError(f"{name}={labels!r} is a text: give one entry per point, such as frame[{labels!r}]")
    array = label_array(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"{name} must have one entry for each of the {n} points, got shape {array.shape}")
    array = as_dates(array)
    if kind == "auto":
        kind = "classes" if _names_classes(array) else "values"
    return _read_classes(array) if kind == "classes" else _read_values(array, name)


def _names_classes(array: np.ndarray) -> bool:
    if array.dtype.kind == "M":
        return len(np.unique(array[~np.isnat(array)])) <= _MAX_DATE_CLASSES
    if array.dtype.kind not in "iuf":
        return array.dtype.kind != "m"
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
        first = array[:_QUICK_LOOK]
        if (first != np.rint(first)).any():
            return False
    distinct = _distinct(array)[0]
    return len(distinct) <= _MAX_INTEGER_CLASSES and bool(np.all(distinct == np.rint(distinct)))


def _distinct(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers in ascending order, and which of them each entry is."""
    if len(array) and array.dtype.kind in "iu" and int(array.max()) - int(array.min()) < _MAX_COUNTED_RANGE:
        shifted = (array - array.min()).astype(np.intp)
        held = np.bincount(shifted) > 0
        return (np.flatnonzero(held) + int(array.min())).astype(array.dtype), (np.cumsum(held) - 1)[shifted]
    distinct, codes = np.unique(array, return_inverse=True)
    return distinct, codes


def _read_classes(array: np.ndarray) -> Classes:
    missing = ~np.isfinite(array) if array.dtype.kind == "f" else missing_labels(array)
    known = array[~missing]
    codes = np.full(len(array), -1, np.int32)
    if array.dtype.kind in "iubf":
        distinct, codes[~missing] = _distinct(known)
        names = [_number_as_text(value) for value in distinct.tolist()]
    else:  # objects may mix types, so they are compared as text
        codes[~missing], names = _text_codes(known)
    return Classes(codes, names, categorical_palette(len(names)))


def _text_codes(labels: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the class of every label and the names of the classes in order."""
    found: dict[str, int] = {}
    codes = np.empty(len(labels), np.int32)
    for start in range(0, len(labels), _CHUNK_LABELS):  # lists of Python's text take much memory
        chunk = _as_text(labels[start : start + _CHUNK_LABELS])
        codes[start : start + len(chunk)] = [found.setdefault(name, len(found)) for name in chunk]
    names = sorted(found)
    order = np.empty(len(names), np.int32)
    order[[found[name] for name in names]] = np.arange(len(names))
    return order[codes], names


def _as_text(labels: np.ndarray) -> list[str]:
    if labels.dtype.kind == "M":  # tolist() would make integers of nanoseconds
        labels = np.datetime_as_string(labels, unit="auto")
    return [str(value) for value in labels.tolist()]


def _number_as_text(value: float | int | bool) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else f"{value:.12g}" if isinstance(value, float) else str(value)


def name_largest(classes: Classes, remedy: str = "") -> Classes | None:
    """Return classes of which at most 1,000 have a name and a colour; warns if small ones lose theirs.

    The small classes become one class, which stands last. Classes of one point each are no classes but names
    of the points: if there are no others, the result is None.

    Parameters
    ----------
    classes : Classes
    remedy : str
        What the warning says about the names that are not shown.
    """
    count = len(classes.names)
    if count <= _MAX_NAMED_CLASSES:
        return classes
    sizes = np.bincount(classes.codes[classes.codes >= 0], minlength=count)
    largest = np.argsort(-sizes, kind="stable")[:_MAX_NAMED_CLASSES]
    named = np.sort(largest[sizes[largest] > 1])
    rest = f"{count - len(named):,} other classes"
    if not len(named):
        warn_user(f"labels has {count:,} classes of one point each: points are shown without classes{remedy}")
        return None
    warn_user(
        f"labels has {count:,} classes: the {len(named):,} largest keep their names and colours, all others "
        f"are shown as {rest!r}{remedy}"
    )
    code_of = np.full(count + 1, len(named), np.int32)
    code_of[named] = np.arange(len(named))
    code_of[-1] = -1  # of missing labels
    names = [*(classes.names[code] for code in named), rest]
    return Classes(code_of[classes.codes], names, [*categorical_palette(len(named)), OTHER], has_rest=True)


def _read_values(array: np.ndarray, name: str) -> Values:
    scale = {"M": "date", "m": "duration"}.get(array.dtype.kind, "number")
    if scale == "number":
        values = _read_numbers(array, name)
    else:
        values = seconds_since_1970(array) if scale == "date" else days(array)
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, (1, 99)) if len(known) else (0.0, 1.0)
    if low == high and len(known):
        low, high = known.min(), known.max()
    return Values(values, float(low), float(high), scale)


def _read_numbers(array: np.ndarray, name: str) -> np.ndarray:
    missing = missing_labels(array)
    values = np.full(len(array), np.nan)
    remedy = "use label_kind='classes'" if name == "labels" else "give them as labels"
    wrong = ValueError(f"{name} of type {array.dtype} are not numbers; {remedy}")
    values[~missing] = to_floats(array[~missing], name, lambda: wrong)
    values[~np.isfinite(values)] = np.nan
    return values


def spread_line(Y: np.ndarray) -> np.ndarray:
    """Give a one-dimensional map a second coordinate, so that points spread out where they are dense.

    Parameters
    ----------
    Y : ndarray of shape (n, 1)

    Returns
    -------
    ndarray of shape (n, 2)
    """
    x = Y[:, 0]
    width = np.ptp(x) or 1.0
    place = (x - x.min()) / width * _LINE_BINS
    cell = np.minimum(place.astype(int), _LINE_BINS - 1)
    smooth = np.convolve(np.bincount(cell, minlength=_LINE_BINS), np.hanning(9) / 4, mode="same")
    density = np.interp(place, np.arange(_LINE_BINS) + 0.5, smooth)
    # Multiples of the golden ratio modulo 1 are evenly spread and need no random numbers.
    offset = np.arange(len(x)) * 0.6180339887498949 % 1.0 - 0.5
    return np.column_stack([x, offset * density / max(density.max(), 1e-12) * 0.3 * width])


def dense_spots(Y: np.ndarray, codes: np.ndarray, count: int, most: int = 1) -> list[np.ndarray]:
    """Find places for the name of each of the first ``count`` classes where it is densest, best first.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
    codes : ndarray of shape (n,)
        Class of every point; points of other classes are ignored.
    count : int
        Number of classes that need a place.
    most : int
        Number of places wanted per class.

    Returns
    -------
    list of ndarray of shape (places, 2)
        One array per class, with at most ``most`` rows, empty for a class without points.
    """
    from scipy.ndimage import gaussian_filter

    low, high = Y.min(axis=0), Y.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    grid = np.minimum(((Y - low) / size * _SPOT_CELLS).astype(int), _SPOT_CELLS - 1)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(count + 1))
    spots = []
    for code in range(count):
        members = order[bounds[code] : bounds[code + 1]]
        if len(members) == 1:
            spots.append(Y[members])
            continue
        histogram = np.zeros((_SPOT_CELLS, _SPOT_CELLS))
        np.add.at(histogram, tuple(grid[members].T), 1.0)
        density = gaussian_filter(histogram, 2.5, mode="constant")
        # Choose among the class's own points: the smoothed density may peak between them.
        own = density[tuple(grid[members].T)]
        best = members[np.argsort(-own, kind="stable")]
        _, first = np.unique(grid[best] @ (_SPOT_CELLS, 1), return_index=True)
        spots.append(Y[best[np.sort(first)[:most]]])
    return spots
