"""A map in the hyperbolic plane, shown in the Poincare disk."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:300]
mapper = umap.UMAP(output_metric="hyperboloid", random_state=42).fit(X)
x, y = mapper.embedding_.T.astype(float)
height = np.sqrt(1 + x**2 + y**2)
disk = np.stack([x, y], axis=1) / (1 + height)[:, None]
assert (np.linalg.norm(disk, axis=1) < 1).all()
assert len(np.unique(disk.round(3), axis=0)) > 250
