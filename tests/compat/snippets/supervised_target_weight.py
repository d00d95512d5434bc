"""target_weight: how much the labels count."""

import umap
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

digits = load_digits()
X, y = digits.data[:400], digits.target[:400]
scores = []
for weight in (0.0, 0.9):
    places = umap.UMAP(target_weight=weight, random_state=1).fit_transform(X, y)
    scores.append(silhouette_score(places, y))
assert scores[0] < scores[1]
