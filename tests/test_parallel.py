"""The thread pool seen from Python: forks, threads, nested use, exceptions. tests/native tests the rest."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from actup import embed, nearest_neighbors, preset
from actup.backends import load_backend
from actup.graph._records import Neighbors

cpu = load_backend("cpu")

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
ignore_fork_warning = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def X():
    """Enough points for several chunks in every stage."""
    return np.float32(np.random.default_rng(0).standard_normal((2000, 8)))


def make_map(X, seed=0, threads=2, name="umap"):
    return embed(X, preset(name).but(epochs=10), seed=seed, threads=threads).embedding


def in_child(work, seconds=60):
    """Run ``work`` in a forked child; whether it returned a true value in time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("name", ["umap", "sampled_umap", "gdr_umap", "gdr_tsne"])
def test_more_threads_than_cores_change_no_bit(X, name, threads):
    np.testing.assert_array_equal(make_map(X, threads=threads, name=name), make_map(X, threads=1, name=name))


@needs_fork
@ignore_fork_warning
def test_forked_child_and_grandchild_have_their_own_pools(X):
    expected = make_map(X)  # the parent has a pool before it forks

    def same():
        return np.array_equal(make_map(X), expected)

    assert in_child(lambda: same() and in_child(same))
    assert same()


@needs_fork
@ignore_fork_warning
def test_fork_while_the_pool_is_busy(X):
    expected = make_map(X)
    done = threading.Event()

    def work():
        while not done.is_set():
            make_map(X)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(5):
            assert in_child(lambda: np.array_equal(make_map(X), expected))
    finally:
        done.set()
        worker.join()


@needs_fork
@ignore_fork_warning
def test_layout_resumes_in_a_forked_child(X):
    graph = embed(X, preset("gdr_umap").but(epochs=0)).graph
    recipe = preset("gdr_umap").but(epochs=10)
    start = np.float32(np.random.default_rng(1).uniform(0, 10, (len(X), 2)))
    layout = cpu.make_layout(graph, start, recipe, 0, 2)
    layout.run(5)

    def finish():
        layout.run(10)
        whole = cpu.make_layout(graph, start, recipe, 0, 2)
        whole.run(10)
        return np.array_equal(layout.embedding(), whole.embedding())

    assert in_child(finish)
    assert finish()


@ignore_fork_warning
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_multiprocessing_pools(X, method):
    expected = [make_map(X, seed) for seed in range(2)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(make_map, [(X, seed) for seed in range(2)]).get(timeout=120)
    np.testing.assert_array_equal(found, expected)


def test_concurrent_python_threads_get_the_same_maps(X):
    expected = [make_map(X, seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: make_map(X, seed), range(8)))
    np.testing.assert_array_equal(found, expected)


def test_engine_releases_the_interpreter_lock(X):
    """Other Python threads run while the engine works."""
    points = np.float32(np.random.default_rng(1).standard_normal((12_000, 30)))
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.perf_counter()
    nearest_neighbors(points, 15, n_jobs=1)
    end = time.perf_counter()
    done.set()
    ticker.join()
    during = [tick for tick in ticks if begin < tick < end]
    assert np.diff([begin, *during, end]).max() < 0.5 * (end - begin)


def test_nested_joblib_threads(X):
    def outer(seed):
        inner = joblib.Parallel(n_jobs=2, backend="threading")(
            joblib.delayed(make_map)(X, seed, 2) for _ in range(2)
        )
        assert np.array_equal(*inner)
        return inner[0]

    found = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(outer)(seed) for seed in range(2))
    np.testing.assert_array_equal(found, [make_map(X, seed) for seed in range(2)])


def test_exception_in_a_chunk_reaches_python_and_the_pool_still_works(X):
    found = nearest_neighbors(X, 5)
    broken = found.distances.copy()
    broken[[3, 700, 1999], 0] = broken[:, -1].max() + 1  # not ascending, in several chunks
    for _ in range(20):
        with pytest.raises(ValueError, match="ascending"):
            cpu.affinity_graph(Neighbors(found.indices, broken), preset("umap"), 2)
    np.testing.assert_array_equal(make_map(X, threads=2), make_map(X, threads=1))


@pytest.mark.skipif(sys.platform != "linux", reason="resource limits differ on other systems")
@ignore_fork_warning
def test_maps_are_computed_where_no_thread_can_be_started(X):
    """A thread's stack is 1 GiB here, and the memory limit leaves no room for one."""
    import resource

    code = """if True:
        import resource, threading
        import numpy as np
        from actup import embed, preset

        X = np.random.default_rng(0).standard_normal((2000, 8))
        embed(X, "umap", threads=1)  # imports everything
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, used + 2**29))
        try:
            threading.Thread(target=int).start()
        except RuntimeError:
            print("no threads")
        for _ in range(2):
            print(embed(X, preset("umap").but(epochs=10), threads=4).embedding.shape)
    """
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (2**30, 2**30)),
        capture_output=True,
        text=True,
    )
    assert run.stdout.split("\n")[:3] == ["no threads", "(2000, 2)", "(2000, 2)"], run.stderr
