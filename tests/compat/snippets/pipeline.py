"""A step of a scikit-learn pipeline, before a classifier."""

import umap
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

digits = load_digits()
pipeline = Pipeline(
    [
        ("scale", MinMaxScaler()),
        ("umap", umap.UMAP(n_neighbors=10, n_components=5, random_state=456)),
        ("svc", LinearSVC(C=10)),
    ]
)
pipeline.fit(digits.data[:800], digits.target[:800])
assert pipeline.score(digits.data[800:1000], digits.target[800:1000]) > 0.7
