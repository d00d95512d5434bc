"""memory_estimate() and max_memory: what they count, and that the bits of a map do not depend on them."""

import errno
import gc
import math
import subprocess
import sys
import tempfile
import tracemalloc
import weakref
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import actup
from actup._bytes import format_bytes, read_bytes
from actup._given import Given
from actup._memory import estimate_shape, explained, lean_enough, shape_of
from actup.backends import load_backend
from actup.backends._graph_file import GraphFile
from actup.backends._memory._shape import Lean
from actup.estimators._inputs import FitInputs
from actup.graph._records import Graph
from actup.neighbors._rows import ENGINE_TYPES, read_rows

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "memory_estimates.py"


def rows(n=3000, columns=10, dtype=np.float32):
    random = np.random.default_rng(0)
    return (random.normal(size=(n, 3)) @ random.normal(size=(3, columns)) * 20 + 100).astype(dtype)


# --- the estimate ---


def test_every_stage_is_estimated():
    estimate = actup.memory_estimate((70_000, 784), "tsne", dtype="uint8")
    assert list(estimate.stages) == ["read", "neighbors", "graph", "start", "layout"]
    assert estimate.bytes == max(estimate.stages.values()) == estimate.stages[estimate.stage]
    assert estimate.neighbors == 90
    assert sum(estimate.arrays.values()) == pytest.approx(estimate.bytes, abs=len(estimate.arrays))
    assert estimate.stages["read"] == 70_000 * 784
    assert estimate.device_stages == {} and estimate.device_bytes == 0


def test_a_shape_is_estimated_like_its_rows():
    X = rows()
    assert actup.memory_estimate(X) == actup.memory_estimate(X.shape)
    assert actup.UMAP().memory_estimate(X) == actup.memory_estimate(X.shape, actup.UMAP()._recipe())
    X = sparse.random_array((2000, 500), density=0.02, format="csr", dtype=np.float32)
    estimated = actup.memory_estimate(X.shape, "umap", stored_values=X.nnz).bytes
    assert estimated == pytest.approx(actup.memory_estimate(X, "umap").bytes, abs=8 * 2001)


@pytest.mark.parametrize(
    ("larger", "usual"),
    [(actup.TSNE(perplexity=50), actup.TSNE()), (actup.UMAP(n_components=8), actup.UMAP(n_components=4))],
)
def test_more_neighbors_and_dimensions_take_more(larger, usual):
    more, fewer = (model.memory_estimate((200_000, 50)).stages["layout"] for model in (larger, usual))
    assert more > fewer


def test_rows_are_counted_as_they_are_read(tmp_path):
    dense = rows(dtype=np.float32)
    read = actup.memory_estimate(dense).stages["read"]
    assert read == dense.nbytes
    assert actup.memory_estimate(np.asfortranarray(dense)).stages["read"] == 2 * dense.nbytes
    np.save(tmp_path / "X.npy", dense)
    assert actup.memory_estimate(np.load(tmp_path / "X.npy", mmap_mode="r")).stages["read"] == 0


@pytest.mark.parametrize("dtype", [*ENGINE_TYPES, np.float64, np.int64, bool])
def test_types_that_the_engine_does_not_read_become_float32(dtype):
    X = np.zeros((30_000, 200), dtype)
    arrays = actup.memory_estimate(X, actup.preset("umap").but(recall=1.0)).arrays
    assert ("X in float32" in arrays) == (np.dtype(dtype).type not in (*ENGINE_TYPES, np.bool_))


FORMS = {
    "pandas, half int64": lambda X: mixed_frame(X.astype(np.float64)),
    "pandas, integers of two types": lambda X: mixed_frame(X.astype(np.uint8)),
    "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X.copy()),
    "pandas of columns": lambda X: pytest.importorskip("pandas").DataFrame(dict(enumerate(X.T.copy()))),
    "pyarrow": lambda X: pytest.importorskip("pyarrow").table({str(i): x.copy() for i, x in enumerate(X.T)}),
    "lists": lambda X: X.astype(np.float64).tolist(),
    "list of arrays": lambda X: [row.copy() for row in X],
    "objects": lambda X: X.astype(object),
    "whole objects": lambda X: X.astype(int).astype(object),
    "unsorted csr": lambda X: unsorted(sparse.csr_matrix(X)),
    "csr": sparse.csr_matrix,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "bsr": sparse.bsr_matrix,
    "Fortran's order": np.asfortranarray,
    "big-endian": lambda X: X.astype(">f4"),
    "big-endian in Fortran's order": lambda X: np.asfortranarray(X.astype(">f4")),
    "long double": lambda X: X.astype(np.longdouble),
    "uint64": lambda X: np.abs(X).astype(np.uint64),
}


