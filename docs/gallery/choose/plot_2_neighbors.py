"""
How many neighbours: n_neighbors and perplexity
===============================================

Both parameters say how far each point looks. Few neighbours show fine detail and break the map into pieces; many show
the large structure and blur detail. The defaults, 15 for UMAP and 30 for t-SNE, are good for most data.
"""

from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.viewer import align_maps

X, y = load_digits(return_X_y=True)
maps = {
    f"n_neighbors={k}": actup.UMAP(n_neighbors=k, random_state=0).fit_transform(X)
    for k in (3, 15, 50, 200)
}
figure = plot_gallery(align_maps(maps), labels=y, title="UMAP")

# %%
# With 3 neighbours, pieces of one digit lose touch with each other: what looks like a cluster may be a chain of a few
# dozen images. With 200, a tenth of all data, small groups melt into their surroundings.
#
# t-SNE's *perplexity* is a soft count of neighbours; three times as many are searched. It must be smaller than the
# number of rows.

maps = {
    f"perplexity={p}": actup.TSNE(perplexity=p, random_state=0).fit_transform(X)
    for p in (3, 30, 100, 300)
}
figure = plot_gallery(align_maps(maps), labels=y, title="t-SNE")

# %%
# Several at once
# ---------------
#
# ``TSNE`` also takes a list. Small perplexities keep the detail, large ones arrange the clusters.

model = actup.TSNE(perplexity=[10, 200], random_state=0)
maps = {
    "perplexity=30": maps["perplexity=30"],
    "perplexity=[10, 200]": model.fit_transform(X),
}
figure = plot_gallery(align_maps(maps), labels=y)
