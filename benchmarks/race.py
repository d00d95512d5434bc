"""The race: ActUp against its peers, each in a fresh process, on the same data and the same machine.

    python benchmarks/race.py [--quick] [--data mnist fashion_mnist] [--points 5000 20000 60000]
                              [--peer-python PATH] [--only NAME ...] [--again]

Import, the first (cold) and the fastest (warm) run from the data to the map, the layout alone where it is
known, peak memory, and the quality of the map. Every row is saved as soon as it is there, under
benchmarks/results/race.json, and not run again; peers that are not installed are left out (``pip install
.[race]``). ``--peer-python`` names another environment for them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from contestants import CONTESTANTS
from report import save, saved

from actup import metrics
from actup.datasets import load
from actup.experiments.tables import number, table

RUNS = 3  # one cold, two warm
QUICK = ("actup UMAP", "actup GDR", "actup TSNE", "actup GDR, normalised", "umap-learn", "openTSNE")
# Points beyond which a contestant would take a quarter of an hour or more on two cores.
MOST_POINTS = {"scikit-learn TSNE": 20_000}
# Whose seconds the ratios are to: the peer that makes the same kind of map.
RIVALS = {"umap": "umap-learn", "tsne": "openTSNE"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="3,000 points and the main contestants")
    arguments.add_argument("--data", nargs="+", default=["mnist", "fashion_mnist"])
    arguments.add_argument("--points", nargs="+", type=int, default=[5_000, 20_000, 60_000])
    arguments.add_argument("--peer-python", default=sys.executable, help="interpreter of the peers")
    arguments.add_argument("--only", nargs="+", choices=list(CONTESTANTS), help="some contestants")
    arguments.add_argument("--again", action="store_true", help="run rows that are there already")
    options = arguments.parse_args()
    name = "race_quick" if options.quick else "race"
    rows = {key(row): row for row in saved(name).get("rows", [])}
    chosen = options.only or (QUICK if options.quick else CONTESTANTS)
    for data, points in sizes(options):
        for contestant in chosen:
            wanted = {"contestant": contestant, "data": data, "points": points}
            done = key(wanted) in rows and not options.again
            if done or points > MOST_POINTS.get(contestant, points):
                continue
            python = sys.executable if contestant.startswith("actup") else options.peer_python
            row = wanted | run(contestant, data, points, python, 2 if options.quick else RUNS)
            show(row)
            if "absent" not in row:
                rows[key(row)] = row
                save(name, {"rows": list(rows.values())}, ["actup", "numpy", "scipy", "scikit-learn"])


def sizes(options: argparse.Namespace):
    """The data sets and numbers of points: all sizes of the first set, the largest of the others."""
    if options.quick:
        return [("digits", 1_797)] if missing("mnist") else [("mnist", 3_000)]
    first, *others = options.data
    largest = max(options.points)
    return [(first, points) for points in sorted(options.points)] + [(other, largest) for other in others]


def missing(name: str) -> bool:
    try:
        load(name)
    except FileNotFoundError:
        return True
    return False


def key(row: dict) -> tuple:
    return row["contestant"], row["data"], row["points"]


def run(contestant: str, data: str, points: int, python: str, runs: int) -> dict:
    """One contestant in a fresh process; what it did, and how good its map is."""
    dataset = load(data, n_samples=points)
    X = np.ascontiguousarray(dataset.X, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "X.npy", Path(folder) / "Y.npy"
        np.save(source, X)
        worker = Path(__file__).parent / "contestants.py"
        done = subprocess.run(
            [python, str(worker), contestant, str(source), str(target), str(runs)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return {"absent": (done.stderr.strip() or "no message").splitlines()[-1]}
        row = json.loads(done.stdout.strip().splitlines()[-1])
        if "absent" in row:
            return row
        Y = np.load(target)
    return row | {"quality": quality(X, Y, dataset.y)}


def quality(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> dict:
    sample = min(2_000, len(X))
    return {
        "knn_accuracy": metrics.knn_accuracy(Y, y),
        "v_measure": metrics.v_measure(Y, y),
        "recall_at_10": metrics.neighbor_recall(X, Y, 10, sample=sample),
        "trustworthiness": metrics.trustworthiness(X, Y, 15, sample=sample),
    }


def cold(row: dict) -> float:
    """From the start of the program to the first map: the import and the first run."""
    return row["import"] + row["seconds"][0]


def warm(row: dict) -> float:
    """The fastest run; compilation is over, where there was a second run."""
    return min(row["seconds"])


def show(row: dict) -> None:
    what = f"{row['data']} {row['points']:,} {row['contestant']}"
    if "absent" in row:
        print(f"{what}: left out ({row['absent']})", flush=True)
        return
    print(
        f"{what}: import {row['import']:.2f} s, cold {cold(row):.2f} s, warm {warm(row):.2f} s,"
        f" {row['megabytes']:.0f} MB, accuracy {100 * row['quality']['knn_accuracy']:.1f},"
        f" recall {row['quality']['recall_at_10']:.3f}",
        flush=True,
    )


def rival(contestant: str) -> str:
    like_tsne = "TSNE" in contestant or "normalised" in contestant
    return RIVALS["tsne" if like_tsne else "umap"]


def ratio(rows: dict[str, dict], contestant: str, figure) -> float | None:
    """How many times faster than its rival."""
    theirs = rows.get(rival(contestant))
    ours, other = figure(rows[contestant]), None if theirs is None else figure(theirs)
    return other / ours if ours and other else None


def layout_seconds(row: dict) -> float | None:
    return row["stages"].get("layout")


def markdown(results: dict) -> str:
    """The tables of the race."""
    parts = [_INTRODUCTION]
    groups: dict[tuple, dict[str, dict]] = {}
    for row in results["rows"]:
        groups.setdefault((row["data"], row["points"]), {})[row["contestant"]] = row
    for (data, points), rows in sorted(groups.items(), key=lambda item: (item[0][0] != "mnist", -item[0][1])):
        parts += [f"### {data}, {points:,} points", _table(rows), _stage_table(rows), _claim(rows)]
    return "\n\n".join(part for part in parts if part)


def _claim(rows: dict[str, dict]) -> str:
    """The paper's claim about the descent, beside what was measured."""
    peer = rows.get("umap-learn")
    if peer is None:
        return ""
    descents = {
        name: layout_seconds(peer) / layout_seconds(rows[name])
        for name in ("GradientDR", "actup GDR, paper", "actup GDR")
        if name in rows
    }
    measured = ", ".join(f"{name} {times:.1f} times" for name, times in descents.items())
    return f"The paper: GDR's descent is about 10 times faster than umap-learn's. Here: {measured}."


