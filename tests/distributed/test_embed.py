"""Maps of rows in files: neighbours, graph and quality as in memory, and the same bits however it is run."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

import actup
from actup.backends._cpu import affinity_graph
from actup.backends._memory._shape import BASE_BYTES
from actup.distributed import ShardError, _map, _tasks, embed, make_plan
from actup.distributed._estimate import _search_row_bytes
from actup.distributed._graph import graph_parts
from actup.distributed._numbering import Numbering, read_group
from actup.graph import Neighbors
from actup.neighbors._calibration import shares_found
from actup.neighbors._metrics import METRICS
from actup.progress import Progress
from file_runs import clustered_rows, run, small_plan

QUICK = actup.preset("umap").but(epochs=20)
QUICK_TSNE = actup.preset("tsne").but(epochs=20, perplexity=10)


@pytest.fixture
def rows():
    return clustered_rows()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The result of a run that nothing disturbs."""
    return run(small_plan(clustered_rows(), tmp_path_factory.mktemp("expected"), QUICK))


@pytest.fixture
def kept_files(monkeypatch):
    """Keep the files that a run removes once they are used."""
    monkeypatch.setattr(_tasks.Stage, "removes", (), raising=False)
    stages = tuple(replace(stage, removes=()) for stage in _tasks.STAGES)
    for module in ("_tasks", "_local"):
        monkeypatch.setattr(f"actup.distributed.{module}.STAGES", stages)


def source_rows_of_ids(plan):
    """For every id, the row of the source that has it."""
    numbering = Numbering.of(plan)
    rows = np.empty(plan.rows, np.int64)
    for number, block in enumerate(plan.blocks):
        order = plan.folder.read(f"order/{number}").astype(np.int64)
        ids = numbering.ids_at(number, np.arange(block.rows))
        rows[ids] = plan.first_row_of_shard[block.shard] + block.begin + order
    return rows


def lists_in_source_order(plan):
    """The merged lists, by rows of the source."""
    ids = np.concatenate([plan.folder.read(f"lists/ids.{group}") for group in range(plan.groups)])
    distances = np.concatenate([plan.folder.read(f"lists/distances.{group}") for group in range(plan.groups)])
    row_of = source_rows_of_ids(plan)
    indices, found = np.empty_like(ids), np.empty_like(distances)
    indices[row_of], found[row_of] = row_of[ids], distances
    return indices, found


def test_rows_are_numbered_once(rows, tmp_path, kept_files):
    plan = small_plan(rows, tmp_path, QUICK)
    run(plan)
    row_of = source_rows_of_ids(plan)
    assert np.array_equal(np.sort(row_of), np.arange(len(rows)))
    numbering = Numbering.of(plan)
    by_id = np.concatenate([read_group(plan, numbering, "rows", group) for group in range(plan.groups)])
    assert np.array_equal(by_id, rows[row_of])


def rows_of_type(dtype, columns=70):
    """Rows in clusters whose columns vary more or less: in which order they are summed matters."""
    random = np.random.default_rng(1)
    rows = clustered_rows(2500, columns) * random.uniform(0.2, 5, size=columns)
    return (100 * (rows + random.normal(size=rows.shape))).astype(dtype)


@pytest.mark.parametrize(
    ("metric", "dtype"),
    [
        *itertools.product(["euclidean", "cosine", "manhattan"], [np.float32, np.float64]),
        ("euclidean", np.float16),
        ("correlation", np.float64),
        ("chebyshev", np.int32),
    ],
)
def test_exact_lists_equal_those_in_memory(tmp_path, kept_files, metric, dtype):
    rows = rows_of_type(dtype)
    if METRICS[metric].of_differences and dtype in (np.float64, np.int32):
        rows[:, ::3] += 1_000_000  # columns far from 0 are shifted before they become float32
    plan = small_plan(rows, tmp_path, QUICK.but(metric=metric), recall=1.0)
    result = run(plan)
    assert result.recall == 1.0
    indices, distances = lists_in_source_order(plan)
    expected = actup.nearest_neighbors(rows, plan.k + 1, metric=metric, algorithm="exact")
    assert np.array_equal(distances, expected.distances[:, :-1])
    # Neighbours at the same distance are sorted by ids, which rows of files get anew.
    gaps = np.diff(expected.distances, axis=1, prepend=-np.inf)
    tied = (gaps[:, :-1] == 0) | (gaps[:, 1:] == 0)
    assert tied.mean() < 0.5
    assert np.array_equal(indices[~tied], expected.indices[:, :-1][~tied])


