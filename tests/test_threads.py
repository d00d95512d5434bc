"""Tests of actup._threads."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

from actup._threads import BackgroundCalls, count_threads, map_in_threads


def test_count_threads():
    assert count_threads(3) == count_threads(np.int64(3)) == 3
    assert count_threads(None) == count_threads(-1) >= 1
    assert count_threads(-2) == max(1, count_threads(-1) - 1)
    assert count_threads(-1000) == 1
    if hasattr(os, "sched_getaffinity"):
        assert count_threads(-1) <= len(os.sched_getaffinity(0))


def test_far_more_threads_than_cores_are_not_started(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert count_threads(10**12) == count_threads(65) == 64


def test_limits_on_cores_count(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert count_threads(-1) == 1


@pytest.mark.parametrize(("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_errors_name_the_parameter(n_jobs, error):
    with pytest.raises(error, match=f"workers={n_jobs}"):
        count_threads(n_jobs, "workers")


# ---- calls in threads ----


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_results_come_in_the_order_of_the_items(threads, count):
    def square(number):
        time.sleep(0.001 * (number % 3 == 0))
        return number * number

    assert list(map_in_threads(square, range(count), threads)) == [number**2 for number in range(count)]


class CountedCalls:
    """Calls that note, as each begins, how many run at that time."""

    def __init__(self):
        self.running_together = []
        self._running = set()
        self._lock = threading.Lock()

    def call(self, number):
        with self._lock:
            self._running.add(number)
            self.running_together.append(len(self._running))
        time.sleep(0.002)
        with self._lock:
            self._running.remove(number)


def test_no_more_calls_run_at_a_time_than_threads():
    calls = CountedCalls()
    list(map_in_threads(calls.call, range(20), 3))
    assert 1 < max(calls.running_together) <= 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_the_work(threads):
    called = []

    def call(number):
        called.append(number)
        time.sleep(0.001)
        if number == 5:
            raise ZeroDivisionError("five")
        return number

    results = map_in_threads(call, range(100), threads)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError, match="five"):
        next(results)
    at_the_end = len(called)
    time.sleep(0.02)
    assert len(called) == at_the_end < 20


def test_no_call_begins_after_the_generator_is_closed():
    called = []
    results = map_in_threads(lambda number: called.append(number) or time.sleep(0.001), range(1000), 2)
    next(results)
    results.close()
    at_the_end = len(called)
    time.sleep(0.02)
    assert len(called) == at_the_end < 100


def test_no_call_begins_after_an_error():
    called = []

    def call(number):
        called.append(number)
        if number == 1:
            raise ZeroDivisionError
        time.sleep(0.05)

    with pytest.raises(ZeroDivisionError):
        list(map_in_threads(call, range(300), 2))
    assert len(called) <= 4


@pytest.mark.parametrize("threads", [1, 2])
def test_stop_iteration_is_an_error_like_others(threads):
    def call(number):
        if number == 2:
            raise StopIteration
        return number

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(map_in_threads(call, range(5), threads))


def test_results_and_errors_are_not_kept():
    class Large:
        pass

    references = []

    def call(number):
        large = Large()
        references.append(weakref.ref(large))
        if number == 7:
            raise ZeroDivisionError
        return large

    gc.disable()
    try:
        for result in map_in_threads(call, range(7), 2):
            del result
        assert [reference() for reference in references] == [None] * 7
        with pytest.raises(ZeroDivisionError):
            list(map_in_threads(call, range(8), 2))
        assert [reference() for reference in references] == [None] * 15
    finally:
        gc.enable()


def compute(number):
    """Work in Python, of 1 ms, for which threads compete."""
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
@pytest.mark.parametrize(
    ("call", "threads", "longest_s", "times"), [(abs, 2, 0.001, 2000), (compute, 8, 0.03, 150)]
)
def test_ctrl_c_at_any_moment_ends_the_work(call, threads, longest_s, times):
    """A pool of concurrent.futures fails here, or hangs."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for moment in np.random.default_rng(0).uniform(1e-5, longest_s, times):
            try:
                signal.setitimer(signal.ITIMER_REAL, moment)
                while True:
                    list(map_in_threads(call, range(8), threads))
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert interrupted == times


# ---- calls in the background ----


def test_background_calls_give_results_and_errors():
    calls = BackgroundCalls(2)
    squares = [calls.submit(pow, number, 2) for number in range(100)]
    divided = calls.submit(lambda: 1 / 0)
    for _ in range(2):  # a result may be asked for again
        assert [call.result() for call in squares] == [number**2 for number in range(100)]
        with pytest.raises(ZeroDivisionError):
            divided.result()


def test_several_threads_may_wait_for_one_background_call():
    call = BackgroundCalls(1).submit(lambda: time.sleep(0.05) or "done")
    found = []
    waiting = [threading.Thread(target=lambda: found.append(call.result())) for _ in range(5)]
    for thread in waiting:
        thread.start()
    begin = time.monotonic()
    for thread in waiting:
        thread.join()
    assert found == ["done"] * 5
    assert time.monotonic() - begin < 0.8  # nobody has waited for the longest time


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_background_calls_run_at_a_time_than_threads(threads):
    calls = CountedCalls()
    background = BackgroundCalls(threads)
    for submitted in [background.submit(calls.call, number) for number in range(30)]:
        submitted.result()
    assert len(calls.running_together) == 30
    assert max(calls.running_together) <= threads


def test_calls_that_come_while_threads_end_are_done():
    calls = BackgroundCalls(2)
    for number in range(3000):
        assert calls.submit(abs, -number).result() == number


def test_the_end_waits_for_background_calls_that_run_only():
    done = []
    calls = BackgroundCalls(1)
    calls.submit(lambda: time.sleep(0.1) or done.append(0))
    time.sleep(0.03)  # the first has begun
    for number in range(1, 100):
        calls.submit(lambda number=number: time.sleep(0.1) or done.append(number))
    calls.end()
    assert done == [0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_ctrl_c_at_any_moment_leaves_background_calls_usable():
    """A pool of concurrent.futures fails here, or hangs."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    calls, interrupted = BackgroundCalls(2), 0
    try:
        for moment in np.random.default_rng(0).uniform(1e-5, 0.001, 2000):
            try:
                signal.setitimer(signal.ITIMER_REAL, moment)
                while True:
                    for call in [calls.submit(abs, -number) for number in range(8)]:
                        call.result()
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert interrupted == 2000
    assert calls.submit(abs, -5).result() == 5
    calls.end()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_background_calls():
    calls = BackgroundCalls(1)
    running = calls.submit(time.sleep, 0.3)
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        calls.end()
        os._exit(0)
    for _ in range(500):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended and os.waitstatus_to_exitcode(status) == 0
    running.result()


def test_calls_after_the_end_are_done_at_once():
    calls = BackgroundCalls(2)
    calls.end()
    calls.end()
    assert calls.submit(abs, -3).result() == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_its_calls_itself():
    calls = BackgroundCalls(1)
    running = calls.submit(time.sleep, 0.3)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits
        os._exit(0 if calls.submit(abs, -3).result() == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    running.result()
    calls.end()
