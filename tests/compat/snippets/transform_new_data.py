"""New data in the embedding space, for a classifier."""

import umap
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.data, digits.target, stratify=digits.target, random_state=42
)
trans = umap.UMAP(n_neighbors=5, random_state=42).fit(X_train)
knn = KNeighborsClassifier().fit(trans.embedding_, y_train)
assert knn.score(trans.transform(X_test), y_test) > 0.9
