"""Results: one JSON line per finished run, so that a reproduction can stop and resume at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actup._experiments.environment import machine, versions
from actup._experiments.experiment import JsonDict, Run, Scale, changed_switches
from actup._whole_file import whole_file

_PACKAGES = ("actup", "numpy", "scipy", "scikit-learn")


class Store:
    """The results in a folder: ``results.jsonl``, and in ``maps/`` the maps that pictures are drawn from.

    Attributes
    ----------
    missing_maps : int
        How many times ``load_map`` was asked for the map of a finished run and found no file.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.missing_maps = 0
        self._lines = self.folder / "results.jsonl"
        self._records: dict[str, JsonDict] = {}
        self._last_line_incomplete = False  # as when the program was killed while writing it
        if self._lines.exists():
            text = self._lines.read_text(encoding="utf-8")
            self._last_line_incomplete = bool(text) and not text.endswith("\n")
            self._records = _parse(text)

    def __contains__(self, run: Run) -> bool:
        return run.key in self._records

    def __len__(self) -> int:
        return len(self._records)

    def forget(self, runs: Iterable[Run]) -> None:
        """Forget results, so that their runs are done again; the file keeps the old lines."""
        for run in runs:
            self._records.pop(run.key, None)

    def results(self, run: Run) -> JsonDict | None:
        """The values that a run measured, or None if it has not been done."""
        record = self._records.get(run.key)
        return None if record is None else record["results"]

    def record(self, run: Run) -> JsonDict | None:
        """Everything stored about a run: values, seconds, versions and machine."""
        return self._records.get(run.key)

    def add_missing(self, lines: Path) -> int:
        """Add results from another file for runs that are missing here; return how many that file has."""
        others = _parse(lines.read_text(encoding="utf-8")) if lines.exists() else {}
        self._records = others | self._records
        return len(others)

    def append(self, run: Run, results: JsonDict, seconds: float, threads: int) -> None:
        """Store the results of a run; the line is written when this returns."""
        record = {
            "key": run.key,
            "data": run.data,
            "points": run.points,
            "seed": run.seed,
            "measure": run.measure,
            "label": run.label,
            "recipe": changed_switches(run.recipe),
            "results": results,
            "seconds": round(seconds, 3),
            "versions": versions(_PACKAGES),
            "machine": machine() | {"threads": threads},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lines.open("a", encoding="utf-8") as file:
            file.write(("\n" if self._last_line_incomplete else "") + json.dumps(record) + "\n")
        self._last_line_incomplete = False
        self._records[run.key] = record

    def copy_lines(self, runs: Iterable[Run], target: Path) -> None:
        """Write the records of some runs to another file."""
        lines = (json.dumps(self._records[run.key]) + "\n" for run in runs)
        with whole_file(target) as unfinished:
            unfinished.write_text("".join(lines), encoding="utf-8")

    def save_map(self, run: Run, Y: np.ndarray) -> None:
        """Save a map for the pictures."""
        path = self._map_path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        _save_array(path, np.asarray(Y, np.float32))

    def load_map(self, run: Run) -> np.ndarray | None:
        """The saved map of a run, or None."""
        path = self._map_path(run)
        if not path.exists():
            self.missing_maps += run in self
            return None
        Y: np.ndarray = np.load(path)
        return Y

    def save_labels(self, run: Run, labels: np.ndarray) -> None:
        """Save the labels of a run's data set, once for all of its runs."""
        path = self._labels_path(run)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _save_array(path, labels)

    def load_labels(self, run: Run) -> np.ndarray | None:
        """The saved labels of a run's data set, or None."""
        path = self._labels_path(run)
        return np.load(path) if path.exists() else None

    def _map_path(self, run: Run) -> Path:
        return self.folder / "maps" / f"{run.key}.npy"

    def _labels_path(self, run: Run) -> Path:
        return self.folder / "maps" / f"labels-{run.data}-{run.points or 'all'}.npy"


def _save_array(path: Path, array: np.ndarray) -> None:
    """Write an array whole or not at all: a killed run must not leave half a map to its successor."""
    with whole_file(path) as unfinished, open(unfinished, "wb") as file:
        np.save(file, array)


def _parse(text: str) -> dict[str, JsonDict]:
    """The last record of every run by its key; lines that were not completed are skipped."""
    records = {}
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[record["key"]] = record
    return records


@dataclass(frozen=True)
class Findings:
    """What a render function gets: the results so far, their scale, and a function that draws pictures.

    Attributes
    ----------
    store : Store
    scale : Scale
    draw : callable
        ``draw(name, drawing)`` calls ``drawing(path)`` and returns the Markdown that shows the picture.
    """

    store: Store
    scale: Scale
    draw: Callable[[str, Callable[[Path], None]], str]

    def value(self, run: Run, name: str) -> float | None:
        """One value that a run measured, or None if the run has not been done."""
        results = self.store.results(run)
        return None if results is None else results.get(name)

    def values(self, runs: Iterable[Run], name: str) -> list[float]:
        """One value of each run that has been done; the runs are usually the seeds of one recipe."""
        values = (self.value(run, name) for run in runs)
        return [value for value in values if value is not None]
