"""How much a busy process slows the layout: the same run on an idle machine and beside it, on all cores.

    python benchmarks/busy.py [--points 20000] [--repeats 7] [--processes 1]

On c cores, c threads beside p busy processes have a fair share of c/(c + p) of the machine, so a slowdown of
(c + p)/c is to be expected; threads that wait for each other by spinning are slowed many times more. Prints a
table and saves it in benchmarks/results/busy.json.
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
from actup.recipe import preset

PRESETS = ("umap", "sampled_umap", "gdr_umap", "gdr_tsne", "tsne")
EPOCHS = 100


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--points", type=int, default=20_000)
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--processes", type=int, default=1, help="number of busy processes")
    options = arguments.parse_args()

    threads = count_threads(None)
    fair = (threads + options.processes) / threads
    layouts = {name: layout(name, options.points, threads) for name in PRESETS}
    results = {"points": options.points, "busy_processes": options.processes, "fair_slowdown": fair}
    print(f"{options.points} points, {threads} threads, {options.processes} busy; fair slowdown {fair:.2f}")
    print("layout        idle s   busy s  slowdown  (medians)")
    for name, run in layouts.items():
        run()
        idle = summary(timed(run, options.repeats)[1])
        with busy_processes(options.processes):
            busy = summary(timed(run, options.repeats)[1])
        slowdown = busy["median"] / idle["median"]
        results[name] = {"quiet": idle, "busy": busy, "slowdown": slowdown}
        print(f"{name:<12} {idle['median']:7.3f}  {busy['median']:7.3f}  {slowdown:8.2f}")
    print("saved", save("busy", results, ["actup", "numpy"]))


def markdown(results: dict) -> str:
    """The section of the page."""
    slowdowns = ", ".join(f"`{name}` {results[name]['slowdown']:.2f}" for name in PRESETS if name in results)
    return (
        f"`python benchmarks/busy.py`: slowdown of the layout of {results['points']:,} points on all cores,"
        f" while {results['busy_processes']} other process computes without pause. A fair share of the"
        f" machine would be a slowdown of {results['fair_slowdown']:.2f}. Medians: {slowdowns}."
    )


def layout(name: str, n: int, threads: int):
    """A function that runs the layout of a preset on random clusters once."""
    random = np.random.default_rng(0)
    X = np.float32(random.standard_normal((n, 10)) + 6 * random.integers(0, 3, (n, 1)))
    recipe = preset(name).but(epochs=EPOCHS)
    cpu = load_backend("cpu")
    graph = cpu.affinity_graph(nearest_neighbors(X, recipe.neighbors_searched(n)), recipe, threads)
    start = np.float32(random.uniform(0, 10, (n, 2)))
    return lambda: cpu.make_layout(graph, start, recipe, 0, threads).run(EPOCHS)


@contextmanager
def busy_processes(count: int):
    """Run ``count`` processes that compute without pause during the block."""
    code = "print(flush=True)\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in running:
            process.stdout.readline()  # wait until it has started
        yield
    finally:
        for process in running:
            process.kill()
            process.communicate()


if __name__ == "__main__":
    main()
