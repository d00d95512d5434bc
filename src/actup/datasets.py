"""Data sets by name: from a folder of npz files, generated, or, on request, from OpenML.

Nothing is downloaded unless the caller passes ``download=True``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actup._array_files import ARRAY_FILE_ERRORS
from actup._suggestions import not_one_of
from actup._warnings import warn_user
from actup._whole_file import whole_file

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "MissingDataset",
    "checksum",
    "describe",
    "load",
    "locate",
    "names",
    "unrolled",
]

FOLDER_VARIABLE = "ACTUP_DATA"  # the environment variable that names the folder of npz files


@dataclass(frozen=True)
class Dataset:
    """A data set: rows, labels and their names.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X : ndarray of shape (n, n_features)
        The data in the dtype it is stored in, so images are uint8.
    y : ndarray of shape (n,), or None
        Class numbers, or positions along the roll for "swiss_roll".
    label_names : tuple of str
        Names of the classes by number; empty if they have none.
    point_names : tuple of str
        Names of the rows, such as words; empty if they have none.
    source : str
        The file, library or server the data came from.

    See Also
    --------
    load : Loads a data set by name.

    Examples
    --------
    >>> import numpy as np
    >>> from actup.datasets import Dataset
    >>> dataset = Dataset("pairs", np.zeros((4, 2)), np.array([0, 0, 1, 1]), ("left", "right"))
    >>> len(dataset)
    4
    >>> dataset.label_names[dataset.y[-1]]
    'right'
    """

    name: str
    X: np.ndarray
    y: np.ndarray | None
    label_names: tuple[str, ...] = ()
    point_names: tuple[str, ...] = ()
    source: str = ""

    def __len__(self) -> int:
        return len(self.X)


class MissingDataset(FileNotFoundError):
    """Raised if a data set is neither in the folder nor generated, and was not or could not be downloaded.

    Examples
    --------
    >>> from actup.datasets import MissingDataset, load
    >>> try:
    ...     load("coil100", folder="elsewhere")
    ... except MissingDataset as error:
    ...     print(str(error).split(", ")[-1])
    and download is False: put coil100.npz with arrays X and y into elsewhere
    """


@dataclass(frozen=True)
class _Entry:
    """A row of the table of data sets."""

    about: str
    files: tuple[str, ...] = ()  # names without ".npz", in the order they are looked for
    openml: int | None = None  # OpenML's id
    rows: int | None = None  # use only this many of OpenML's rows, the first ones
    checksum: str | None = None  # of the X and y that the published figures were measured on
    generate: Callable[[int | None, int], Dataset] | None = None


def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = False,
    n_samples: int | None = None,
    random_state: int = 0,
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of one of its files without ".npz".
    folder : str or path-like, default=None
        The folder that holds ``<name>.npz`` with arrays ``X`` and, if there are classes, ``y``. None: the
        folder that the environment variable ACTUP_DATA names.
    download : bool, default=False
        Whether to download a data set that is not in the folder from OpenML, if OpenML has it, and to save it
        in the folder.
    n_samples : int, default=None
        Number of random rows to keep, in their order; for the Swiss roll, the number of points to generate.
        None: all (1,797 digits, 5,000 points of the Swiss roll).
    random_state : int, default=0
        Seed of the choice of rows and of generated points.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    MissingDataset
        If there is no file and ``download`` is False, or OpenML does not have the set or cannot be reached.

    Warns
    -----
    UserWarning
        If the arrays differ from those that the project's published figures were measured on.

    See Also
    --------
    names : All names.
    locate : Where a data set would be loaded from.

    Examples
    --------
    >>> from actup import datasets
    >>> digits = datasets.load("digits", n_samples=500)
    >>> digits.X.shape, digits.X.dtype.name
    ((500, 64), 'uint8')
    >>> digits.source
    'scikit-learn'
    """
    name, entry = _find_entry(name)
    if entry.generate is not None:
        return entry.generate(n_samples, random_state)
    data_folder = _resolve_folder(folder)
    path = _find_file(entry, data_folder)
    if path is not None:
        dataset = _read(name, path)
    elif download and entry.openml is not None:
        dataset = _download(name, entry, data_folder)
    else:
        raise MissingDataset(_missing(name, entry, data_folder, download))
    _verify(dataset, entry)
    return _choose_rows(dataset, n_samples, random_state)


def names() -> list[str]:
    """Return the names of all data sets.

    Returns
    -------
    list of str
        Names that :func:`load` accepts.

    Examples
    --------
    >>> from actup import datasets
    >>> datasets.names()[:3]
    ['mnist', 'fashion_mnist', 'coil100']
    """
    return list(_DATASETS)


def describe(name: str) -> str:
    """Return one line about a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of one of its files without ".npz".

    Returns
    -------
    str
        The description.

    Examples
    --------
    >>> from actup import datasets
    >>> datasets.describe("mnist")
    'MNIST, 60,000 images of digits'
    """
    return _find_entry(name)[1].about


