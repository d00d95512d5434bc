"""Sources of zarr stores, HDF5 files and AnnData."""

import os
import shutil
import warnings

import numpy as np
import pytest
from scipy import sparse

from actup.distributed._sources import DaskSource, ShardError, open_source
from source_rows import X, ids_of, rows_of, touch_later

zarr = pytest.importorskip("zarr")
h5py = pytest.importorskip("h5py")


def write_zarr(path, rows=X, **options):
    array = zarr.create_array(str(path), shape=rows.shape, dtype=rows.dtype, **{"chunks": (64, 4), **options})
    array[:] = rows
    return array


# ---- zarr ----


@pytest.mark.parametrize(
    "options", [{}, {"zarr_format": 2}, {"shards": (256, 8)}, {"chunks": (1000, 6)}, {"chunks": (7, 6)}]
)
def test_zarr_array(tmp_path, options):
    array = write_zarr(tmp_path / "X.zarr", **options)
    for given in (tmp_path / "X.zarr", array):
        source = open_source(given, shard_rows=300)
        assert (source.kind, source.columns, source.dtype) == ("zarr", 6, np.float32)
        assert all(begin % array.chunks[0] == 0 for begin in source.begins)
        assert max(shard.rows for shard in source.shards) <= max(300, array.chunks[0])
        assert not source.in_process
        np.testing.assert_array_equal(rows_of(source, 50), X)
        np.testing.assert_array_equal(rows_of(source, 500), X)
    assert open_source(array).identity() == open_source(tmp_path / "X.zarr").identity()


def test_fingerprints_of_zarr(tmp_path):
    array = write_zarr(tmp_path / "X.zarr")
    source = open_source(tmp_path / "X.zarr", shard_rows=256)
    before = [source.fingerprint(shard) for shard in range(4)]
    assert source.shards[1].name == "rows 256 to 511 of X.zarr"
    touch_later(tmp_path / "X.zarr" / array.metadata.encode_chunk_key((4, 1)))
    after = [source.fingerprint(shard) for shard in range(4)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True, True]
    touch_later(tmp_path / "X.zarr" / "zarr.json")
    assert source.fingerprint(0) != before[0]


def test_zarr_in_a_group(tmp_path):
    group = zarr.open_group(str(tmp_path / "all.zarr"), mode="w")
    for name in ("rows", "other/deep"):
        group.create_array(name, shape=X.shape, chunks=(100, 6), dtype=X.dtype)[:] = X
    group.create_array("keys", shape=1000, dtype=np.int64)[:] = np.arange(1000) * 3
    for given, columns in [
        (tmp_path / "all.zarr", "rows"),
        (f"{tmp_path}/all.zarr::other/deep", None),
        (f"{tmp_path}/all.zarr::other", "deep"),
        (tmp_path / "all.zarr" / "other" / "deep", None),
        (group, "other/deep"),
        (group["other"], "deep"),
        (tmp_path / "all.zarr", None),  # the only one in the group itself
    ]:
        np.testing.assert_array_equal(rows_of(open_source(given, columns)), X)
    source = open_source(group, "rows", id_column="keys", shard_rows=300)
    assert ids_of(source) == list(range(0, 3000, 3))
    with pytest.raises(ValueError, match=r"columns='row' is not in all.zarr: did you mean 'rows'"):
        open_source(group, "row")
    with pytest.raises(TypeError, match=r"columns='other' of all.zarr is no array"):
        open_source(group, "other")
    with pytest.raises(ValueError, match="give the path of one array"):
        open_source(group, ["rows"])
    with pytest.raises(ValueError, match="id_column='nothing' is not in"):
        open_source(group, "rows", id_column="nothing")


def test_zarr_in_memory():
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=X.shape, chunks=(100, 6), dtype=X.dtype)
    array[:] = X
    source = open_source(array, shard_rows=500)
    assert source.in_process
    assert np.array_equal(np.concatenate(list(source.read(1, 50))), X[500:])
    before = source.fingerprint(0), source.fingerprint(1)
    array[0] = 0
    assert source.fingerprint(0) != before[0]
    assert source.fingerprint(1) == before[1]


