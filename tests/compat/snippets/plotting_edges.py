"""The edges of the graph between the points of the map."""

import numpy as np
import umap
from sklearn.datasets import load_iris

mapper = umap.UMAP(n_neighbors=10, random_state=0).fit(load_iris().data)
edges = mapper.graph_.tocoo()
lengths = np.linalg.norm(mapper.embedding_[edges.row] - mapper.embedding_[edges.col], axis=1)
strong = edges.data > 0.5
assert lengths[strong].mean() < lengths[~strong].mean()
