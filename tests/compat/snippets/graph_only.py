"""transform_mode="graph": the graph without a map."""

import umap
from sklearn.datasets import load_iris

X = load_iris().data
graph = umap.UMAP(transform_mode="graph", random_state=42).fit_transform(X)
assert graph.shape == (150, 150)
assert abs(graph - graph.T).max() < 1e-6
assert 0 < graph.max() <= 1
