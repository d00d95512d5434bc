"""Sources of files and arrays: order, types, chunks, ids, fingerprints, errors that name the shard."""

import os
import pickle

import numpy as np
import pytest

from actup.distributed._sources import ShardError, open_source
from source_rows import X, rows_of, touch_later

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def save(path, array):
    np.save(path, array)
    return path


def vectors(array, kind="fixed"):
    """A column of lists."""
    flat = pa.array(array.ravel())
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    offsets = np.arange(0, array.size + 1, array.shape[1])
    if kind == "large":
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), flat)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)


def write_parquet(path, columns, **options):
    parquet.write_table(pa.table(columns), path, **options)
    return path


def numeric(array):
    return {f"c{number}": array[:, number] for number in range(array.shape[1])}


# ---- arrays and .npy ----


def test_array_in_memory():
    source = open_source(X, shard_rows=300)
    assert source.in_process
    assert [shard.rows for shard in source.shards] == [300, 300, 300, 100]
    assert source.shards[1].name == "rows 300 to 599 of the array"
    np.testing.assert_array_equal(rows_of(source), X)
    assert source.ids(0) is None
    changed = X.copy()
    changed[400] += 1
    other = open_source(changed, shard_rows=300)
    assert [source.fingerprint(s) == other.fingerprint(s) for s in range(4)] == [True, False, True, True]


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("float16", "float16"),
        ("float32", "float32"),
        ("float64", "float64"),
        (">f4", "float32"),
        ("uint8", "uint8"),
        ("int8", "int8"),
        ("bool", "float32"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("uint32", "float64"),
    ],
)
def test_types_of_npy_and_arrays(tmp_path, stored, read):
    array = np.abs(X * 40).astype(stored)
    for source in (open_source(array), open_source(save(tmp_path / "X.npy", array))):
        assert source.dtype == np.dtype(read)
        np.testing.assert_array_equal(rows_of(source), array.astype(read))


def test_npy_file(tmp_path):
    path = save(tmp_path / "X.npy", X)
    source = open_source(path, shard_rows=400)
    assert not source.in_process
    assert [shard.name for shard in source.shards] == [
        "rows 0 to 399 of X.npy",
        "rows 400 to 799 of X.npy",
        "rows 800 to 999 of X.npy",
    ]
    np.testing.assert_array_equal(rows_of(source, 77), X)
    assert open_source(path).identity() == source.identity()
    before = source.fingerprint(0)
    assert before == source.fingerprint(2)
    touch_later(path)
    assert source.fingerprint(0) != before


def test_npy_in_fortran_order_and_of_images(tmp_path):
    path = save(tmp_path / "F.npy", np.asfortranarray(X))
    np.testing.assert_array_equal(rows_of(open_source(path, shard_rows=300)), X)
    images = save(tmp_path / "images.npy", X.reshape(1000, 2, 3))
    np.testing.assert_array_equal(rows_of(open_source(images)), X)


def test_list_of_npy_files(tmp_path):
    paths = [
        save(tmp_path / "b.npy", X[:100]),
        save(tmp_path / "none.npy", X[:0]),
        save(tmp_path / "a.npy", X[100:].astype(np.float64)),
    ]
    source = open_source([str(path) for path in paths], shard_rows=500)
    assert [shard.name for shard in source.shards] == [
        "b.npy",
        "rows 0 to 499 of a.npy",
        "rows 500 to 899 of a.npy",
    ]
    assert source.dtype == np.float64
    np.testing.assert_array_equal(rows_of(source), X)


def test_memmaps_are_read_from_their_files(tmp_path):
    path = save(tmp_path / "X.npy", X)
    mapped = np.load(path, mmap_mode="r")
    for array in (mapped, mapped[100:300], mapped[100:][50:]):
        source = open_source(array)
        assert not source.in_process
        assert source.files == (str(path),)
        np.testing.assert_array_equal(rows_of(source), array)
    assert open_source(mapped[1:5]).identity() != open_source(mapped[2:6]).identity()
    raw = np.memmap(tmp_path / "raw", np.uint8, "w+", shape=(50, 4), order="F", offset=7)
    raw[:] = np.arange(200).reshape(50, 4)
    np.testing.assert_array_equal(rows_of(open_source(raw)), raw)


