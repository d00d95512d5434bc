"""
Does it survive another seed?
=============================

The same seed gives the same map, bit by bit. That makes results repeatable; it does not make them true. Make the map again
with other seeds, other starts and a subsample, and believe what stays.
"""

import numpy as np
from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.quality import seed_stability
from actup.viewer import align_maps

X, y = load_digits(return_X_y=True)
maps = {
    f"seed {seed}": actup.UMAP(init="random", random_state=seed).fit_transform(X)
    for seed in range(3)
}
figure = plot_gallery(
    align_maps(maps), labels=y, columns=3, title="UMAP from random starts"
)

# %%
# The clusters are the same, their arrangement is not: from a random start, the arrangement is an accident. From the default
# start it is nearly the same every time, because ``UMAP``, ``TSNE`` and ``GDR`` draw nothing at random after the start.
#
# ``seed_stability`` compares maps in two ways: *disparity* is how much the shapes differ after turning and scaling (0:
# not at all), *jaccard* is how many of the 15 nearest points two maps share.

for init in ("random", "spectral"):
    Ys = [
        actup.UMAP(init=init, random_state=seed).fit_transform(X) for seed in range(3)
    ]
    stability = seed_stability(Ys)
    print(
        f"{init:<10} disparity {stability.disparity:.3f}  jaccard {stability.jaccard:.2f}"
    )

# %%
# A subsample is the harder test: it changes the data.

half = np.random.default_rng(0).permutation(len(X))[: len(X) // 2]
figure = plot_gallery(
    {"half of the digits": actup.UMAP(random_state=0).fit_transform(X[half])},
    labels=y[half],
)
