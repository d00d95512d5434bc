"""Runs on the workers of a Dask cluster: the bits of a run in process, also if workers are killed."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import actup
import file_runs
from actup.distributed import ShardError, _dask, embed, transform
from actup.distributed._dask import event_topic
from actup.distributed._tasks import VersionMismatch
from actup.progress import Progress
from actup.quality import trustworthiness
from file_runs import clustered_rows, run, small_plan

distributed = pytest.importorskip("distributed")

QUICK = actup.preset("umap").but(epochs=100)
MAX_RESULT_BYTES = 10_000

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=":0", processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    paths = [folder / f"{number}.npy" for number in range(4)]
    for number, path in enumerate(paths):
        np.save(path, clustered_rows(2000, seed=number))
    return paths


@pytest.fixture(scope="module")
def expected(files, tmp_path_factory):
    """A run in this process."""
    return run(small_plan(files, tmp_path_factory.mktemp("here"), QUICK))


def test_workers_give_the_bits_of_a_run_in_process(client, files, expected, tmp_path):
    fractions = []
    progress = Progress(callback=lambda stage, fraction, _: fractions.append((stage, fraction)))
    result = run(small_plan(files, tmp_path, QUICK), client=client, progress=progress)
    assert result.digests == expected.digests
    assert np.array_equal(np.load(result.embedding), np.load(expected.embedding))
    assert [stage for stage, _ in fractions][-1] == "layout"
    assert fractions[-1][1] == 1.0


def test_results_that_travel_are_small(client, files, tmp_path):
    plan = small_plan(files, tmp_path, QUICK)
    run(plan, client=client)
    for path in (plan.folder.path / "done").iterdir():
        assert path.stat().st_size < MAX_RESULT_BYTES
    assert len(pickle.dumps(plan)) < MAX_RESULT_BYTES


def kill_worker_of(client, prefix, stop):
    """Kill the worker that runs the first task whose key has this prefix; returns whether there was one."""
    pids = client.run(os.getpid)
    while not stop.is_set():
        for address, keys in client.processing().items():
            if any(str(key).startswith(prefix) for key in keys) and address in pids:
                os.kill(pids[address], signal.SIGKILL)
                return True
        time.sleep(0.002)
    return False


@pytest.mark.parametrize("stage", ["search", "layout"])
def test_killed_worker_changes_nothing(client, files, expected, tmp_path, stage):
    plan = small_plan(files, tmp_path, QUICK)
    stop, killed = threading.Event(), []
    watch = threading.Thread(
        target=lambda: killed.append(kill_worker_of(client, f"actup-{stage}-{plan.key}", stop))
    )
    watch.start()
    try:
        result = run(plan, client=client)
    finally:
        stop.set()
        watch.join()
    client.wait_for_workers(2, timeout=60)
    assert killed == [True]
    assert result.digests == expected.digests


_CLIENT = """
import sys
from distributed import Client
import actup
from file_runs import run, small_plan

