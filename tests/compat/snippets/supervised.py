"""Labels pull the classes apart."""

import umap
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

digits = load_digits()
X, y = digits.data[:600], digits.target[:600]
plain = umap.UMAP(n_neighbors=5, random_state=42).fit_transform(X)
supervised = umap.UMAP(n_neighbors=5, random_state=42).fit_transform(X, y=y)
assert silhouette_score(supervised, y) > silhouette_score(plain, y)