@pytest.mark.parametrize("recipe", [QUICK, QUICK_TSNE, QUICK.but(set_op_mix_ratio=0.4)])
def test_graph_equals_that_in_memory(rows, tmp_path, kept_files, recipe):
    rows[:100] = rows[0]  # duplicates, whose bandwidths depend on the mean over all rows
    plan = small_plan(rows, tmp_path, recipe)
    run(plan)
    ids = np.concatenate([plan.folder.read(f"lists/ids.{group}") for group in range(plan.groups)])
    distances = np.concatenate([plan.folder.read(f"lists/distances.{group}") for group in range(plan.groups)])
    expected = affinity_graph(Neighbors(ids, distances), plan.recipe, 2)
    graph = graph_parts(plan).joined()
    assert np.array_equal(graph.offsets, expected.offsets)
    assert np.array_equal(graph.indices, expected.indices)
    assert np.array_equal(graph.weights, expected.weights)


def test_same_bits_at_any_number_of_threads(rows, expected, tmp_path):
    result = run(small_plan(rows, tmp_path, QUICK), threads=1)  # the expected one: 2 threads
    assert result.digests == expected.digests
    assert np.array_equal(result.embedding, expected.embedding)


def test_same_bits_in_any_order_of_completion(rows, expected, tmp_path):
    plan = small_plan(rows, tmp_path, QUICK)
    random = np.random.default_rng(0)
    for stage in _tasks.STAGES:
        parts = list(_tasks.parts_of(plan, stage))
        for at in random.permutation(len(parts)):
            _tasks.run_task(plan, stage, parts[at], 2)
        _tasks.remove_used_files(plan, stage)
    assert run(plan).digests == expected.digests


def test_recall_is_measured_and_reached(tmp_path):
    rows = clustered_rows(20_000, 16)
    result = run(small_plan(rows, tmp_path, QUICK, groups=8, block_rows=3000))
    assert result.recall >= 0.97
    assert result.spill > 1
    assert 0 < result.extra_rows < 3


def test_hard_rows_visit_more_groups(tmp_path):
    noise = np.random.default_rng(0).normal(size=(6000, 12)).astype(np.float32)
    easy = run(small_plan(clustered_rows(6000), tmp_path / "easy", QUICK))
    hard = run(small_plan(noise, tmp_path / "hard", QUICK))
    assert hard.spill > easy.spill
    assert hard.recall >= 0.97


@pytest.mark.parametrize("duplicates", [0.5, 0.9])
def test_duplicates_are_spread_over_groups(tmp_path, kept_files, duplicates):
    rows = clustered_rows(6000)
    rows[: int(duplicates * len(rows))] = 1.5
    plan = small_plan(rows, tmp_path, QUICK)
    result = run(plan)
    numbering = Numbering.of(plan)
    assert max(numbering.size(group) for group in range(plan.groups)) < 0.5 * len(rows)
    assert result.recall >= 0.97


