"""The race's section of docs/benchmarks.md: tables, the paper's claims, pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from actup._experiments.environment import describe_environment
from actup._experiments.page.tables import number, table

# The peer that each kind of map is compared with.
RIVALS = {"umap": "umap-learn", "tsne": "openTSNE"}
STAGES = ("neighbors", "graph", "start", "layout")
CLAIMED = ("GradientDR", "actup GDR, paper", "actup GDR")  # the methods of the paper's claims about speed
_ESTIMATORS = ("actup UMAP", "actup TSNE")  # which the short table compares with their rivals
KINDS = {"umap": "maps of UMAP's kind", "tsne": "maps of t-SNE's kind"}

_INTRODUCTION = (
    "`python benchmarks/race.py`: every contestant runs in a fresh process with its own defaults, from the "
    "data to the map, on all cores. *Cold* is the first run with the import and all compilation; *warm* is "
    "the fastest of up to three runs, without the import. A run that took more than 100 seconds is not "
    "repeated; packages that compile at first use then have no warm times. *Times faster* compares with "
    "umap-learn for maps of UMAP's kind and with openTSNE for maps of t-SNE's kind. Stages and epochs are "
    "those of the fastest run. ActUp imports its modules at first use, so their import counts as cold time. "
    "Quality is that of one map. *MB* is the peak memory beyond the data. *GradientDR* is the paper's own "
    "package with the paper's settings; *paper* marks ActUp's presets with the same settings."
)


def cold(row: dict) -> float:
    """Seconds of the import and the first run."""
    return row["import"] + row["seconds"][0]


def warm(row: dict) -> float | None:
    """Seconds of the fastest run; None if the only run included compilation."""
    return None if compiled_in_the_only_run(row) else min(row["seconds"])


def compiled_in_the_only_run(row: dict) -> bool:
    return len(row["seconds"]) == 1 and "numba" in row["versions"]


def layout_seconds(row: dict) -> float | None:
    return None if compiled_in_the_only_run(row) else row["stages"].get("layout")


def epoch_seconds(row: dict) -> float | None:
    """Seconds of the layout per epoch."""
    layout, epochs = layout_seconds(row), row.get("n_epochs")
    return layout / epochs if layout and epochs else None


def kind(contestant: str) -> str:
    return "tsne" if "TSNE" in contestant or "normalised" in contestant else "umap"


def ratio(rows: dict[str, dict], contestant: str, figure: Callable) -> float | None:
    """How many times faster a contestant is than its rival."""
    return times(rows, RIVALS[kind(contestant)], contestant, figure)


def times(rows: dict[str, dict], slower: str, faster: str, figure: Callable) -> float | None:
    """The ratio of the seconds of two contestants; None if either has none."""
    over, under = (figure(rows[name]) if name in rows else None for name in (slower, faster))
    return over / under if over and under else None


def markdown(results: dict) -> str:
    """The section: tables, contestants that did not run, machine and versions."""
    parts = [_short_table(results["rows"]), _INTRODUCTION]
    for (data, points), rows in groups(results["rows"]):
        ran = {name: row for name, row in rows.items() if "seconds" in row}
        parts.append(f"### {data}, {points:,} points")
        if ran:
            parts += [_table(ran), _stage_table(ran), _claim(ran)]
        parts.append(_did_not_run(rows))
    parts.append(provenance(results))
    return "\n\n".join(part for part in parts if part)


def _short_table(rows: list[dict]) -> str:
    """Warm seconds of ActUp's two estimators and of their rivals, for every data set and size."""
    lines = []
    for (data, points), own in groups(rows):
        ran = {name: row for name, row in own.items() if "seconds" in row}
        cells = [f"{data}, {points:,} points"]
        for ours in _ESTIMATORS:
            pair = (ours, RIVALS[kind(ours)])
            cells += [number(warm(ran[name]) if name in ran else None, 2) for name in pair]
            cells.append(number(ratio(ran, ours, warm)))
        lines.append(cells)
    header = ["from the data to the map"]
    for ours in _ESTIMATORS:
        header += [f"{ours}, s", f"{RIVALS[kind(ours)]}, s", "times faster"]
    return table(header, lines)


def groups(rows: list[dict]) -> list[tuple[tuple[str, int], dict[str, dict]]]:
    """The rows of each data set and size by contestant; MNIST first, larger sizes first."""
    found: dict[tuple[str, int], dict[str, dict]] = {}
    for row in rows:
        found.setdefault((row["data"], row["points"]), {})[row["contestant"]] = row
    return sorted(found.items(), key=lambda item: (item[0][0] != "mnist", item[0][0], -item[0][1]))


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


