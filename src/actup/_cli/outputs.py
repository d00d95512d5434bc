"""The table of outputs: what each suffix of ``-o`` writes, whole or not at all."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from actup._array_files import save_array
from actup._cli.chosen import Chosen
from actup._cli.reporting import InputError, stop_if_interrupted, writing_to_standard_output
from actup._maps import align_maps, map_of
from actup._whole_file import reject_special, whole_file

STANDARD_OUTPUT = Path("-")  # csv


@dataclass(frozen=True)
class Result:
    """Maps of the same rows, and what is written with them.

    Attributes
    ----------
    maps : dict of str to fitted estimator, Embedding or ndarray of shape (n, n_components)
        Maps by name.
    chosen : Chosen
        The rows that they were made of, and their columns.
    title : str
    captions : dict of str to str
        A line about each map.
    clusters : actup.clusters.Clusters or None
        Of the first map.
    neighbors : int
        Neighbours of every row that parquet gets; 0: none.
    side_by_side : bool
        Whether a page shows its maps side by side at first.
    """

    maps: dict[str, Any]
    chosen: Chosen
    title: str
    captions: dict[str, str] = field(default_factory=dict)
    clusters: Any = None
    neighbors: int = 0
    side_by_side: bool = False

    def model(self) -> Any:
        """The one map, as it was given: a fitted estimator or an array."""
        return next(iter(self.maps.values()))

    def columns(self) -> dict[str, np.ndarray]:
        """The columns that are written beside the coordinates."""
        return {**self.chosen.shown_columns(), **_cluster_columns(self.clusters)}

    def identifiers(self) -> dict[str, np.ndarray]:
        """The column that says which rows of the input these are: identifiers, or else numbers."""
        return self.chosen.ids or {"row": self.chosen.rows}

    def page_options(self) -> dict[str, Any]:
        """What a page shows besides its maps, as ``write_page`` and ``actup.live`` take it."""
        return {
            "columns": {**self.chosen.labels, **self.chosen.values} or None,
            "label_kind": dict.fromkeys(self.chosen.values, "values"),
            "hover": {**self.chosen.ids, **self.chosen.hover} or None,
            "images": self.chosen.images,
            "title": self.title,
        }


@dataclass(frozen=True)
class Output:
    """A row of the table.

    Attributes
    ----------
    write : callable
        ``write(path, result)``.
    dimensions : tuple of int
        Those that a map may have; empty: any.
    several : bool
        Whether it holds several maps.
    package, extra : str or None
        What has to be installed, and the extra of ActUp that brings it.
    """

    write: Callable[[Path, Result], None]
    dimensions: tuple[int, ...] = ()
    several: bool = False
    package: str | None = None
    extra: str | None = None


def check_outputs(
    paths: Sequence[Path], inputs: Sequence[str], dimensions: int, several: bool = False
) -> None:
    """Reject outputs that could not be written in the end, before any work is done."""
    kinds = ", ".join(suffix for suffix, row in OUTPUTS.items() if row.several or not several)
    if not paths:
        raise InputError(f"no output: give -o FILE ({kinds})")
    given = {os.path.realpath(path) for path in inputs}
    for path in paths:
        reject_special_output(path)
        row = _row(path, kinds)
        if several and not row.several:
            raise InputError(f"-o {path} holds one map only: give {kinds}")
        if row.dimensions and dimensions not in row.dimensions:
            allowed = " or ".join(map(str, row.dimensions))
            raise InputError(f"-o {path} shows {allowed} dimensions, not {dimensions}: see --dimensions")
        if row.package is not None and find_spec(row.package) is None:
            raise InputError(f"-o {path} needs the package {row.package}: pip install 'actup[{row.extra}]'")
        if path == STANDARD_OUTPUT:
            continue
        reject_missing_folder(path)
        if os.path.realpath(path) in given:
            raise InputError(f"-o {path} would replace the file that is read: give another name")


def reject_missing_folder(path: Path) -> None:
    """Reject an output in a folder that does not exist."""
    if not path.parent.is_dir():
        raise InputError(f"-o {path}: there is no folder {path.parent}")


def reject_special_output(path: Path) -> None:
    """Reject an output that exists and is no file, such as a device; "-" is standard output."""
    if path == STANDARD_OUTPUT:
        if getattr(sys.stdout, "name", "") == os.devnull:  # what stands for a closed one
            raise InputError("-o -: standard output is closed: give the name of a file")
        return
    if path.is_dir():
        raise InputError(f"-o {path} is a folder: give a file")
    try:
        reject_special(path, f"-o {path}")
    except ValueError as error:
        raise InputError(f"{error}, or -o - for csv on standard output") from None


def write_outputs(paths: Sequence[Path], result: Result) -> None:
    """Write all files beside their places and then move them there: after an error there is none of them."""
    with ExitStack() as unfinished:
        for path in paths:
            write = _row(path).write
            write(path if path == STANDARD_OUTPUT else unfinished.enter_context(whole_file(path)), result)
        stop_if_interrupted()


def _row(path: Path, kinds: str = "") -> Output:
    suffix = "csv" if path == STANDARD_OUTPUT else path.suffix.lower().lstrip(".")
    if suffix not in OUTPUTS:
        raise InputError(f"-o {path}: the suffix must be one of {kinds}")
    return OUTPUTS[suffix]


# ---- one writer per kind ----


def _write_npy(path: Path, result: Result) -> None:
    save_array(path, np.asarray(map_of(result.model())))


def _write_npz(path: Path, result: Result) -> None:
    maps = {name: np.asarray(map_of(source)) for name, source in result.maps.items()}
    np.savez_compressed(path, allow_pickle=False, **maps)


def _write_csv(path: Path, result: Result) -> None:
    _write_fields(path, result, ",")


def _write_tsv(path: Path, result: Result) -> None:
    _write_fields(path, result, "\t")


def _write_fields(path: Path, result: Result, delimiter: str) -> None:
    if path == STANDARD_OUTPUT:
        with writing_to_standard_output():
            _write_lines(sys.stdout, result, delimiter)
            sys.stdout.flush()
        return
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
        _write_lines(file, result, delimiter)


def _write_lines(file: IO[str], result: Result, delimiter: str) -> None:
    places = np.asarray(map_of(result.model()))
    columns: dict[str, Iterable[Any]] = dict(result.columns())
    ids = {name: columns.pop(name, values) for name, values in result.identifiers().items()}
    names = axis_names(places.shape[1], taken=columns)
    axes = {name: places[:, number].astype(str).tolist() for number, name in enumerate(names)}
    everything = {**ids, **axes, **columns}
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(everything)
    writer.writerows(zip(*(_texts(values) for values in everything.values()), strict=True))


def axis_names(dimensions: int, taken: Iterable[str]) -> list[str]:
    """The names of the columns of coordinates: x, y, z, x4, ..., or projection_x, ... if one is taken."""
    names = [*"xyz"[:dimensions], *(f"x{number + 1}" for number in range(3, dimensions))]
    return [f"projection_{name}" for name in names] if set(names) & set(taken) else names


def _texts(values: Iterable[Any]) -> Iterator[Any]:
    """Values as csv writes them: nothing for what is missing."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "mM":
            values = np.where(np.isnat(values), "", values.astype(str))
        values = values.tolist()
    return ("" if value is None or value != value else value for value in values)