def test_map_is_as_good_as_in_memory(tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    result = embed(X, "umap", work=tmp_path, backend="cpu")
    memory = actup.embed(X, "umap").embedding
    measures = [actup.quality_report(X, Y, y) for Y in (result.embedding, memory)]
    for name in ("knn_accuracy", "trustworthiness"):
        assert measures[0][name] >= measures[1][name] - 0.01


@pytest.mark.parametrize("init", ["pca", "random", "spectral"])
def test_starts(rows, tmp_path, init):
    result = run(small_plan(rows, tmp_path, QUICK.but(initialization=init)))
    assert result.init_used.startswith(init)
    assert np.isfinite(result.embedding).all()


def test_pca_start_lies_along_the_axes_of_all_rows(rows, tmp_path, kept_files):
    plan = small_plan(rows, tmp_path, QUICK_TSNE.but(initialization="pca"))
    run(plan)
    numbering = Numbering.of(plan)
    scores = np.concatenate([read_group(plan, numbering, "scores", group) for group in range(plan.groups)])
    row_of = source_rows_of_ids(plan)
    expected = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    for axis in range(2):
        mine, theirs = scores[:, axis], (expected[0] * expected[1])[row_of, axis]
        assert abs(np.corrcoef(mine, theirs)[0, 1]) > 0.95


def test_landmarks_start_very_many_points(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(_map, "LANDMARK_MIN_POINTS", 1000)
    result = run(small_plan(rows, tmp_path, QUICK))
    assert "cells" in result.init_used
    assert np.isfinite(result.embedding).all()


def test_files_are_removed_once_used(rows, tmp_path):
    plan = small_plan(rows, tmp_path, QUICK)
    run(plan)
    left = {path.relative_to(plan.folder.path).parts[0] for path in plan.folder.path.rglob("*.array")}
    assert left <= {"points.array", "order", "assign"}


def test_same_call_again_does_nothing_twice(rows, tmp_path, monkeypatch):
    plan = small_plan(rows, tmp_path, QUICK)
    first = run(plan)
    idle = tuple(replace(stage, function=None) for stage in _tasks.STAGES)  # calling one would fail
    monkeypatch.setattr("actup.distributed._local.STAGES", idle)
    again = run(plan)
    assert np.array_equal(first.embedding, again.embedding)
    assert first.digests == again.digests


@pytest.mark.parametrize("stage", [stage.name for stage in _tasks.STAGES])
def test_run_that_was_stopped_goes_on(rows, expected, tmp_path, stage, monkeypatch):
    plan = small_plan(rows, tmp_path, QUICK)

    class Stopped(Exception):
        pass

    def stop(plan_, part=None, **_):
        if part in (None, len(parts) - 1):
            raise Stopped
        return original(plan_, part, **_)

    entry = next(entry for entry in _tasks.STAGES if entry.name == stage)
    original, parts = entry.function, _tasks.parts_of(plan, entry)
    broken = tuple(replace(entry, function=stop) if entry.name == stage else entry for entry in _tasks.STAGES)
    with monkeypatch.context() as context:
        context.setattr("actup.distributed._local.STAGES", broken)
        with pytest.raises(Stopped):
            run(plan)
    assert run(plan).digests == expected.digests


def test_layout_goes_on_from_its_saved_state(rows, expected, tmp_path, monkeypatch):
    plan = small_plan(rows, tmp_path, QUICK)
    monkeypatch.setattr(_map, "_SAVE_SECONDS", 0.0)

    class Stopped(Exception):
        pass

    class Stopping(Progress):
        def report(self, stage, fraction, embedding=None):
            if stage == "layout" and fraction > 0.5:
                raise Stopped

    with pytest.raises(Stopped):
        run(plan, progress=Stopping())
    saved = plan.folder.read_state("layout-cpu")
    assert saved is not None
    assert run(plan).digests == expected.digests


def test_float64_rows_far_from_zero(tmp_path, kept_files):
    rows = clustered_rows().astype(np.float64)
    plan = small_plan(rows + 1e6, tmp_path, QUICK)
    run(plan)
    _, distances = lists_in_source_order(plan)
    true = actup.nearest_neighbors(rows.astype(np.float32), plan.k, algorithm="exact").distances
    assert shares_found(distances, true).mean() > 0.95  # without the shift, distances are off by 3 %


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8])
def test_small_types_stay_small(tmp_path, dtype, kept_files):
    rows = np.clip(np.round(10 * clustered_rows()), 0, 100).astype(dtype)
    plan = small_plan(rows, tmp_path, QUICK)
    assert run(plan).recall >= 0.97
    assert plan.folder.read("rows/0").dtype == dtype


def test_few_rows(tmp_path):
    rows = clustered_rows(5)
    result = embed(rows, QUICK.but(n_neighbors=3), work=tmp_path, backend="cpu")
    assert result.embedding.shape == (5, 2)
    with pytest.warns(UserWarning, match="n_neighbors=15"):
        assert embed(rows, QUICK, work=tmp_path, backend="cpu").embedding.shape == (5, 2)


