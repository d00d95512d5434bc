"""The contestants of the race, one run in one fresh process: ``python contestants.py NAME X.npy Y.npy RUNS``.

Prints one JSON line: seconds of the import and of every run, stages where they are known, peak memory and
versions. Nothing of ActUp is imported unless it runs itself: peers may live in an environment of their own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version

PATIENCE = 60.0  # seconds: a run that took longer is not repeated


def actup_preset(name):
    def prepare():
        import actup

        def run(X, seed):
            made = actup.embed(X, name, seed=seed)
            return made.embedding, made.seconds

        return run

    return prepare


UMAP_STAGES = {
    "nearest_neighbors": "neighbors",
    "fuzzy_simplicial_set": "graph",
    "spectral_layout": "start",
    "optimize_layout_euclidean": "layout",
}


def umap_learn(seeded):
    def prepare():
        import umap
        from umap import umap_

        stages = {}
        for function, stage in UMAP_STAGES.items():
            setattr(umap_, function, stopwatch(getattr(umap_, function), stage, stages))

        def run(X, seed):
            stages.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a seed means one thread
                Y = umap.UMAP(random_state=seed if seeded else None).fit_transform(X)
            return Y, dict(stages)

        return run

    return prepare


def open_tsne():
    import openTSNE

    stages = {}
    openTSNE.TSNE.prepare_initial = stopwatch(openTSNE.TSNE.prepare_initial, "before the layout", stages)

    def run(X, seed):
        begin = time.perf_counter()
        Y = openTSNE.TSNE(n_jobs=-1, random_state=seed).fit(X)
        stages["layout"] = time.perf_counter() - begin - stages["before the layout"]
        return Y, dict(stages)

    return run


def sklearn_tsne():
    from sklearn.manifold import TSNE

    stages = {}
    TSNE._tsne = stopwatch(TSNE._tsne, "layout", stages)

    def run(X, seed):
        return TSNE(n_jobs=-1, random_state=seed).fit_transform(X), dict(stages)

    return run


def pacmap():
    import pacmap

    return lambda X, seed: (pacmap.PaCMAP(n_components=2).fit_transform(X), {})


def trimap():
    import trimap

    return lambda X, seed: (trimap.TRIMAP(verbose=False).fit_transform(X), {})


def gradient_dr(normalized):
    """The paper's package: pip install --no-deps GradientDR, and setuptools<81, which it imports."""

    def prepare():
        import numpy as np

        np.inf = np.inf  # it was written for NumPy 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from GDR import GradientDR

        as_in_the_paper = {"a": 1, "b": 1, "sym_attraction": False}

        def run(X, seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = GradientDR(normalized=normalized, amplify_grads=normalized, **as_in_the_paper)
                Y = model.fit_transform(X)
            return Y, {"layout": model.opt_time}

        return run

    return prepare


# name: (packages, preparation)
CONTESTANTS = {
    "actup UMAP": (["actup"], actup_preset("umap")),
    "actup GDR": (["actup"], actup_preset("gdr_umap")),
    "actup GDR, accelerated": (["actup"], actup_preset("accelerated_gdr_umap")),
    "actup TSNE": (["actup"], actup_preset("tsne")),
    "actup GDR, normalised": (["actup"], actup_preset("gdr_tsne")),
    "actup GDR, paper": (["actup"], actup_preset("paper_gdr_umap")),
    "actup GDR, normalised, paper": (["actup"], actup_preset("paper_gdr_tsne")),
    "umap-learn": (["umap-learn", "numba"], umap_learn(seeded=False)),
    "umap-learn, seeded": (["umap-learn", "numba"], umap_learn(seeded=True)),
    "openTSNE": (["openTSNE"], open_tsne),
    "scikit-learn TSNE": (["scikit-learn"], sklearn_tsne),
    "PaCMAP": (["pacmap"], pacmap),
    "TriMap": (["trimap"], trimap),
    "GradientDR": (["GradientDR", "numba"], gradient_dr(normalized=False)),
    "GradientDR, normalised": (["GradientDR", "numba"], gradient_dr(normalized=True)),
}


def stopwatch(function, stage, stages):
    """The function, which adds the seconds it takes to a stage."""

    def timed(*positional, **named):
        begin = time.perf_counter()
        try:
            return function(*positional, **named)
        finally:
            stages[stage] = stages.get(stage, 0.0) + time.perf_counter() - begin

    return timed


def peak_megabytes() -> float:
    """The most memory this process has had."""
    if sys.platform == "linux":  # not ru_maxrss, which begins with that of the process that started this one
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def main() -> None:
    name, source, target, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    packages, prepare = CONTESTANTS[name]
    try:
        versions = {package: version(package) for package in packages}
    except PackageNotFoundError as error:
        print(json.dumps({"absent": str(error)}))
        return
    import numpy as np

    X = np.load(source)
    before = peak_megabytes()
    begin = time.perf_counter()
    run = prepare()
    row = {"import": time.perf_counter() - begin, "seconds": []}
    for seed in range(runs):
        begin = time.perf_counter()
        Y, row["stages"] = run(X, seed)
        row["seconds"].append(time.perf_counter() - begin)
        if row["seconds"][-1] > PATIENCE:
            break
    row |= {"megabytes": peak_megabytes() - before, "versions": versions}
    np.save(target, np.asarray(Y, np.float32))
    print(json.dumps(row))


if __name__ == "__main__":
    main()
