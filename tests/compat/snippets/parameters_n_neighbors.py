"""n_neighbors balances local and global structure."""

import numpy as np
import umap

colors = np.random.default_rng(0).random((300, 4))
maps = {k: umap.UMAP(n_neighbors=k, random_state=3).fit(colors) for k in (2, 15, 100)}
edges = [maps[k].graph_.nnz for k in (2, 15, 100)]
assert edges[0] < edges[1] < edges[2]