def test_more_groups_than_neighbours_need(tmp_path):
    plan = small_plan(clustered_rows(60), tmp_path, QUICK, groups=3)
    assert np.isfinite(run(plan).embedding).all()


# --- what is rejected before any work ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall": 0}, "recall=0 must be greater than 0"),
        ({"recall": 1.5}, "recall=1.5 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"memory": "much"}, "memory='much' must be"),
        ({"memory": "1 MB"}, "memory='1 MB' is too little"),
        ({"backend": "gpu"}, "backend='gpu'"),
        ({"progress": "yes"}, "progress='yes' must be"),
        ({"recipe": QUICK.but(metric="jaccard")}, "metric='jaccard' cannot be searched in parts"),
        ({"recipe": QUICK.but(density_weight=1.0)}, "density_weight='1.0' needs the whole graph"),
    ],
)
def test_wrong_parameters(rows, tmp_path, options, message):
    recipe = options.pop("recipe", QUICK)
    with pytest.raises(ValueError, match=message):
        embed(rows, recipe, work=tmp_path / "work", **options)
    assert not (tmp_path / "work").exists()


def test_switches_of_the_recipe_are_explained(rows, tmp_path):
    with pytest.raises(TypeError, match="switch of the recipe"):
        embed(rows, "umap", work=tmp_path, n_neighbors=5)


def test_one_row(tmp_path):
    with pytest.raises(ValueError, match="a map needs at least 2"):
        embed(np.zeros((1, 3), np.float32), work=tmp_path)