def mixed_frame(X):
    columns = {str(i): X[:, i].astype(np.int64) if i % 2 else X[:, i].copy() for i in range(X.shape[1])}
    return pytest.importorskip("pandas").DataFrame(columns)


def unsorted(X):
    return sparse.csr_matrix((X.data, X.indices.reshape(X.shape)[:, ::-1].ravel(), X.indptr), X.shape)


@pytest.mark.parametrize("form", FORMS)
def test_reading_takes_what_is_estimated(form):
    dense = rows(8000, 150)
    FORMS[form](dense[:5])  # imports
    tracemalloc.start()
    try:
        X = FORMS[form](dense)
        gc.collect()
        tracemalloc.reset_peak()
        read_rows(X, "euclidean")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    estimate = actup.memory_estimate(X).stages["read"]
    checked = 2**20  # bytes: which of the values that are checked at a time are finite
    assert 0.8 * (peak - checked) < estimate < 1.2 * peak


@pytest.mark.parametrize("columns", [1, 30])
def test_frames_of_polars_are_counted_as_they_are_read(columns):
    polars, dense = pytest.importorskip("polars"), rows(3000, columns)
    X = polars.DataFrame({str(i): x for i, x in enumerate(dense.T)})
    assert actup.memory_estimate(X).stages["read"] == dense.nbytes * (2 if columns == 1 else 3)


SUPERVISED = {"y": np.arange(3000) % 7}
NUMBERS = {"y": np.linspace(0, 1, 3000)}
WEIGHTS = {"sample_weight": np.linspace(1, 2, 3000)}


@pytest.mark.parametrize(
    ("parameters", "inputs"),
    [
        ({"densmap": True}, {}),
        ({"output_dens": True}, {}),
        ({}, SUPERVISED),
        ({"target_metric": "euclidean"}, NUMBERS),
        ({}, NUMBERS),
        ({}, WEIGHTS),
        ({}, SUPERVISED | WEIGHTS),
        ({"unique": True}, {}),
        ({}, {"sample_weight": np.arange(3000) % 2}),
    ],
)
def test_what_changes_the_graph_counts_and_max_memory_knows_it(parameters, inputs):
    X = rows(columns=20)
    X[-60:] = X[:60]
    plain = actup.UMAP(n_neighbors=40, n_epochs=1).memory_estimate(X)
    model = actup.UMAP(n_neighbors=40, n_epochs=1, **parameters)
    needed = model.memory_estimate(X, **inputs)
    stage = "read" if "unique" in parameters or 0 in inputs.get("sample_weight", ()) else "graph"
    assert needed.stages[stage] > 1.2 * plain.stages[stage]
    smaller = min(plain.bytes, needed.bytes - 1) * 2 // 3
    with pytest.raises(MemoryError, match="is too little"):
        model.set_params(max_memory=smaller).fit(X, **inputs)
    model.set_params(max_memory=needed.bytes).fit(X, **inputs)


