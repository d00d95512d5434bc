"""Tests of actup._threads."""

import os

import numpy as np
import pytest

from actup._threads import count_threads


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