@pytest.mark.parametrize("part", [np.s_[:, :3], np.s_[::2]])
def test_memmaps_with_gaps_are_arrays(tmp_path, part):
    mapped = np.load(save(tmp_path / "X.npy", X), mmap_mode="r")[part]
    source = open_source(mapped)
    assert source.in_process
    np.testing.assert_array_equal(rows_of(source), mapped)


def test_npy_files_of_different_widths(tmp_path):
    paths = [save(tmp_path / "a.npy", X), save(tmp_path / "b.npy", X[:, :4])]
    with pytest.raises(ShardError, match=r"b\.npy: has 4 columns, but a\.npy has 6"):
        open_source(paths)


def test_truncated_npy(tmp_path):
    path = save(tmp_path / "X.npy", X)
    source = open_source(path, shard_rows=400)
    os.truncate(path, path.stat().st_size - 10)
    with pytest.raises(ShardError, match=r"X\.npy: is truncated"):
        open_source(path)
    assert len(list(source.read(0, 100))) == 4
    with pytest.raises(ShardError, match=r"rows 800 to 999 of X\.npy: cannot be read") as caught:
        list(source.read(2, 100))
    assert caught.value.__cause__ is not None
    path.unlink()
    with pytest.raises(ShardError, match="cannot be read"):
        list(source.read(0, 100))


def test_npy_of_another_shape_since(tmp_path):
    path = save(tmp_path / "X.npy", X)
    source = open_source(path)
    save(path, X[:, :5])
    with pytest.raises(ShardError, match="has changed"):
        list(source.read(0, 100))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (X[:, 0], r"shape \(1000,\)"),
        (X.astype(complex), "holds complex128"),
        (X.astype("U5"), "real numbers"),
        (X[:, :0], "no columns"),
    ],
)
def test_npy_without_rows_of_numbers(tmp_path, content, message):
    with pytest.raises(ShardError, match=message):
        open_source(save(tmp_path / "X.npy", content))


def test_no_npy_at_all(tmp_path):
    path = tmp_path / "X.npy"
    path.write_bytes(b"nothing of that kind")
    with pytest.raises(ShardError, match=r"X\.npy: is no \.npy file"):
        open_source(path)


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(ShardError("part-17.parquet", "is truncated")))
    assert (error.shard, str(error)) == ("part-17.parquet", "part-17.parquet: is truncated")
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (X, {"columns": "x"}, ValueError, "columns='x': an array has no named columns"),
        (X, {"id_column": "x"}, ValueError, "id_column='x'"),
        (X, {"shard_rows": 0}, ValueError, "shard_rows=0"),
        (X[0], {}, ValueError, "rows and columns"),
        (X[:0], {}, ValueError, "at least one row and one column"),
        (X.astype(complex), {}, TypeError, "real numbers"),
        (17, {}, TypeError, "source is a int"),
        ([], {}, TypeError, "source is a list"),
        ("nowhere.npy", {}, FileNotFoundError, "does not exist"),
        ("nothing-*.npy", {}, FileNotFoundError, "matches no file"),
        (__file__, {}, ValueError, "suffix"),
    ],
)
def test_sources_that_are_none(source, options, error, message):
    with pytest.raises(error, match=message):
        open_source(source, **options)


# ---- parquet ----


@pytest.mark.parametrize("kind", ["fixed", "list", "large"])
def test_parquet_file_of_lists(tmp_path, kind):
    columns = {"text": ["a"] * 1000, "emb": vectors(X, kind), "label": np.arange(1000)}
    path = write_parquet(tmp_path / "X.parquet", columns, row_group_size=150)
    for columns in (None, "emb", ["emb"]):
        source = open_source(path, columns, shard_rows=400)
        assert (source.columns, source.dtype) == (6, np.float32)
        assert [shard.rows for shard in source.shards] == [300, 300, 400]
        assert source.shards[1].name == "rows 300 to 599 of X.parquet"
        np.testing.assert_array_equal(rows_of(source, 40), X)


