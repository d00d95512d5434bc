"""The contestants of the race, one run in one fresh process: ``python contestants.py NAME X.npy Y.npy RUNS``.

Prints one JSON line: seconds of the import and of every run, stages and epochs where they are known, peak
memory and versions. Nothing of ActUp is imported unless it runs itself: peers may live in an environment of
their own.
"""

from __future__ import annotations

import inspect
import json
import platform
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version

PATIENCE = 100.0  # seconds: a run that took longer is not repeated
EVERYBODY = ("numpy", "scipy", "scikit-learn")  # packages that all contestants stand on


class Stopwatch:
    """Seconds of the stages of one run; a stage inside another one counts for itself alone."""

    def __init__(self):
        self.stages: dict[str, float] = {}
        self._inside = [0.0]  # seconds of the stages inside each stage that is going on

    def clear(self):
        self.stages = {}

    def on(self, owner, name: str, stage: str) -> None:
        """Have a function of a module or class add the seconds it takes to a stage."""
        function = getattr(owner, name)

        def timed(*positional, **named):
            self._inside.append(0.0)
            begin = time.perf_counter()
            try:
                return function(*positional, **named)
            finally:
                took = time.perf_counter() - begin
                self.stages[stage] = self.stages.get(stage, 0.0) + took - self._inside.pop()
                self._inside[-1] += took

        setattr(owner, name, timed)


# A preparation imports what a contestant needs and gives run(X, seed) -> (map, epochs; None: unknown). It has
# the stopwatch look at the stages it knows; the names of stages are those of ActUp.


def actup_preset(name):
    def prepare(watch):
        import actup

        def run(X, seed):
            made = actup.embed(X, name, seed=seed)
            watch.stages = made.seconds
            return made.embedding, made.n_epochs

        return run

    return prepare


def umap_learn(seeded):
    def prepare(watch):
        import umap
        from umap import umap_

        epochs = []
        descend = umap_.optimize_layout_euclidean
        signature = inspect.signature(descend)

        def noting_epochs(*positional, **named):
            epochs.append(signature.bind(*positional, **named).arguments["n_epochs"])
            return descend(*positional, **named)

        umap_.optimize_layout_euclidean = noting_epochs
        watch.on(umap_, "nearest_neighbors", "neighbors")
        watch.on(umap_, "fuzzy_simplicial_set", "graph")
        watch.on(umap_, "spectral_layout", "start")
        watch.on(umap_, "optimize_layout_euclidean", "layout")

        def run(X, seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a seed means one thread
                Y = umap.UMAP(random_state=seed if seeded else None).fit_transform(X)
            return Y, int(epochs[-1])

        return run

    return prepare


def open_tsne(watch):
    from openTSNE import TSNE, TSNEEmbedding, affinity, initialization

    watch.on(affinity.MultiscaleMixture, "__init__", "neighbors")
    watch.on(affinity, "joint_probabilities_nn", "graph")
    watch.on(initialization, "pca", "start")
    watch.on(TSNEEmbedding, "optimize", "layout")

    def run(X, seed):
        model = TSNE(n_jobs=-1, random_state=seed)
        return model.fit(X), model.early_exaggeration_iter + model.n_iter

    return run


def sklearn_tsne(watch):
    from sklearn.manifold import TSNE, _t_sne

    watch.on(_t_sne.NearestNeighbors, "fit", "neighbors")
    watch.on(_t_sne.NearestNeighbors, "kneighbors_graph", "neighbors")
    watch.on(_t_sne, "_joint_probabilities_nn", "graph")
    watch.on(_t_sne.PCA, "fit_transform", "start")
    watch.on(TSNE, "_tsne", "layout")

    def run(X, seed):
        model = TSNE(n_jobs=-1, random_state=seed)
        return model.fit_transform(X), model.n_iter_ + 1  # it keeps the number of the last one, from 0

    return run


def pacmap(watch):
    from pacmap import PaCMAP

    module = sys.modules[PaCMAP.__module__]
    watch.on(module, "preprocess_X", "start")  # PCA, whose first components are the start
    watch.on(PaCMAP, "sample_pairs", "neighbors")
    watch.on(module, "pacmap", "layout")

    def run(X, seed):
        model = PaCMAP(n_components=2)
        return model.fit_transform(X), sum(model.num_iters)

    return run


def trimap(watch):
    from trimap import TRIMAP

    def run(X, seed):
        model = TRIMAP(verbose=False)
        return model.fit_transform(X), model.n_iters

    return run


def gradient_dr(**switches):
    """The paper's package: pip install --no-deps GradientDR, and setuptools<81, which it imports."""

    def prepare(watch):
        import numpy as np

        vars(np).setdefault("infty", np.inf)  # its compiled code asks for a name that NumPy 2 has no more
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from GDR import GradientDR

        watch.on(GradientDR, "get_nearest_neighbors", "neighbors")
        watch.on(GradientDR, "compute_P_matrix", "graph")
        watch.on(GradientDR, "initialize_embedding", "start")
        watch.on(GradientDR, "_optimize_layout", "layout")
        as_in_the_paper = {"a": 1, "b": 1, "sym_attraction": False}

        def run(X, seed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = GradientDR(**as_in_the_paper, **switches)
                return model.fit_transform(X), model.n_epochs

        return run

    return prepare


_PAPER = ["GradientDR", "numba"]

# name: (packages, preparation). Who stands on numba compiles in its first run.
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
    "umap-learn": (["umap-learn", "pynndescent", "numba"], umap_learn(seeded=False)),
    "umap-learn, seeded": (["umap-learn", "pynndescent", "numba"], umap_learn(seeded=True)),
    "openTSNE": (["openTSNE"], open_tsne),
    "PaCMAP": (["pacmap", "numba"], pacmap),
    "TriMap": (["trimap", "numba"], trimap),
    "GradientDR": (_PAPER, gradient_dr()),
    "GradientDR, accelerated": (_PAPER, gradient_dr(accelerated=True)),
    "GradientDR, normalised": (_PAPER, gradient_dr(normalized=True, amplify_grads=True)),
    "scikit-learn TSNE": (["scikit-learn"], sklearn_tsne),
}


def peak_megabytes() -> float:
    """The most memory this process has had."""
    if sys.platform == "linux":  # not ru_maxrss, which begins with that of the process that started this one
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def versions_of(packages) -> dict[str, str]:
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def main() -> None:
    name, source, target, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    packages, prepare = CONTESTANTS[name]
    try:
        versions = versions_of(dict.fromkeys([*packages, *EVERYBODY]))
    except PackageNotFoundError as error:
        print(json.dumps({"absent": f"{error.name} is not installed"}))
        return
    import numpy as np

    X = np.load(source)
    before = peak_megabytes()
    watch = Stopwatch()
    begin = time.perf_counter()
    run = prepare(watch)
    row = {"import": time.perf_counter() - begin, "seconds": [], "versions": versions}
    for seed in range(runs):
        watch.clear()
        begin = time.perf_counter()
        Y, epochs = run(X, seed)
        row["seconds"].append(time.perf_counter() - begin)
        if row["seconds"][-1] == min(row["seconds"]):
            row |= {"stages": watch.stages, "n_epochs": epochs}  # of the fastest run
        if row["seconds"][-1] > PATIENCE:
            break
    row["megabytes"] = peak_megabytes() - before
    np.save(target, np.asarray(Y, np.float32))
    print(json.dumps(row))


if __name__ == "__main__":
    main()
