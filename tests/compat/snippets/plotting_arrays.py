"""The embedding is an array: draw it with anything."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import umap
from sklearn.datasets import load_iris

iris = load_iris()
mapper = umap.UMAP(random_state=0).fit(iris.data)
figure, axes = plt.subplots()
points = axes.scatter(mapper.embedding_[:, 0], mapper.embedding_[:, 1], c=iris.target, s=4)
assert points.get_offsets().shape == (150, 2)
plt.close(figure)
