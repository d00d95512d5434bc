"""Sparse matrices whose arrays are inconsistent are rejected by name before compiled code reads them."""

import numpy as np
import pytest
from scipy import sparse

from actup import TSNE, UMAP, Graph, NeighborIndex, embed, nearest_neighbors, preset, quality
from actup._csr import read_sparse

N, COLUMNS = 60, 40


def rows(form="csr", seed=0):
    X = sparse.random(N, COLUMNS, 0.2, format="csr", random_state=seed, dtype=np.float32)
    return X.asformat(form)


def test_values_of_type_object_are_rejected_by_name():
    X, given = change("data", lambda data: data.astype(object))(rows()), distances()
    given.data = given.data.astype(object)
    for read in (
        lambda: nearest_neighbors(X, 5),
        lambda: nearest_neighbors(given, 5, metric="precomputed"),
        lambda: UMAP(n_neighbors=5, n_epochs=2).fit(X),
        lambda: quality.trustworthiness(X, np.zeros((N, 2)), k=5),
        lambda: quality.quality_report(X, np.zeros((N, 2))),
    ):
        with pytest.raises(TypeError, match=r"^X holds object, .*X\.astype\(float\)"):
            read()
    assert len(nearest_neighbors(X.astype(float), 5)) == N


def distances():
    X = rows().toarray()
    return sparse.csr_matrix(1 + abs(X[:, None] - X[None]).sum(axis=2))


def change(name, edit):
    """A matrix with one of its arrays replaced after construction."""

    def changed(matrix):
        setattr(matrix, name, edit(getattr(matrix, name).copy()))
        return matrix

    return changed


def put(position, value):
    def edit(array):
        array[position] = value
        return array

    return edit


