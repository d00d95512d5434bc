"""The intersection of two models: mixed data."""

import numpy as np
import umap
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(0)
group = rng.integers(0, 3, 300)
numeric = StandardScaler().fit_transform(rng.normal(size=(300, 3)) + group[:, None])
category = OneHotEncoder().fit_transform((group * 2 + rng.integers(0, 2, 300))[:, None]).toarray()
numeric_model = umap.UMAP(n_neighbors=15, random_state=42).fit(numeric)
category_model = umap.UMAP(metric="dice", n_neighbors=60, random_state=42).fit(category)
both = numeric_model * category_model
assert both.embedding_.shape == (300, 2)
good = ~np.isnan(both.embedding_).any(axis=1)
assert good.mean() > 0.95
assert both.graph_.shape == (300, 300)
