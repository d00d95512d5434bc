"""The view: fitted to the bulk of the points."""

import numpy as np
import pytest

from actup.plotting._view import fit_view


def test_outliers_do_not_shrink_the_map():
    Y = np.random.default_rng(0).normal(size=(1000, 2))
    Y[0], Y[1] = (1e4, 0), (0, -500)
    view = fit_view(Y)
    assert view.outside == 2
    assert (view.high - view.low < 12).all()
    assert fit_view(Y, "all").outside == 0
    assert fit_view(Y, "all").high[0] > 1e4


@pytest.mark.parametrize("n", [1, 2, 10, 19, 100, 5000])
def test_maps_without_outliers_are_shown_whole(n):
    for Y in (
        np.random.default_rng(0).random((n, 2)),
        np.random.default_rng(0).normal(size=(n, 2)),
        np.zeros((n, 2)),
    ):
        view = fit_view(Y)
        assert view.outside <= n // 1000
        assert (view.high > view.low).all()


def test_a_separate_cluster_nearby_is_shown():
    generator = np.random.default_rng(0)
    Y = np.vstack([generator.normal(0, 1, (5000, 2)), generator.normal((5, 0), 0.1, (20, 2))])
    assert fit_view(Y).outside == 0


def test_a_far_cluster_is_shown_and_a_very_far_one_is_not():
    generator = np.random.default_rng(0)
    bulk = generator.normal(0, 1, (50_000, 2))
    far, very_far, strays = (generator.normal((x, 0), 0.3, (n, 2)) for x, n in ((9, 40), (60, 40), (-8, 3)))
    assert fit_view(np.vstack([bulk, far])).outside == 0
    assert fit_view(np.vstack([bulk, far, very_far, strays])).outside == 43


def test_the_view_takes_the_shape_of_the_panel():
    Y = np.random.default_rng(0).random((500, 2)) * (3, 1)
    width, height = np.subtract(fit_view(Y, aspect=0.5).high, fit_view(Y, aspect=0.5).low)
    assert width / height == pytest.approx(0.5)
    assert width > 3


def test_three_dimensions_and_one():
    generator = np.random.default_rng(0)
    for dimensions in (1, 3):
        Y = generator.normal(size=(500, dimensions))
        Y[7] = 1e6
        assert fit_view(Y).outside == 1


def test_half_of_the_points_at_one_place():
    Y = np.zeros((1000, 2))
    Y[500:] = np.random.default_rng(0).normal(size=(500, 2))
    assert fit_view(Y).outside == 0
    Y[5:] = 0.0
    Y[:5] = np.random.default_rng(0).normal(size=(5, 2))  # all others coincide
    view = fit_view(Y)
    assert (view.high > view.low).all() and np.isfinite(view.low).all()
