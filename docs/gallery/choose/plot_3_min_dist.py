"""
How tight: min_dist, spread and dof
===================================

These parameters change how points are packed. They do not change which points are neighbours, so they are the ones to
turn for a nicer picture.

``min_dist`` of UMAP is about the distance that the nearest points keep. ``0.0`` suits clustering, ``0.5`` and more suits
looking.
"""

from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery

X, y = load_digits(return_X_y=True)
graph_once = actup.preset("umap")
values = (0.0, 0.1, 0.5, 0.99)
results = actup.embed_many(
    X, [graph_once.but(min_dist=value) for value in values], seed=0
)
maps = {
    f"min_dist={value}": Y
    for value, Y in zip(values, results.aligned.values(), strict=True)
}
figure = plot_gallery(maps, labels=y, title="UMAP")

# %%
# ``embed_many`` finds the neighbours once and makes all four maps from them. With the estimator you would write
# ``actup.UMAP(min_dist=0.5)``.
#
# The same for t-SNE: dof
# -----------------------
#
# ``dof`` sets how slowly the similarity of the map falls with the distance. Below 1, the tails are heavier and clusters
# fall into finer ones. It is the knob to turn if you suspect subgroups.

tsne = actup.preset("tsne")
values = (0.5, 1.0, 3.0)
results = actup.embed_many(X, [tsne.but(dof=value) for value in values], seed=0)
maps = {
    f"dof={value}": Y for value, Y in zip(values, results.aligned.values(), strict=True)
}
figure = plot_gallery(maps, labels=y, title="t-SNE")