@pytest.mark.parametrize("given", [np.asarray, sparse.csr_matrix])
def test_duplicates_are_counted_where_that_takes_little(given):
    model, distinct = actup.UMAP(unique=True), rows(20_000, 20)
    X = distinct[np.arange(20_000) // 4]
    copied = model.memory_estimate(given(X)).stages["read"] - actup.memory_estimate(given(X)).stages["read"]
    assert copied == pytest.approx(given(X[::4]).nbytes if given is np.asarray else 8 * X.size / 4)
    assert model.memory_estimate(given(distinct)) == actup.UMAP().memory_estimate(given(distinct))
    assert model.memory_estimate(X).stages["layout"] < 0.6 * model.memory_estimate(distinct).stages["layout"]
    for unknown in (X.shape, X.tolist()):
        assert "rows that take part" in model.memory_estimate(unknown).arrays
    assert model.memory_estimate(X.shape).bytes > model.memory_estimate(X).bytes


def test_samples_of_weight_0_take_no_part_but_get_places():
    X, weights = rows(20_000, 200), np.ones(20_000)
    model = actup.UMAP()
    of_all = model.memory_estimate(X, sample_weight=weights)
    weights[:15_000] = 0
    of_some = model.memory_estimate(X, sample_weight=weights)
    assert of_some.stages["neighbors"] < of_all.stages["neighbors"]
    assert of_some.stages["layout"] > 2.2 * X.nbytes


WHOLE = np.random.default_rng(0).integers(0, 256, (5000, 100))


@pytest.mark.parametrize(
    "X", [WHOLE, WHOLE.astype(np.float32), WHOLE[:500].astype(object), WHOLE[:500].tolist()]
)
def test_whole_numbers_of_a_small_range_are_searched_in_less_memory(X):
    wider = np.array(X)
    wider[0, 0] = 300
    few, many = (needed_for_codes(rows) for rows in (X, type(X)(wider) if isinstance(X, list) else wider))
    assert many - few == 5 * len(X) * 112


@pytest.mark.parametrize(
    "X",
    [
        WHOLE + np.float32(0.5),
        np.where(WHOLE * WHOLE[:, :1] == 255**2, 200, WHOLE % 2),  # codes clip what is rare and much larger
        np.tile(WHOLE[:1000], 40),
        WHOLE + 2**23,
    ],
    ids=["no whole numbers", "rare", "far apart", "large"],
)
def test_rows_without_exact_codes_of_8_bits_become_float32(X):
    shape = actup.memory_estimate(X.shape, dtype=np.float32)
    assert shape.arrays["codes, lists and rows"] == needed_for_codes(X)


def needed_for_codes(X):
    return actup.memory_estimate(X).arrays["codes, lists and rows"]


def test_labels_that_are_ignored_take_no_memory():
    X = rows(500)
    for model in (actup.TSNE(), actup.GDR()):
        assert model.memory_estimate(X, np.arange(500) % 3) == model.memory_estimate(X)


def test_mahalanobis_counts_codes_and_matrices_of_columns():
    plain, metric = actup.preset("umap"), actup.preset("umap").but(metric="mahalanobis")
    coded = [actup.memory_estimate((20_000, 50), recipe).stages["neighbors"] for recipe in (plain, metric)]
    assert coded[0] == coded[1]
    assert actup.memory_estimate((2000, 800), metric).stages["neighbors"] > 8 * 5 * 800**2


def test_more_target_neighbors_take_more():
    few, many = (
        actup.UMAP(target_n_neighbors=k).memory_estimate((3000, 10), NUMBERS["y"]).stages["layout"]
        for k in (5, 50)
    )
    assert many > few


@pytest.mark.parametrize("parameters", [{}, {"densmap": True}, {"n_components": 5}, {"init": "pca"}])
def test_the_reference_backend_keeps_all_pairs(parameters):
    model = actup.UMAP(backend="reference", **parameters)
    estimate = model.memory_estimate((3000, 20))
    assert estimate.bytes > 70 * 3000**2 and estimate.stage == "layout"
    with pytest.raises(MemoryError, match="max_memory='100MB' is too little"):
        model.set_params(max_memory="100MB").fit(rows())


def test_embed_keeps_neighbors():
    shape, recipe = (300_000, 50), actup.preset("umap")
    kept, freed = (
        lean_needs(shape, recipe, Given(keep_neighbors=keeps)).stages["layout"] for keeps in (True, False)
    )
    assert kept - freed == 8 * 300_000 * 14


def lean_needs(shape, recipe, given):
    from actup._memory import estimate_run

    return estimate_run(shape, recipe, given, 1, "cpu")


def test_the_table_names_stages_and_arrays():
    table = actup.memory_estimate((1_000_000, 50), "umap").describe()
    for words in ("1,000,000 rows x 50 columns, 14 neighbours", "layout", "edges of the layout", "Python"):
        assert words in table


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (3, "X=3 is no shape of two whole numbers: give rows and columns"),
        ((100,), r"X=\(100,\) is no shape of two whole numbers"),
        ((1.5, 50), r"X=\(1.5, 50\) is no shape of two whole numbers"),
        ("rows.npy", "X is a str"),
        ((0, 5), r"X=\(0, 5\) must be two numbers from 1 to 2,147,483,647"),
        ((2**31, 5), r"X=\(2147483648, 5\) must be two numbers from 1 to 2,147,483,647"),
        ((True, True), r"X=\(True, True\) is no shape of two whole numbers"),
        (None, "X is None: give rows or a shape"),
        (["ab", "cd"], "X is a list, which has no rows and columns"),
        ([[1, 2], [3, 4], [5]], "X has 2 values in row 0, but 1 in row 2"),
        (np.zeros((0, 3)), "X has 0 rows and 3 columns"),
        ([[]], "X has 1 rows and 0 columns"),
    ],
)
def test_what_has_no_shape_is_rejected(X, message):
    with pytest.raises(ValueError, match=message):
        actup.memory_estimate(X)


