"""A pandas data frame is as good as an array."""

import pandas as pd
import umap
from sklearn.datasets import load_iris

frame = load_iris(as_frame=True).data
assert isinstance(frame, pd.DataFrame)
embedding = umap.UMAP(n_neighbors=20, random_state=0).fit_transform(frame)
assert embedding.shape == (150, 2)
