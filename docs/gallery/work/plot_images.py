"""
Images: put the pictures on the map
===================================

The best legend of a map of images is the images. Draw as many as fit without covering each other.
"""

import numpy as np
from matplotlib import pyplot
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits

import actup

digits = load_digits()
Y = actup.TSNE(random_state=0).fit_transform(digits.data)

figure, ax = pyplot.subplots(figsize=(9, 9), layout="constrained")
actup.plot(Y, labels=digits.target, ax=ax, names="none")
room = 0.04 * np.ptp(Y, axis=0).max()  # the distance that two images keep
shown = []
for i in np.random.default_rng(0).permutation(len(Y)):
    if all(np.abs(Y[i] - Y[j]).max() > room for j in shown):
        image = OffsetImage(digits.images[i], zoom=2.1, cmap="gray_r")
        ax.add_artist(AnnotationBbox(image, Y[i], frameon=False))
        shown.append(i)
print(f"{len(shown)} of {len(Y)} images are drawn")

# %%
# Digits change their slant and thickness along a cluster. Such gradients are what t-SNE shows and what a table of classes
# cannot.
#
# Larger images
# -------------
#
# Pixels are a poor description of photographs. Use the last layer of a pretrained network, one row per image, with
# ``metric="cosine"``; everything else stays. On an interactive page, ``images=`` shows each picture in its tooltip:
# ``actup.viewer.write_page("digits.html", {"t-SNE": Y}, labels=digits.target, images=digits.images)``.
