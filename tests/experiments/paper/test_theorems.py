"""Averages over draws."""

import numpy as np
import pytest

from actup._experiments.paper.theorems import average_over_draws


def test_ratios_are_averaged_over_draws():
    exact = np.tile([3.0, 0.0], (50, 1))
    random = np.random.default_rng(0)
    draws = [exact + random.normal(0, 1, exact.shape) for _ in range(200)]
    found = average_over_draws(iter(draws), exact, mean_attraction=6.0)
    assert found["draws"] == 200
    assert abs(found["along"] - 2) < 4 * found["along_error"]
    assert found["along_error"] == pytest.approx(2 / 3 / np.sqrt(50 * 200), rel=0.2)
    assert found["length"] < found["along"]  # noise makes vectors longer
