"""
The gap between clusters means little
=====================================

Three equal groups: A and B are near each other, C is ten times as far away.
"""

import numpy as np

import actup
from actup.plotting import plot_gallery

rng = np.random.default_rng(0)
position = np.repeat([0, 15, 150], 300)
X = rng.normal(size=(900, 10))
X[:, 0] += position
group = np.repeat(["A", "B", "C"], 300)

maps = {
    "the data, two of ten columns": X[:, :2],
    "UMAP": actup.UMAP(random_state=0).fit_transform(X),
    "t-SNE": actup.TSNE(random_state=0).fit_transform(X),
    "t-SNE, perplexity=280": actup.TSNE(perplexity=280, random_state=0).fit_transform(
        X
    ),
}
figure = plot_gallery(maps, labels=group)

# %%
# How many times as far is C from B as A is from B?

for name, Y in maps.items():
    a, b, c = (Y[group == letter].mean(axis=0) for letter in "ABC")
    print(f"{name:<30}{np.linalg.norm(c - b) / np.linalg.norm(a - b):.1f}")

# %%
# Once two groups share no neighbours, nothing in the loss says how far apart they are: repulsion pushes them until it gets
# weak. The *order* of groups survives here because the start knows it, not because the layout does.
#
# For distances between groups, go back to the data: compare the mean rows, or look at the principal components.
