"""find_clusters on ActUp's maps beside hdbscan on umap-learn's: adjusted Rand index, and seconds.

    python benchmarks/clusters.py [--data mnist usps single_cell] [--seeds 3] [--peer-seeds 3]
                                  [--points 60000 1000000] [--maps FOLDER]

Maps are those of UMAP with its defaults, one per seed; means and standard deviations are over the seeds.
Clusters are compared with the classes of the data: with points in no cluster as a cluster of their own
("outside counts"), and with every point in the cluster that it is nearest to ("all assigned"). hdbscan runs
with its defaults, with the settings of umap-learn's documentation (min_samples=10, min_cluster_size=500), and
with the sizes that find_clusters uses. It has its own spread of results: its spanning tree is approximate by
default.

Seconds are those of find_clusters alone on clustered points in the plane, without names. Results are saved in
benchmarks/results/clusters.json as soon as they are measured.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from report import save, saved, summary, timed
from scipy.spatial import cKDTree
from sklearn.metrics import adjusted_rand_score

import actup
from actup.clusters._find import usual_samples
from actup.datasets import load

PACKAGES = ["actup", "umap-learn", "hdbscan", "numpy", "scikit-learn"]
REPEATS = 3


def settings(n: int) -> dict[str, dict]:
    """hdbscan's parameters, by the name of the row."""
    return {
        "hdbscan defaults": {},
        "hdbscan as umap-learn documents": {"min_samples": 10, "min_cluster_size": 500},
        "hdbscan same sizes": {"min_samples": usual_samples(n), "min_cluster_size": n // 200},
    }


def scores(y, labels, assigned) -> dict:
    return {
        "outside_counts": float(adjusted_rand_score(y, labels)),
        "all_assigned": float(adjusted_rand_score(y, assigned)),
        "clusters": int(labels.max()) + 1,
        "share_outside": float(np.mean(labels < 0)),
    }


def nearest_cluster(Y, labels):
    """Labels in which points of no cluster have that of the nearest point that is in one."""
    inside = labels >= 0
    if inside.all() or not inside.any():
        return labels
    assigned = labels.copy()
    assigned[~inside] = labels[inside][cKDTree(Y[inside]).query(Y[~inside])[1]]
    return assigned


def actup_clusters(X, y, seed) -> dict[str, dict]:
    model = actup.UMAP(random_state=seed).fit(X)
    found, seconds = timed(lambda: actup.find_clusters(model))
    everyone = actup.find_clusters(model, assign_all=True).labels
    rows = {"actup": scores(y, found.labels, everyone) | {"seconds": seconds[0]}}
    graph = actup.find_clusters(model, space="graph")
    everyone = actup.find_clusters(model, space="graph", assign_all=True).labels
    return rows | {"actup graph": scores(y, graph.labels, everyone)}


def hdbscan_clusters(X, y, seed, cache: Path) -> dict[str, dict]:
    import hdbscan
    import umap

    if cache.exists():
        Y = np.load(cache)
    else:
        Y = umap.UMAP(random_state=seed, n_jobs=1).fit_transform(X)
        np.save(cache, Y)
    Y = Y.astype(np.float64)
    rows = {}
    for name, parameters in settings(len(X)).items():
        labels, seconds = timed(lambda parameters=parameters: hdbscan.HDBSCAN(**parameters).fit_predict(Y))
        rows[name] = scores(y, labels, nearest_cluster(Y, labels)) | {"seconds": seconds[0]}
    return rows


def mean_rows(runs: list[dict[str, dict]]) -> dict[str, dict]:
    """The mean of every number over the seeds; of both indices also the standard deviation and each one."""
    table = {}
    for name in runs[0]:
        rows = [run[name] for run in runs]
        table[name] = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        for key in ("outside_counts", "all_assigned"):
            table[name][f"{key}_spread"] = float(np.std([row[key] for row in rows]))
            table[name][f"{key}_by_seed"] = [row[key] for row in rows]
    return table


def places(n: int) -> np.ndarray:
    """Fifty clusters of unequal spread in the plane."""
    rng = np.random.default_rng(0)
    centers, spreads = rng.uniform(-20, 20, (50, 2)), rng.uniform(0.1, 1, (50, 1))
    number = np.arange(n) % 50
    return rng.normal(size=(n, 2)) * spreads[number] + centers[number]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="*", default=["mnist", "usps", "single_cell"])
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--peer-seeds", type=int, default=3, help="maps of umap-learn, which take long")
    arguments.add_argument("--points", nargs="*", type=int, default=[60_000, 1_000_000])
    arguments.add_argument("--maps", type=Path, help="keep umap-learn's maps in this folder")
    options = arguments.parse_args()
    results = saved("clusters")
    with tempfile.TemporaryDirectory() as folder:
        maps = options.maps or Path(folder)
        for name in options.data:
            data = load(name)
            X, y = np.ascontiguousarray(data.X, np.float32), np.asarray(data.y)
            table = mean_rows([actup_clusters(X, y, seed) for seed in range(options.seeds)])
            if find_spec("umap") is None or find_spec("hdbscan") is None:
                print("skipped hdbscan on umap-learn's maps: both must be installed")
            else:
                caches = [maps / f"umap_{name}_{seed}.npy" for seed in range(options.peer_seeds)]
                runs = [hdbscan_clusters(X, y, seed, cache) for seed, cache in enumerate(caches)]
                table |= mean_rows(runs)
            results.setdefault("adjusted_rand_index", {})[f"{name} {len(X)}"] = table
            save("clusters", results, PACKAGES)
            for row, values in table.items():
                indices = " ".join(
                    f"{values[key]:.3f} ± {values[f'{key}_spread']:.3f}"
                    for key in ("outside_counts", "all_assigned")
                )
                print(f"{name:12s} {row:32s} {indices} {values['clusters']:.1f}", flush=True)
    for n in options.points:
        Y = places(n)
        _, seconds = timed(lambda Y=Y: actup.find_clusters(Y), REPEATS)
        results.setdefault("seconds", {})[str(n)] = summary(seconds)
        save("clusters", results, PACKAGES)
        print(n, summary(seconds), flush=True)


if __name__ == "__main__":
    main()