def locate(name: str, folder: str | os.PathLike[str] | None = None) -> str:
    """Say where :func:`load` would find a data set, without reading it.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of one of its files without ".npz".
    folder : str or path-like, default=None
        The folder of npz files. None: the folder that the environment variable ACTUP_DATA names.

    Returns
    -------
    str
        "generated", the path of the file, or "missing" and how to get the data set.

    Examples
    --------
    >>> from actup import datasets
    >>> datasets.locate("swiss_roll")
    'generated'
    >>> datasets.locate("coil100", folder="elsewhere")
    'missing; put coil100.npz with arrays X and y into elsewhere'
    """
    name, entry = _find_entry(name)
    data_folder = _resolve_folder(folder)
    path = _find_file(entry, data_folder)
    if entry.generate is not None:
        return "generated"
    return str(path) if path is not None else f"missing; {_remedy(entry, data_folder)}"


def is_missing_but_on_openml(name: str, folder: str | os.PathLike[str] | None = None) -> bool:
    """Whether a data set is not in the folder and :func:`load` can download it."""
    _, entry = _find_entry(name)
    return entry.openml is not None and _find_file(entry, _resolve_folder(folder)) is None


def checksum(dataset: Dataset) -> str:
    """Return the SHA-256 of the bytes of X and y, with y as 64-bit integers.

    Parameters
    ----------
    dataset : Dataset
        The data set.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from actup import datasets
    >>> digits = datasets.load("digits")
    >>> len(datasets.checksum(digits))
    64
    >>> datasets.checksum(digits) == datasets.checksum(datasets.load("digits", n_samples=500))
    False
    """
    digest = hashlib.sha256(np.ascontiguousarray(dataset.X).data)
    if dataset.y is not None:
        digest.update(np.ascontiguousarray(dataset.y, np.int64).data)
    return digest.hexdigest()


def _find_entry(name: str) -> tuple[str, _Entry]:
    """Look up a data set by its name or by the name of one of its files."""
    for own_name, entry in _DATASETS.items():
        if name == own_name or name in entry.files:
            return own_name, entry
    raise ValueError(not_one_of("name", name, names()))


def _resolve_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    folder = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def _find_file(entry: _Entry, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    paths = (folder / f"{file}.npz" for file in entry.files)
    return next((path for path in paths if path.is_file()), None)


def _read(name: str, path: Path) -> Dataset:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in ("X", "y", "classes", "words") if key in archive}
    except (*ARRAY_FILE_ERRORS, OSError) as error:
        raise ValueError(f"{path} cannot be read ({error}): is it a complete npz file?") from error
    if "X" not in arrays:
        raise ValueError(f"{path} has no array X: save it with np.savez(path, X=..., y=...)")
    X, y, words = arrays["X"], arrays.get("y"), arrays.get("words")
    classes = arrays.get("classes", ())
    point_names = () if words is None else tuple(words.tobytes().decode("utf-8").split("\n"))
    if y is not None and len(y) != len(X):
        raise ValueError(f"{path} has {len(X)} rows of X but {len(y)} of y: they must agree")
    return Dataset(name, X, y, tuple(map(str, classes)), point_names[: len(X)], str(path))


def _download(name: str, entry: _Entry, folder: Path | None) -> Dataset:
    """Download from OpenML; save in the folder, which loads faster than scikit-learn's cache."""
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=entry.openml, as_frame=False)
    except OSError as error:
        remedy = _remedy(entry, folder, has_failed=True)
        raise MissingDataset(f"{name!r} could not be downloaded from OpenML ({error}): {remedy}") from error
    X, y = fetched.data[: entry.rows], fetched.target[: entry.rows]
    if X.min() >= 0 and X.max() <= 255 and (np.floor(X) == X).all():
        X = X.astype(np.uint8)
    numbers = all(str(label).isdigit() for label in set(y))
    classes, codes = np.unique(y.astype(int) if numbers else y, return_inverse=True)
    if folder is not None:
        _save(folder / f"{name}.npz", X=X, y=codes, classes=classes.astype(str))
    return Dataset(name, X, codes, tuple(map(str, classes)), (), f"OpenML {entry.openml}")


