"""A series of overlapping slices, aligned."""

import numpy as np
import umap
from sklearn.datasets import load_digits

digits = load_digits()
ordered = digits.data[np.argsort(digits.target, kind="stable")]
slices = [ordered[150 * i : 150 * i + 400] for i in range(4)]
relations = [{i + 150: i for i in range(250)} for _ in range(3)]
model = umap.AlignedUMAP(random_state=42, n_epochs=100).fit(slices, relations=relations)
assert len(model.embeddings_) == 4
moved, apart = [], []
for before, after in zip(model.embeddings_[:-1], model.embeddings_[1:], strict=True):
    moved.append(np.linalg.norm(before[150:] - after[:250], axis=1).mean())
    apart.append(
        np.linalg.norm(before[150:] - np.random.default_rng(0).permutation(after[:250]), axis=1).mean()
    )
assert np.mean(moved) < 0.5 * np.mean(apart)
