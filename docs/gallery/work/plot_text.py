"""
Text: a map of documentation
============================

The documents are the docstrings of NumPy, SciPy and scikit-learn, which are on your disk already. Each is counted word by
word into a sparse row of tf-idf weights. With vectors of a language model, only this first step changes.
"""

import inspect
import re
from importlib import import_module

import numpy as np
from matplotlib import pyplot
from sklearn.feature_extraction.text import TfidfVectorizer

import actup

modules = {
    "numpy": "arrays",
    "numpy.linalg": "linear algebra",
    "scipy.linalg": "linear algebra",
    "scipy.sparse.linalg": "linear algebra",
    "scipy.fft": "Fourier",
    "scipy.signal": "signals",
    "scipy.ndimage": "images",
    "scipy.special": "special functions",
    "scipy.stats": "statistics",
    "scipy.optimize": "optimisation",
    "scipy.spatial.distance": "distances",
    "sklearn.metrics": "metrics",
    "sklearn.cluster": "clustering",
    "sklearn.linear_model": "linear models",
    "sklearn.ensemble": "ensembles",
    "sklearn.preprocessing": "preprocessing",
}
documents, subjects, titles = [], [], []
for module, subject in modules.items():
    for name in dir(import_module(module)):
        value = getattr(import_module(module), name)
        text = (
            inspect.getdoc(value)
            if callable(value) and not name.startswith("_")
            else None
        )
        if text and len(text) > 400:
            documents.append(" ".join(re.findall(r"[a-z]{3,}", text.lower())))
            subjects.append(subject)
            titles.append(f"{module}.{name}")
X = TfidfVectorizer(
    max_df=0.3, min_df=3, stop_words="english", sublinear_tf=True
).fit_transform(documents)
print(
    f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} of them in a document"
)

# %%
# Sparse rows go in as they are. Texts have different lengths, so the metric is the cosine.

subjects = np.array(subjects)
model = actup.UMAP(metric="cosine", n_neighbors=20, min_dist=0.3, random_state=0).fit(X)
figure, ax = pyplot.subplots(figsize=(9, 8), layout="constrained")
actup.plot(model.embedding_, labels=subjects, ax=ax)
# %%
# Topics without labels
# ---------------------
#
# The clusters of the map, named by the words that are frequent in their documents and rare in the others:

clusters = actup.find_clusters(model, texts=documents, n_layers=1)
main = clusters.layers[clusters.main]
for name, size in zip(main.names, main.sizes, strict=True):
    print(f"{size:4} documents: {name}")
figure, ax = pyplot.subplots(figsize=(9, 8), layout="constrained")
actup.plot(model, clusters=clusters, ax=ax)

# %%
# Ask the map: which documents lie next to one?

titles = np.array(titles)
nearest = actup.NeighborIndex(model.embedding_).query(model.embedding_, 4).indices
for wanted in ("scipy.signal.convolve", "sklearn.cluster.KMeans", "scipy.stats.norm"):
    row = np.flatnonzero(titles == wanted)[0]
    print(f"{wanted}: {', '.join(titles[nearest[row][1:]])}")

# %%
# A page with the titles in the tooltip and in the search:
# ``actup.viewer.write_page("texts.html", {"UMAP": model.embedding_}, labels=subjects, hover=titles)``. For topics with
# names, see :doc:`/guide/topics`.
