"""The principal axes of the sample, which give a start to maps of files."""

import numpy as np
import pytest

from actup.distributed._cells import _principal_axes


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12, 1e16, 1e20, 1e30])
def test_axes_are_orthonormal_beside_a_huge_row(size):
    rows = np.random.default_rng(0).standard_normal((3000, 20)).astype(np.float32)
    rows[17] = size
    _, axes = _principal_axes(rows, 3, seed=0, threads=1)
    products = axes @ axes.T
    lengths = np.diag(products)
    np.testing.assert_allclose(lengths[lengths > 0], 1)
    np.testing.assert_allclose(products, np.diag(lengths), atol=1e-6)
    assert lengths[0] > 0


def test_axes_that_a_sample_does_not_fill_are_0():
    rows = np.outer(np.random.default_rng(0).integers(-5, 5, 3000), np.ones(20)).astype(np.float32)
    _, axes = _principal_axes(rows, 3, seed=0, threads=1)
    np.testing.assert_allclose(np.abs(axes[0]), 1 / np.sqrt(20), rtol=1e-5)
    assert not axes[1:].any()