def test_sizes_may_be_whole_floats():
    assert actup.memory_estimate((1e6, np.float64(50))) == actup.memory_estimate((1_000_000, 50))


@pytest.mark.parametrize(
    ("X", "keywords", "message"),
    [
        ((9, 3), {"stored_values": -1}, "stored_values=-1 must be 0 to 27"),
        ((9, 3), {"stored_values": 28}, "stored_values=28 must be 0 to 27"),
        ((9, 3), {"stored_values": math.nan}, "stored_values=nan must be a whole number"),
        ((9, 3), {"stored_values": True}, "stored_values=True must be a whole number"),
        ((9, 3), {"dtype": "float3"}, "dtype='float3' must be a type of numbers, such as 'float32'"),
        ((9, 3), {"dtype": complex}, "dtype=<class 'complex'> must be a type of numbers"),
        (np.zeros((9, 3)), {"dtype": "uint8"}, "dtype='uint8' goes with a shape in place of X"),
        (np.zeros((9, 3)), {"stored_values": 5}, "stored_values=5 goes with a shape in place of X"),
    ],
)
def test_wrong_keywords_of_a_shape_are_rejected(X, keywords, message):
    for estimate in (actup.memory_estimate, actup.UMAP().memory_estimate):
        with pytest.raises(ValueError, match=message):
            estimate(X, **keywords)


def test_booleans_of_a_shape_are_those_of_rows():
    X = np.zeros((30_000, 200), bool)
    assert actup.memory_estimate(X) == actup.memory_estimate(X.shape, dtype=bool)


@pytest.mark.parametrize("metric", ["manhattan", "hamming", "gower", "nan_euclidean", "precomputed", max])
def test_every_kind_of_metric_has_an_estimate(metric):
    recipe = actup.preset("umap").but(metric=metric)
    assert actup.memory_estimate((2000, 2000), recipe).bytes > 4 * 2000 * 2000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", ["8", "15", "23", "34", "43", "48", "63", "77"])
def test_the_estimate_is_near_the_peak(number, tmp_path):
    """Some of the combinations of benchmarks/memory_estimates.py."""
    code = (
        f"import sys; sys.path.insert(0, {str(BENCHMARK.parent)!r})\n"
        "import memory_estimates as m, pathlib\n"
        f"case = m.CASES[{number}]\n"
        f"found = m.run_child(case, m.write_rows(case, pathlib.Path({str(tmp_path)!r})), 0.0, 'cpu')\n"
        "print(max(found['estimate'].values()) / max(found['measured'].values()))"
    )
    run = [sys.executable, "-W", "ignore", "-c", code]
    ratio = float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert 0.8 < ratio < 1.2


# --- max_memory ---

EVERY_LEAN = [Lean(*chosen) for chosen in product((False, True), repeat=2)]