def _stage_table(rows: dict[str, dict]) -> str:
    """Seconds of the stages and of an epoch, for contestants whose stages were measured."""
    lines = []
    for name, row in rows.items():
        if not row["stages"] or compiled_in_the_only_run(row):
            continue
        epoch = epoch_seconds(row)
        lines.append([
            name,
            *(number(row["stages"].get(stage), 3) for stage in STAGES),
            number(row.get("n_epochs"), 0),
            number(None if epoch is None else 1000 * epoch, 2),
            number(ratio(rows, name, epoch_seconds)),
        ])  # fmt: skip
    header = ["stages, s", *STAGES, "epochs", "an epoch, ms", "times faster: an epoch"]
    return table(header, lines) if lines else ""


def _claim(rows: dict[str, dict]) -> str:
    """The paper's claims about the speed of the descent, and what was measured."""
    descents = [_speedup(rows, "umap-learn", name, name) for name in CLAIMED]
    accelerated = [_speedup(rows, name, f"{name}, accelerated", name) for name in CLAIMED]
    claims = {
        "GDR's descent is about 10 times faster than umap-learn's": descents,
        "the accelerated version is about twice as fast again": accelerated,
    }
    sentences = [
        f"The paper: {claim}. Here: {'; '.join(filter(None, measured))}."
        for claim, measured in claims.items()
        if any(measured)
    ]
    return " ".join(sentences)


def _speedup(rows: dict[str, dict], slower: str, faster: str, name: str) -> str:
    whole, epoch = (times(rows, slower, faster, figure) for figure in (layout_seconds, epoch_seconds))
    if whole is None:
        return ""
    return f"{name} {whole:.1f} times" + ("" if epoch is None else f" ({epoch:.1f} an epoch)")


def _did_not_run(rows: dict[str, dict]) -> str:
    lines = [
        f"- {name} did not run: {row.get('failed') or row.get('absent')}"
        for name, row in rows.items()
        if "seconds" not in row
    ]
    return "\n".join(lines)


def provenance(results: dict) -> str:
    """Machine and versions; one line for each set of contestants that were measured with the same ones."""
    measured = [row for row in results["rows"] if "seconds" in row]
    every: dict[str, set[str]] = {}
    for row in measured:
        for package, version in row["versions"].items():
            every.setdefault(package, set()).add(version)
    mixed = [package for package, versions in every.items() if len(versions) > 1]
    runs: dict[tuple, list[dict]] = {}
    for row in measured:
        environment = (*row["machine"].values(), *(row["versions"].get(package) for package in mixed))
        runs.setdefault(environment, []).append(row)
    lines = []
    for rows in runs.values():
        versions = {package: version for row in rows for package, version in row["versions"].items()}
        whose = "" if len(runs) == 1 else f"{_whose(rows, measured)}: "
        lines.append(f"*{whose}{describe_environment(rows[0]['machine'], versions)}.*")
    return "\n\n".join(lines)


def _whose(rows: list[dict], measured: list[dict]) -> str:
    """The contestants of these rows; with data and size if their other rows are not among them."""
    named = []
    for name in dict.fromkeys(row["contestant"] for row in rows):
        own = [row for row in rows if row["contestant"] == name]
        some = len(own) < sum(row["contestant"] == name for row in measured)
        where = ", ".join(f"{row['data']} {row['points']:,}" for row in own)
        named.append(f"{name} ({where})" if some else name)
    return "; ".join(named)


def pictures(results: dict, folder: Path) -> list[str]:
    """Draw the seconds of all contestants, and seconds against points; return the file names."""
    from actup._experiments.page.pictures import Chart, Curve, draw_bars, draw_charts

    rows = [row for row in results["rows"] if row["data"] == "mnist" and "seconds" in row]
    if not rows:
        return []
    points = sorted({row["points"] for row in rows})
    largest = {row["contestant"]: row for row in rows if row["points"] == points[-1]}
    draw_bars(
        folder / "race.png",
        {name: {"cold": cold(row), "warm": warm(row)} for name, row in largest.items()},
        f"MNIST, {points[-1]:,} points: seconds from the data to the map",
        ours="actup",
    )
    if len(points) == 1:
        return ["race.png"]
    charts = []
    for own_kind, title in KINDS.items():
        curves = []
        for name in dict.fromkeys(row["contestant"] for row in rows if kind(row["contestant"]) == own_kind):
            own = {row["points"]: warm(row) for row in rows if row["contestant"] == name}
            seconds = {n: second for n, second in sorted(own.items()) if second is not None}
            dashed = not name.startswith("actup")
            curves.append(Curve(name, list(seconds), list(seconds.values()), dashed=dashed))
        charts.append(Chart(f"MNIST, warm: {title}", curves, "points", "seconds", (True, True)))
    draw_charts(folder / "race_growth.png", charts, height=5.6, own_legends=True)
    return ["race.png", "race_growth.png"]
