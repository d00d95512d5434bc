"""What fuzzing has found in files, each as a test."""

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

import actup
from actup import distributed
from actup._cli.chosen import choose
from actup._cli.files import ReadingHints, read_tables
from actup._cli.options import ReadingOptions
from actup._cli.reporting import InputError

X = np.random.default_rng(0).normal(size=(30, 4))

MTX = b"%%MatrixMarket matrix array real general\n%\n4 2\n1.5\n2.5\n3.5\n"


DAMAGED = {
    "cut.mtx": MTX,  # SciPy's reader crashes here
    "header.mtx": b"%%MatrixMarket matrix arra real general\n4 2\n1\n",
    "huge.mtx": b"%%MatrixMarket matrix coordinate real general\n99999999999 2 1\n1 1 1\n",
    "outside.mtx": b"%%MatrixMarket matrix coordinate real general\n4 2 1\n5 1 1\n",
    "names.jsonl": b'{"a\xff": 1}\n{"a\xff": 2}\n',
    "header.npy": b"\x93NUMPY\x01\x00\x0e\x00{'descr': '<f8" + b" " * 20,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_rejected_by_name(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    with pytest.raises(InputError, match=name):
        read_tables([str(path)], ReadingHints())


def test_codes_outside_the_dictionary_of_an_arrow_file_are_rejected(tmp_path):
    pa = pytest.importorskip("pyarrow")
    codes = pa.Array.from_buffers(pa.int8(), 2, [None, pa.py_buffer(b"\x00\x63")])
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a"]), safe=False)
    path = tmp_path / "codes.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, pa.schema([("c", column.type)])) as writer:
        writer.write_batch(pa.record_batch([column], names=["c"]))
    with pytest.raises(InputError, match=r"codes\.arrow"):
        read_tables([str(path)], ReadingHints())


def test_members_of_an_npz_file_that_are_no_arrays_are_left_out(tmp_path):
    path = tmp_path / "mixed.npz"
    np.savez(path, X=X)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "text")
    assert read_tables([str(path)], ReadingHints()).matrix(None).rows.shape == X.shape


def test_sparse_npz_files_with_wild_ids_are_rejected(tmp_path):
    path, matrix = tmp_path / "wild.npz", sparse.csc_matrix(X)
    matrix.indices[0] = 2**30
    buffer = io.BytesIO()
    np.savez(
        buffer, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=X.shape, format=b"csc"
    )
    path.write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match=r"wild\.npz"):
        read_tables([str(path)], ReadingHints())


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrix_market_files_are_read_as_by_scipy(symmetry, tmp_path):
    from scipy.io import mmread, mmwrite

    square = sparse.random(20, 20, 0.2, random_state=0)
    if symmetry != "general":
        square = square + (square.T if symmetry == "symmetric" else -square.T)
    path = tmp_path / "X.mtx"
    mmwrite(path, square, symmetry=symmetry)
    read = read_tables([str(path)], ReadingHints()).matrix(None).rows
    assert np.array_equal(read.toarray(), mmread(path).toarray())


@pytest.mark.filterwarnings("ignore")
def test_cells_with_ids_beyond_their_columns_are_rejected_with_the_file(tmp_path):
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(sparse.csr_matrix(np.eye(5, dtype=np.float32))).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X/indices"][2] = 100
    with pytest.raises(InputError, match=r"cells\.h5ad is damaged .*column 100"):
        read_tables([str(path)], ReadingHints())


@pytest.mark.filterwarnings("ignore")
def test_cells_with_sparse_coordinates_are_read(tmp_path):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.eye(5, dtype=np.float32), obsm={"tags": sparse.csr_matrix(np.eye(5))}).write_h5ad(path)
    assert read_tables([str(path)], ReadingHints()).matrix("tags").rows.shape == (5, 5)


def test_headers_that_are_no_python_are_damaged(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    data = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(data.replace(b"'<f8'", b"',f8'"))
    with pytest.raises(distributed.ShardError, match="a damaged one"):
        distributed.embed(tmp_path / "rows.npy", "umap", work=tmp_path / "work")


@pytest.mark.parametrize("text", ["null", "null\n{}", "\n nullx", "[1]", "3", ""])
def test_lines_of_json_begin_with_an_object(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"rows\.jsonl .*(not with a JSON object|empty)"):
        read_tables([str(tmp_path / "rows.jsonl")], ReadingHints())


def test_matrices_of_too_many_columns_are_rejected(tmp_path):
    sparse.save_npz(tmp_path / "wide.npz", sparse.csr_matrix((3, 2**30), dtype=np.float32))
    table = read_tables([str(tmp_path / "wide.npz")], ReadingHints())
    with pytest.raises(InputError, match=r"wide\.npz has 1,073,741,824 columns, but .* up to 10,000,000"):
        choose(table, ReadingOptions())


def test_complex_ids_of_a_sparse_file_are_damaged(tmp_path):
    matrix = sparse.csr_matrix(np.abs(X))
    np.savez(
        tmp_path / "rows.npz", data=matrix.data, indices=matrix.indices, indptr=matrix.indptr + 0j,
        shape=matrix.shape, format=b"csr",
    )  # fmt: skip
    with pytest.raises(InputError, match="indptr holds complex128, not whole numbers"):
        read_tables([str(tmp_path / "rows.npz")], ReadingHints())


def test_files_do_not_compare_arrays_with_defaults(tmp_path):
    with pytest.raises(ValueError, match=r"unique=array\(\[1, 2\]\) needs all rows in memory"):
        actup.UMAP(unique=np.array([1, 2])).fit_files(X.astype(np.float32), work=tmp_path)


def test_one_huge_value_in_files(tmp_path):
    rows = X.astype(np.float32)
    rows[3, 0] = -1e38
    model = actup.TSNE(max_iter=3, perplexity=3, random_state=0, n_jobs=1).fit_files(rows, work=tmp_path)
    assert np.isfinite(model.embedding_).all()
