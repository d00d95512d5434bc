"""A metric of one's own: the red of colours."""

import numpy as np
import umap


def red_channel_dist(a, b):
    return np.abs(a[0] - b[0])


colors = np.random.default_rng(0).random((200, 4))
places = umap.UMAP(metric=red_channel_dist, n_components=1, n_epochs=100, random_state=2).fit_transform(
    colors
)
order = np.argsort(np.argsort(places[:, 0]))
red = np.argsort(np.argsort(colors[:, 0]))
neighbours = np.abs(np.diff(red[np.argsort(order)]))
assert np.median(neighbours) < 30
