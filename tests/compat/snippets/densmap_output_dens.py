"""Local radii of the data and of the map."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:400]
model = umap.UMAP(densmap=True, output_dens=True, n_neighbors=20, random_state=0)
places, r_orig, r_emb = model.fit_transform(X)
assert places.shape == (400, 2) and r_orig.shape == r_emb.shape == (400,)
assert np.corrcoef(r_orig, r_emb)[0, 1] > 0.3
assert np.array_equal(model.rad_orig_, r_orig)
