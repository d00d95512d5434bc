"""
Single cells: types and a path between them
===========================================

Counts of genes in single cells, simulated, so that the truth is known: three settled types, and a path along which stem
cells become one of them. With your own data you would read an h5ad file and begin at "From counts to a map".
"""

import anndata
import numpy as np
from matplotlib import pyplot
from sklearn.decomposition import PCA

import actup

rng = np.random.default_rng(0)
n_genes = 600
programs = rng.gamma(
    0.3, 3.0, size=(4, n_genes)
)  # expression of stem, T, B and blood cells
names = np.array(["stem", "T", "B", "blood"])
kind = rng.choice([1, 2, 3], p=[0.4, 0.4, 0.2], size=2000)
progress = np.where(kind == 3, rng.random(2000), 1.0)  # 0: stem, 1: settled
mean = (1 - progress)[:, None] * programs[0] + progress[:, None] * programs[kind]
depth = np.exp(rng.normal(0, 0.4, size=2000))  # molecules counted per cell
counts = rng.poisson(mean * depth[:, None])
cells = anndata.AnnData(counts.astype(np.float32))
cells.obs["type"] = np.where(progress < 0.15, "stem", names[kind])
cells.obs["progress"] = progress
print(cells)

# %%
# From counts to a map
# --------------------
#
# The usual steps: divide by the depth, take logarithms, keep the leading principal components. ``actup.sc`` then writes
# neighbours and the map under scanpy's keys, so that clustering and plots of scanpy go on from here.

per_cell = cells.X.sum(axis=1, keepdims=True)
logarithms = np.log1p(cells.X / per_cell * np.median(per_cell))
cells.obsm["X_pca"] = PCA(30, random_state=0).fit_transform(logarithms)
actup.sc.neighbors(cells, random_state=0)
actup.sc.umap(cells, random_state=0)

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 5), layout="constrained")
Y = cells.obsm["X_umap"]
actup.plot(Y, cells.obs["type"], ax=left, title="type")
actup.plot(Y, values=progress, ax=right, title="progress", colorbar=False)

# %%
# The path is one band whose colour runs from one end to the other, and T and B cells stand apart. What the map does *not*
# say: how different T and B cells are (:doc:`gaps mean little </examples/read/plot_2_distances>`), and which way cells move
# along the path.
#
# :doc:`/guide/single-cell` has the same with scanpy, and how to place new cells on a finished map.
