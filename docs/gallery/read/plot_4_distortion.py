"""
Where does this map lie?
========================

No flat map keeps all neighbours of data with many dimensions. But it is not equally wrong everywhere, and you can look at
where: count for each point how many of its 10 nearest rows are among its 10 nearest points on the map.
"""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import actup

X, y = load_digits(return_X_y=True)
model = actup.TSNE(random_state=0).fit(X)
Y = model.embedding_

in_data = actup.nearest_neighbors(X, 10).indices
on_map = actup.nearest_neighbors(Y, 10).indices
kept = np.array(
    [len(np.intersect1d(a, b)) / 10 for a, b in zip(in_data, on_map, strict=True)]
)

figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
actup.plot(Y, labels=y, ax=left, title="t-SNE of the digits")
actup.plot(Y, labels=kept, ax=right, title="share of 10 neighbours that the map keeps")
print(
    f"mean {kept.mean():.2f}; lowest tenth of the points {np.quantile(kept, 0.1):.2f}"
)

# %%
# Bright regions can be read point by point. In dark ones, the group is right at best.
#
# Points among strangers
# ----------------------
#
# The worst points are worth a look. These have lost all or nearly all of their neighbours, and many are odd images:

worst = np.argsort(kept, kind="stable")[:12]
figure, axes = pyplot.subplots(1, 12, figsize=(11, 1.4))
for ax, i in zip(axes, worst, strict=True):
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[i]}", fontsize=10)
    ax.axis("off")

# %%
# The classes hold where the neighbours do not: the accuracy by class says which digits mix.

from actup.quality import knn_accuracy

print(f"all digits: {knn_accuracy(Y, y, k=10):.3f}")
for digit in range(10):
    nearest = y[on_map[y == digit]]
    print(
        digit,
        f"{(nearest == digit).mean():.2f} of the nearest points on the map are the same digit",
    )
