"""Learn a space from labelled data, then place unlabelled rows in it."""

import umap
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

digits = load_digits()
mapper = umap.UMAP(n_neighbors=10, random_state=42).fit(digits.data[:1000], digits.target[:1000])
held_out = mapper.transform(digits.data[1000:1200])
classifier = KNeighborsClassifier(5).fit(mapper.embedding_, digits.target[:1000])
assert classifier.score(held_out, digits.target[1000:1200]) > 0.85
