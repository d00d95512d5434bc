"""The graph and its layout by the functions of umap.umap_, as scanpy calls them."""

import numpy as np
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from umap.umap_ import find_ab_params, fuzzy_simplicial_set, nearest_neighbors, simplicial_set_embedding

X = load_digits().data[:300].astype(np.float32)
indices, distances, _ = nearest_neighbors(X, 15, "euclidean", {}, False, np.random.RandomState(0))
graph, sigmas, rhos = fuzzy_simplicial_set(
    scipy.sparse.coo_matrix((300, 1)),
    15,
    None,
    None,
    knn_indices=indices,
    knn_dists=distances,
    set_op_mix_ratio=1.0,
    local_connectivity=1.0,
)
assert graph.tocsr().shape == (300, 300) and sigmas.shape == rhos.shape == (300,)
a, b = find_ab_params(1.0, 0.5)
places, aux = simplicial_set_embedding(
    data=X,
    graph=graph.tocoo(),
    n_components=2,
    initial_alpha=1.0,
    a=a,
    b=b,
    gamma=1.0,
    negative_sample_rate=5,
    n_epochs=500,
    init="spectral",
    random_state=np.random.RandomState(0),
    metric="euclidean",
    metric_kwds={},
    densmap=False,
    densmap_kwds={},
    output_dens=False,
    verbose=False,
)
assert trustworthiness(X, places, n_neighbors=10) > 0.95
