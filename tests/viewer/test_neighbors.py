"""Neighbours in the data space and the share of them that a map keeps."""

import numpy as np
from scipy.sparse import csr_matrix

import actup
from actup.quality import neighbor_recall
from actup.viewer._neighbors import heaviest_neighbors, neighbors_kept
from page_file import page_of

X = np.random.default_rng(0).normal(size=(400, 3))


def test_share_of_neighbors_kept_averages_to_the_recall():
    lists = actup.nearest_neighbors(X, 10, algorithm="exact").indices
    shares = neighbors_kept(X[:, :2], lists)
    assert abs(shares.mean() - neighbor_recall(X, X[:, :2], k=10, sample=None)) < 1e-9
    assert (neighbors_kept(X, lists) == 1).all()


def test_points_without_neighbors_have_no_share():
    lists = np.array([[1, -1], [0, 2], [-1, -1]])
    shares = neighbors_kept(np.array([[0.0, 0.0], [1.0, 0.0], [1.1, 0.0]]), lists)
    assert shares[:2].tolist() == [1.0, 1.0] and np.isnan(shares[2])


def test_heaviest_neighbors_come_first():
    graph = csr_matrix(np.array([[0, 0.2, 0.9, 0.5], [0.2, 0, 0, 0], [0.9, 0, 0, 0.9], [0.5, 0, 0.9, 0]]))
    assert heaviest_neighbors(graph, 2).tolist() == [[2, 3], [0, -1], [0, 3], [2, 0]]


def test_distortion_is_that_of_each_map(tmp_path):
    lists = actup.nearest_neighbors(X, 10, algorithm="exact").indices
    maps = {"good": X[:, :2], "bad": np.random.default_rng(1).normal(size=(400, 2))}
    page = page_of(tmp_path, maps, neighbors=lists)
    column = page.column()
    good, bad = (page.array(reference) for reference in column["values"])
    assert column["low"] == 0 and column["high"] == np.float32(np.quantile(good, 0.99))
    assert good.mean() > 0.3 and bad.mean() < 0.1
    ids = page.array(page.data["neighbors"]["ids"]).reshape(400, 10)
    np.testing.assert_array_equal(ids, lists)


def test_given_distortion_by_map(tmp_path):
    maps = {"a": X[:, :2], "b": X[:, 1:]}
    column = page_of(tmp_path, maps, distortion={"b": np.arange(400)}).column()
    assert column["name"] == "distortion" and column["values"][0] is None and column["values"][1] is not None


def test_duplicates_of_a_model_share_their_neighbors(tmp_path):
    rows = np.repeat(X[:60], 2, axis=0)
    model = actup.UMAP(n_neighbors=5, n_epochs=5, unique=True, random_state=0).fit(rows)
    page = page_of(tmp_path, model, neighbors="auto")
    ids = page.array(page.data["neighbors"]["ids"]).reshape(120, -1)
    np.testing.assert_array_equal(ids[::2], ids[1::2])
    assert ids.max() < 120