@pytest.mark.parametrize(
    "model",
    [actup.UMAP(), actup.TSNE(perplexity=8), actup.GDR(preset="gdr_umap", n_neighbors=12)],
)
def test_a_leaner_run_has_the_same_bits(model):
    X = rows(4000)
    model.set_params(random_state=0, n_jobs=1)
    usual = model.fit(X).embedding_.copy()
    graph = model.graph_.copy()
    recipe, backend, inputs = model._recipe(), load_backend("cpu"), FitInputs()
    shape = shape_of(X, recipe, Given(keep_neighbors=False), 1)
    needed = {lean: estimate_shape(shape, backend, lean).bytes for lean in EVERY_LEAN}
    taken = set()
    for limit in needed.values():
        model.set_params(max_memory=limit)
        taken.add(model._lean(X, recipe, inputs, backend))
        assert (model.fit(X).embedding_ == usual).all()
        assert (model.graph_ != graph).nnz == 0
    assert len(taken) > 1 and any(lean.graph_on_disc for lean in taken)
    with pytest.raises(MemoryError, match=r"max_memory=\d+ is too little: stage '\w+' of 4,000 rows needs"):
        model.set_params(max_memory=min(needed.values()) // 2).fit(X)
    assert (model.embedding_ == usual).all()


def test_a_graph_on_disc_is_that_in_memory():
    found = actup.nearest_neighbors(rows(2500), 12)
    for recipe in (actup.preset("umap").but(n_neighbors=13), actup.preset("tsne").but(perplexity=4)):
        expected = load_backend("cpu").affinity_graph(found, recipe, 2)
        file = GraphFile(found, recipe, 2)
        for graph in (file.mapped(), file.parts().joined()):
            for name in ("offsets", "indices", "weights"):
                assert (getattr(graph, name) == getattr(expected, name)).all()


def test_a_refusal_comes_before_any_work_and_names_the_remedies(monkeypatch):
    monkeypatch.setattr("actup.backends._base.Backend.read_rows", lambda *_, **__: pytest.fail("work began"))
    model = actup.UMAP(max_memory="1MB")
    with pytest.raises(MemoryError) as refused:
        model.fit(rows(50_000))
    for words in ("max_memory='1MB'", "fewer neighbours", "fit_files", "actup.distributed.embed", "MB"):
        assert words in str(refused.value)
    assert not hasattr(model, "embedding_")
    with pytest.raises(MemoryError, match="max_memory=1000 is too little"):
        actup.embed(rows(), "umap", max_memory=1000)
    with pytest.raises(MemoryError, match=r"max_memory=1000 .* of 50 rows needs about \d+ kB"):
        actup.embed(rows(50), "umap", max_memory=1000)
    with pytest.raises(MemoryError, match="max_memory=1000 is too little"):
        actup.embed_many(rows(), ["umap"], max_memory=1000)


NO_BYTES = ["much", "", "5 XB", "1 e3", -1, 0, 0.5, "0", "0GB", ".0001 kB", True, [1]]
NO_BYTES += [math.nan, math.inf, "1" + 400 * "0", "1e400", 308 * "9" + "TB", np.arange(1, 3), np.array(10**9)]


@pytest.mark.parametrize("wrong", NO_BYTES, ids=range(len(NO_BYTES)))
def test_what_is_no_number_of_bytes_is_rejected(wrong):
    with pytest.raises(ValueError, match=r"max_memory=.* must be a number of bytes, at least 1"):
        actup.embed(rows(100), "umap", max_memory=wrong)
    if not isinstance(wrong, np.ndarray):  # estimators reject an array as any parameter
        with pytest.raises(ValueError, match="must be a number of bytes, at least 1, or text such as"):
            actup.UMAP(max_memory=wrong).fit(rows(100))


def test_a_changed_graph_has_no_leaner_way():
    recipe, backend = actup.preset("umap"), load_backend("cpu")
    X = (30_000, 100)
    limit = int(0.9 * actup.memory_estimate(X, recipe).bytes)
    assert lean_enough(limit, X, recipe, Given(keep_neighbors=False), 1, backend).graph_on_disc
    changed = Given(keep_neighbors=False, reshape_graph=lambda graph, **_: graph)
    with pytest.raises(MemoryError):
        lean_enough(limit, X, recipe, changed, 1, backend)


def test_given_affinities_are_kept_within_a_limit_too():
    affinities = actup.TSNE(perplexity=8, max_iter=250, random_state=0).fit(rows(400)).graph_
    for X in (None, rows(400)):
        with pytest.raises(MemoryError, match="max_memory='10kB' is too little: stage"):
            actup.TSNE(max_memory="10kB").fit(X, affinities=affinities)
        with pytest.raises(ValueError, match="max_memory='foo' must be a number of bytes"):
            actup.TSNE(max_memory="foo").fit(X, affinities=affinities)


def test_rows_beside_affinities_are_not_searched():
    X = rows(100_000)
    shape = shape_of(X, actup.TSNE()._recipe(), Given(graph=Graph.from_scipy(sparse.eye_array(100_000))), 1)
    affinities = sparse.eye_array(100_000, k=1, format="csr") + sparse.eye_array(100_000, k=-1, format="csr")
    given = actup.TSNE()._given_for_memory(X, FitInputs(affinities=affinities))
    assert shape_of(X, actup.TSNE()._recipe(), given, 1) == shape


def on_disc(X, **parameters):
    """A model whose fit makes its graph on disc."""
    model = actup.UMAP(n_epochs=5, n_jobs=1, random_state=0, **parameters)
    model.set_params(max_memory=int(0.65 * model.memory_estimate(X).bytes))
    assert model._lean(X, model._recipe(), FitInputs(), load_backend("cpu")).graph_on_disc
    return model


def test_temporary_files_disappear(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = []
    temporary = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **how: made.append(temporary(**how)) or made[-1])
    X = rows(8000)
    model = on_disc(X).fit(X)
    assert len(made) == 2
    assert list(tmp_path.iterdir()) == []
    del model
    gc.collect()
    assert all(file.closed for file in made)


def test_a_missing_folder_for_temporary_files_is_named(tmp_path, monkeypatch):
    X = rows(8000)
    model = on_disc(X)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"missing: .*set TMPDIR to a folder .*raise max_memory"):
        model.fit(X)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file on a full disc")
