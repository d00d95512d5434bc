"""Fit a map of digits and look at what the model keeps."""

import umap
from sklearn.datasets import load_digits

digits = load_digits()
reducer = umap.UMAP(random_state=42)
reducer.fit(digits.data[:500])
embedding = reducer.transform(digits.data[:500])
assert embedding.shape == (500, 2)
assert (embedding == reducer.embedding_).all()
assert reducer.graph_.shape == (500, 500)
assert "UMAP" in repr(reducer)
