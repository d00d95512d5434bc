"""fit_transform keeps clusters of the penguins' kind together after scaling."""

import umap
from sklearn.datasets import load_wine
from sklearn.manifold import trustworthiness
from sklearn.preprocessing import StandardScaler

X = StandardScaler().fit_transform(load_wine().data)
embedding = umap.UMAP(random_state=1).fit_transform(X)
assert trustworthiness(X, embedding, n_neighbors=10) > 0.85
