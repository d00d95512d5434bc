"""Maps on the way, for an animation."""

import numpy as np
import umap
from sklearn.datasets import load_iris

model = umap.UMAP(n_epochs=[0, 20, 60, 100], random_state=0).fit(load_iris().data)
assert len(model.embedding_list_) == 4
assert np.array_equal(model.embedding_list_[-1], model.embedding_)
assert not np.allclose(model.embedding_list_[0], model.embedding_list_[-1])
