"""
Clusters: find them, name them, look at them
============================================

A map shows groups; ``find_clusters`` says which point belongs to which. It looks for parts of the map that are denser
than what surrounds them, in layers from coarse to fine, and nothing is random.
"""

from matplotlib import pyplot
from sklearn.datasets import load_digits

import actup

X, y = load_digits(return_X_y=True)
model = actup.UMAP(random_state=0).fit(X)
names = [f"digit {digit}" for digit in y]
clusters = actup.find_clusters(model, labels=names, n_layers=1)
print(clusters)

# %%
# The labels gave the names only: the clusters come from the places of the points. On the picture, they are the colours
# and the names; points in no cluster are grey.

figure, ax = pyplot.subplots(figsize=(8, 7), layout="constrained")
actup.plot(model, clusters=clusters, ax=ax)

# %%
# A table for programs
# --------------------
#
# ``clusters.to_frame()`` has one row for each cluster. The persistence says how much denser a cluster is than its surroundings: from
# 0 to 1, and random fluctuations stay below 0.1.

main = clusters.layers[clusters.main]
for name, size, share, persistence in zip(
    main.names, main.sizes, main.label_shares, main.persistence, strict=True
):
    print(
        f"{name:12} {size:4} points, {share:4.0%} of this digit, persistence {persistence:.2f}"
    )

# %%
# What is in a cluster?
# ---------------------
#
# Representative points: the first lies in a dense, central spot, and the others show the variety of the cluster.

figure, axes = pyplot.subplots(len(main), 5, figsize=(4, 0.8 * len(main)))
for row, name, points in zip(axes, main.names, main.representatives, strict=True):
    row[0].set_title(name, fontsize=8, loc="left")
    for ax, point in zip(row, points, strict=True):
        ax.imshow(X[point].reshape(8, 8), cmap="gray_r")
        ax.axis("off")
figure.tight_layout()

# %%
# Without ``n_layers=1`` there are coarser and finer layers too, and a page shows their names as you zoom in:
# ``model.view(labels=y, clusters=actup.find_clusters(model))``. :doc:`plot_text` names clusters by the words of their
# texts; :doc:`/guide/clusters` explains the parameters.
