"""Maps of one, two and three dimensions."""

import numpy as np
import umap

colors = np.random.default_rng(0).random((250, 4))
for dimensions in (1, 2, 3):
    places = umap.UMAP(n_components=dimensions, n_epochs=50, random_state=0).fit_transform(colors)
    assert places.shape == (250, dimensions)
    assert np.isfinite(places).all()
