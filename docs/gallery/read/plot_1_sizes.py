"""
The size of a cluster means little
==================================

The data are two groups of 500 points. One is ten times as wide as the other.
"""

import numpy as np

import actup
from actup.plotting import plot_gallery

rng = np.random.default_rng(0)
narrow = rng.normal(0, 1, size=(500, 10))
wide = rng.normal(0, 10, size=(500, 10)) + 60 * np.eye(10)[0]
X = np.vstack([narrow, wide])
group = np.repeat(["narrow", "wide"], 500)

maps = {
    "the data, two of ten columns": X[:, :2],
    "UMAP": actup.UMAP(random_state=0).fit_transform(X),
    "t-SNE": actup.TSNE(random_state=0).fit_transform(X),
    "densMAP": actup.UMAP(densmap=True, random_state=0).fit_transform(X),
}
figure = plot_gallery(maps, labels=group)

# %%
# UMAP and t-SNE draw both equally large. Each point measures distances in units of its own neighbourhood, which makes
# structure of every scale visible, and sizes meaningless. The area of a cluster grows with its *number of points*, not
# with its spread.
#
# If density matters to your question, use ``UMAP(densmap=True)``, or colour the map by the distance to the 15th
# neighbour:

distances = actup.nearest_neighbors(X, 15).distances[:, -1]
print(
    f"distance to the 15th neighbour: narrow {np.median(distances[:500]):.1f}, wide {np.median(distances[500:]):.1f}"
)