def test_parquet_folder_of_columns(tmp_path):
    order = [2, 9, 10]
    for part, number in enumerate(order):
        rows = slice(part * 300, part * 300 + 300)
        table = {"id": [f"row {i}" for i in range(1000)[rows]], **numeric(X[rows])}
        write_parquet(tmp_path / f"part.{number}.parquet", table)
    write_parquet(tmp_path / "part.11.parquet", {"id": pa.array([], pa.string()), **numeric(X[:0])})
    write_parquet(tmp_path / "_metadata.parquet", {"other": [1]})
    (tmp_path / "work").mkdir()
    write_parquet(tmp_path / "work" / "map.parquet", {"x": [1.0]})
    source = open_source(tmp_path, id_column="id", work=str(tmp_path / "work"))
    assert [shard.name for shard in source.shards] == [f"part.{number}.parquet" for number in order]
    assert source.part_name(2) == "part.10"
    np.testing.assert_array_equal(rows_of(source), X[:900])
    ids = np.concatenate([source.ids(shard) for shard in range(3)])
    assert ids.tolist() == [f"row {i}" for i in range(900)]
    pattern = open_source(f"{tmp_path}/part.*.parquet", ["c3", "c1"])
    np.testing.assert_array_equal(rows_of(pattern), X[:900, [3, 1]])
    assert pattern.identity() != open_source(f"{tmp_path}/part.*.parquet", ["c1", "c3"]).identity()
    listed = open_source([tmp_path / "part.9.parquet", tmp_path / "part.2.parquet"])
    np.testing.assert_array_equal(rows_of(listed), np.vstack([X[300:600], X[:300]]))


def test_fingerprints_of_parquet(tmp_path):
    for number in range(2):
        write_parquet(tmp_path / f"{number}.parquet", numeric(X))
    source = open_source(tmp_path)
    before = [source.fingerprint(shard) for shard in range(2)]
    touch_later(tmp_path / "1.parquet")
    assert source.fingerprint(0) == before[0]
    assert source.fingerprint(1) != before[1]


def test_subfolders_keep_their_names(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        write_parquet(tmp_path / f"year={year}" / "part-0.parquet", numeric(X))
    source = open_source(tmp_path)
    assert [source.part_name(shard) for shard in range(2)] == ["year=2023/part-0", "year=2024/part-0"]
    assert source.shards[1].name.endswith("year=2024/part-0.parquet")


def test_types_of_parquet(tmp_path):
    table = {
        "half": pa.array(X[:, 0].astype(np.float16)),
        "yes": pa.array([True, False] * 500),
        "price": pa.array(range(1000)).cast(pa.decimal128(22, 2)),
        "text": ["a"] * 1000,
    }
    path = write_parquet(tmp_path / "X.parquet", table)
    assert open_source(path, ["half"]).dtype == np.float16
    assert open_source(path, ["yes"]).dtype == np.float32
    source = open_source(path)
    assert (source.dtype, source.columns) == (np.float64, 3)
    assert rows_of(source)[3].tolist() == [float(X[3, 0].astype(np.float16)), 0, 3]


def test_files_of_different_types_are_read_as_their_common_type(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"c": np.arange(5, dtype=np.int16)})
    write_parquet(tmp_path / "b.parquet", {"c": X[:5, 0]})
    source = open_source(tmp_path)
    assert source.dtype == np.float32
    np.testing.assert_array_equal(rows_of(source)[:, 0], [*range(5), *X[:5, 0]])


