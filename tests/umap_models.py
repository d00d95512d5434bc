"""Short models of ``actup.compat.umap`` and the data that their tests share."""

import numpy as np
from sklearn.datasets import load_digits, load_iris

from actup.compat import umap
from actup.compat.umap import UMAP

IRIS = load_iris()
DIGITS = load_digits()
NUMBERS = np.random.default_rng(0).random((120, 5)).astype(np.float32)


def short(**parameters):
    return UMAP(**{"n_epochs": 40, "random_state": 0, **parameters})


def aligned(**parameters):
    return umap.AlignedUMAP(**{"n_epochs": 60, "random_state": 0, **parameters})
