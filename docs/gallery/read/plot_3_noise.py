"""
Noise can look like structure
=============================

These 800 points are pure noise: 50 independent normal columns. There is nothing to find.
"""

import numpy as np

import actup
from actup.plotting import plot_gallery
from actup.quality import trustworthiness

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 50))
maps = {
    f"t-SNE, perplexity={perplexity}": actup.TSNE(
        perplexity=perplexity, random_state=0
    ).fit_transform(X)
    for perplexity in (2, 5, 30)
}
maps["UMAP, n_neighbors=3"] = actup.UMAP(n_neighbors=3, random_state=0).fit_transform(X)
maps["UMAP, n_neighbors=15"] = actup.UMAP(random_state=0).fit_transform(X)
captions = {
    name: f"trustworthiness {trustworthiness(X, Y):.2f}" for name, Y in maps.items()
}
figure = plot_gallery(maps, captions=captions, columns=3)

# %%
# With a perplexity of 2 the noise seems to have a hundred clusters. Each is a handful of points that happen to be nearest
# to each other. With the defaults, noise looks like what it is: one round cloud.
#
# How to tell
# -----------
#
# *Trustworthiness* asks whether neighbours on the map are neighbours in the data. On the digits it is 0.99; on this noise
# it is below 0.7 for every map. A structure that you want to believe should also survive another ``n_neighbors`` and
# :doc:`another seed </examples/read/plot_5_seeds>`.
#
# The shuffle test: permute every column on its own, which keeps the columns and destroys what connects them, and map again.

from sklearn.datasets import load_digits

digits = load_digits().data
shuffled = rng.permuted(digits, axis=0)
maps = {
    "digits": actup.UMAP(random_state=0).fit_transform(digits),
    "digits, each pixel shuffled": actup.UMAP(random_state=0).fit_transform(shuffled),
}
figure = plot_gallery(maps)
