"""What another busy process costs the layout: the same run alone and beside it, all cores in use.

    python benchmarks/busy.py [--points 20000] [--repeats 7] [--neighbours 1]

On c cores, c threads beside p busy processes have a fair share of c/(c + p) of the machine, so a slowdown of
(c + p)/c is to be expected; threads that wait for each other by spinning are slowed many times more. Prints a
table and saves it under benchmarks/results/busy.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
from report import save, summary, timed

from actup import nearest_neighbors
from actup._threads import count_threads
from actup.backends import load_backend
from actup.recipe._presets import preset

PRESETS = ("umap", "sampled_umap", "gdr_umap", "gdr_tsne", "tsne")
EPOCHS = 100


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, default=20_000)
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--neighbours", type=int, default=1, help="how many busy processes run beside")
    options = arguments.parse_args()

    threads = count_threads(None)
    fair = (threads + options.neighbours) / threads
    layouts = {name: layout(name, options.points, threads) for name in PRESETS}
    results = {"points": options.points, "busy_processes": options.neighbours, "fair_slowdown": fair}
    print(f"{options.points} points, {threads} threads, {options.neighbours} busy; fair slowdown {fair:.2f}")
    print("layout       quiet s   busy s  slowdown  (medians)")
    for name, run in layouts.items():
        run()
        quiet = summary(timed(run, options.repeats)[1])
        with busy_processes(options.neighbours):
            busy = summary(timed(run, options.repeats)[1])
        slowdown = busy["median"] / quiet["median"]
        results[name] = {"quiet": quiet, "busy": busy, "slowdown": slowdown}
        print(f"{name:<12} {quiet['median']:7.3f}  {busy['median']:7.3f}  {slowdown:8.2f}")
    print("saved", save("busy", results, ["actup", "numpy"]))


def markdown(results: dict) -> str:
    """What this benchmark found, in words."""
    slowdowns = ", ".join(f"`{name}` {results[name]['slowdown']:.2f}" for name in PRESETS if name in results)
    return (
        f"`python benchmarks/busy.py`: {results['points']:,} points, all cores, while"
        f" {results['busy_processes']} other process never rests; a fair share would be a slowdown of"
        f" {results['fair_slowdown']:.2f}. Medians: {slowdowns}."
    )


def layout(name: str, n: int, threads: int):
    """A function that runs the preset's layout of random clusters once."""
    random = np.random.default_rng(0)
    X = np.float32(random.standard_normal((n, 10)) + 6 * random.integers(0, 3, (n, 1)))
    recipe = preset(name).but(epochs=EPOCHS)
    cpu = load_backend("cpu")
    graph = cpu.affinity_graph(nearest_neighbors(X, recipe.neighbors_searched(n)), recipe, threads)
    start = np.float32(random.uniform(0, 10, (n, 2)))
    return lambda: cpu.make_layout(graph, start, recipe, 0, threads).run(EPOCHS)


@contextmanager
def busy_processes(count: int):
    """Processes that compute without pause, while the block runs."""
    code = "print(flush=True)\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in running:
            process.stdout.readline()  # it has started
        yield
    finally:
        for process in running:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    main()