def test_index_of_a_data_frame_is_no_column(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(numeric(X), index=np.arange(1000) * 2)
    frame.to_parquet(tmp_path / "X.parquet")
    frame[frame.c0 > 0].to_parquet(tmp_path / "Y.parquet")
    assert open_source(tmp_path / "X.parquet").columns == 6
    source = open_source(tmp_path / "Y.parquet", id_column="__index_level_0__")
    assert source.columns == 6
    assert source.ids(0).tolist() == frame.index[frame.c0 > 0].tolist()


def test_text_ids_in_categories(tmp_path):
    ids = pa.array(["a", "b", "a"]).dictionary_encode()
    source = open_source(write_parquet(tmp_path / "X.parquet", {"id": ids, **numeric(X[:3])}), id_column="id")
    assert source.ids(0).tolist() == ["a", "b", "a"]


def two_files(tmp_path, second, first=None):
    write_parquet(tmp_path / "part-00000.parquet", first or {"id": range(1000), "emb": vectors(X)})
    write_parquet(tmp_path / "part-00017.parquet", second)
    return tmp_path


@pytest.mark.parametrize("kind", ["fixed", "list"])
def test_lists_of_other_lengths_in_another_file(tmp_path, kind):
    folder = two_files(tmp_path, {"id": range(1000), "emb": vectors(X[:, :4], kind)})
    with pytest.raises(ShardError, match=r"part-00017\.parquet: has lists of 4 numbers"):
        open_source(folder)


def test_ragged_lists(tmp_path):
    with pytest.raises(ShardError, match=r"part-00017.*different lengths"):
        open_source(two_files(tmp_path, {"id": [1, 2], "emb": [[1.0] * 6, [1.0] * 5]}))
    # Lengths whose mean is right show only when the rows are read.
    source = open_source(two_files(tmp_path, {"id": [1, 2], "emb": [[1.0] * 7, [1.0] * 5]}))
    assert source.fingerprint(1)
    with pytest.raises(ShardError, match=r"part-00017.*different lengths \(5 and 6\)"):
        list(source.read(1, 100))


@pytest.mark.parametrize("null", [[None, [1.0] * 6], [[None] * 6, [1.0] * 6]])
@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 6)])
def test_nulls_in_lists(tmp_path, null, kind):
    folder = two_files(tmp_path, {"id": [1, 2], "emb": pa.array(null, kind)})
    with pytest.raises(ShardError, match=r"part-00017.*'emb' has (nulls|lists of different)"):
        list(open_source(folder).read(1, 100))


def test_nulls_in_columns(tmp_path):
    folder = two_files(tmp_path, {"a": [1.0, None], "b": [1.0, 2.0]}, {"a": [1.0], "b": [2.0]})
    with pytest.raises(ShardError, match=r"part-00017\.parquet: column 'a' has nulls"):
        list(open_source(folder).read(1, 100))
    with pytest.raises(ShardError, match=r"part-00017.*id_column='a' has 1 nulls"):
        open_source(folder, "b", id_column="a").ids(1)


def test_missing_columns_are_named(tmp_path):
    folder = two_files(tmp_path, {"id": [1], "embed": vectors(X[:1])})
    with pytest.raises(ShardError, match=r"part-00017.*no column 'emb' \(columns\): did you mean 'embed'"):
        open_source(folder)
    with pytest.raises(ShardError, match=r"part-00000.*no column 'embb' \(columns\): did you mean 'emb'"):
        open_source(folder, "embb")
    with pytest.raises(ShardError, match=r"no column 'key' \(id_column\): it has 'id', 'emb'"):
        open_source(folder, id_column="key")


def test_text_in_another_file(tmp_path):
    with pytest.raises(ShardError, match=r"part-00017.*'a' holds string, not numbers"):
        open_source(two_files(tmp_path, {"a": ["x"]}, {"a": [1.0]}))
    with pytest.raises(ShardError, match="'text' holds string"):
        open_source(write_parquet(tmp_path / "X.parquet", {"text": ["a"]}), "text")
    with pytest.raises(ShardError, match="no column of numbers"):
        open_source(write_parquet(tmp_path / "X.parquet", {"text": ["a"]}))


