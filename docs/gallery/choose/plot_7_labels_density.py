"""
More than neighbours: labels and density
========================================

Two options of ``UMAP`` bring in information that a plain map does not show.

Labels
------

With ``fit(X, y)``, rows of one class attract each other. ``target_weight`` says how much labels count: 0 not at all, 1
nothing but labels. Unknown labels are -1.
"""

import numpy as np
from sklearn.datasets import load_digits

import actup
from actup.plotting import plot_gallery
from actup.viewer import align_maps

X, y = load_digits(return_X_y=True)
some = np.where(np.arange(len(y)) % 10 == 0, y, -1)  # every tenth label is known
maps = {
    "no labels": actup.UMAP(random_state=0).fit_transform(X),
    "every tenth label": actup.UMAP(random_state=0).fit_transform(X, some),
    "all labels": actup.UMAP(random_state=0).fit_transform(X, y),
}
figure = plot_gallery(align_maps(maps), labels=y, columns=3)

# %%
# A map that has seen the labels is no evidence that classes are separable: it separates noise as well. Use it to place new
# rows among known classes, with ``transform``.
#
# Density
# -------
#
# UMAP and t-SNE draw dense and sparse regions at much the same density. densMAP adds a term that keeps the difference.
# These three groups of 400 points have the widths 1, 3 and 9.

rng = np.random.default_rng(0)
centers = 60 * np.eye(3, 10)
width = np.repeat([1, 3, 9], 400)
groups = np.repeat(centers, 400, axis=0) + rng.normal(size=(1200, 10)) * width[:, None]
names = np.array([f"width {value}" for value in width])
maps = {
    "UMAP": actup.UMAP(random_state=0).fit_transform(groups),
    "densMAP": actup.UMAP(densmap=True, random_state=0).fit_transform(groups),
}
figure = plot_gallery(maps, labels=names)
