"""How the time of t-SNE grows with the number of points: upsampled MNIST, 60,000 to a million points.

    python benchmarks/tsne_growth.py [--points 60000 120000 250000 500000 1000000] [--perplexity 30] [--again]

The data are MNIST's 50 leading principal components; beyond 60,000 points they are repeated with noise of a
tenth of each component's deviation. Every size runs in a fresh process, to measure its peak memory. It is
saved in benchmarks/results/tsne_growth.json as soon as it is measured, and not measured again without
--again. Prints the seconds of every stage and epoch, and the exponent of their growth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from report import save, saved

from actup.datasets import load

COLUMNS = 50
NOISE = 0.1
THREADS = 2
SIZES = (60_000, 120_000, 250_000, 500_000, 1_000_000)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, nargs="+", default=list(SIZES))
    arguments.add_argument("--perplexity", type=float, default=30.0)
    arguments.add_argument("--again", action="store_true", help="measure again what is saved")
    arguments.add_argument("--file", help=argparse.SUPPRESS)  # the data; set in the process of one size
    options = arguments.parse_args()
    if options.file:
        print(json.dumps(run(np.load(options.file), options.perplexity)))
        return
    results = saved("tsne_growth")
    rows = results.setdefault(f"perplexity {options.perplexity:g}", {})
    for n in options.points:
        if str(n) not in rows or options.again:
            rows[str(n)] = run_in_new_process(n, options.perplexity)
            save("tsne_growth", results, ["actup", "numpy", "scipy"])
            print(f"{n} points: {rows[str(n)]['seconds']}", flush=True)
    print(markdown(results))


def run_in_new_process(n: int, perplexity: float) -> dict:
    """Call ``run`` in a fresh process that loads only the data."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upsampled.npy"
        np.save(path, upsampled(n))
        command = [sys.executable, __file__, "--file", str(path), "--perplexity", str(perplexity)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def upsampled(n: int) -> np.ndarray:
    """MNIST's leading components, repeated with noise: (n, 50) float32."""
    X = np.float32(load("mnist").X)
    X -= X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X)
    scores = X @ vectors[:, ::-1][:, :COLUMNS]
    random = np.random.default_rng(0)
    rows = np.arange(n) % len(scores)
    noise = NOISE * scores.std(axis=0) * random.standard_normal((n, COLUMNS), dtype=np.float32)
    noise[: len(scores)] = 0
    return np.ascontiguousarray(scores[rows] + noise)


def run(X: np.ndarray, perplexity: float) -> dict:
    """One whole run of preset "tsne": its time, memory and quality."""
    from actup import embed, quality
    from actup.recipe import preset

    before = peak_megabytes()
    result = embed(X, preset("tsne").but(perplexity=perplexity), threads=THREADS)
    peak = peak_megabytes()
    return {
        "seconds": {stage: round(seconds, 3) for stage, seconds in result.seconds.items()},
        "epochs": result.n_epochs,
        "seconds_per_epoch": result.seconds["layout"] / result.n_epochs,
        "edges_per_point": len(result.graph.indices) / len(X),
        "added_megabytes": peak - before,
        "peak_megabytes": peak,
        "span": float(np.ptp(result.embedding, axis=0).max()),
        "kl": quality.kl_divergence(result.graph, result.embedding, method="auto"),
        "recall_at_10": quality.neighbor_recall(X, result.embedding, 10, sample=1000),
    }


def peak_megabytes() -> float:
    """The peak memory of this process (Linux); getrusage would include the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def exponent(rows: dict) -> float:
    """The slope of log seconds per epoch over log n."""
    n = np.log([int(key) for key in rows])
    return float(np.polyfit(n, np.log([row["seconds_per_epoch"] for row in rows.values()]), 1)[0])


def markdown(results: dict) -> str:
    """The section of the page."""
    lines = []
    for name, rows in results.items():
        rows = dict(sorted(rows.items(), key=lambda item: int(item[0])))
        lines += [
            f"| points, {name} | neighbours s | graph s | layout s | epochs | ms per epoch | added GB | KL"
            " | recall@10 |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for n, row in rows.items():
            stages = " | ".join(f"{row['seconds'][stage]:.1f}" for stage in ("neighbors", "graph", "layout"))
            lines.append(
                f"| {int(n):,} | {stages} | {row['epochs']} | {1000 * row['seconds_per_epoch']:.1f}"
                f" | {row['added_megabytes'] / 1024:.2f} | {row['kl']:.3f} | {row['recall_at_10']:.4f} |"
            )
        if len(rows) > 1:
            lines += ["", f"Seconds per epoch grow as n^{exponent(rows):.2f}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
