"""
Where the points start: init
============================

A descent finds a minimum near its start, so the start decides how the large parts of a map are arranged. ``TSNE`` starts
from principal components and ``UMAP`` from eigenvectors of the graph. A random start throws this information away.

The data are a Swiss roll, a sheet rolled up in three dimensions. The colour runs along the sheet.
"""

from sklearn.datasets import make_swiss_roll

import actup
from actup.plotting import plot_gallery

X, along = make_swiss_roll(1500, random_state=0)
maps = {}
for init in ("spectral", "pca", "random"):
    maps[f'UMAP, init="{init}"'] = actup.UMAP(init=init, random_state=0).fit_transform(
        X
    )
    maps[f'TSNE, init="{init}"'] = actup.TSNE(init=init, random_state=0).fit_transform(
        X
    )
figure = plot_gallery(maps, labels=along, columns=2)

# %%
# Follow the colour. From eigenvectors, the sheet is unrolled from one end to the other. Principal components see the roll
# from the side, and parts of it stay on the wrong side of others. From random places, pieces are right and their order is
# lost.
#
# ``init_used_`` of a fitted model says which start was used, also where another one had to take its place:

model = actup.UMAP(random_state=0).fit(X)
print(model.init_used_)