_INTRODUCTION = (
    "`python benchmarks/race.py`: every contestant in a fresh process with its own defaults, from the "
    "data to the map, on all cores. *Cold* counts the import and whatever is compiled at first; *warm* "
    "is the fastest of up to three runs (one, if it took more than a minute). *Times faster* compares "
    "with umap-learn for maps of UMAP's kind and with openTSNE for those of t-SNE's. Memory is the peak "
    "beyond the data. *GradientDR* is the paper's own package, with its settings."
)


def _table(rows: dict[str, dict]) -> str:
    header = ["", "import s", "cold s", "warm s", "layout s", "times faster: cold", "warm", "layout", "MB"]
    header += ["accuracy", "V", "recall@10", "trustworthiness"]
    lines = []
    for name, row in rows.items():
        judged = row["quality"]
        lines.append([
            name,
            *(number(seconds, 2) for seconds in (row["import"], cold(row), warm(row), layout_seconds(row))),
            *(number(ratio(rows, name, figure)) for figure in (cold, warm, layout_seconds)),
            number(row["megabytes"], 0),
            number(100 * judged["knn_accuracy"]),
            number(100 * judged["v_measure"]),
            number(judged["recall_at_10"], 3),
            number(judged["trustworthiness"], 3),
        ])  # fmt: skip
    return table(header, lines)


STAGES = ("neighbors", "graph", "start", "layout")


def _stage_table(rows: dict[str, dict]) -> str:
    """Seconds of the stages of the last run, of those who tell."""
    lines = [
        [name, *(number(row["stages"].get(stage), 3) for stage in STAGES)]
        for name, row in rows.items()
        if len(row["stages"]) > 1
    ]
    return table(["stages, s", *STAGES], lines)


def pictures(results: dict, folder: Path) -> list[str]:
    """Seconds against points, and seconds of everyone; gives the files' names."""
    from actup.experiments.pictures import Chart, Curve, draw_bars, draw_charts

    rows = [row for row in results["rows"] if row["data"] == "mnist"]
    points = sorted({row["points"] for row in rows})
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    largest = {row["contestant"]: row for row in rows if row["points"] == points[-1]}
    draw_bars(
        folder / "race.png",
        {name: {"cold": cold(row), "warm": warm(row)} for name, row in largest.items()},
        f"MNIST, {points[-1]:,} points: seconds from the data to the map",
        ours="actup",
    )
    drawn = ["race.png"]
    if len(points) > 1:
        curves = []
        for name in names:
            own = {row["points"]: warm(row) for row in rows if row["contestant"] == name}
            curves.append(Curve(name, list(own), list(own.values()), dashed=not name.startswith("actup")))
        chart = Chart("MNIST, warm", curves, "points", "seconds", (True, True))
        draw_charts(folder / "race_growth.png", [chart], height=5.2)
        drawn.append("race_growth.png")
    return drawn


if __name__ == "__main__":
    main()