address, work, *files = sys.argv[1:]
run(small_plan(files, work, actup.preset("umap").but(epochs=100)), client=Client(address))
"""


def test_killed_client_changes_nothing(client, files, expected, tmp_path):
    plan = small_plan(files, tmp_path, QUICK)
    command = [sys.executable, "-c", _CLIENT, client.scheduler.address, tmp_path, *files]
    folder = os.path.dirname(file_runs.__file__)
    other = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": folder}, stderr=subprocess.DEVNULL)
    while plan.folder.record("truth-1") is None and other.poll() is None:
        time.sleep(0.002)
    other.kill()
    other.wait()
    done = plan.folder.path / "done"
    before = {path: path.stat().st_mtime_ns for path in done.glob("[!.]*.json")}
    assert before
    assert not (done / "layout.json").exists()
    assert run(plan, client=client).digests == expected.digests
    assert {path: path.stat().st_mtime_ns for path in before} == before  # nothing was done again


def test_run_goes_on_with_another_number_of_workers(client, files, expected, tmp_path):
    plan = small_plan(files, tmp_path, QUICK)

    class Stopped(Exception):
        pass

    class Stopping(Progress):
        def report(self, stage, fraction, embedding=None):
            if stage == "graph":
                raise Stopped

    with pytest.raises(Stopped):
        run(plan, client=client, progress=Stopping())
    assert run(plan).digests == expected.digests


def test_errors_of_workers_name_the_shard(client, files, tmp_path):
    broken = clustered_rows(500)
    broken[3, 1] = np.inf
    np.save(tmp_path / "broken.npy", broken)
    with pytest.raises(ShardError, match=r"broken\.npy.*infinity in row 3, column 1"):
        embed([*files, tmp_path / "broken.npy"], QUICK, work=tmp_path / "work", client=client, backend="cpu")


def test_rows_of_this_process_are_refused(client, tmp_path):
    with pytest.raises(ValueError, match="an array in this process"):
        embed(clustered_rows(), QUICK, work=tmp_path, client=client)


def test_other_version_is_refused_by_workers(client, files, tmp_path):
    plan = replace(small_plan(files, tmp_path, QUICK), version="0.0.1")
    with pytest.raises(VersionMismatch, match="install the same version on all workers"):
        run(plan, client=client)


def test_too_small_workers_are_refused(files, tmp_path, client, monkeypatch):
    plan = small_plan(files, tmp_path, QUICK, groups=1)
    monkeypatch.setattr("actup.distributed._estimate.BASE_BYTES", 2**40)
    with pytest.raises(MemoryError, match="the largest worker has"):
        run(plan, client=client)


def test_levels_may_be_mixed(files, expected, tmp_path):
    from actup._engine import offered_levels

    levels = offered_levels()
    if len(levels) < 2:
        pytest.skip("this installation has one level")
    workers = {
        number: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": {"ACTUP_CPU": level}}}
        for number, level in enumerate((levels[0], levels[-1]))
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster,
        distributed.Client(cluster) as mixed,
    ):
        plan = small_plan(files, tmp_path, QUICK)
        result = run(plan, client=mixed)
        records = [plan.folder.record(f"search-{group}") for group in range(plan.groups)]
    assert {record["level"] for record in records} == {levels[0], levels[-1]}
    assert result.digests == expected.digests


def test_transform_on_workers(client, files, tmp_path):
    model = actup.UMAP(random_state=0, n_epochs=20).fit(np.load(files[0])[:500])
    places = transform(model, files, work=tmp_path, client=client, out=tmp_path / "places.npy")
    assert places is not None
    rows = np.concatenate([np.load(path) for path in files])
    assert np.array_equal(np.load(tmp_path / "places.npy"), model.transform(rows))


def test_layout_is_logged(client, files, tmp_path):
    plan = small_plan(files, tmp_path, QUICK)
    run(plan, client=client)
    events = client.get_events(event_topic(plan))
    assert events[-1][1]["stage"] == "layout"


@pytest.mark.parametrize("where", ["here", "workers"])
def test_dask_array(client, files, tmp_path, where):
    da = pytest.importorskip("dask.array")
    rows = np.concatenate([np.load(path) for path in files])
    array = da.from_array(rows, chunks=(3000, 5))
    result = embed(array, QUICK, work=tmp_path, client=client if where == "workers" else None, backend="cpu")
    assert isinstance(result.embedding, da.Array)
    assert result.embedding.chunks[0] == array.chunks[0]
    assert trustworthiness(rows, result.embedding.compute()) > 0.85  # rows come back in their order


def test_dask_frame(client, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows = clustered_rows(900, 4)
    frame = pd.DataFrame(rows, columns=list("abcd"), index=[f"row {number}" for number in range(len(rows))])
    collection = dd.from_pandas(frame, npartitions=3, sort=False)
    result = embed(collection, QUICK, work=tmp_path, client=client, backend="cpu", columns=["a", "b", "c"])
    places = result.embedding.compute()
    assert list(places.index) == list(frame.index)
    assert np.isfinite(places.to_numpy()).all()


def test_a_lost_connection_ends_the_run_which_goes_on_with_another_client(client, files, expected, tmp_path):
    plan = small_plan(files, tmp_path, QUICK)
    with distributed.Client(client.scheduler.address) as second:

        def lose(stage, fraction, _):
            if stage == "neighbors" and fraction > 0:
                second.loop.add_callback(second.scheduler_comm.comm.abort)

        with pytest.raises(ConnectionError, match=r"has lost its connection .* the same call goes on"):
            run(plan, client=second, progress=Progress(callback=lose))
    assert run(plan, client=client).digests == expected.digests


def test_tasks_whose_callbacks_are_lost_are_found(client, files, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(_dask, "_LOOK_SECONDS", 0.3)
    monkeypatch.setattr(_dask, "_POLL_SECONDS", 0.02)
    monkeypatch.setattr(distributed.Future, "add_done_callback", lambda future, function: None)
    assert run(small_plan(files, tmp_path, QUICK), client=client).digests == expected.digests


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("lost", ["results", "tasks"])
def test_a_client_that_loses_messages_ends_the_run(client, files, expected, tmp_path, monkeypatch, lost):
    """As a client does whose event loop has no memory."""
    monkeypatch.setattr(_dask, "_LOOK_SECONDS", 0.6)
    plan = small_plan(files, tmp_path, QUICK)
    with distributed.Client(client.scheduler.address) as second, monkeypatch.context() as patch:
        if lost == "results":
            patch.setitem(second._stream_handlers, "key-in-memory", lambda **_: None)
        else:
            patch.setattr(second, "_send_to_scheduler", lambda message: None)
        with pytest.raises(ConnectionError, match=r"has lost its connection .* the same call goes on"):
            run(plan, client=second)
    del second, patch
    gc.collect()  # Dask leaves a socket of the client open
    assert run(plan, client=client).digests == expected.digests
