"""
Live maps: steer a layout, zoom into a selection
================================================

``actup.live`` computes a map in the background and shows it in the browser while it moves. Its page has buttons and
sliders; everything they do can be done from Python too. Here no browser is opened, so that the program runs anywhere:
leave out ``browser=False`` and ``wait_for_page=False`` to watch it.
"""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import actup

X, y = load_digits(return_X_y=True)
session = actup.live(
    X, actup.UMAP(random_state=0), labels=y, browser=False, wait_for_page=False
)
session.wait_for_layout()
first = session.model.embedding_
print(session)

# %%
# Attraction and repulsion
# ------------------------
#
# The two sliders of the page multiply the forces. A layout that has ended goes on from where it is: with four times the
# attraction clusters contract, as in early exaggeration.

session.steer(exaggeration=4)
session.wait_for_layout()
attracted = session.model.embedding_

session.steer(exaggeration=1, repulsion=4)
session.wait_for_layout()
repelled = session.model.embedding_

figure, axes = pyplot.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
actup.plot(first, labels=y, ax=axes[0], title="as UMAP makes it")
actup.plot(attracted, labels=y, ax=axes[1], title="attraction times 4")
actup.plot(repelled, labels=y, ax=axes[2], title="repulsion times 4")

# %%
# A map of a selection
# --------------------
#
# A lasso on the page, or a list of rows here: the selection gets a map of its own, with room for what was crowded. The
# neighbours are known already, so this takes a fraction of a second.

chosen = np.flatnonzero(np.isin(y, [1, 8, 9]))
session.zoom_in(chosen)
inner = session.model.embedding_
session.zoom_out()
session.close()

figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
outside = np.where(np.isin(y, [1, 8, 9]), y.astype(object), None)
actup.plot(repelled, labels=outside, ax=left, title="digits 1, 8 and 9 among all")
actup.plot(inner, labels=y[chosen], ax=right, title="the three alone")

# %%
# In a notebook, ``model.view(live=True)`` shows the page and follows the fits of your own model. :doc:`/guide/live` lists
# what can be done, and how the server of the page is protected.
