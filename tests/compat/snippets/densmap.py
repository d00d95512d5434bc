"""densMAP: dense clusters stay dense."""

import numpy as np
import umap

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 0.3, (150, 8)), rng.normal(12, 3.0, (150, 8))]).astype(np.float32)
spreads = {}
for densmap in (False, True):
    places = umap.UMAP(densmap=densmap, dens_lambda=3.0, n_neighbors=20, random_state=0).fit_transform(X)
    sizes = [np.linalg.norm(part - part.mean(axis=0), axis=1).mean() for part in (places[:150], places[150:])]
    spreads[densmap] = sizes[1] / sizes[0]
assert spreads[True] > 1.2 * spreads[False]
