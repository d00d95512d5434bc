"""The renderer: densities become opacity and shade, colours mix in proportion, edges are smooth."""

import tracemalloc

import numpy as np
import pytest

from actup.plotting._discs import paint_discs
from actup.plotting._ink import ClassInk, PlainInk, ValueInk
from actup.plotting._raster import Shades, Window, _disc, _splatted, render_density, tone
from actup.plotting._scene import read_labels

SHADES = Shades(np.zeros(3), 0.4)


def unit_window(size=100):
    return Window(0.0, 0.0, float(size), float(size), size, size)


def test_a_single_point_is_a_disc_of_its_area():
    point = np.array([[0.503, 0.497]])
    (covered,) = _splatted(point, PlainInk("#000000"), unit_window(), 4.0, 5)
    assert covered.sum() == pytest.approx(np.pi * 16, rel=0.02)
    assert _disc(4.0).sum() == pytest.approx(np.pi * 16, rel=0.02)
    rows, columns = np.nonzero(covered)
    assert abs(np.average(columns, weights=covered[rows, columns]) + 0.5 - 5 - 50.3) < 0.05
    assert abs(np.average(rows, weights=covered[rows, columns]) + 0.5 - 5 - 49.7) < 0.05


@pytest.mark.parametrize("radius", [0.6, 1.0, 3.5, 12.0])
def test_many_points_are_rendered_as_few(radius, monkeypatch):
    """Binning and convolving, for many points, agrees with discs at the places of the points."""
    points = (np.random.default_rng(0).integers(0, 60, (500, 2)) + 0.5) / 60  # the centres of pixels
    ink = ClassInk(read_labels(np.arange(500) % 3, 500))
    exact = render_density(points, ink, unit_window(60), radius, SHADES)
    monkeypatch.setattr("actup.plotting._raster._MAX_EXACT_POINTS", 0)
    binned = render_density(points, ink, unit_window(60), radius, SHADES)
    # The two measure the share of a pixel that a disc's edge covers in different ways.
    assert np.abs(exact - binned)[..., 3].mean() < 0.03
    inner = (exact[..., 3] > 0.5) & (binned[..., 3] > 0.5)
    assert np.abs(exact - binned)[inner].mean() < 0.03


def test_sparse_and_dense_parts_both_show():
    generator = np.random.default_rng(0)
    dense = generator.normal((0.3, 0.5), 0.03, (100_000, 2))
    sparse = generator.uniform((0.6, 0.1), (0.95, 0.9), (60, 2))
    codes = np.repeat([0, 1], [100_000, 60])
    image = render_density(
        np.vstack([dense, sparse]), ClassInk(read_labels(codes, len(codes))), unit_window(300), 1.2, SHADES
    )
    columns, rows = (300 * sparse).astype(int).T
    assert (image[rows, columns, 3] > 0.15).all(), "a lone point is not visible"
    core, rim = image[150, 90], image[150, 90 + 28]
    assert core[3] > rim[3] > 0.2, "opacity does not show the density"
    assert core[:3].sum() < rim[:3].sum(), "the core is not deeper than the rim"


def test_opacity_grows_with_density_and_never_saturates_at_one_disc():
    coverage = np.geomspace(0.1, 1000, 2000)
    opacity, depth = tone(coverage, coverage)
    assert (np.diff(opacity) >= 0).all() and (np.diff(depth) >= 0).all()
    assert opacity[-1] == pytest.approx(1.0) and depth[-1] == pytest.approx(1.0)
    assert 0.2 < opacity[np.searchsorted(coverage, 1.0)] < 0.8
    few = np.full(50, 1.0)
    assert tone(few, few)[0].min() > 0.85  # points that do not overlap are drawn in their colour


def test_colours_mix_in_proportion_and_values_are_averaged():
    points = np.full((400, 2), 0.5)
    codes = np.repeat([0, 1], [100, 300])
    ink = ClassInk(read_labels(codes, 400))
    color = render_density(points, ink, unit_window(9), 1.5, Shades(np.zeros(3), 0.0))[4, 4, :3]
    first, last = (
        ink.mixed([channel[[index]] for channel in ink.channels(slice(None))], 1)[0] for index in (0, -1)
    )
    np.testing.assert_allclose(color, 0.25 * first + 0.75 * last, atol=1e-5)
    values = read_labels(np.concatenate([np.zeros(200), np.ones(200)]), 400, "values")
    middle = render_density(points, ValueInk(values), unit_window(9), 1.5, Shades(np.zeros(3), 0.0))[4, 4, :3]
    half = ValueInk(read_labels(np.array([0.0, 0.5, 1.0]), 3, "values"))
    expected = half.mixed([np.array([0.5]), np.array([1.0])], 1)[0]
    np.testing.assert_allclose(middle, expected, atol=1e-5)


def test_missing_values_are_grey():
    ink = ValueInk(read_labels(np.array([0.0, np.nan, 1.0]), 3, "values"))
    colors = ink.mixed(ink.channels(slice(None)), 3)
    assert np.ptp(colors[1]) < 1e-6 and np.ptp(colors[0]) > 0.02


def test_points_outside_are_left_out():
    points = np.array([[0.5, 0.5], [40.0, 0.5], [-3.0, 0.5], [0.5, np.float64(1e300)]])
    image = render_density(points, PlainInk("#123456"), unit_window(50), 1.0, SHADES)
    assert 1 <= np.count_nonzero(image[..., 3]) <= 9
    assert not render_density(points[1:], PlainInk("#123456"), unit_window(50), 1.0, SHADES).any()


def test_memory_is_bounded():
    """The memory beside the image does not grow with the number of points."""
    peaks = []
    for n in (3_000_000, 6_000_000):
        points = np.random.default_rng(0).random((n, 2), np.float32)
        ink = ClassInk(read_labels(np.arange(n, dtype=np.uint8) % 7, n))
        tracemalloc.start()
        render_density(points, ink, unit_window(300), 1.0, SHADES)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 150e6


def test_discs_cover_each_other_in_order():
    columns = np.array([20.0, 26.0])
    colors = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    image = paint_discs(columns, np.array([20.0, 20.0]), colors, 8.0, (40, 50), np.ones(3))
    assert image[20, 15, 0] > 0.95 and image[20, 26, 2] > 0.85
    # Between the two is a thin edge that is lighter than both.
    row = image[20]
    edge = row[16:20, :3].min(axis=1)
    assert edge.max() > 0.3
    assert not image[0].any() and image[20, 20, 3] > 0.8
    outside = paint_discs(np.array([-30.0, 1.0]), np.array([5.0, 39.5]), colors, 8.0, (40, 50), np.ones(3))
    assert outside[39, 1, 2] > 0.9