def test_choices_that_need_a_word(tmp_path):
    path = write_parquet(tmp_path / "X.parquet", {"a": vectors(X), "b": vectors(X), "c": X[:, 0]})
    with pytest.raises(ValueError, match="several columns of lists: choose one, columns='a'"):
        open_source(path)
    with pytest.raises(ValueError, match="'a' is a column of lists: give it alone"):
        open_source(path, ["a", "c"])
    with pytest.raises(ValueError, match=r"columns=\[\] is empty"):
        open_source(path, [])


def test_unreadable_parquet(tmp_path):
    folder = two_files(tmp_path, {"id": range(1000), "emb": vectors(X)})
    source = open_source(folder)
    damaged = folder / "part-00017.parquet"
    os.truncate(damaged, damaged.stat().st_size // 2)
    with pytest.raises(ShardError, match=r"part-00017\.parquet: cannot be read") as caught:
        open_source(folder)
    assert caught.value.__cause__ is not None
    with pytest.raises(ShardError, match=r"part-00017\.parquet: cannot be read"):
        list(source.read(1, 100))
    assert len(list(source.read(0, 100))) == 10


def test_damaged_pages_of_parquet(tmp_path):
    path = write_parquet(tmp_path / "X.parquet", {"emb": vectors(X)}, write_page_checksum=True)
    source = open_source(path)
    content = bytearray(path.read_bytes())
    content[100:2000] = bytes(1900)
    path.write_bytes(content)
    with pytest.raises(ShardError, match=r"X\.parquet"):
        list(source.read(0, 100))


def test_parquet_of_other_rows_since(tmp_path):
    path = write_parquet(tmp_path / "X.parquet", numeric(X))
    source = open_source(path)
    write_parquet(path, numeric(X[:10]))
    with pytest.raises(ShardError, match="has changed"):
        list(source.read(0, 100))


def test_empty_sources(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder without \.parquet files"):
        open_source(tmp_path)
    path = write_parquet(tmp_path / "X.parquet", numeric(X[:0]))
    with pytest.raises(ValueError, match=r"no rows \(in X\.parquet\)"):
        open_source(path)
    with pytest.raises(ValueError, match="no rows"):
        open_source(save(tmp_path / "X.npy", X[:0]))


# ---- URLs ----


def test_urls_of_local_files(tmp_path):
    path = save(tmp_path / "X.npy", X)
    source = open_source(f"file://{path}")
    assert source.identity() == open_source(path).identity()
    np.testing.assert_array_equal(rows_of(source), X)


@pytest.fixture
def bucket():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.makedirs("/bucket", exist_ok=True)
    yield system
    system.rm("/bucket", recursive=True)


def test_object_stores(bucket):
    with bucket.open("/bucket/X.npy", "wb") as file:
        np.save(file, X)
    source = open_source("memory://bucket/X.npy", shard_rows=600)
    np.testing.assert_array_equal(rows_of(source), X)
    before = source.fingerprint(0)
    assert source.fingerprint(0) == before
    with bucket.open("/bucket/X.npy", "wb") as file:
        np.save(file, X)
    assert source.fingerprint(0) != before
    for number in range(3):
        with bucket.open(f"/bucket/rows/part-{number}.parquet", "wb") as file:
            parquet.write_table(pa.table({"emb": vectors(X[number * 300 :][:300])}), file)
    for location in ("memory://bucket/rows", "memory://bucket/rows/*.parquet"):
        source = open_source(location)
        np.testing.assert_array_equal(rows_of(source), X[:900])
        assert source.part_name(1) == "part-1"
    assert source.shards[1].name == "part-1.parquet"
    with pytest.raises(FileNotFoundError):
        open_source("memory://bucket/none.parquet")


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"actup\[dask\]"):
        open_source("s3://bucket/X.npy")


def test_files_of_two_kinds_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "b.parquet").touch()
    with pytest.raises(ValueError, match="give files of one kind"):
        open_source([tmp_path / "a.npy", tmp_path / "b.parquet"])