def test_a_full_disc_is_named(tmp_path, monkeypatch):
    X = rows(8000)
    model = on_disc(X)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda buffering, dir: open("/dev/full", "wb+", buffering))  # noqa: SIM115
    with pytest.raises(OSError, match=r"max_memory.*TMPDIR") as failed:
        model.fit(X)
    assert failed.value.errno == errno.ENOSPC
    assert str(tmp_path) in str(failed.value)


def test_bytes_are_read_and_written():
    assert read_bytes("1.5 GB", "memory") == 1_500_000_000
    assert read_bytes("512 MiB", "memory") == 2**29
    assert read_bytes("4e9", "memory") == read_bytes("4e6 kB", "memory") == read_bytes(4e9, "memory")
    assert format_bytes(1_234_567) == "2 MB"
    assert [format_bytes(count) for count in (0, 1, 999_000, 999_001)] == ["0 kB", "1 kB", "999 kB", "1 MB"]
    assert [format_bytes(count) for count in (999e6, 999_999_999.5, 1e9 + 1)] == [
        "999 MB",
        "1.0 GB",
        "1.1 GB",
    ]


# --- remedies ---


def test_the_remedy_is_what_takes_most():
    for n_components, remedy in ((2, r"neighbours \(n_neigh"), (10**9, r"dimensions \(n_components\), a")):
        with pytest.raises(MemoryError, match=rf"is too little: stage .*: give that much, fewer {remedy}"):
            actup.UMAP(n_components=n_components, max_memory="1MB").fit(rows(4000))


@pytest.mark.parametrize("n_components", [2, 10**9])
def test_running_out_of_memory_names_the_same_remedy(n_components):
    recipe = actup.UMAP(n_components=n_components)._recipe()
    shape = partial(shape_of, rows(4000), recipe, Given(), 1)
    with (
        pytest.raises(MemoryError, match="dimensions" if n_components > 2 else "neighbours"),
        explained("start", shape, load_backend("cpu")),
    ):
        raise MemoryError


@pytest.mark.parametrize("X", [rows(200), rows(200).tolist()], ids=["array", "list"])
def test_a_search_that_runs_out_of_memory_says_what_it_takes(X, monkeypatch):
    def fails(*_):
        raise MemoryError("Unable to allocate 14.9 GiB for an array")

    monkeypatch.setattr("actup.neighbors._api.make_search", fails)
    message = "in the search for n_neighbors=12 of 200 rows, .* 20 kB: free memory, give fewer neighbours"
    with pytest.raises(MemoryError, match=message):
        actup.nearest_neighbors(X, 12)


# --- what a run leaves behind ---


def test_float32_rows_are_freed_after_the_search(monkeypatch):
    """No circle of references keeps them until Python's collector runs."""
    from actup.neighbors import _search

    copies = []
    transformed = _search.EngineSearch._transformed

    def noted(self, given, name):
        made = transformed(self, given, name)
        copies.append(weakref.ref(made))
        return made

    monkeypatch.setattr(_search.EngineSearch, "_transformed", noted)
    gc.disable()
    try:
        actup.embed(rows(2000, dtype=np.float64), actup.preset("umap").but(epochs=1))
    finally:
        gc.enable()
    assert len(copies) == 1 and copies[0]() is None


# --- what is rejected as by fit ---


