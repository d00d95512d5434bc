"""Results: one JSON line per finished run, so that a reproduction can stop and go on at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actup._experiments.environment import machine, versions
from actup._experiments.experiment import Run, Scale, changed_switches

_PACKAGES = ("actup", "numpy", "scipy", "scikit-learn")


class Store:
    """The results in a folder: ``results.jsonl``, and the maps that pictures are drawn from."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._lines = self.folder / "results.jsonl"
        self._results: dict[str, dict] = {}
        self._torn = False  # whether the last line was not written to its end
        self.lost_maps = 0  # how often a map was asked for whose run is done, but which is not here
        if self._lines.exists():
            text = self._lines.read_text(encoding="utf-8")
            self._torn = bool(text) and not text.endswith("\n")
            self._results = _parse(text)

    def __contains__(self, run: Run) -> bool:
        return run.key in self._results

    def __len__(self) -> int:
        return len(self._results)

    def forget(self, runs: Iterable[Run]) -> None:
        """Have these runs done again; until then the file keeps what they found."""
        for run in runs:
            self._results.pop(run.key, None)

    def results(self, run: Run) -> dict | None:
        """The figures of a run, or None if it has not been done."""
        record = self._results.get(run.key)
        return None if record is None else record["results"]

    def record(self, run: Run) -> dict | None:
        """All that is known of a run: its figures, and what they were measured with."""
        return self._results.get(run.key)

    def borrow(self, lines: Path) -> int:
        """Take what is not known here from another file of results; gives how many that file has."""
        others = _parse(lines.read_text(encoding="utf-8")) if lines.exists() else {}
        self._results = others | self._results
        return len(others)

    def append(self, run: Run, results: dict, seconds: float, threads: int) -> None:
        """Keep what a run found; the line is on the disk when this returns."""
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
            file.write(("\n" if self._torn else "") + json.dumps(record) + "\n")
        self._torn = False
        self._results[run.key] = record

    def copy_lines(self, runs: Iterable[Run], target: Path) -> None:
        """Write the results of some runs to another file."""
        lines = (json.dumps(self._results[run.key]) + "\n" for run in runs)
        target.write_text("".join(lines), encoding="utf-8")

    def keep_map(self, run: Run, Y: np.ndarray) -> None:
        """Keep a map for the pictures."""
        path = self._map_path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.asarray(Y, np.float32))

    def map(self, run: Run) -> np.ndarray | None:
        path = self._map_path(run)
        if not path.exists():
            self.lost_maps += run in self
            return None
        return np.load(path)

    def keep_labels(self, run: Run, labels: np.ndarray) -> None:
        """Keep the labels of a data set, once for all of its runs."""
        path = self._labels_path(run)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, labels)

    def labels(self, run: Run) -> np.ndarray | None:
        path = self._labels_path(run)
        return np.load(path) if path.exists() else None

    def _map_path(self, run: Run) -> Path:
        return self.folder / "maps" / f"{run.key}.npy"

    def _labels_path(self, run: Run) -> Path:
        return self.folder / "maps" / f"labels-{run.data}-{run.points or 'all'}.npy"


def _parse(text: str) -> dict[str, dict]:
    """The last record of every run by its key, without lines that a killed program has not finished."""
    records = {}
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[record["key"]] = record
    return records


@dataclass(frozen=True)
class Found:
    """What a render function is given: the results at hand, and where its pictures go."""

    store: Store
    scale: Scale
    draw: Callable[[str, Callable[[Path], None]], str]  # (name, drawing) -> Markdown that shows the picture

    def figure(self, run: Run, name: str) -> float | None:
        """One figure of a run, or None if it has not been done."""
        results = self.store.results(run)
        return None if results is None else results.get(name)

    def figures(self, runs: list[Run], name: str) -> list[float]:
        """A figure of several runs (usually the seeds of one recipe), as far as they have been done."""
        values = (self.figure(run, name) for run in runs)
        return [value for value in values if value is not None]