def _write_parquet(path: Path, result: Result) -> None:
    from actup import write_atlas

    columns = {**result.identifiers(), **result.columns()}
    write_atlas(path, result.model(), columns, neighbors=result.neighbors or None)


def _write_model(path: Path, result: Result) -> None:
    model = result.model()
    if not hasattr(model, "save"):
        raise InputError("a saved model needs an estimator, and this map has none")
    model.save(path)


def _write_html(path: Path, result: Result) -> None:
    from actup.viewer import write_page

    write_page(
        path,
        result.maps,
        captions=result.captions or None,
        clusters=result.clusters,
        side_by_side=result.side_by_side,
        **result.page_options(),
    )


def _write_picture(path: Path, result: Result) -> None:
    import actup
    from actup.plotting import plot_gallery

    chosen = result.chosen
    if len(result.maps) == 1:
        alone = len(chosen.labels) + len(chosen.values) == 1
        labels, values = (_panels(columns, alone) for columns in (chosen.labels, chosen.values))
        actup.plot(
            result.model(),
            labels,
            values,
            clusters=result.clusters,
            title=result.title,
            path=path,
        )
        return
    label = chosen.first_label()
    plot_gallery(
        align_maps(result.maps),
        labels=None if label is None else label[1],
        label_kind="auto" if label is None else label[2],
        captions=result.captions or None,
        title=result.title,
        path=path,
    )


def _panels(columns: dict[str, np.ndarray], alone: bool) -> Any:
    """Columns by the names that are the titles of their panels; a column alone as it is, without a title."""
    return next(iter(columns.values()), None) if alone else columns or None


def _cluster_columns(clusters: Any) -> dict[str, np.ndarray]:
    """The cluster of every row and its name: -1 and none for rows in no cluster."""
    if clusters is None:
        return {}
    names = np.array([*clusters.layers[clusters.main].names, None], object)
    return {"cluster": np.asarray(clusters.labels), "cluster_name": names[clusters.labels]}


# To add an output: a function that writes it, and its row here.
OUTPUTS = {
    "npy": Output(_write_npy),
    "npz": Output(_write_npz, several=True),
    "csv": Output(_write_csv),
    "tsv": Output(_write_tsv),
    "parquet": Output(_write_parquet, dimensions=(2,), package="pyarrow", extra="cli"),
    "html": Output(_write_html, dimensions=(1, 2), several=True),
    "png": Output(_write_picture, dimensions=(1, 2, 3), several=True, package="matplotlib", extra="plot"),
    "pdf": Output(_write_picture, dimensions=(1, 2, 3), several=True, package="matplotlib", extra="plot"),
    "svg": Output(_write_picture, dimensions=(1, 2, 3), several=True, package="matplotlib", extra="plot"),
    "actup": Output(_write_model),
}
