"""Refinement rounds of runs over files: incomplete lists improve, with the same bits however it is run."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import actup
from actup._engine import engine
from actup.backends._memory._shape import BASE_BYTES
from actup.distributed import _refine, _tasks
from actup.distributed._estimate import _search_row_bytes, stage_bytes
from actup.distributed._numbering import Numbering, read_group, read_rows_of_group
from actup.neighbors._comparison import resolve
from file_runs import clustered_rows, run, small_plan

QUICK = actup.preset("umap").but(epochs=5, initialization="random")
ROWS, GROUPS = 8000, 8


def noise(columns=20):
    return np.random.default_rng(0).normal(size=(ROWS, columns)).astype(np.float32)


def tight_plan(work, recipe=QUICK, rows=None):
    """A plan whose memory allows few guests: most neighbours do not meet in a group."""
    plan = small_plan(noise() if rows is None else rows, work, recipe, groups=GROUPS, block_rows=1500)
    return replace(plan, memory=BASE_BYTES + int(2 * ROWS / GROUPS * _search_row_bytes(plan.shape)))


@pytest.fixture(scope="module")
def refined(tmp_path_factory):
    """The result of a run that nothing disturbs."""
    return run(tight_plan(tmp_path_factory.mktemp("refined")))


def recall_before(plan):
    return plan.folder.record("judge-1")["recall"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_refinement_finds_neighbours_of_other_groups(tmp_path, metric):
    plan = tight_plan(tmp_path, QUICK.but(metric=metric))
    result = run(plan)
    assert result.spill > 1
    assert recall_before(plan) < 0.8
    assert result.refinement_rounds >= 2
    assert result.recall > recall_before(plan) + 0.12


def test_lists_are_sorted_and_true(tmp_path, monkeypatch):
    stages = tuple(replace(stage, removes=()) for stage in _tasks.STAGES)
    monkeypatch.setattr("actup.distributed._local.STAGES", stages)
    plan = tight_plan(tmp_path)
    result = run(plan)
    numbering = Numbering.of(plan)
    rows = np.concatenate([read_group(plan, numbering, "rows", group) for group in range(plan.groups)])
    name = _refine.lists_after(result.refinement_rounds)
    ids, distances = (
        np.concatenate([plan.folder.read(f"{name}/{kind}.{group}") for group in range(plan.groups)])
        for kind in ("ids", "distances")
    )
    assert all(len(np.unique(row)) == plan.k for row in ids)
    assert not (ids == np.arange(ROWS)[:, None]).any()
    assert (np.diff(distances, axis=1) >= 0).all()
    expected = np.linalg.norm(rows[:, None, :].astype(np.float64) - rows[ids], axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-5)


def test_nothing_is_refined_where_enough_is_found(tmp_path):
    plan = small_plan(clustered_rows(), tmp_path, QUICK)
    result = run(plan)
    assert result.refinement_rounds == 0
    assert result.recall == recall_before(plan) >= plan.recall
    assert result.seconds["refine"] < 0.1 * result.seconds["search"] + 0.1


def test_without_guests_nothing_is_refined(tmp_path):
    plan = tight_plan(tmp_path)
    result = run(replace(plan, memory=BASE_BYTES + int(1.05 * ROWS / GROUPS * _search_row_bytes(plan.shape))))
    assert result.spill == 1
    assert result.refinement_rounds == 0


def test_same_bits_at_any_number_of_threads_and_rows_at_a_time(refined, tmp_path, monkeypatch):
    monkeypatch.setattr("actup.distributed._refine.refined_rows", lambda *_: 300)
    assert run(tight_plan(tmp_path), threads=1).digests == refined.digests


@pytest.mark.parametrize("stage", ["judge-1", "refine-1", "judge-2", "refine-2", "mean", "affinity"])
def test_refinement_that_was_stopped_goes_on(refined, tmp_path, stage, monkeypatch):
    plan = tight_plan(tmp_path)

    class Stopped(Exception):
        pass

    def stop(plan_, part=None, **options):
        if part in (None, GROUPS // 2):
            raise Stopped
        return original(plan_, part, **options)

    original = next(entry.function for entry in _tasks.STAGES if entry.name == stage)
    broken = tuple(replace(entry, function=stop) if entry.name == stage else entry for entry in _tasks.STAGES)
    with monkeypatch.context() as context:
        context.setattr("actup.distributed._local.STAGES", broken)
        with pytest.raises(Stopped):
            run(plan)
    assert run(plan).digests == refined.digests


def test_files_are_removed_once_used(tmp_path):
    plan = tight_plan(tmp_path)
    run(plan)
    left = {path.relative_to(plan.folder.path).parts[0] for path in plan.folder.path.rglob("*.array")}
    assert left <= {"points.array", "order", "assign"}


def test_memory_is_bounded(tmp_path, monkeypatch):
    """The arrays of NumPy stay within the estimate of a task."""
    plan = tight_plan(tmp_path, rows=noise(100))
    peaks = []

    def measured(plan_, part, **options):
        tracemalloc.start()
        try:
            return original(plan_, part, **options)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    original = next(entry.function for entry in _tasks.STAGES if entry.name == "refine-1")
    watched = tuple(
        replace(entry, function=measured) if entry.name == "refine-1" else entry for entry in _tasks.STAGES
    )
    monkeypatch.setattr("actup.distributed._local.STAGES", watched)
    assert run(plan).refinement_rounds >= 1
    size = Numbering.of(plan).counts.sum(axis=0).max()
    groups = int(ROWS // size)
    estimate = stage_bytes(plan.shape, plan.memory, groups, plan.block_rows, plan.sample_rows)["refine"]
    assert max(peaks) < estimate - BASE_BYTES


# --- what the stage is made of ---


def test_second_neighbors():
    lists = np.array([[1, 2], [3, 0], [4, -1], [7, 6], [0, 2]], np.int32)
    ids = np.array([[1, 2], [3, 4]], np.int32)  # of the rows 0 and 1
    followed = np.arange(5, dtype=np.int32)
    found = engine.second_neighbors(ids, 0, followed, lists, 0, 100, 1)
    assert found.tolist() == [[3, 4, -1, -1], [0, 2, 6, 7]]
    assert engine.second_neighbors(ids, 0, followed, lists, 3, 7, 1).tolist() == [[3, 4], [6, -1]]
    assert engine.second_neighbors(ids, 0, followed, lists, 50, 60, 1).shape == (2, 0)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "correlation"])
def test_candidates_are_compared_as_all_points_are(metric):
    rows = clustered_rows(200)
    kind = resolve(metric, None, rows).for_engine()
    everyone = np.tile(np.arange(len(rows), dtype=np.int32), (50, 1))
    ids, distances = engine.candidate_neighbors(rows, rows[:50], None, everyone, 5, kind, 2)
    expected_ids, expected = engine.exact_neighbors(rows, rows[:50], 5, kind, 2)
    assert np.array_equal(ids, expected_ids)
    np.testing.assert_allclose(distances, expected, rtol=1e-5, atol=1e-6)


def test_rows_of_a_group_by_their_places(tmp_path, monkeypatch):
    stages = tuple(replace(stage, removes=()) for stage in _tasks.STAGES)
    monkeypatch.setattr("actup.distributed._local.STAGES", stages)
    plan = small_plan(clustered_rows(), tmp_path, QUICK)
    run(plan)
    numbering = Numbering.of(plan)
    for group in range(plan.groups):
        everything = read_group(plan, numbering, "rows", group)
        for places in (np.arange(0, len(everything), 7), np.zeros(0, np.int64), np.arange(len(everything))):
            assert np.array_equal(read_rows_of_group(plan, numbering, group, places), everything[places])
