"""write_atlas: what stands in the file, and what Embedding Atlas makes of it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

import actup

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

X, y = (part[:150] for part in load_digits(return_X_y=True))


@pytest.fixture(scope="module")
def model():
    return actup.UMAP(n_neighbors=8, n_epochs=20, random_state=0).fit(X)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "map.parquet"


def neighbor_lists(table, name="neighbors"):
    rows = table[name].to_pylist()
    return np.array([row["ids"] for row in rows]), np.array([row["distances"] for row in rows])


def test_columns_of_a_model(model, path):
    actup.write_atlas(path, model, {"digit": y}, neighbors=5)
    table = parquet.read_table(path)
    assert table.column_names == ["digit", "projection_x", "projection_y", "neighbors"]
    assert_array_equal(table["digit"], y)
    assert_array_equal(np.column_stack([table["projection_x"], table["projection_y"]]), model.embedding_)
    ids, distances = neighbor_lists(table)
    found = actup.nearest_neighbors(X, 5)
    assert_array_equal(ids, np.hstack([np.arange(150)[:, None], found.indices]))
    assert_array_equal(distances, np.hstack([np.zeros((150, 1)), found.distances]))


def test_maps_and_neighbors_of_every_kind(model, path):
    result = actup.embed(X, actup.preset("umap").but(epochs=5))
    actup.write_atlas(path, result)
    ids, _ = neighbor_lists(parquet.read_table(path))
    assert_array_equal(ids[:, 1:], result.neighbors.indices)
    found = actup.nearest_neighbors(X, 4)
    for neighbors in (found, (found.indices, found.distances)):
        actup.write_atlas(
            path, model.embedding_.tolist(), neighbors=neighbors, x="x", y="y", neighbors_column="near"
        )
        table = parquet.read_table(path)
        assert table.column_names == ["x", "y", "near"]
        assert_array_equal(neighbor_lists(table, "near")[0][:, 1:], found.indices)
    actup.write_atlas(path, model)
    assert parquet.read_table(path).column_names == ["projection_x", "projection_y"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames(model, path, kind):
    columns = {"digit": y, "name": [f"row {row}" for row in range(150)]}
    frame = pa.table(columns) if kind == "pyarrow" else pytest.importorskip(kind).DataFrame(columns)
    actup.write_atlas(path, model, frame)
    table = parquet.read_table(path)
    assert table.column_names == ["digit", "name", "projection_x", "projection_y"]
    assert table["name"].to_pylist() == columns["name"]


class Stream:
    """Columns that are known by Arrow's protocol alone, as relations of DuckDB are."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "kind", [Stream, lambda table: table.to_batches()[0], lambda table: table.to_reader()]
)
def test_whatever_arrow_reads_as_columns_is_a_frame(model, path, kind):
    actup.write_atlas(path, model, kind(pa.table({"digit": y})))
    table = parquet.read_table(path)
    assert table.column_names == ["digit", "projection_x", "projection_y"]
    assert_array_equal(table["digit"], y)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"a": pa.array([(1, 2, 3)] * 150, pa.month_day_nano_interval())}),
        pa.table({"a": pa.array([{}] * 150, pa.struct([]))}),
        pd.DataFrame({"a": np.zeros(150, np.complex128)}),
        pd.DataFrame({"a": [1, "x", *y[:148]]}),
        {"a": np.zeros(150, np.complex128)},
    ],
)
def test_columns_that_parquet_cannot_hold(model, path, frame):
    with pytest.raises(ValueError, match=r"^frame has .* that parquet cannot hold \(.*\): give"):
        actup.write_atlas(path, model, frame)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("frame", [y, [y], "digit", 3, pa.array(y)])
def test_what_has_no_columns_is_no_frame(model, path, frame):
    with pytest.raises(TypeError, match=r"^frame is a .*: give a data frame, a pyarrow Table or a dict"):
        actup.write_atlas(path, model, frame)


def test_a_failed_write_leaves_the_former_file(model, path, monkeypatch):
    actup.write_atlas(path, model, {"digit": y})
    before = path.read_bytes()

    def fail(table, where):
        where.write_bytes(b"half a file")
        raise OSError("the disk is full")

    monkeypatch.setattr(parquet, "write_table", fail)
    with pytest.raises(OSError, match="the disk is full"):
        actup.write_atlas(path, model, {"digit": y})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"embedding": np.zeros((150, 3))}, ValueError, r"embedding has shape \(150, 3\).*two dimensions"),
        (
            {"embedding": np.full((150, 2), np.nan)},
            ValueError,
            "NaN or values too large.* in row 0",
        ),
        ({"frame": {"digit": y[:9]}}, ValueError, "frame has 9 rows, but the map has 150 points"),
        ({"frame": {"projection_x": y}}, ValueError, "frame has a column 'projection_x' already"),
        ({"frame": 3}, TypeError, "frame is a int: give a data frame"),
        ({"x": "y", "y": "y"}, ValueError, "must be different names"),
        ({"neighbors": actup.nearest_neighbors(X[:9], 2)}, ValueError, "neighbors has 9 rows"),
        ({"neighbors": "near"}, TypeError, "neighbors='near' must be Neighbors"),
        ({"embedding": np.zeros((150, 2)), "neighbors": 5}, ValueError, r"actup\.nearest_neighbors\(X, 5\)"),
    ],
)
def test_errors_leave_no_file(model, path, arguments, error, message):
    with pytest.raises(error, match=message):
        actup.write_atlas(path, **{"embedding": model, **arguments})
    assert list(path.parent.iterdir()) == []


def test_example_of_the_guide(tmp_path, run_examples):
    pytest.importorskip("pandas")
    run_examples("topics.md", "write_atlas")
    assert parquet.read_table(tmp_path / "digits.parquet").num_rows == 1797


# with Embedding Atlas itself


def test_embedding_atlas_reads_the_file(model, path):
    cli = pytest.importorskip("embedding_atlas.cli")
    metrics = pytest.importorskip("embedding_atlas.graph_metrics")
    actup.write_atlas(path, model, {"digit": y}, neighbors=5)
    frame = cli.load_datasets([str(path)])
    assert set(frame.columns) >= {"digit", "projection_x", "projection_y", "neighbors"}
    ranks = metrics.compute_pagerank_column(frame, neighbors="neighbors")
    assert ranks.shape == (150,) and np.isfinite(ranks).all()


PROGRAM = """
import numpy as np, pandas as pd
from embedding_atlas.projection import compute_projection
from sklearn.datasets import make_blobs
X, y = make_blobs(200, 20, centers=3, random_state=0)
frame = pd.DataFrame({"vector": list(X.astype("float32")), "type": y})
import tempfile
with tempfile.TemporaryDirectory() as cache:
    frame = compute_projection(frame, inputs="vector", modality="vector", cache_root=cache)
assert np.isfinite(frame[["projection_x", "projection_y"]].to_numpy()).all()
assert len(frame["neighbors"][0]["ids"]) == 15
import umap
print(umap.UMAP.__module__, umap.umap_.nearest_neighbors.__module__)
"""


def test_projection_under_the_shim(run_accelerated):
    pytest.importorskip("embedding_atlas.projection")
    assert all(name.startswith("actup") for name in run_accelerated(PROGRAM).split()[-2:])
