"""Data sets by name: from a folder of npz files, generated, or, on request, from OpenML.

Nothing is fetched unless the caller says ``download=True``.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from actup._warnings import warn_user

FOLDER_VARIABLE = "ACTUP_DATA"


@dataclass(frozen=True)
class Dataset:
    """Points and what is known about them.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, columns)
        As it is stored, so images are uint8.
    y : ndarray of shape (n,), or None
        Class numbers, or positions along the roll for "swiss_roll".
    label_names : tuple of str
        The classes by number; empty if they have no names.
    point_names : tuple of str
        What each row is called, such as its word; empty if rows have no names.
    source : str
        Where it came from.
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
    """A data set that is neither in the folder nor generated, and was not to be fetched."""


@dataclass(frozen=True)
class _Known:
    """What is known about a data set before it is read."""

    about: str
    files: tuple[str, ...] = ()  # names without ".npz", in the order they are looked for
    openml: int | None = None
    rows: int | None = None  # how many of OpenML's rows are the set
    checksum: str | None = None  # of the X and y that published figures were measured on
    generate: Callable[[int | None, int], Dataset] | None = None


def load(
    name: str,
    *,
    folder: str | os.PathLike | None = None,
    download: bool = False,
    n_samples: int | None = None,
    random_state: int = 0,
) -> Dataset:
    """A data set by name.

    Parameters
    ----------
    name : str
        One of ``names()``, or the name of one of its files without ".npz".
    folder : path-like, default=None
        Where ``<name>.npz`` lies, with arrays ``X`` and, if there are classes, ``y``; None: the folder that
        the environment variable ACTUP_DATA names.
    download : bool, default=False
        Fetch a set that is not in the folder from OpenML, if it is there, and keep it in the folder.
    n_samples : int, default=None
        A random choice of this many rows, in their order; for generated sets, how many to generate. None: all
        (1,797 digits, 5,000 points of the Swiss roll).
    random_state : int, default=0
        Draws the rows, and the points of a generated set.

    Returns
    -------
    Dataset

    Raises
    ------
    MissingDataset
        If there is no file and ``download`` is False, or OpenML does not have the set or cannot be reached.

    Warns
    -----
    UserWarning
        If the arrays are not those whose checksum is known: figures measured on them may differ.
    """
    name, known = _known(name)
    if known.generate is not None:
        return known.generate(n_samples, random_state)
    place = _folder(folder)
    path = _find(known, place)
    if path is not None:
        dataset = _read(name, path)
    elif download and known.openml is not None:
        dataset = _fetch(name, known, place)
    else:
        raise MissingDataset(_missing(name, known, place, download))
    _verify(dataset, known)
    return _choose_rows(dataset, n_samples, random_state)


def names() -> list[str]:
    """The names of all data sets."""
    return list(_SETS)


def describe(name: str) -> str:
    """One line about a data set."""
    return _known(name)[1].about


def locate(name: str, folder: str | os.PathLike | None = None) -> str:
    """Where ``load`` would find a data set, in words; nothing is read."""
    name, known = _known(name)
    place = _folder(folder)
    path = _find(known, place)
    if known.generate is not None:
        return "generated"
    return str(path) if path is not None else f"missing; {_remedy(known, place)}"


def checksum(dataset: Dataset) -> str:
    """SHA-256 of the bytes of X and y, y as 64-bit integers."""
    digest = hashlib.sha256(np.ascontiguousarray(dataset.X).data)
    if dataset.y is not None:
        digest.update(np.ascontiguousarray(dataset.y, np.int64).data)
    return digest.hexdigest()


def _known(name: str) -> tuple[str, _Known]:
    """A set by its name or by the name of one of its files."""
    for own_name, known in _SETS.items():
        if name == own_name or name in known.files:
            return own_name, known
    raise ValueError(f"name={name!r} is not one of {', '.join(map(repr, names()))}")


