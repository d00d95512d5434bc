"""
New rows on a finished map
==========================

A map made today should still serve tomorrow. ``transform`` places new rows without moving the old ones, for UMAP, t-SNE
and GDR alike.
"""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import actup

X, y = load_digits(return_X_y=True)
model = actup.UMAP(random_state=0).fit(X[:1400])
new = model.transform(X[1400:])

figure, ax = pyplot.subplots(figsize=(7, 6), layout="constrained")
actup.plot(model.embedding_, labels=y[:1400], ax=ax)
ax.scatter(
    *new.T,
    s=14,
    facecolors="none",
    edgecolors="black",
    linewidths=0.7,
    label="new rows",
)
ax.legend(loc="lower left", frameon=False)
# %%
# A row's place does not depend on its company: alone or in a batch, it gets the same bits.

alone = model.transform(X[1400:1401])
print(np.array_equal(alone[0], new[0]))

# %%
# Which digit would a classifier on the map say?

from sklearn.neighbors import KNeighborsClassifier

classifier = KNeighborsClassifier(10).fit(model.embedding_, y[:1400])
print(f"accuracy of new rows: {classifier.score(new, y[1400:]):.3f}")

# %%
# And back: a row for every place
# -------------------------------
#
# ``inverse_transform`` says what data would lie at a place of the map, also where there is no point.

start, end = (model.embedding_[y[:1400] == digit].mean(axis=0) for digit in (1, 8))
path = np.linspace(start, end, 12)
figure, axes = pyplot.subplots(1, 12, figsize=(11, 1.2))
for ax, row in zip(axes, model.inverse_transform(path), strict=True):
    ax.imshow(row.reshape(8, 8), cmap="gray_r")
    ax.axis("off")
