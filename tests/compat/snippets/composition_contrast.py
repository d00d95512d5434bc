"""What one view has and the other has not."""

import numpy as np
import umap

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 6))
one = umap.UMAP(random_state=0).fit(X[:, :3])
other = umap.UMAP(random_state=0).fit(X[:, 3:])
contrast = one - other
assert contrast.embedding_.shape == (200, 2)
assert np.isfinite(contrast.graph_.data).all()
