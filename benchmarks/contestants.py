"""A contestant of the race in a fresh process: ``python contestants.py NAME X.npy Y.npy RUNS [SECONDS]``.

Prints one JSON line: seconds of the import and of every run, stages and epochs where they are known, peak
memory and versions. This file imports ActUp only to run it, so peers can be installed in another environment.
"""

from __future__ import annotations

import inspect
import json
import platform
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version

MAX_REPEATED_SECONDS = 100.0  # a run that took longer is not repeated
SHARED_PACKAGES = ("numpy", "scipy", "scikit-learn")  # packages that all contestants use


class Stopwatch:
    """Seconds of the stages of one run; the time of a nested stage is not counted for the outer one."""

    def __init__(self):
        self.stages: dict[str, float] = {}
        self._nested = [0.0]  # for each stage in progress, the seconds of stages nested in it

    def clear(self):
        """Forget the seconds of the run before."""
        self.stages = {}

    def watch(self, owner, name: str, stage: str) -> None:
        """Wrap a function of a module or class, so that its seconds are added to a stage."""
        function = getattr(owner, name)

        def timed(*positional, **named):
            self._nested.append(0.0)
            begin = time.perf_counter()
            try:
                return function(*positional, **named)
            finally:
                took = time.perf_counter() - begin
                self.stages[stage] = self.stages.get(stage, 0.0) + took - self._nested.pop()
                self._nested[-1] += took

        setattr(owner, name, timed)


# A preparation imports what a contestant needs, makes the stopwatch watch the stages (by ActUp's names), and
# returns run(X, seed) -> (map, number of epochs or None).


def actup_preset(name):
    def prepare(stopwatch):
        import actup

        def run(X, seed):
            made = actup.embed(X, name, seed=seed)
            stopwatch.stages = made.seconds
            return made.embedding, made.n_epochs

        return run

    return prepare


def actup_estimator(name):
    def prepare(stopwatch):
        import actup

        estimator = getattr(actup, name)

        def run(X, seed):
            model = estimator(random_state=seed).fit(X)
            stopwatch.stages = model.stage_seconds_
            return model.embedding_, model.n_epochs_

        return run

    return prepare


