"""min_dist says how tightly points may lie."""

import numpy as np
import umap
from sklearn.neighbors import NearestNeighbors

colors = np.random.default_rng(0).random((300, 4))
gaps = []
for min_dist in (0.0, 0.5, 0.99):
    places = umap.UMAP(min_dist=min_dist, random_state=3).fit_transform(colors)
    gaps.append(np.median(NearestNeighbors(n_neighbors=2).fit(places).kneighbors()[0][:, 0]))
assert gaps[0] < gaps[1] < gaps[2]
