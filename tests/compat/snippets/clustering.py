"""Clusters on a map made for clustering."""

import umap
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

digits = load_digits()
X, y = digits.data[:1000], digits.target[:1000]
places = umap.UMAP(n_neighbors=30, min_dist=0.0, n_components=2, random_state=42).fit_transform(X)
labels = HDBSCAN(min_samples=10, min_cluster_size=40, copy=True).fit_predict(places)
clustered = labels >= 0
assert clustered.mean() > 0.8
assert adjusted_rand_score(y[clustered], labels[clustered]) > 0.7
direct = KMeans(10, n_init=3, random_state=0).fit_predict(X)
assert adjusted_rand_score(y, KMeans(10, n_init=3, random_state=0).fit_predict(places)) > adjusted_rand_score(
    y, direct
)
