"""The exact search of few points by integer codes gives the bits of the one that compares floats.

The latter is what runs if a search has limits.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from actup._engine import engine, offered_levels
from actup.neighbors._comparison import resolve


def rows_of(kind, n, columns):
    """Rows of one kind, float32."""
    rng = np.random.default_rng(n * 1000 + columns)
    normal = rng.normal(size=(n, columns))
    groups = normal * 0.1 + rng.normal(size=(7, columns))[rng.integers(7, size=n)]
    huge_column = np.where(np.arange(columns) == columns // 2, 1e6, 1.0)
    return {
        "bytes": lambda: np.rint(groups * 60 + 120).clip(0, 255),
        "few values": lambda: rng.integers(0, 3, (n, columns)),
        "whole numbers": lambda: np.rint(normal * 3000),
        "groups": lambda: groups,
        "noise": lambda: normal,
        "duplicates": lambda: groups[rng.integers(max(2, n // 10), size=n)],
        "equal": lambda: np.ones((n, columns)),
        "constant columns": lambda: np.where(np.arange(columns) % 3, groups, 4.25),
        "huge column": lambda: groups * huge_column,
        "huge values": lambda: groups * 1e30,
        "tiny values": lambda: groups * 1e-30,
        "far away": lambda: groups + 1e4,
        "outliers": lambda: groups * np.where(rng.random((n, 1)) < 0.02, 1e4, 1.0),
        "heavy tails": lambda: rng.standard_t(2, size=(n, columns)),
        "near whole numbers": lambda: (
            np.rint(groups * 60) + np.where(rng.random((n, columns)) < 1e-3, 1e-5, 0)
        ),
    }[kind]().astype(np.float32)


def check_same(X, k, metric="euclidean", threads=2):
    """Compare with the search in floats, to the bit."""
    row_metric = resolve(metric, None, X).for_engine()
    no_limits = np.full(len(X), np.inf, np.float32)
    expected = engine.exact_neighbors(X, None, k, row_metric, 2, None, no_limits)
    found = engine.exact_neighbors(X, None, k, row_metric, threads)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1].view(np.int32), expected[1].view(np.int32))


KINDS = [
    *("bytes", "few values", "whole numbers", "groups", "noise", "duplicates", "equal", "constant columns"),
    *(
        "huge column",
        "huge values",
        "tiny values",
        "far away",
        "outliers",
        "heavy tails",
        "near whole numbers",
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "columns"), [(700, 3), (999, 70), (500, 300)])
def test_every_kind_of_rows(kind, n, columns):
    check_same(rows_of(kind, n, columns), 15)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "hellinger", "seuclidean", "mahalanobis"])
def test_other_metrics(metric):
    X = rows_of("groups", 600, 20)
    check_same(np.abs(X) if metric == "hellinger" else X, 12, metric)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16])
def test_other_types(dtype):
    X = rows_of("bytes", 600, 65)
    check_same((X - 128 if dtype == np.int8 else X).astype(dtype), 15)


@pytest.mark.parametrize("n", [2, 3, 63, 64, 65, 127, 128, 193, 400, 1601])
def test_every_number_of_rows_and_neighbors(n):
    X = rows_of("groups", n, 5)
    for k in {1, n // 8, n // 4, n // 2, n - 1} - {0}:
        check_same(X, k)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", ["bytes", "groups", "noise"])
def test_any_number_of_threads(kind, threads):
    check_same(rows_of(kind, 3000, 30), 10, threads=threads)


def test_given_order_of_columns():
    X = rows_of("groups", 300, 20)
    row_metric = resolve("euclidean", None, X).for_engine()
    order = np.random.default_rng(0).permutation(20)
    no_limits = np.full(len(X), np.inf, np.float32)
    expected = engine.exact_neighbors(X, None, 9, row_metric, 2, order, no_limits)
    found = engine.exact_neighbors(X, None, 9, row_metric, 2, order)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


OTHER_INSTRUCTIONS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_few_points import check_same, rows_of
for kind in ("bytes", "whole numbers", "groups", "outliers", "heavy tails"):
    check_same(rows_of(kind, 900, 40), 15)
"""


@pytest.mark.parametrize("instructions", offered_levels())
def test_other_instructions(instructions):
    """Each level gives the bits of its own search in floats, which are the same on all levels."""
    environment = {**os.environ, "ACTUP_CPU": instructions}
    run = [sys.executable, "-c", OTHER_INSTRUCTIONS, os.path.dirname(__file__)]
    subprocess.run(run, check=True, env=environment)
