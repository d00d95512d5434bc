"""
What near means: metric
=======================

The metric decides who is whose neighbour, and with it everything else. Ask what two rows should share to count as alike.

Here, 900 spectra have one of three shapes, and each is multiplied by a brightness that says nothing about its shape.
"""

import numpy as np

import actup
from actup.plotting import plot_gallery

rng = np.random.default_rng(0)
shapes = rng.gamma(2.0, size=(3, 40))
kind = np.repeat([0, 1, 2], 300)
brightness = np.exp(rng.normal(0, 1.5, size=900))
spectra = shapes[kind] * rng.gamma(20, 1 / 20, size=(900, 40)) * brightness[:, None]

maps = {
    metric: actup.UMAP(metric=metric, random_state=0).fit_transform(spectra)
    for metric in ("euclidean", "cosine")
}
figure = plot_gallery(maps, labels=np.array(["shape A", "shape B", "shape C"])[kind])

# %%
# Under the Euclidean distance, rows of the same brightness are neighbours. The cosine compares directions, and brightness
# drops out. The same holds for texts of different lengths and for vectors of language models: use ``metric="cosine"``.
#
# ==========================================  ===================================================
# data                                        metric
# ==========================================  ===================================================
# measurements in comparable units, pixels    ``"euclidean"``, the default
# columns in different units                  ``"euclidean"`` after ``StandardScaler``
# texts, embeddings of language models        ``"cosine"``
# shares that sum to 1                        ``"hellinger"``
# sets, fingerprints of molecules             ``"jaccard"``
# numbers beside categories, missing values   ``"gower"``; numbers only: ``"nan_euclidean"``
# distances that you have computed            ``"precomputed"``
# ==========================================  ===================================================
#
# :doc:`/guide/neighbors` lists all metrics, and which of them are fast.