def test_too_little_memory_is_said_before_the_work(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("actup.distributed._api.available_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"needs .* MB of memory, but this machine has 1 MB"):
        embed(rows, QUICK, work=tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_too_small_a_disc_is_said_before_the_work(rows, tmp_path, monkeypatch):
    class Usage:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)
    with pytest.raises(OSError, match=r"work=.* needs up to"):
        embed(rows, QUICK, work=tmp_path / "work")


def test_plan_is_explained(rows, tmp_path):
    text = make_plan(rows, QUICK, work=tmp_path).explain()
    for part in (
        "3,000 rows x 12 columns (float32)",
        "14 neighbours",
        "layout",
        "files in work",
        "core time",
    ):
        assert part in text


# --- faults ---


def test_missing_values_name_the_shard(tmp_path):
    parts = [clustered_rows(500, seed=seed) for seed in range(3)]
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
    broken = parts[1].copy()
    broken[17, 3] = np.nan
    np.save(tmp_path / "1.npy", broken)
    files = [tmp_path / f"{number}.npy" for number in range(3)]
    with pytest.raises(ShardError, match=r"1\.npy.*NaN in row 17, column 3") as caught:
        embed(files, QUICK, work=tmp_path / "work", backend="cpu")
    assert "1.npy" in caught.value.shard
    np.save(tmp_path / "1.npy", parts[1])
    result = embed(files, QUICK, work=tmp_path / "work", backend="cpu")
    assert np.load(result.embedding).shape == (1500, 2)


def test_one_file_of_several_shards_can_be_mended(tmp_path, monkeypatch):
    monkeypatch.setattr("actup.distributed._planning._SHARD_ROWS", 100)
    rows = clustered_rows(300)
    broken = rows.copy()
    broken[250, 2] = np.nan
    np.save(tmp_path / "rows.npy", broken)
    with pytest.raises(ShardError, match="NaN in row 50, column 2"):
        embed(tmp_path / "rows.npy", QUICK, work=tmp_path / "work", backend="cpu")
    np.save(tmp_path / "rows.npy", rows)
    assert np.load(
        embed(tmp_path / "rows.npy", QUICK, work=tmp_path / "work", backend="cpu").embedding
    ).shape == (300, 2)


def test_few_different_rows_in_many_groups(tmp_path):
    rows = np.repeat(clustered_rows(3), 50, axis=0)
    assert np.isfinite(run(small_plan(rows, tmp_path, QUICK, groups=40)).embedding).all()


def test_guests_are_limited_by_memory(tmp_path):
    noise = np.random.default_rng(0).normal(size=(6000, 12)).astype(np.float32)
    plan = small_plan(noise, tmp_path / "free", QUICK)
    free = run(plan)
    room = BASE_BYTES + int(2000 * _search_row_bytes(plan.shape))  # for 1,200 own rows and 800 guests
    tight = run(replace(plan, memory=room, work=str(tmp_path / "tight")))
    assert tight.spill < free.spill
    assert free.refinement_rounds == 0


def test_changed_shard_is_named(tmp_path, monkeypatch):
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", clustered_rows(500, seed=number))
    files = [tmp_path / f"{number}.npy" for number in range(3)]
    _stop_in_layout(files, tmp_path / "work", monkeypatch)
    np.save(tmp_path / "2.npy", clustered_rows(500, seed=9))
    with pytest.raises(ShardError, match=r"2\.npy.*has changed"):
        embed(files, QUICK, work=tmp_path / "work", backend="cpu")


def _stop_in_layout(source, work, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr("actup.distributed._map._start", stop)
        with pytest.raises(KeyboardInterrupt):
            embed(source, QUICK, work=work, backend="cpu")


def test_finished_run_begins_anew_if_its_rows_have_changed(tmp_path):
    path, work = tmp_path / "rows.npy", tmp_path / "work"

    def embedded(rows, work):
        np.save(path, rows)
        return embed(path, QUICK, work=work, backend="cpu", out=tmp_path / "map.npy")

    first = embedded(clustered_rows(500), work)
    with pytest.warns(
        UserWarning, match=rf"rows\.npy has changed since the map in .*{first.plan.key} was made"
    ):
        again = embedded(clustered_rows(500, seed=9), work)
    assert again.plan.key == first.plan.key
    assert again.digests == embedded(clustered_rows(500, seed=9), tmp_path / "other").digests
    assert sorted(item.name for item in work.iterdir()) == [f"actup-{first.plan.key}"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("is_finished", [True, False])
def test_files_that_are_written_again_with_the_same_rows_are_no_others(tmp_path, monkeypatch, is_finished):
    path, work = tmp_path / "rows.npy", tmp_path / "work"
    np.save(path, clustered_rows(500))
    if is_finished:
        embed(path, QUICK, work=work, backend="cpu")
    else:
        _stop_in_layout(path, work, monkeypatch)
    [scan] = work.glob("actup-*/done/cells.json")
    before = scan.stat().st_mtime_ns
    os.utime(path, (0, 0))
    embed(path, QUICK, work=work, backend="cpu")
    assert scan.stat().st_mtime_ns == before, "the run began anew"


@pytest.mark.filterwarnings("ignore:.* has changed since the map")
@pytest.mark.parametrize("stopped_at", ["shutil.rmtree", "pathlib.Path.rename"])
def test_run_begins_anew_after_a_stop_while_it_did(tmp_path, monkeypatch, stopped_at):
    path = tmp_path / "rows.npy"
    np.save(path, clustered_rows(500))
    embed(path, QUICK, work=tmp_path / "work", backend="cpu")
    np.save(path, clustered_rows(500, seed=9))

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(stopped_at, stop)
        with pytest.raises(KeyboardInterrupt):
            embed(path, QUICK, work=tmp_path / "work", backend="cpu")
    again = embed(path, QUICK, work=tmp_path / "work", backend="cpu")
    assert again.digests == embed(path, QUICK, work=tmp_path / "other", backend="cpu").digests


def test_full_disc_is_explained_and_the_run_goes_on(rows, expected, tmp_path, monkeypatch):
    plan = small_plan(rows, tmp_path, QUICK)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr("actup.distributed._lists._write_lists", full)
        with pytest.raises(OSError, match="is on a disc that is full"):
            run(plan)
    assert run(plan).digests == expected.digests


def test_other_version_is_refused(rows, tmp_path):
    plan = replace(small_plan(rows, tmp_path, QUICK), version="0.0.1")
    with pytest.raises(_tasks.VersionMismatch, match=r"the plan was made by ActUp 0\.0\.1"):
        run(plan)


def test_another_array_is_another_run(rows, tmp_path):
    first = embed(rows, QUICK, work=tmp_path, backend="cpu")
    second = embed(rows + 1, QUICK, work=tmp_path, backend="cpu")
    assert first.plan.key != second.plan.key


def test_work_folder_is_absolute(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = make_plan(rows, QUICK, work="here")
    assert plan.work == str(tmp_path / "here")
    with pytest.raises(TypeError, match="work=None must be the path of a folder"):
        make_plan(rows, QUICK, work=None)


def test_missing_gpu_is_said_before_the_work(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("actup.distributed._dask.has_gpu", lambda: False)
    with pytest.raises(ImportError, match="backend='cuda' needs CuPy and an NVIDIA GPU, but this process"):
        embed(rows, QUICK, work=tmp_path, backend="cuda")
    assert not any(tmp_path.iterdir())


def test_map_is_not_written_into_the_source(rows, tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "rows" / "a.parquet")
    with pytest.raises(ValueError, match="of which it would be a part when it is read next"):
        embed(tmp_path / "rows", QUICK, work=tmp_path / "work", out=tmp_path / "rows" / "map.parquet")


def test_memory_that_python_alone_needs(rows, tmp_path):
    with pytest.raises(ValueError, match="however few rows there are"):
        make_plan(rows, QUICK, work=tmp_path, memory="300MB")


def test_two_runs_do_not_share_a_folder(rows, tmp_path):
    from actup.distributed._api import exclusive

    plan = small_plan(rows, tmp_path, QUICK)
    with exclusive(plan.folder.path), pytest.raises(RuntimeError, match="another run is at work"):
        run(plan)


# --- estimators ---


def test_fit_files(rows, tmp_path):
    np.save(tmp_path / "X.npy", rows)
    model = actup.UMAP(random_state=3, n_epochs=20)
    assert model.fit_files(tmp_path / "X.npy", work=tmp_path / "work", out=tmp_path / "map.npy") is model
    assert np.load(tmp_path / "map.npy").shape == (len(rows), 2)
    assert model.n_features_in_ == rows.shape[1]
    with pytest.raises(ValueError, match="fitted by fit_files"):
        model.transform(rows)
    with pytest.raises(AttributeError, match="keeps neither rows nor graph"):
        model.graph_  # noqa: B018
    with pytest.raises(AttributeError, match="keeps neither rows nor graph"):
        model.save(tmp_path / "model.actup")
    with pytest.raises(AttributeError, match="keeps neither rows nor graph"):
        model.view(live=True)
    assert model.fit(rows[:200]).transform(rows[:5]).shape == (5, 2)


def test_models_of_fit_files_are_drawn(rows, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    model = actup.UMAP(n_epochs=5).fit_files(rows, work=tmp_path, out=tmp_path / "map.npy")
    assert isinstance(model.embedding_, str)
    places = actup.plot(model).get_children()[0].points.places
    np.testing.assert_array_equal(places, np.load(tmp_path / "map.npy"))
    assert model.view(rows[:, 0])
    model.embedding_ = "s3://bucket/map.parquet"
    with pytest.raises(ValueError, match=r"Y has its map in s3://bucket/map\.parquet: read it"):
        actup.plot(model)


@pytest.mark.parametrize(
    "parameter", [{"unique": True}, {"disconnection_distance": 2.0}, {"init": np.zeros((9, 2))}]
)
def test_fit_files_rejects_what_needs_memory(rows, tmp_path, parameter):
    with pytest.raises(ValueError, match=f"{next(iter(parameter))}=.* needs all rows in memory"):
        actup.UMAP(**parameter).fit_files(rows, work=tmp_path)


def test_fit_files_without_a_seed_goes_on(rows, tmp_path):
    assert actup.UMAP(n_epochs=5).fit_files(rows, work=tmp_path).seed_ == 0


def test_the_recall_is_that_of_the_recipe_unless_it_is_given(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    exact = actup.preset("umap").but(recall=1.0)
    assert make_plan(X, exact, work=tmp_path).is_exact
    assert make_plan(X, exact, work=tmp_path, recall=0.9).recipe.recall == 0.9
    model = actup.UMAP(recall=1.0, n_epochs=5).fit_files(X, work=tmp_path)
    assert model.recipe_.recall == model.recall_ == 1.0