def _folder(folder: str | os.PathLike | None) -> Path | None:
    folder = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def _find(known: _Known, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    paths = (folder / f"{file}.npz" for file in known.files)
    return next((path for path in paths if path.is_file()), None)


def _read(name: str, path: Path) -> Dataset:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in ("X", "y", "classes", "words") if key in archive}
    except (BadZipFile, EOFError, OSError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read ({error}): is it a complete npz file?") from error
    if "X" not in arrays:
        raise ValueError(f"{path} has no array X: save it with np.savez(path, X=..., y=...)")
    X, y, words = (arrays.get(key) for key in ("X", "y", "words"))
    classes = arrays.get("classes", ())
    point_names = () if words is None else tuple(words.tobytes().decode("utf-8").split("\n"))
    if y is not None and len(y) != len(X):
        raise ValueError(f"{path} has {len(X)} rows of X but {len(y)} of y: they must agree")
    return Dataset(name, X, y, tuple(map(str, classes)), point_names[: len(X)], str(path))


def _fetch(name: str, known: _Known, folder: Path | None) -> Dataset:
    """From OpenML, which scikit-learn keeps a copy of; in the folder it is read faster the next time."""
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=known.openml, as_frame=False)
    except OSError as error:
        raise MissingDataset(
            f"{name!r} could not be fetched from OpenML ({error}): {_remedy(known, folder)}"
        ) from error
    X, y = fetched.data[: known.rows], fetched.target[: known.rows]
    if X.min() >= 0 and X.max() <= 255 and (np.floor(X) == X).all():
        X = X.astype(np.uint8)
    numbers = all(str(label).isdigit() for label in set(y))
    classes, codes = np.unique(y.astype(int) if numbers else y, return_inverse=True)
    if folder is not None:
        _keep(folder / f"{name}.npz", X=X, y=codes, classes=classes.astype(str))
    return Dataset(name, X, codes, tuple(map(str, classes)), (), f"OpenML {known.openml}")


def _keep(path: Path, **arrays: np.ndarray) -> None:
    """Write an archive under its name only when it is whole: a killed program leaves none that is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished.npz")
    np.savez_compressed(unfinished, **arrays)
    unfinished.replace(path)


def _missing(name: str, known: _Known, folder: Path | None, asked_to_download: bool) -> str:
    elsewhere = "OpenML does not have it" if asked_to_download else "nothing was to be fetched"
    return f"{name!r} ({known.about}) is not here, and {elsewhere}: {_remedy(known, folder)}"


def _remedy(known: _Known, folder: Path | None) -> str:
    file = f"{known.files[0]}.npz with arrays X and y"
    remedy = (
        f"put {file} into a folder and name it in {FOLDER_VARIABLE}"
        if folder is None
        else f"put {file} into {folder}"
    )
    return (
        remedy if known.openml is None else f"{remedy}, or ask for it from OpenML (download=True, --download)"
    )


def _verify(dataset: Dataset, known: _Known) -> None:
    if known.checksum is not None and checksum(dataset) != known.checksum:
        warn_user(
            f"{dataset.name} from {dataset.source} is not the {known.about} that figures were published for "
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
    """Where the points of the Swiss roll lie on the sheet it was rolled from: shape (n, 2)."""
    if dataset.name != "swiss_roll":
        raise ValueError(f"dataset={dataset.name!r} is not the Swiss roll, which alone can be unrolled")
    turn = dataset.y
    arc = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2  # length along the spiral r = turn
    return np.column_stack([arc, dataset.X[:, 1]])


# The checksums are those of the arrays that docs/reproduction.md and docs/benchmarks.md were measured on.
_SETS = {
    "mnist": _Known(
        "MNIST, 60,000 images of digits",
        ("mnist",),
        openml=554,
        rows=60_000,
        checksum="d18cfd466eb143ac1097fde604dba9eec4116885869d04cc648b510949f9e88c",
    ),
    "fashion_mnist": _Known(
        "Fashion-MNIST, 60,000 images of clothes",
        ("fashion_mnist",),
        openml=40996,
        rows=60_000,
        checksum="1f243a60b4b748a44c48b9a6f6907be2a08bee3e4e226f0e86fbde8e147b745a",
    ),
    "coil100": _Known(
        "COIL-100, 7,200 images of 100 turning objects, at 32 x 32 pixels",
        ("coil100", "coil100_32"),
        checksum="83e0c0b1a3d4f1973202c861525b458a669163d81f246103806174707eaa5a3e",
    ),
    "cifar10": _Known("CIFAR-10, 60,000 photographs", ("cifar10",), openml=40927),
    "usps": _Known(
        "USPS, 9,298 images of digits",
        ("usps",),
        openml=41082,
        checksum="0f4450ab9788641af1e2ffc9b97b67c1e32aa3afb401e6eb43c9c91d67c2bce1",
    ),
    "single_cell": _Known(
        "single cells of lung lavage (Liao et al., 2020), 50 principal components",
        ("single_cell", "balf_liao2020_pca50"),
        checksum="a92ddb876d14652ed1028f9f29b1eb66eb329c831936368c34baa9cd0bcf7373",
    ),
    "swiss_roll": _Known("a rolled-up sheet in three dimensions", generate=_swiss_roll),
    "digits": _Known("scikit-learn's 1,797 images of digits", generate=_digits),
    "word_vectors": _Known(
        "GloVe vectors of the 50,000 most frequent words",
        ("word_vectors", "glove_50k_100d"),
        checksum="8baeaf4a1fd15d6a775e8b683a0d202224e7f73fd15a340db33a400ef48a0b79",
    ),
}