def broken_sparse(form):
    X = FORMS[form](rows(60, 5))
    if form == "lil":
        X.rows = X.rows[:10]
    else:
        X.indptr = np.zeros(0, np.int32)
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "lil"])
def test_broken_sparse_matrices_are_rejected_as_by_fit(form):
    X, messages = broken_sparse(form), set()
    for run in (
        actup.memory_estimate,
        actup.UMAP().memory_estimate,
        actup.UMAP().fit,
        actup.UMAP(max_memory="1GB").fit,
    ):
        with pytest.raises(ValueError, match="rebuild the matrix") as rejected:
            run(X)
        messages.add(str(rejected.value))
    assert len(messages) == 1


def test_big_endian_frames_are_estimated():
    frame = pytest.importorskip("pandas").DataFrame(rows(300, 5).astype(">f8"))
    assert actup.memory_estimate(frame).stages["read"] >= 300 * 5 * 8
    frame["text"] = np.arange(300).astype(">i4")
    assert actup.memory_estimate(frame).stages["read"] > 300 * 5 * 8


def test_wrong_parameters_are_rejected_before_the_estimate():
    with pytest.raises(TypeError, match="n_neighbors='x' must be an integer"):
        actup.UMAP(n_neighbors="x").memory_estimate(rows(60), np.linspace(0, 1, 60))


# --- fixed points, and runs beside the results of others ---


def test_fixed_points_count_and_so_does_how_far_apart_they_are():
    X, fixed = rows(50_000), np.arange(50_000) % 2 == 0
    near = np.random.default_rng(0).normal(size=(50_000, 2))
    usual, narrow, wide = (
        actup.UMAP(init=places).memory_estimate(X, fixed=given).stages["layout"]
        for places, given in ((near, None), (near, fixed), (near * 100, fixed))
    )
    assert usual < narrow < wide - 50e6
    line = actup.UMAP(init=near * [100, 1]).memory_estimate(X, fixed=fixed).stages["layout"]
    assert narrow < line < wide - 50e6  # the mesh is as narrow as the points
    with pytest.raises(ValueError, match="fixed needs places to keep points at"):
        actup.UMAP().memory_estimate(X, fixed=fixed)
    with pytest.raises(ValueError, match=r"fixed has shape \(9,\)"):
        actup.UMAP(init=near).memory_estimate(X, fixed=fixed[:9])


def test_maps_made_before_count_in_the_limit_of_many():
    X = rows(20_000)
    recipes = [actup.preset("umap").but(n_neighbors=k, epochs=1) for k in (30, 25, 20, 15, 10)]
    limit = int(1.2 * actup.memory_estimate(X, recipes[0]).bytes)
    assert actup.embed_many(X, recipes[:1], max_memory=limit).results
    with pytest.raises(MemoryError, match="X and the maps before included"):
        actup.embed_many(X, recipes, max_memory=limit)
    maps = actup.embed_many(X[:2000], [recipes[0], recipes[0].but(min_dist=0.5)], max_memory="1GB")
    assert all(result.layout is None for result in maps.results.values())


# ---- what a fit rejects, an estimate rejects in the same words ----


@pytest.mark.parametrize("ask", ["memory_estimate", "fit"])
@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({}, np.ma.masked_less(np.ones((30, 3)), 2), "X is a masked array"),
        ({}, np.empty((0, 3)), r"X has 0 rows|0 sample\(s\) \(shape=\(0, 3\)\)"),
        ({"densmap": np.array([1, 2])}, np.ones((30, 3)), "densmap="),
        ({"output_dens": np.array([1, 2])}, np.ones((30, 3)), "output_dens="),
    ],
)
def test_estimates_reject_what_fits_reject(ask, parameters, X, message):
    model = actup.UMAP(**parameters, max_memory="1GB")
    with pytest.raises(ValueError, match=message):
        getattr(model, ask)(X)


@pytest.mark.parametrize("ask", ["memory_estimate", "fit"])
@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_estimates_reject_columns_of_one_name_as_fits_do(ask, package):
    columns = pytest.importorskip(package)
    if package == "pandas":
        X = columns.DataFrame(np.ones((30, 3)), columns=list("aab"))
    else:
        X = columns.table([np.ones(30)] * 3, names=list("aab"))
    with pytest.raises(ValueError, match=r"^X has 2 columns 'a': give each a name of its own$"):
        getattr(actup.UMAP(), ask)(X)