BROKEN = {
    "id too large": (change("indices", put(17, 10**6)), r"{0} \d+ has an entry in {1} 1000000, but the {1}s"),
    "negative id": (change("indices", put(17, -5)), r"{0} \d+ has an entry in {1} -5"),
    "short indptr": (change("indptr", lambda array: array[:-3]), r"offsets \(indptr\) for \d+ {0}s"),
    "begin": (change("indptr", put(0, 3)), r"{0} 0 begins at entry 3"),
    "decreasing": (change("indptr", put(20, 1)), r"{0} 19 ends at entry 1, before its begin at \d+"),
    "end beyond": (change("indptr", put(-1, 10**7)), r"the last {0} ends at entry 10000000"),
    "end before": (change("indptr", lambda array: np.r_[array[:-1], array[-1] - 1]), "the last {0} ends at"),
    "few values": (change("data", lambda array: array[:-50]), r"\d+ values \(data\)"),
    "fractions": (change("indices", lambda array: array + 0.5), "not whole numbers"),
    "two dimensions": (change("indptr", lambda array: array[None]), "not whole numbers in one dimension"),
}
USES = {
    "fit": lambda X: UMAP(n_epochs=2).fit(X),
    "t-SNE": lambda X: TSNE(perplexity=5).fit(X),
    "nearest_neighbors": lambda X: nearest_neighbors(X, 5),
    "cosine": lambda X: nearest_neighbors(X, 5, metric="cosine"),
    "NeighborIndex": NeighborIndex,
    "quality": lambda X: quality.trustworthiness(X, np.zeros((N, 2))),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("case", BROKEN)
def test_inconsistent_arrays_are_rejected(case, form, use):
    breaks, message = BROKEN[case]
    axes = ("row", "column") if form == "csr" else ("column", "row")
    with pytest.raises(ValueError, match="^X.*" + message.format(*axes) + r".*: rebuild the matrix"):
        USES[use](breaks(rows(form)))


@pytest.mark.parametrize("case", BROKEN)
def test_inconsistent_queries_and_new_rows_are_rejected(case):
    breaks, message = BROKEN[case]
    with pytest.raises(ValueError, match="^X_new.*" + message.format("row", "column")):
        NeighborIndex(rows()).query(breaks(rows(seed=1)), 3)


def test_inconsistent_new_rows_of_transform_are_rejected():
    model = UMAP(n_epochs=2, n_neighbors=5).fit(rows())
    for breaks, message in BROKEN.values():
        with pytest.raises(ValueError, match="^X.*" + message.format("row", "column")):
            model.transform(breaks(rows(seed=1)))


@pytest.mark.parametrize("case", BROKEN)
def test_inconsistent_distances_and_graphs_are_rejected(case):
    breaks, message = BROKEN[case]
    message = message.format("row", "column")
    with pytest.raises(ValueError, match="^X.*" + message):
        nearest_neighbors(breaks(distances()), 5, metric="precomputed")
    with pytest.raises(ValueError, match="^X.*" + message):
        UMAP(metric="precomputed", n_epochs=2).fit(breaks(distances()))
    with pytest.raises(ValueError, match="^graph.*" + message):
        embed(None, preset("umap"), graph=breaks(distances()))
    with pytest.raises(ValueError, match="^graph.*" + message):
        quality.kl_divergence(breaks(distances()), np.zeros((N, 2)))


def test_inconsistent_triplets_blocks_and_lists_are_rejected():
    coo = rows("coo")
    coo.row = put(3, N)(coo.row.copy())
    with pytest.raises(ValueError, match="X: entry 3 lies in row 60, but the rows are 0 to 59"):
        nearest_neighbors(coo, 5)
    coo = rows("coo")
    coo.col = put(3, -1)(coo.col.copy())
    with pytest.raises(ValueError, match="X: entry 3 lies in column -1, but the columns are 0 to 39"):
        nearest_neighbors(coo, 5)
    coo = rows("coo")
    coo.data = coo.data[:-7]
    with pytest.raises(ValueError, match=r"X has \d+ row ids for \d+ values"):
        nearest_neighbors(coo, 5)
    bsr = sparse.bsr_matrix(rows(), blocksize=(2, 2))
    bsr.indices[3] = 50
    with pytest.raises(ValueError, match="block-row 0 has an entry in block-column 50"):
        nearest_neighbors(bsr, 5)
    lil = rows("lil")
    lil.data[4] = [*lil.data[4], 1.0]
    with pytest.raises(ValueError, match=r"X: row 4 has \d+ column ids and \d+ values"):
        nearest_neighbors(lil, 5)
    lil = rows("lil")
    lil.rows[4][-1] = 10**6
    with pytest.raises(ValueError, match="X: row 4 has an entry in column 1000000"):
        nearest_neighbors(lil, 5)
    dia = sparse.dia_matrix(np.eye(20))
    dia.offsets = np.array([0, 1])
    with pytest.raises(ValueError, match=r"X has diagonals of shape \(1, 20\)"):
        nearest_neighbors(dia, 5)


def test_graphs_made_by_hand_are_checked_by_measures():
    graph = Graph(np.array([0, 1, 2]), np.array([1, 7]), np.ones(2))
    with pytest.raises(ValueError, match="graph: point 1 has an entry in neighbour 7"):
        quality.kl_divergence(graph, np.zeros((2, 2)))
    with pytest.raises(
        ValueError, match=r"graph has indices \(float64\) that are not whole numbers of int32"
    ):
        Graph(np.array([0, 1, 2]), np.array([1.0, 0.5]), np.ones(2))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_every_format_gives_the_same_neighbours(form, kind):
    X = sparse.csr_array(rows()) if kind == "array" else rows()
    expected = nearest_neighbors(rows(), 5)
    given = X.asformat(form)
    found = nearest_neighbors(given, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert abs(given.tocsr() - X).nnz == 0


@pytest.mark.parametrize("ids", [np.int32, np.int64, np.uint32])
def test_duplicates_are_summed_and_ids_sorted_without_changing_the_matrix(ids):
    """Also where SciPy's flags, set before the arrays were changed, say that the matrix is canonical."""
    X = rows()
    twice = rows()
    assert twice.has_canonical_format
    twice.indptr = (2 * X.indptr).astype(ids)
    twice.indices = np.concatenate([np.tile(row.indices[::-1], 2) for row in X]).astype(ids)
    twice.data = np.concatenate([np.tile(row.data[::-1] / 2, 2) for row in X])
    assert twice.has_canonical_format  # which is not so
    before = [array.copy() for array in (twice.indptr, twice.indices, twice.data)]
    for read in (lambda M: nearest_neighbors(M, 5), lambda M: NeighborIndex(X).query(M, 5)):
        expected, found = read(X), read(twice)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)
    for array, old in zip((twice.indptr, twice.indices, twice.data), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_valid_rows_are_not_copied():
    X = rows()
    assert read_sparse(X, "X") is X
    empty_rows = sparse.csr_matrix((np.ones(2), np.array([3, 1]), np.array([0, 0, 1, 1, 2, 2])), (5, 4))
    assert read_sparse(empty_rows, "X") is empty_rows


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_rejected(value):
    X = rows()
    X.data[7] = value
    for use in USES.values():
        with pytest.raises(ValueError, match=r"^(Input )?X (contains|holds) (NaN|infinity)"):
            use(X)
    graph = distances()
    graph.data[7] = value
    with pytest.raises(ValueError, match="graph has weights that are infinite or NaN"):
        embed(None, preset("umap"), graph=graph)


def test_duplicates_whose_sum_overflows_are_rejected():
    X = sparse.csr_matrix(np.eye(8))
    X.indptr, X.indices, X.data = X.indptr * 2, np.repeat(X.indices, 2), np.full(16, 1e308)
    with pytest.raises(ValueError, match="X contains infinity"):
        nearest_neighbors(X, 3)