def _save(path: Path, X: np.ndarray, y: np.ndarray, classes: np.ndarray) -> None:
    """Write an archive whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        np.savez_compressed(unfinished, X=X, y=y, classes=classes)


def _missing(name: str, entry: _Entry, folder: Path | None, download: bool) -> str:
    reason = "OpenML does not have it" if download else "download is False"
    return f"{name!r} ({entry.about}) is not here, and {reason}: {_remedy(entry, folder)}"


def _remedy(entry: _Entry, folder: Path | None, has_failed: bool = False) -> str:
    file = f"{entry.files[0]}.npz with arrays X and y"
    remedy = (
        f"put {file} into a folder and name it in {FOLDER_VARIABLE}"
        if folder is None
        else f"put {file} into {folder}"
    )
    if entry.openml is None or has_failed:
        return remedy
    return f"{remedy}, or ask for it from OpenML (download=True, --download)"


def _verify(dataset: Dataset, entry: _Entry) -> None:
    if entry.checksum is not None and checksum(dataset) != entry.checksum:
        warn_user(
            f"{dataset.name} from {dataset.source} is not the {entry.about} that figures were published for "
            f"(shape {dataset.X.shape}, {dataset.X.dtype}): expect other figures"
        )


def _choose_rows(dataset: Dataset, n_samples: int | None, random_state: int) -> Dataset:
    if n_samples is None or n_samples >= len(dataset):
        return dataset
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 1")
    rows = np.sort(np.random.default_rng(random_state).permutation(len(dataset))[:n_samples])
    return Dataset(
        dataset.name,
        dataset.X[rows],
        None if dataset.y is None else dataset.y[rows],
        dataset.label_names,
        tuple(dataset.point_names[row] for row in rows) if dataset.point_names else (),
        dataset.source,
    )


def _swiss_roll(n_samples: int | None, random_state: int) -> Dataset:
    from sklearn.datasets import make_swiss_roll

    X, position = make_swiss_roll(n_samples or 5_000, noise=0.01, random_state=random_state)
    return Dataset("swiss_roll", X.astype(np.float32), position, source="generated")


def _digits(n_samples: int | None, random_state: int) -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    whole = Dataset("digits", X.astype(np.uint8), y, tuple(map(str, range(10))), source="scikit-learn")
    return _choose_rows(whole, n_samples, random_state)


def unrolled(dataset: Dataset) -> np.ndarray:
    """Return the positions of the Swiss roll's points on the flat sheet it was rolled from.

    Parameters
    ----------
    dataset : Dataset
        The data set "swiss_roll".

    Returns
    -------
    ndarray of shape (n, 2)
        Length along the roll, and the coordinate along its axis.

    Examples
    --------
    >>> from actup import datasets
    >>> roll = datasets.load("swiss_roll", n_samples=100)
    >>> roll.X.shape, datasets.unrolled(roll).shape
    ((100, 3), (100, 2))
    """
    turn = dataset.y
    if dataset.name != "swiss_roll" or turn is None:
        raise ValueError(f"dataset={dataset.name!r} is not the Swiss roll: only 'swiss_roll' can be unrolled")
    arc = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2  # length along the spiral r = turn
    return np.column_stack([arc, dataset.X[:, 1]])


# The checksums are those of the arrays that docs/reproduction.md and docs/benchmarks.md were measured on.
_DATASETS = {
    "mnist": _Entry(
        "MNIST, 60,000 images of digits",
        ("mnist",),
        openml=554,
        rows=60_000,
        checksum="d18cfd466eb143ac1097fde604dba9eec4116885869d04cc648b510949f9e88c",
    ),
    "fashion_mnist": _Entry(
        "Fashion-MNIST, 60,000 images of clothes",
        ("fashion_mnist",),
        openml=40996,
        rows=60_000,
        checksum="1f243a60b4b748a44c48b9a6f6907be2a08bee3e4e226f0e86fbde8e147b745a",
    ),
    "coil100": _Entry(
        "COIL-100, 7,200 images of 100 turning objects, at 32 x 32 pixels",
        ("coil100", "coil100_32"),
        checksum="83e0c0b1a3d4f1973202c861525b458a669163d81f246103806174707eaa5a3e",
    ),
    "cifar10": _Entry("CIFAR-10, 60,000 photographs", ("cifar10",), openml=40927),
    "usps": _Entry(
        "USPS, 9,298 images of digits",
        ("usps",),
        openml=41082,
        checksum="0f4450ab9788641af1e2ffc9b97b67c1e32aa3afb401e6eb43c9c91d67c2bce1",
    ),
    "single_cell": _Entry(
        "single cells of lung lavage (Liao et al., 2020), 50 principal components",
        ("single_cell", "balf_liao2020_pca50"),
        checksum="a92ddb876d14652ed1028f9f29b1eb66eb329c831936368c34baa9cd0bcf7373",
    ),
    "swiss_roll": _Entry("a rolled-up sheet in three dimensions", generate=_swiss_roll),
    "digits": _Entry("scikit-learn's 1,797 images of digits", generate=_digits),
    "word_vectors": _Entry(
        "GloVe vectors of the 50,000 most frequent words",
        ("word_vectors", "glove_50k_100d"),
        checksum="8baeaf4a1fd15d6a775e8b683a0d202224e7f73fd15a340db33a400ef48a0b79",
    ),
}