def test_zarr_in_an_object_store():
    fsspec = pytest.importorskip("fsspec")
    write_zarr("memory://bucket/X.zarr")
    try:
        source = open_source("memory://bucket/X.zarr", shard_rows=300)
        assert source.in_process
        np.testing.assert_array_equal(rows_of(source), X)
        before = source.fingerprint(0)
        zarr.open("memory://bucket/X.zarr", mode="r+")[:10] = 0
        assert source.fingerprint(0) != before
        assert open_source("memory://bucket/X.zarr", shard_rows=300).fingerprint(0) != before
    finally:
        fsspec.filesystem("memory").rm("/bucket", recursive=True)


def test_damaged_zarr(tmp_path):
    write_zarr(tmp_path / "X.zarr")
    source = open_source(tmp_path / "X.zarr", shard_rows=256)
    os.truncate(tmp_path / "X.zarr" / "c" / "4" / "0", 20)
    assert len(np.concatenate(list(source.read(0, 100)))) == 256
    with pytest.raises(ShardError, match=r"rows 256 to 511 of X\.zarr: cannot be read") as caught:
        list(source.read(1, 100))
    assert caught.value.__cause__ is not None
    shutil.rmtree(tmp_path / "X.zarr")
    with pytest.raises(ShardError, match=r"rows 0 to 255 of X\.zarr: cannot be read"):
        list(source.read(0, 100))
    (tmp_path / "Y.zarr").mkdir()
    (tmp_path / "Y.zarr" / "zarr.json").write_text("{")
    with pytest.raises(ShardError, match=r"Y\.zarr: cannot be read as zarr"):
        open_source(tmp_path / "Y.zarr")


def test_zarr_of_another_shape_since(tmp_path):
    write_zarr(tmp_path / "X.zarr")
    source = open_source(tmp_path / "X.zarr")
    write_zarr(tmp_path / "X.zarr", X[:, :5], overwrite=True)
    with pytest.raises(ShardError, match="has changed"):
        list(source.read(0, 100))


def test_zarr_without_rows_of_numbers(tmp_path):
    with pytest.raises(ShardError, match=r"shape \(1000,\)"):
        open_source(write_zarr(tmp_path / "a.zarr", X[:, 0], chunks=(100,)))
    with pytest.raises(ShardError, match="complex128"):
        open_source(write_zarr(tmp_path / "b.zarr", X.astype(complex)))
    array = write_zarr(tmp_path / "c.zarr")
    with pytest.raises(ValueError, match="is an array, not a group"):
        open_source(array, "X")
    with pytest.raises(ValueError, match="is an array without ids"):
        open_source(array, id_column="id")


# ---- HDF5 ----


@pytest.mark.parametrize("chunks", [None, (100, 3), (1000, 6)])
def test_hdf5(tmp_path, chunks):
    path = tmp_path / "X.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("group/rows", data=X, chunks=chunks)
        file.create_dataset("names", data=[f"row {i}" for i in range(1000)])
    source = open_source(path, "group/rows", id_column="names", shard_rows=300)
    assert source.kind == "hdf5"
    assert source.shards[0].name.endswith("group/rows of X.h5")
    np.testing.assert_array_equal(rows_of(source, 70), X)
    assert ids_of(source) == [f"row {i}" for i in range(1000)]
    before = source.fingerprint(0)
    touch_later(path)
    assert source.fingerprint(0) != before


def test_damaged_hdf5(tmp_path):
    path = tmp_path / "X.h5"
    path.write_bytes(b"no HDF5 at all")
    with pytest.raises(ShardError, match=r"X\.h5: cannot be read as HDF5"):
        open_source(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("rows", data=X)
    source = open_source(path, "rows")
    os.truncate(path, 3000)
    with pytest.raises(ShardError, match=r"rows of X\.h5: cannot be read"):
        list(source.read(0, 100))


# ---- AnnData ----


@pytest.fixture
def cells():
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["T", "B"] * 500),
            "number": np.arange(1000),
            "missing": pd.Categorical(["T", None] * 500),
        },
        index=[f"cell {i}" for i in range(1000)],
    )
    data = anndata.AnnData(X * 2, obs=obs, obsm={"X_pca": X[:, :5]}, layers={"counts": sparse.csr_matrix(X)})
    data.obsm["frame"] = pd.DataFrame({"a": X[:, 0]}, index=obs.index)
    return data


