"""Check the constants of TSNE: its loss compared with momentum and gains, on many data sets and awkward ones.

    python benchmarks/tsne_constants.py [--data mnist swiss] [--sizes 200 1000 7000]
                                        [--perplexities 5 30 100 200] [--peer classic] [--draws 2]

The peer gets the same similarities and the same start, scaled to a standard deviation of 1e-4. Peer "classic"
is ActUp's preset "classic_tsne" with scikit-learn's 1,000 iterations and learning rate, "openTSNE" has its
750 iterations. Besides the data sets of benchmarks/tsne.py there are awkward ones: a Swiss roll, noise,
unconnected blobs, four duplicates of every row, an outlier. Prints a line per map and saves all results in
benchmarks/results/tsne_constants.json.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from report import save
from tsne import DATA, PACKAGES, Problem, descend, open_tsne_descent

from actup import quality
from actup.datasets import load
from actup.recipe import preset

AWKWARD = ("swiss", "noise", "blobs", "duplicates", "outlier")
STARTS = ("pca", "spectral", "random")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", nargs="+", choices=["digits", *DATA, *AWKWARD])
    arguments.add_argument("--sizes", type=int, nargs="+", default=[200, 1000, 3000, 7000])
    arguments.add_argument("--perplexities", type=float, nargs="+", default=[5, 30, 100, 200])
    arguments.add_argument("--peer", choices=["classic", "openTSNE"], default="classic")
    arguments.add_argument("--draws", type=int, default=1, help="number of random samples of each data set")
    options = arguments.parse_args()
    names = options.data or ["digits", *DATA, *AWKWARD]
    rows = []
    for name, n, draw in product(names, options.sizes, range(options.draws)):
        X = points(name, n, draw)
        for perplexity, start in cases(options.perplexities, len(X)):
            rows.append({"data": name, "draw": draw, "perplexity": perplexity, "start": start})
            rows[-1] |= compare(X, DATA.get(name, "euclidean"), perplexity, start, options.peer)
            print(show(rows[-1]), flush=True)
    higher = sum(row["ours"]["kl"] > row["peer"]["kl"] + 1e-3 for row in rows)
    ratio = np.mean([row["ours"]["kl"] / row["peer"]["kl"] for row in rows])
    print(
        f"{len(rows)} maps: the loss is {ratio:.3f} times the peer's on average, and higher in {higher} maps"
    )
    print("saved", save("tsne_constants", {"peer": options.peer, "rows": rows}, PACKAGES))


def cases(perplexities, n: int):
    """Pairs (perplexity, start): all perplexities that n points allow with PCA, one with the other starts."""
    allowed = [value for value in perplexities if 2 * value < n]
    return [(value, "pca") for value in allowed] + [(min(30, n / 4), start) for start in STARTS[1:]]


def points(name: str, n: int, draw: int) -> np.ndarray:
    """At most n random rows of a data set, or an awkward data set of n rows: float32."""
    random = np.random.default_rng(draw)
    if name == "noise":
        return random.standard_normal((n, 20), dtype=np.float32)
    if name == "blobs":
        centres = 50 * random.standard_normal((8, 20))
        return np.float32(centres[random.integers(8, size=n)] + random.standard_normal((n, 20)))
    if name == "swiss":
        from sklearn.datasets import make_swiss_roll

        return np.float32(make_swiss_roll(n, random_state=draw)[0])
    if name == "digits":
        from sklearn.datasets import load_digits

        X = load_digits().data
    else:
        X = load(name if name in DATA else "mnist").X
    rows = random.permutation(len(X))[: n // 4 if name == "duplicates" else n]
    X = np.float32(X[rows])
    if name == "duplicates":
        return np.repeat(X, 4, axis=0)
    if name == "outlier":
        X[0] *= 1e4
    return X


def compare(X: np.ndarray, metric: str, perplexity: float, start: str, peer: str) -> dict:
    """Loss, recall and size of ActUp's map and of the peer's."""
    recipe = preset("tsne").but(perplexity=perplexity, initialization=start)
    problem = Problem("", X, None, metric, 2, recipe)
    n, small = len(X), 1e-4 * problem.start / problem.start[:, 0].std()
    if peer == "openTSNE":
        theirs = open_tsne_descent(problem)
    else:
        rate = max(50.0, n / 48)  # scikit-learn's "auto"
        theirs = descend(problem, preset("classic_tsne").but(learning_rate=rate), small)
    ours = descend(problem, recipe, problem.start)
    return {"points": n, "ours": map_summary(problem, ours), "peer": map_summary(problem, theirs)}


def map_summary(problem: Problem, Y: np.ndarray) -> dict[str, float]:
    return {
        "kl": quality.kl_divergence(problem.graph, Y),
        "recall_at_10": quality.neighbor_recall(problem.X, Y, 10, metric=problem.metric),
        "deviation": float(Y.std()),
        "farthest": float(np.abs(Y).max()),
    }


def show(row: dict) -> str:
    """A line of text about one comparison."""
    maps = "   ".join(
        f"{who} KL {found['kl']:.4f} recall {found['recall_at_10']:.4f} size {found['deviation']:5.1f}"
        for who, found in (("ours", row["ours"]), ("peer", row["peer"]))
    )
    place = f"{row['data']:<20} {row['points']:5} {row['perplexity']:5g} {row['start']:<8}"
    return f"{place} {maps}{'   higher' if row['ours']['kl'] > row['peer']['kl'] + 1e-3 else ''}"


if __name__ == "__main__":
    main()