def umap_learn(seeded):
    def prepare(stopwatch):
        import umap
        from umap import umap_

        epochs = []
        descend = umap_.optimize_layout_euclidean
        signature = inspect.signature(descend)

        def recording_epochs(*positional, **named):
            epochs.append(signature.bind(*positional, **named).arguments["n_epochs"])
            return descend(*positional, **named)

        umap_.optimize_layout_euclidean = recording_epochs
        stopwatch.watch(umap_, "nearest_neighbors", "neighbors")
        stopwatch.watch(umap_, "fuzzy_simplicial_set", "graph")
        stopwatch.watch(umap_, "spectral_layout", "start")
        stopwatch.watch(umap_, "optimize_layout_euclidean", "layout")

        def run(X, seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # umap-learn warns that a seed means one thread
                Y = umap.UMAP(random_state=seed if seeded else None).fit_transform(X)
            return Y, int(epochs[-1])

        return run

    return prepare


def open_tsne(stopwatch):
    from openTSNE import TSNE, TSNEEmbedding, affinity, initialization

    stopwatch.watch(affinity.MultiscaleMixture, "__init__", "neighbors")
    stopwatch.watch(affinity, "joint_probabilities_nn", "graph")
    stopwatch.watch(initialization, "pca", "start")
    stopwatch.watch(TSNEEmbedding, "optimize", "layout")

    def run(X, seed):
        model = TSNE(n_jobs=-1, random_state=seed)
        return model.fit(X), model.early_exaggeration_iter + model.n_iter

    return run


def sklearn_tsne(stopwatch):
    from sklearn.manifold import TSNE, _t_sne

    stopwatch.watch(_t_sne.NearestNeighbors, "fit", "neighbors")
    stopwatch.watch(_t_sne.NearestNeighbors, "kneighbors_graph", "neighbors")
    stopwatch.watch(_t_sne, "_joint_probabilities_nn", "graph")
    stopwatch.watch(_t_sne.PCA, "fit_transform", "start")
    stopwatch.watch(TSNE, "_tsne", "layout")

    def run(X, seed):
        model = TSNE(n_jobs=-1, random_state=seed)
        return model.fit_transform(X), model.n_iter_ + 1  # n_iter_ is the index of the last iteration

    return run


def pacmap(stopwatch):
    from pacmap import PaCMAP

    module = sys.modules[PaCMAP.__module__]
    stopwatch.watch(module, "preprocess_X", "start")  # PCA; the start is its first components
    stopwatch.watch(PaCMAP, "sample_pairs", "neighbors")
    stopwatch.watch(module, "pacmap", "layout")

    def run(X, seed):
        model = PaCMAP(n_components=2)
        return model.fit_transform(X), sum(model.num_iters)

    return run


def trimap(stopwatch):
    from trimap import TRIMAP

    def run(X, seed):
        model = TRIMAP(verbose=False)
        return model.fit_transform(X), model.n_iters

    return run


def gradient_dr(**switches):
    """The paper's package: pip install --no-deps GradientDR, and setuptools<81, which it imports."""

    def prepare(stopwatch):
        import numpy as np

        vars(np).setdefault("infty", np.inf)  # a name that NumPy 2 removed and its compiled code uses
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from GDR import GradientDR

        stopwatch.watch(GradientDR, "get_nearest_neighbors", "neighbors")
        stopwatch.watch(GradientDR, "compute_P_matrix", "graph")
        stopwatch.watch(GradientDR, "initialize_embedding", "start")
        stopwatch.watch(GradientDR, "_optimize_layout", "layout")
        paper_settings = {"a": 1, "b": 1, "sym_attraction": False}

        def run(X, seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = GradientDR(**paper_settings, **switches)
                return model.fit_transform(X), model.n_epochs

        return run

    return prepare


_PAPER_PACKAGES = ["GradientDR", "numba"]

# name: (packages, preparation). Contestants that list numba compile during their first run.
CONTESTANTS = {
    "actup UMAP": (["actup"], actup_preset("umap")),
    "actup UMAP, sampled": (["actup"], actup_preset("sampled_umap")),
    "actup GDR": (["actup"], actup_preset("gdr_umap")),
    "actup GDR, accelerated": (["actup"], actup_preset("accelerated_gdr_umap")),
    "actup TSNE": (["actup"], actup_preset("tsne")),
    "actup GDR, normalised": (["actup"], actup_preset("gdr_tsne")),
    "actup GDR, paper": (["actup"], actup_preset("paper_gdr_umap")),
    "actup GDR, paper, accelerated": (["actup"], actup_preset("paper_accelerated_gdr_umap")),
    "actup GDR, paper, normalised": (["actup"], actup_preset("paper_gdr_tsne")),
    "actup.UMAP()": (["actup"], actup_estimator("UMAP")),
    "actup.TSNE()": (["actup"], actup_estimator("TSNE")),
    "umap-learn": (["umap-learn", "pynndescent", "numba"], umap_learn(seeded=False)),
    "umap-learn, seeded": (["umap-learn", "pynndescent", "numba"], umap_learn(seeded=True)),
    "openTSNE": (["openTSNE"], open_tsne),
    "PaCMAP": (["pacmap", "numba"], pacmap),
    "TriMap": (["trimap", "numba"], trimap),
    "GradientDR": (_PAPER_PACKAGES, gradient_dr()),
    "GradientDR, accelerated": (_PAPER_PACKAGES, gradient_dr(accelerated=True)),
    "GradientDR, normalised": (_PAPER_PACKAGES, gradient_dr(normalized=True, amplify_grads=True)),
    "scikit-learn TSNE": (["scikit-learn"], sklearn_tsne),
}


def peak_megabytes() -> float:
    """The peak memory of this process."""
    if sys.platform == "linux":  # ru_maxrss would include the parent process
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    if sys.platform == "win32":
        return float("nan")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def versions_of(packages) -> dict[str, str]:
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def main() -> None:
    name, source, target, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    max_seconds = (
        float(sys.argv[5]) if len(sys.argv) > 5 else float("inf")
    )  # of runs after the first one, which may compile
    packages, prepare = CONTESTANTS[name]
    try:
        versions = versions_of(dict.fromkeys([*packages, *SHARED_PACKAGES]))
    except PackageNotFoundError as error:
        print(json.dumps({"absent": f"{error.name} is not installed"}))
        return
    import numpy as np

    X = np.load(source)
    before = peak_megabytes()
    stopwatch = Stopwatch()
    begin = time.perf_counter()
    run = prepare(stopwatch)
    row = {"import": time.perf_counter() - begin, "seconds": [], "versions": versions}
    for seed in range(runs):
        stopwatch.clear()
        begin = time.perf_counter()
        Y, epochs = run(X, seed)
        row["seconds"].append(time.perf_counter() - begin)
        if row["seconds"][-1] == min(row["seconds"]):
            row |= {"stages": stopwatch.stages, "n_epochs": epochs}  # of the fastest run
        if row["seconds"][-1] > MAX_REPEATED_SECONDS or sum(row["seconds"][1:]) > max_seconds:
            break
    row["megabytes"] = peak_megabytes() - before
    np.save(target, np.asarray(Y, np.float32))
    print(json.dumps(row))


if __name__ == "__main__":
    main()
