"""Sparse data: numbers in the columns of their prime factors."""

import numpy as np
import scipy.sparse
import umap

limit = 600
primes = [n for n in range(2, limit) if all(n % d for d in range(2, int(n**0.5) + 1))]
rows, columns = [], []
for number in range(limit):
    for column, prime in enumerate(primes):
        if number and number % prime == 0:
            rows.append(number)
            columns.append(column)
X = scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(limit, len(primes)))
X = X[np.asarray(X.sum(axis=1)).ravel() > 1]
mapper = umap.UMAP(metric="cosine", random_state=42, low_memory=True).fit(X)
assert mapper.embedding_.shape == (X.shape[0], 2)
even = np.asarray(X[:, 0].todense()).ravel() > 0
near = mapper.graph_[np.flatnonzero(even)][:, np.flatnonzero(even)].sum()
across = mapper.graph_[np.flatnonzero(even)][:, np.flatnonzero(~even)].sum()
assert near > across
