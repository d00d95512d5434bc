"""Tables and arrays of other libraries: pandas, polars, pyarrow, torch, dask, xarray, AnnData."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from actup import TSNE, UMAP, NeighborIndex, embed, nearest_neighbors, preset
from actup.neighbors import _tables
from actup.neighbors._rows import read_rows

NAMES = ["a", "b", "c"]
SHORT = {"n_neighbors": 5, "n_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


def frame_of(library, columns):
    """A data frame of a library, from a dict of lists."""
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


FRAMES = ["pandas", "polars", "pyarrow"]


# Data frames


@pytest.mark.parametrize("library", FRAMES)
def test_data_frames_of_numbers(X, library):
    frame = frame_of(library, {name: X[:, i] for i, name in enumerate(NAMES)})
    rows = read_rows(frame, "euclidean")
    np.testing.assert_array_equal(rows, X)
    assert rows.dtype == np.float32
    model = UMAP(**SHORT).fit(frame)
    np.testing.assert_array_equal(model.embedding_, UMAP(**SHORT).fit_transform(X))
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.transform(frame), model.embedding_)
    other = frame_of(library, {name: X[:, i] for i, name in enumerate("abd")})
    with pytest.raises(ValueError, match="feature names"):
        model.transform(other)


@pytest.mark.parametrize("library", FRAMES)
def test_types_of_columns(library):
    columns = {"a": [1, 2, 3], "b": [True, False, True], "c": [0.5, 1.5, 2.5]}
    np.testing.assert_array_equal(
        read_rows(frame_of(library, columns), "euclidean"), [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]]
    )
    integers = read_rows(frame_of(library, {"a": [2**60, 1], "b": [0, 2**60 + 1]}), "euclidean")
    assert integers.dtype == np.int64 and integers[1, 1] == 2**60 + 1


@pytest.mark.parametrize("library", FRAMES)
def test_a_column_of_text_is_named(library):
    frame = frame_of(library, {"a": [1.0, 2.0, 3.0], "city": ["Oslo", "Rome", None]})
    for read in (UMAP().fit, TSNE().fit, NeighborIndex, lambda X: embed(X, preset("umap"))):
        with pytest.raises(ValueError, match=r"^X holds 'Oslo' in column 'city', row 0: .*metric='gower'"):
            read(frame)


@pytest.mark.parametrize("library", FRAMES)
def test_missing_values_are_named_by_their_column(library):
    frame = frame_of(library, {"a": [1.0, 2.0, 3.0], "b": [1.0, None, 2.0]})
    with pytest.raises(ValueError, match=r"^X contains NaN in row 1, column 'b'"):
        nearest_neighbors(frame, 1)
    np.testing.assert_array_equal(read_rows(frame, "nan_euclidean"), [[1, 1], [2, np.nan], [3, 2]])


@pytest.mark.parametrize("library", FRAMES)
def test_dates_are_rejected(library):
    dates = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[ms]")
    for metric in ("euclidean", "gower"):
        with pytest.raises(TypeError, match=r"X holds dates or durations in column 'day'.* or drop them"):
            nearest_neighbors(frame_of(library, {"a": [1.0, 2.0, 3.0], "day": dates}), 1, metric=metric)


@pytest.mark.parametrize("library", FRAMES)
def test_mixed_frames_of_all_libraries_are_read_alike(library):
    columns = {
        "size": [1.5, None, 3.0, 4.0, 2.0],
        "city": ["Oslo", "Rome", None, "Oslo", "Rome"],
        "open": [True, False, None, True, True],
        "floor": [1, 2, 3, None, 5],
    }
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    frame = frame_of(library, columns)
    read = read_rows(frame, "gower")
    np.testing.assert_array_equal(read, read_rows(rows, "gower"))
    np.testing.assert_array_equal(read[:, 0], [1.5, np.nan, 3, 4, 2])
    assert read[0, 1] == read[3, 1] != read[1, 1] and np.isnan(read[2, 1])
    found, wanted = (nearest_neighbors(given, 2, metric="gower") for given in (frame, rows))
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.distances, wanted.distances)


def test_categories_of_polars_and_pyarrow_are_read_as_their_text():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    values = ["b", "a", None, "b"]
    wanted = read_rows(np.array([[value] for value in values], object), "gower")
    for frame in (
        polars.DataFrame({"x": polars.Series(values, dtype=polars.Categorical)}),
        polars.DataFrame({"x": polars.Series(values, dtype=polars.Enum(["a", "b"]))}),
        pyarrow.table({"x": pyarrow.array(values).dictionary_encode()}),
        pyarrow.record_batch({"x": pyarrow.array(values)}),
    ):
        np.testing.assert_array_equal(read_rows(frame, "gower"), wanted)


def test_lazy_frames_name_the_remedy(X):
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*use X.collect\(\)"):
        UMAP().fit(polars.DataFrame(X).lazy())


def test_frames_of_other_libraries_are_read_through_arrow(X):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({name: X[:, i] for i, name in enumerate(NAMES)})

    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    np.testing.assert_array_equal(read_rows(Frame(), "euclidean"), X)
    narwhals = pytest.importorskip("narwhals")
    np.testing.assert_array_equal(read_rows(narwhals.from_native(table), "euclidean"), X)


def test_without_pyarrow_other_frames_name_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TypeError, match="install pyarrow, or convert X"):
        read_rows(SimpleNamespace(__dataframe__=None), "euclidean")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(X, library):
    pytest.importorskip(library)
    frame = frame_of(library, {name: X[:, i] for i, name in enumerate(NAMES)})
    if library == "pandas":
        frame.index = [f"row {i}" for i in range(len(X))]
    model = UMAP(**SHORT).set_output(transform=library)
    for places in (model.fit_transform(frame), model.transform(frame)):
        assert type(places).__module__.startswith(library) and list(places.columns) == ["umap0", "umap1"]
        assert places.to_numpy().dtype == np.float32
        np.testing.assert_array_equal(places.to_numpy(), model.embedding_)
        assert library == "polars" or list(places.index) == list(frame.index)


# Arrays


def test_tensors_of_torch(X):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(read_rows(tensor, "euclidean"), X)
    assert np.shares_memory(read_rows(tensor, "euclidean"), tensor.detach().numpy())
    rounded = tensor.bfloat16()
    np.testing.assert_array_equal(read_rows(rounded, "euclidean"), rounded.float().detach().numpy())
    assert read_rows(tensor.half(), "euclidean").dtype == np.float16
    np.testing.assert_array_equal(UMAP(**SHORT).fit_transform(tensor), UMAP(**SHORT).fit_transform(X))
    with pytest.raises(TypeError, match=r"layout torch.sparse_coo: give X.to_dense\(\)"):
        read_rows(tensor.detach().to_sparse(), "euclidean")


class LazyArray:
    """What ActUp asks of a dask array."""

    def __init__(self, values, nbytes):
        self.values, self.nbytes = values, nbytes
        self.shape, self.dtype = values.shape, values.dtype
        self.computed = 0

    def __dask_graph__(self):
        return {}

    def compute(self):
        self.computed += 1
        return self.values


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_lazy_arrays_are_computed_once_if_they_fit(X, metric):
    lazy = LazyArray(X, X.nbytes)
    model = UMAP(metric=metric, **SHORT).fit(lazy)
    np.testing.assert_array_equal(model.embedding_, UMAP(metric=metric, **SHORT).fit_transform(X))
    assert lazy.computed == 1
    huge = LazyArray(X, 2**60)
    with pytest.raises(MemoryError, match=r"X is a dask array of 1,073,741,824.0 GiB, but .* are available"):
        UMAP(metric=metric, **SHORT).fit(huge)
    with pytest.raises(TypeError, match=r"of unknown size: use X.compute\(\)"):
        UMAP(metric=metric, **SHORT).fit(LazyArray(X, float("nan")))
    assert not huge.computed


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_data_frames_of_dask_must_be_computed(X, metric):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pytest.importorskip("pandas").DataFrame(X), npartitions=2)
    with pytest.raises(TypeError, match=r"X is a dask DataFrame of unknown size: use X.compute\(\)"):
        UMAP(metric=metric, **SHORT).fit(frame)


def test_available_memory_is_plausible():
    available = _tables.available_memory()
    assert available is None or 2**20 < available < 2**50


def test_arrays_of_dask_and_xarray(X):
    dask = pytest.importorskip("dask.array")
    array = dask.from_array(X, chunks=(10, 3))
    np.testing.assert_array_equal(read_rows(array, "euclidean"), X)
    xarray = pytest.importorskip("xarray")
    for values in (X, array):
        np.testing.assert_array_equal(
            read_rows(xarray.DataArray(values, dims=["row", "column"]), "euclidean"), X
        )
    with pytest.raises(TypeError, match="X is an xarray Dataset"):
        UMAP().fit(xarray.Dataset({"x": (("row", "column"), X)}))


def test_memory_maps_are_not_copied(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(read_rows(mapped, "euclidean"), mapped)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_arrays_make_the_same_map(X, form):
    thin = np.where(X > 0, X, 0)
    model, same = (UMAP(**SHORT).fit(made(thin)) for made in (form, sparse.csr_matrix))
    np.testing.assert_array_equal(model.embedding_, same.embedding_)
    np.testing.assert_array_equal(model.transform(form(thin)), same.transform(sparse.csr_matrix(thin)))


# What is rejected


class Cells:
    """What ActUp sees of an AnnData; reading its values one by one would take forever."""

    obs = None

    def __init__(self, obsm):
        self.obsm, self.shape = obsm, (100_000, 30_000)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        raise AssertionError("read value by value")


@pytest.mark.parametrize(
    "read", [UMAP().fit, TSNE().fit_transform, NeighborIndex, lambda X: embed(X, "umap")], ids=range(4)
)
def test_annotated_data_name_the_remedy(X, read):
    with pytest.raises(
        TypeError, match=r"X.obsm\['X_pca'\] \(here: 'X_pca', 'X_umap'\) or X.X, or use actup.sc"
    ):
        read(Cells({"X_pca": X, "X_umap": X}))
    with pytest.raises(TypeError, match=r"give one of them, X.obsm\['X_pca'\] or X.X"):
        read(Cells({}))


def test_an_anndata_is_rejected_before_any_conversion(X):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(X)
    with pytest.raises(TypeError, match=r"X is an AnnData, which holds several matrices"):
        UMAP().fit(cells)
    assert UMAP(**SHORT).fit_transform(cells.X).shape == (40, 2)


@pytest.mark.parametrize(
    "read",
    [UMAP().fit, UMAP(metric="gower").fit, lambda X: nearest_neighbors(X, 3), lambda X: embed(X, "umap")],
    ids=range(4),
)
def test_columns_of_one_name_are_rejected(X, read):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "a", "b"])
    with pytest.raises(ValueError, match=r"^X has 2 columns 'a': give each a name of its own$"):
        read(frame)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_arrays_of_other_dimensions_are_rejected(X, metric):
    for wrong, message in (
        (X[:, 0], "one dimension"),
        (X[None], "3 dimensions"),
        (X[0, 0], "X is a single number"),
    ):
        with pytest.raises(ValueError, match=message):
            UMAP(metric=metric, **SHORT).fit(wrong)
        with pytest.raises(ValueError, match=message):
            nearest_neighbors(wrong, 3, metric=metric)
