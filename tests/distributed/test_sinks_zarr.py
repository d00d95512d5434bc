"""Maps as arrays of zarr: alone, in the store of an AnnData, in object stores."""

import os
import warnings

import numpy as np
import pytest

from actup.distributed._sinks import _zarr, open_sink
from actup.distributed._sources import open_source
from source_rows import MAP, X, write_all

zarr = pytest.importorskip("zarr")


@pytest.fixture
def source(tmp_path):
    array = zarr.create_array(str(tmp_path / "X.zarr"), shape=X.shape, chunks=(100, 6), dtype=X.dtype)
    array[:] = X
    return open_source(tmp_path / "X.zarr", shard_rows=300)


@pytest.fixture
def work(tmp_path):
    return str(tmp_path / "work")


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [2, 2, 0, 3, 0, 1]])
def test_zarr_in_any_order(source, work, tmp_path, order, monkeypatch):
    monkeypatch.setattr(_zarr, "_ROWS_PER_CHUNK", 128)
    sink = open_sink(tmp_path / "map.zarr", source, 2, work)
    write_all(sink, source, order)
    assert not (tmp_path / "map.zarr").exists()
    path = sink.finish()
    assert path == str(tmp_path / "map.zarr") == sink.finish()
    array = zarr.open(path, mode="r")
    assert (array.dtype, array.chunks) == (np.float32, (128, 2))
    np.testing.assert_array_equal(array[:], MAP)
    assert sorted(os.listdir(tmp_path)) == ["X.zarr", "map.zarr", "work"]
    np.testing.assert_array_equal(np.concatenate(list(open_source(path).read(0, 100))), MAP)


def test_zarr_for_zarr(source, work):
    sink = open_sink(None, source, 2, work)
    write_all(sink, source)
    assert sink.finish() == os.path.join(work, "map.zarr")


def test_an_array_is_replaced_as_a_whole(source, work, tmp_path, monkeypatch):
    zarr.create_array(str(tmp_path / "map.zarr"), shape=(7, 3), dtype=float)[:] = 1
    sink = open_sink(tmp_path / "map.zarr", source, 2, work)
    write_all(sink, source)
    with monkeypatch.context() as patch:
        patch.setattr(_zarr.ZarrSink, "read_part", lambda self, shard: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sink.finish()
    assert zarr.open(str(tmp_path / "map.zarr"), mode="r").shape == (7, 3)
    np.testing.assert_array_equal(zarr.open(sink.finish(), mode="r")[:], MAP)
    assert sorted(os.listdir(tmp_path)) == ["X.zarr", "map.zarr", "work"]


@pytest.mark.parametrize("version", [2, 3])
def test_map_in_the_store_of_an_anndata(work, tmp_path, version):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "cells.zarr"
    with warnings.catch_warnings(action="ignore"), anndata.settings.override(zarr_write_format=version):
        anndata.AnnData(X, obsm={"X_pca": X[:, :5]}).write_zarr(path)
        zarr.consolidate_metadata(str(path), zarr_format=version)
    source = open_source(path, "obsm/X_pca", shard_rows=300)
    for _ in range(2):  # the second time it is replaced
        sink = open_sink(f"{path}::obsm/X_umap", source, 2, work)
        write_all(sink, source)
        sink.finish()
    with warnings.catch_warnings(action="ignore"):
        cells = anndata.read_zarr(path)
    np.testing.assert_array_equal(cells.obsm["X_umap"], MAP)
    np.testing.assert_array_equal(cells.obsm["X_pca"], X[:, :5])
    assert sorted(cells.obsm) == ["X_pca", "X_umap"]
    with pytest.raises(ValueError, match="is a zarr group"):
        open_sink(f"{path}::obsm", open_source(X), 2, work)
    with pytest.raises(ValueError, match="holds the source"):
        open_sink(path, source, 2, work)
    with pytest.raises(ValueError, match="holds the source"):
        open_sink(f"{path}::obsm/X_pca", source, 2, work)
    with pytest.raises(ValueError, match=r"write store\.zarr::path"):
        open_sink(f"{path}/obsm/X_umap", source, 2, work)


def test_refused_zarr_outputs(source, work, tmp_path):
    with pytest.raises(ValueError, match="holds the source"):
        open_sink(tmp_path / "X.zarr", source, 2, work)
    (tmp_path / "files.zarr").mkdir()
    (tmp_path / "files.zarr" / "mine.txt").write_text("")
    with pytest.raises(ValueError, match="exists and is no zarr array"):
        open_sink(tmp_path / "files.zarr", source, 2, work)
    with pytest.raises(ValueError, match="is no zarr group"):
        open_sink(f"{tmp_path}/none.zarr::obsm/X_umap", source, 2, work)


@pytest.mark.parametrize("older", [False, True])
def test_zarr_in_an_object_store(source, work, older):
    fsspec = pytest.importorskip("fsspec")
    try:
        if older:
            zarr.create_array("memory://results/map.zarr", shape=(30, 3), chunks=(1, 3), dtype=float)[:] = 1
        sink = open_sink("memory://results/map.zarr", source, 2, work)
        write_all(sink, source, [3, 2, 1, 0])
        assert sink.finish() == "memory://results/map.zarr" == sink.finish()
        np.testing.assert_array_equal(zarr.open("memory://results/map.zarr", mode="r")[:], MAP)
        assert len(fsspec.filesystem("memory").find("/results/map.zarr")) == 2
    finally:
        fsspec.filesystem("memory").rm("/results", recursive=True)


def test_anndata_as_npy_or_parquet(work, tmp_path):
    h5py = pytest.importorskip("h5py")
    parquet = pytest.importorskip("pyarrow.parquet")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["rows"] = X
        file["names"] = [f"row {i}" for i in range(1000)]
    plain = open_source(tmp_path / "X.h5", "rows", shard_rows=300)
    sink = open_sink(None, plain, 2, work)
    write_all(sink, plain)
    np.testing.assert_array_equal(np.load(sink.finish()), MAP)
    named = open_source(tmp_path / "X.h5", "rows", id_column="names", shard_rows=300)
    sink = open_sink(None, named, 2, work)
    write_all(sink, named)
    assert parquet.read_table(sink.finish())["id"].to_pylist() == [f"row {i}" for i in range(1000)]
    with pytest.raises(ValueError, match="no place for the values of id_column"):
        open_sink(tmp_path / "map.zarr", named, 2, work)