def stored(cells, kind, tmp_path):
    import anndata

    if kind == "memory":
        return cells
    if kind == "zarr":
        with warnings.catch_warnings(action="ignore"):  # of defaults that will change
            cells.write_zarr(tmp_path / "cells.zarr")
        return tmp_path / "cells.zarr"
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return (
        tmp_path / "cells.h5ad" if kind == "h5ad" else anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    )


KINDS = ["memory", "h5ad", "backed", "zarr"]


@pytest.mark.parametrize("kind", KINDS)
def test_anndata(cells, kind, tmp_path):
    given = stored(cells, kind, tmp_path)
    pca = open_source(given, "obsm/X_pca", id_column="obs_names", shard_rows=300)
    assert pca.kind == ("memory" if kind == "memory" else "anndata")
    assert pca.in_process == (kind == "memory")
    np.testing.assert_array_equal(rows_of(pca), X[:, :5])
    assert ids_of(pca) == [f"cell {i}" for i in range(1000)]
    np.testing.assert_array_equal(rows_of(open_source(given, "X")), X * 2)
    assert ids_of(open_source(given, "X", id_column="kind")) == ["T", "B"] * 500
    assert ids_of(open_source(given, "X", id_column="number")) == list(range(1000))
    assert open_source(given, "X").identity() != pca.identity()


@pytest.mark.parametrize("kind", KINDS)
def test_refused_parts_of_anndata(cells, kind, tmp_path):
    given = stored(cells, kind, tmp_path)
    with pytest.raises(ValueError, match=r"'X'.*'obsm/X_pca'"):
        open_source(given)
    with pytest.raises(ValueError, match="did you mean 'obsm/X_pca'"):
        open_source(given, "X_pca")
    with pytest.raises(ValueError, match="did you mean 'obsm/X_pca'"):
        open_source(given, "obsm/X_pc")
    with pytest.raises(TypeError, match="sparse matrix: give its principal components, columns='obsm/X_pca'"):
        open_source(given, "layers/counts")
    with pytest.raises(ValueError, match="id_column='numbr' is not in"):
        open_source(given, "X", id_column="numbr")
    if kind != "memory":
        with pytest.raises(TypeError, match=r"'obsm/frame' of cells.* is no array"):
            open_source(given, "obsm/frame")
        with pytest.raises(ShardError, match="'missing' has missing values"):
            open_source(given, "X", id_column="missing").ids(0)


@pytest.mark.parametrize("kind", KINDS)
def test_anndata_without_a_dense_matrix(kind, tmp_path):
    cells = pytest.importorskip("anndata").AnnData(sparse.csr_matrix(X))
    given = stored(cells, kind, tmp_path)
    with pytest.raises(TypeError, match=r"no dense matrix: compute principal components.*'obsm/X_pca'"):
        open_source(given)
    with pytest.raises(TypeError, match=r"'X' of .* is a sparse matrix: compute .*columns='obsm/X_pca'"):
        open_source(given, "X")


def test_views_of_backed_anndata(cells, tmp_path):
    backed = stored(cells, "backed", tmp_path)
    with pytest.raises(ValueError, match="view of a backed AnnData"):
        open_source(backed[:100], "X")


def test_anndata_over_dask(cells):
    da = pytest.importorskip("dask.array")
    cells.obsm["X_lazy"] = da.from_array(X, chunks=(300, 6))
    assert isinstance(open_source(cells, "obsm/X_lazy"), DaskSource)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match="sparse matrix: reduce it"):
        open_source(sparse.csr_matrix(X))


def test_sparse_files_are_refused(tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix(X))
    with pytest.raises(ValueError, match=r"rows\.npz' is an \.npz file.*TruncatedSVD"):
        open_source(tmp_path / "rows.npz")
