"""Sources of dask: blocks are stored by whoever has them, and give maps of the same chunks."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from actup import UMAP, preset
from actup.distributed import embed, transform
from actup.distributed._needs import Needs
from actup.distributed._sinks import open_sink
from actup.distributed._sources import DaskSource, ShardError, open_source
from actup.distributed._stored import stored_source
from source_rows import MAP, X, ids_of, rows_of, write_all

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def store(source, folder, order=None):
    """Have all blocks written, by the function that travels to workers."""
    assert isinstance(source, DaskSource)
    function = pickle.loads(pickle.dumps(source.store_block))
    tasks = [
        dask.delayed(function)(block, source.block_path(str(folder), number))
        for number, block in enumerate(source.blocks())
    ]
    dask.compute(*(tasks if order is None else [tasks[number] for number in order]), scheduler="synchronous")
    return source.stored(str(folder))


@pytest.fixture
def blocks(tmp_path):
    (tmp_path / "blocks").mkdir()
    return tmp_path / "blocks"


def frame(**columns):
    numbers = {f"c{number}": X[:, number] for number in range(6)}
    return pd.DataFrame({**columns, **numbers}, index=pd.Index(np.arange(1000) * 2, name="key"))


# ---- arrays ----


@pytest.mark.parametrize("chunks", [(300, 6), (300, 2), ((500, 0, 500), 6)])
def test_dask_array(blocks, chunks):
    source = open_source(da.from_array(X, chunks=chunks))
    assert (source.kind, source.rows, source.columns) == ("dask.array", 1000, 6)
    stored = store(source, blocks, order=range(source.n_blocks)[::-1])
    assert (stored.kind, stored.dtype) == ("dask.array", np.float32)
    np.testing.assert_array_equal(rows_of(stored), X)
    assert stored.shards[-1].name == f"block {source.n_blocks - 1} of the dask array"
    assert stored.identity() == open_source(da.from_array(X, chunks=chunks)).identity()
    assert stored.identity() != open_source(da.from_array(X + 1, chunks=chunks)).identity()


def test_map_of_a_dask_array(blocks, tmp_path):
    array = da.from_array(X, chunks=((500, 0, 500), 3))
    stored = store(open_source(array), blocks)
    sink = open_sink(None, stored, 2, str(tmp_path / "work"))
    write_all(sink, stored, [1])
    with pytest.raises(RuntimeError, match="block 0 of the dask array was not written"):
        sink.finish()
    write_all(sink, stored, [0, 1])
    result = sink.finish()
    assert result.chunks == ((500, 0, 500), (2,))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result.compute(scheduler="synchronous"), MAP)
    np.testing.assert_array_equal(sink.finish()[499:501].compute(scheduler="synchronous"), MAP[499:501])


def test_other_outputs_for_dask(blocks, tmp_path):
    stored = store(open_source(da.from_array(X, chunks=(300, 6))), blocks)
    sink = open_sink(tmp_path / "map.npy", stored, 2, str(tmp_path / "work"))
    write_all(sink, stored)
    np.testing.assert_array_equal(np.load(sink.finish()), MAP)


def test_types_of_dask_arrays(blocks):
    array = da.from_array((X * 40).astype(np.int16), chunks=(300, 6))
    stored = store(open_source(array), blocks)
    assert stored.dtype == np.float32
    np.testing.assert_array_equal(rows_of(stored), (X * 40).astype(np.int16))


def test_refused_dask_arrays(blocks):
    array = da.from_array(X, chunks=(300, 6))
    with pytest.raises(ValueError, match=r"compute_chunk_sizes\(\)"):
        open_source(array[array[:, 0] > 0])
    with pytest.raises(ValueError, match="rows and columns"):
        open_source(array[0])
    with pytest.raises(TypeError, match="complex64"):
        open_source(array.astype(np.complex64))
    with pytest.raises(ValueError, match="columns='x': an array of dask has no named columns"):
        open_source(array, "x")
    from scipy import sparse

    with pytest.raises(TypeError, match="sparse blocks: reduce it"):
        open_source(array.map_blocks(sparse.csr_matrix))
    lying = array.map_blocks(lambda rows: rows[:, :3], dtype=np.float32)
    with pytest.raises(ShardError, match=r"block \d of the dask array: is an array of shape \(.00, 3\)"):
        store(open_source(lying), blocks)
    with pytest.raises(RuntimeError, match="block 0 of 4 was not stored"):
        open_source(array).stored(str(blocks))


# ---- data frames ----


def test_dask_frame(blocks):
    given = frame(name=[f"row {i}" for i in range(1000)])
    source = open_source(dd.from_pandas(given, npartitions=3), id_column="name")
    assert (source.kind, source.rows, source.columns) == ("dask.dataframe", None, 6)
    stored = store(source, blocks)
    np.testing.assert_array_equal(rows_of(stored), X)
    assert ids_of(stored) == given["name"].tolist()
    assert stored.shards[2].name == "partition 2 of the dask data frame"
    assert stored.divisions == dd.from_pandas(given, npartitions=3).divisions


def test_chosen_columns_of_a_dask_frame(blocks):
    given = dd.from_pandas(frame(name="text"), npartitions=2)
    stored = store(open_source(given, ["c3", "c1"], id_column="c1"), blocks)
    np.testing.assert_array_equal(rows_of(stored), X[:, [3, 1]])
    np.testing.assert_array_equal(ids_of(stored), X[:, 1])
    assert open_source(given, "c3").columns == 1
    assert open_source(given, ["c1"]).identity() != open_source(given, ["c2"]).identity()


@pytest.mark.parametrize("id_column", [None, "name"])
def test_map_of_a_dask_frame(blocks, tmp_path, id_column):
    given = frame(name=[f"row {i}" for i in range(1000)])
    lazy = dd.from_pandas(given, npartitions=4)
    lazy = lazy.map_partitions(lambda part: part[(part.index < 500) | (part.index >= 1000)])  # one is empty
    stored = store(open_source(lazy, [f"c{i}" for i in range(6)], id_column=id_column), blocks)
    assert len(stored.shards) == 3
    np.testing.assert_array_equal(rows_of(stored), np.vstack([X[:250], X[500:]]))
    sink = open_sink(None, stored, 2, str(tmp_path / "work"))
    write_all(sink, stored, [2, 0, 1])
    result = sink.finish()
    assert result.npartitions == 4
    assert result.divisions == lazy.divisions
    computed = result.compute(scheduler="synchronous")
    assert list(computed.columns) == [*(["id"] if id_column else []), "x", "y"]
    pd.testing.assert_index_equal(computed.index, given.index[np.r_[:250, 500:1000]])
    np.testing.assert_array_equal(computed[["x", "y"]], MAP[:750])
    if id_column:
        assert computed["id"].tolist() == given["name"].iloc[np.r_[:250, 500:1000]].tolist()
    joined = lazy.join(result).compute(scheduler="synchronous")
    np.testing.assert_array_equal(joined["x"], MAP[:750, 0])


def test_text_index_of_a_dask_frame(blocks, tmp_path):
    given = frame().set_index(pd.Index([f"{i:04d}" for i in range(1000)], name="name"))
    stored = store(open_source(dd.from_pandas(given, npartitions=2)), blocks)
    sink = open_sink(None, stored, 2, str(tmp_path / "work"))
    write_all(sink, stored)
    assert sink.finish().compute(scheduler="synchronous").index.tolist() == given.index.tolist()


@pytest.fixture
def lists_stay_lists():
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def test_lists_that_dask_turns_into_text():
    with pytest.raises(ValueError, match=r"'emb' of source holds str.*'dataframe.convert-string': False"):
        open_source(dd.from_pandas(pd.DataFrame({"emb": list(X)}), npartitions=3), "emb")


@pytest.mark.usefixtures("lists_stay_lists")
def test_column_of_lists(blocks):
    given = dd.from_pandas(pd.DataFrame({"emb": list(X), "n": 1}), npartitions=3)
    source = open_source(given, "emb")
    assert source.columns is None
    stored = store(source, blocks)
    assert (stored.columns, stored.dtype) == (6, np.float32)
    np.testing.assert_array_equal(rows_of(stored), X)


@pytest.mark.usefixtures("lists_stay_lists")
def test_ragged_lists(blocks):
    def lazy(lists):
        return dd.from_pandas(pd.DataFrame({"emb": lists}), npartitions=2)

    with pytest.raises(ShardError, match=r"partition 1 .*'emb' has lists of different lengths \(5, 6\)"):
        store(open_source(lazy([*X[:7], X[7, :5]]), "emb"), blocks)
    with pytest.raises(
        ShardError, match="partition 1 of the dask data frame: has 5 columns, but partition 0"
    ):
        store(open_source(lazy([*X[:4], *X[4:8, :5]]), "emb"), blocks)
    with pytest.raises(ShardError, match=r"partition 0 .*'emb' has nulls"):
        store(open_source(lazy([None, *X[:7]]), "emb"), blocks)
    with pytest.raises(ShardError, match=r"partition \d .*'emb' does not hold lists of numbers \(dask"):
        store(open_source(lazy([1.0, "a"] * 4), "emb"), blocks)
    with pytest.raises(ShardError, match=r"partition \d .*does not hold lists of numbers"):
        store(open_source(lazy([["a"]] * 8), "emb"), blocks)


def test_nullable_columns(blocks):
    given = pd.DataFrame({"a": pd.array([1, 2, 3, 4], "Int16"), "b": pd.array([1.5, 2, 3, 4], "Float32")})
    stored = store(open_source(dd.from_pandas(given, npartitions=2)), blocks)
    assert stored.dtype == np.float32
    assert rows_of(stored).tolist() == [[1, 1.5], [2, 2], [3, 3], [4, 4]]
    given.loc[3, "b"] = None
    with pytest.raises(ShardError, match="partition 1 of the dask data frame: column 'b' has nulls"):
        store(open_source(dd.from_pandas(given, npartitions=2)), blocks)


def test_nan_is_left_to_the_caller(blocks):
    given = frame()
    given.iloc[17, 2] = np.nan
    stored = store(open_source(dd.from_pandas(given, npartitions=2)), blocks)
    assert np.isnan(rows_of(stored)[17, 2])


def test_refused_columns_of_dask_frames():
    given = dd.from_pandas(frame(name="text"), npartitions=2)
    with pytest.raises(ValueError, match="columns: source has no column 'naem': did you mean 'name'"):
        open_source(given, ["naem"])
    with pytest.raises(ValueError, match="id_column: source has no column 'naem'"):
        open_source(given, id_column="naem")
    with pytest.raises(ValueError, match=r"column 'name' of source holds str.*, not numbers"):
        open_source(given, ["name", "c1"])
    with pytest.raises(ValueError, match="no columns of numbers"):
        open_source(given[["name"]])


def test_blocks_are_written_whole_or_not_at_all(blocks, monkeypatch):
    source = open_source(da.from_array(X, chunks=(500, 6)))
    with monkeypatch.context() as patch:
        patch.setattr("actup._array_files.write_values", lambda file, rows: file.write(b"half") and 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store(source, blocks)
    assert list(blocks.iterdir()) == []
    np.testing.assert_array_equal(rows_of(store(source, blocks)), X)


def test_workers_in_other_processes(blocks, tmp_path):
    """Sources, blocks and sinks work in processes of their own, whose errors come back."""
    source = open_source(da.from_array(X, chunks=(500, 6)))
    tasks = [
        dask.delayed(source.store_block)(block, source.block_path(str(blocks), number))
        for number, block in enumerate(source.blocks())
    ]
    assert dask.compute(*tasks, scheduler="processes", num_workers=2) == (X.nbytes // 2, X.nbytes // 2)
    stored = source.stored(str(blocks))
    sink = open_sink(tmp_path / "map.npy", stored, 2, str(tmp_path / "work"))
    tasks = [dask.delayed(sink.write)(shard, MAP[shard * 500 :][:500], None) for shard in (1, 0)]
    dask.compute(*tasks, scheduler="processes", num_workers=2)
    np.testing.assert_array_equal(np.load(sink.finish()), MAP)
    (blocks / "block-00001.npy").unlink()
    with pytest.raises(ShardError, match=r"block 1 of the dask array: cannot be read"):
        dask.compute(dask.delayed(_count)(stored, 1), scheduler="processes", num_workers=2)


def _count(source, shard):
    return sum(len(rows) for rows in source.read(shard, 100))


# ---- blocks that cannot be used ----


@pytest.mark.parametrize("call", ["embed", "transform"])
def test_mended_block_is_computed_again(tmp_path, call):
    rows = X.copy()
    rows[450, 2] = np.nan
    computed = []

    def read(block_info):
        begin, end = block_info[None]["array-location"][0]
        computed.append(begin)
        return rows[begin:end]

    def run():
        array = da.map_blocks(read, chunks=((300, 300, 400), (6,)), dtype=rows.dtype, name="rows-of-a-file")
        if call == "transform":
            return transform(model, array, work=tmp_path)
        return embed(array, preset("umap").but(epochs=5), work=tmp_path, backend="cpu").embedding

    model = UMAP(random_state=0, n_epochs=5).fit(X[:200]) if call == "transform" else None
    with pytest.raises(ShardError, match=r"block 1 of the dask array: .*NaN"):
        run()
    rows[450, 2] = 0.0
    computed.clear()
    assert np.isfinite(run().compute(scheduler="synchronous")).all()
    assert computed == [300]


def test_blocks_of_different_widths_are_computed_again(tmp_path):
    widths = [3, 4]
    lists = pd.DataFrame({"v": [[0.0, 1.0]] * 20})

    def read(part, partition_info=None):
        number = partition_info["number"] if partition_info else 0
        return pd.DataFrame({"v": [list(row) for row in X[: len(part), : widths[number]]]})

    def stored():
        with dask.config.set({"dataframe.convert-string": False}):
            frame = dd.from_pandas(lists, npartitions=2).map_partitions(read, meta=lists[:0], token="lists")
            return stored_source(open_source(frame, "v"), tmp_path, None)

    with pytest.raises(ShardError, match=r"has 4 columns, but partition 0 .* has 3"):
        stored()
    widths[0] = 4
    assert stored().columns == 4


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_disc_that_is_too_small_for_the_copy(tmp_path, monkeypatch, kind):
    rows = da.from_array(X, chunks=(100, 6)) if kind == "array" else dd.from_pandas(frame(), npartitions=10)
    recipe = preset("umap").but(epochs=5)
    plan = embed(rows, recipe, work=tmp_path / "enough", backend="cpu").plan
    assert Needs.of(plan).copy >= X.nbytes and "copy of the source" in plan.explain()
    free = X.nbytes + Needs.of(plan).disc - 1 if kind == "array" else X.nbytes // 2
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    message = "with a copy of source, needs up" if kind == "array" else "has 1 of 10 blocks of source so far"
    with pytest.raises(OSError, match=f"work=.*small', .*{message}.* another disc"):
        embed(rows, recipe, work=tmp_path / "small", backend="cpu")
    assert len(list(tmp_path.glob("small/*/block-*.npy"))) == (0 if kind == "array" else 1)
