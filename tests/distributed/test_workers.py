"""Workers of a Dask cluster that differ: memory, versions, discs; and which errors are tried again."""

from __future__ import annotations

import errno
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import actup
from actup.distributed import ShardError, _dask, _workers, embed, make_plan
from actup.distributed._needs import Needs
from actup.distributed._tasks import VersionMismatch
from actup.distributed._workers import Workers
from file_runs import clustered_rows, run, small_plan

distributed = pytest.importorskip("distributed")

QUICK = actup.preset("umap").but(epochs=5)
SMALL, BIG = 2 * 2**30, 4 * 2**30
FITS_BIG_ONLY = 3 * 2**30

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)


def new_cluster():
    """A small and a big worker in this process, so that tests can replace what they call."""
    workers = {
        name: {"cls": distributed.Worker, "options": {"nthreads": 1, "memory_limit": limit}}
        for name, limit in (("small", SMALL), ("big", BIG))
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    return distributed.SpecCluster(workers=workers, scheduler=scheduler)


@pytest.fixture(scope="module")
def cluster():
    with new_cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{number}.npy" for number in range(3)]
    for number, path in enumerate(paths):
        np.save(path, clustered_rows(600, seed=number))
    return paths


@pytest.fixture
def tasks(monkeypatch):
    """The tasks of a run, in their order: name of the stage, part, memory limit of the worker."""
    seen = []

    def run_task(plan, stage, part, threads, report):
        seen.append((stage.name, part, distributed.get_worker().memory_manager.memory_limit))
        return original(plan, stage, part, threads, report)

    original = _dask.run_task
    monkeypatch.setattr(_dask, "run_task", run_task)
    return seen


def need(monkeypatch, **bytes_of_stage):
    """Have stages need more memory."""
    original = Needs.of.__func__

    def of(cls, plan):
        needs = original(cls, plan)
        return replace(needs, memory=needs.memory | bytes_of_stage)

    monkeypatch.setattr(Needs, "of", classmethod(of))


def test_tasks_run_where_their_memory_suffices(client, files, tmp_path, tasks, monkeypatch):
    plan = small_plan(files, tmp_path / "work", QUICK)
    need(monkeypatch, layout=FITS_BIG_ONLY, search=FITS_BIG_ONLY)
    run(plan, client=client)
    limits = {}
    for stage, _, limit in tasks:
        limits.setdefault(stage, set()).add(limit)
    assert limits["layout"] == limits["search"] == limits["merge"] == {BIG}
    assert limits["scan"] | limits["truth"] | limits["affinity"] == {SMALL, BIG}


def test_too_small_workers_are_refused_by_name(client, files, tmp_path, monkeypatch):
    plan = small_plan(files, tmp_path / "work", QUICK)
    need(monkeypatch, search=2 * BIG)
    with pytest.raises(MemoryError, match=r"'search' needs 8\.6 GB .* tcp://.*3\.8 GB.*smaller groups"):
        run(plan, client=client)
    assert not (tmp_path / "work").exists()


def test_worker_that_comes_later_and_is_too_small_does_no_task(client, files, tmp_path, tasks, monkeypatch):
    need(monkeypatch, layout=FITS_BIG_ONLY)
    monkeypatch.setattr(_dask, "_RETRY_SECONDS", 0.0)
    original, unrestricted = Workers.restriction, []

    def restriction(self, needed, gpu=False):
        """All workers at first, as if the small one had come after the task was submitted."""
        small = next(address for address, worker in self._known.items() if worker.memory < SMALL)
        if needed == FITS_BIG_ONLY and not unrestricted:
            unrestricted.append(small)
            return [small]
        return original(self, needed, gpu)

    monkeypatch.setattr(Workers, "restriction", restriction)
    run(small_plan(files, tmp_path / "work", QUICK), client=client)
    assert unrestricted
    assert [limit for stage, _, limit in tasks if stage == "layout"] == [BIG]


def test_tasks_of_a_lost_worker_are_given_to_the_one_that_replaces_it(tmp_path, monkeypatch):
    monkeypatch.setattr(_dask, "_POLL_SECONDS", 0.05)

    def wait(first_address, part):
        worker = distributed.get_worker()
        (tmp_path / "started").touch()
        while worker.address == first_address and not (tmp_path / "closed").exists():
            time.sleep(0.01)
        return worker.memory_manager.memory_limit

    async def replace_worker(address):
        await cluster.scheduler.remove_worker(address, stimulus_id="test")
        (tmp_path / "closed").touch()
        return await distributed.Worker(cluster.scheduler_address, nthreads=1, memory_limit=BIG)

    with new_cluster() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        workers = Workers(client)
        (big,) = workers.able(FITS_BIG_ONLY)
        tasks = _dask._Tasks(workers, tmp_path, "actup-lost", wait, (big,), FITS_BIG_ONLY)
        monkeypatch.setattr(_dask, "_write_arguments", lambda folder, arguments: arguments)
        monkeypatch.setattr(_dask, "_read_arguments", lambda arguments: arguments)
        results = []
        thread = threading.Thread(target=tasks.run, args=([0], lambda part, limit: results.append(limit)))
        thread.start()
        while thread.is_alive() and not (tmp_path / "started").exists():
            time.sleep(0.01)
        replacement = cluster.sync(replace_worker, big)
        thread.join(20)
        cluster.sync(replacement.close)
        assert results == [BIG]


def test_layout_may_need_more_than_the_other_stages(client, files, tmp_path, monkeypatch):
    monkeypatch.setattr("actup.distributed._estimate.layout_bytes", lambda shape: FITS_BIG_ONLY)
    with pytest.raises(ValueError, match="the layout of 1,800 points needs"):
        make_plan(files, QUICK, work=tmp_path / "work", memory="1GB")
    result = embed(files, QUICK, work=tmp_path / "work", memory="1GB", client=client, backend="cpu")
    assert result.plan.memory == 10**9


# --- errors ---


def test_broken_shard_is_read_once(client, files, tmp_path, tasks):
    broken = clustered_rows(600)
    broken[5, 0] = np.nan
    np.save(files[1], broken)
    with pytest.raises(ShardError, match=r"1\.npy.*NaN in row 5"):
        embed(files, QUICK, work=tmp_path / "work", client=client, backend="cpu")
    assert [stage for stage, part, _ in tasks if part == 1] == ["scan"]


@pytest.mark.parametrize("error", [OSError(errno.ESTALE, "Stale file handle"), MemoryError("for a while")])
def test_errors_that_may_pass_are_tried_again(client, files, tmp_path, monkeypatch, error):
    monkeypatch.setattr(_dask, "_RETRY_SECONDS", 0.0)
    failures, original = [], _dask.run_task

    def run_task(plan, stage, part, threads, report):
        if stage.name == "truth" and part == 1 and len(failures) < _dask._RETRIES:
            failures.append(part)
            raise error
        return original(plan, stage, part, threads, report)

    monkeypatch.setattr(_dask, "run_task", run_task)
    run(small_plan(files, tmp_path / "work", QUICK), client=client)
    assert len(failures) == _dask._RETRIES


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (ShardError("1.npy", "it contains NaN"), False),
        (VersionMismatch("another version"), False),
        (ValueError("no number"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (OSError(errno.EIO, "Input/output error"), True),
        (FileNotFoundError(errno.ENOENT, "not visible yet"), True),
        (MemoryError(), True),
    ],
)
def test_which_errors_may_pass(error, helps):
    assert _dask.may_pass(error) is helps


def test_task_that_ends_its_workers_is_explained(client, tmp_path):
    tasks = _dask._Tasks(Workers(client), tmp_path, "actup-search", print, (), 10**9)
    with pytest.raises(MemoryError, match=r"has ended 4 workers.*1\.0 GB should suffice"):
        tasks._try_again(0, distributed.KilledWorker("actup-search-0", None, 3))


# --- workers that make a run impossible ---


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"version": "0.0.1"}, r"has ActUp 0\.0\.1, the client has"),
        ({"bits": "0123456789abcdef"}, "has another build of ActUp .*, whose results differ"),
        (ModuleNotFoundError("No module named 'actup'"), "cannot use ActUp .*No module named 'actup'"),
    ],
)
def test_other_versions_are_refused_by_name(client, files, tmp_path, monkeypatch, answer, message):
    original = _workers._describe

    def describe(asks_for_gpu, dask_worker):
        if isinstance(answer, Exception):
            raise answer
        return replace(original(asks_for_gpu, dask_worker), **answer)

    monkeypatch.setattr(_workers, "_describe", describe)
    with pytest.raises(VersionMismatch, match=rf"worker tcp://\S+ {message}.*install the same version"):
        embed(files, QUICK, work=tmp_path / "work", client=client, backend="cpu")
    assert not (tmp_path / "work").exists()


def test_worker_without_the_work_folder_is_named(client, files, tmp_path, monkeypatch):
    monkeypatch.setattr(_workers, "_SAME_FILE_SECONDS", 0.0)
    monkeypatch.setattr(_workers, "_shows", lambda path, token: False)
    with pytest.raises(FileNotFoundError, match=r"worker \S+ does not see the work folder"):
        embed(files, QUICK, work=tmp_path / "work", client=client, backend="cpu")


def test_worker_without_the_source_is_named(client, files, tmp_path):
    plan = small_plan(files, tmp_path / "work", QUICK)
    workers = Workers(client)
    missing = _workers._missing
    plan.folder.path.mkdir(parents=True)
    (plan.folder.path / "client").write_text("token")
    assert missing(str(plan.folder.path), "token", plan.source, plan.source.fingerprint(0)) is None
    files[0].unlink()
    assert missing(str(plan.folder.path), "token", plan.source, "other") == "the shard 0.npy"
    assert workers.in_words().count("usable") == 2
