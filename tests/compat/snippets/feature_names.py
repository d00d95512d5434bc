"""Names of the columns of a map, and clones."""

import umap
from sklearn.base import clone
from sklearn.datasets import load_iris

model = umap.UMAP(n_components=3, n_neighbors=12, n_epochs=20, random_state=0).fit(load_iris().data)
assert list(model.get_feature_names_out()) == ["umap0", "umap1", "umap2"]
assert clone(model).get_params()["n_neighbors"] == 12
assert model.set_params(min_dist=0.3).min_dist == 0.3
