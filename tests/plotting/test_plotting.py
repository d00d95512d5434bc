"""Static pictures: real files, the right panels, readable names, clear errors."""

import struct
import time

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib import pyplot

from actup.plotting._colors import _as_seen, _to_rgb, categorical_palette, ramp
from actup.plotting._layer import PointLayer
from actup.plotting._pictures import plot_embedding, plot_gallery
from actup.plotting._scene import Classes, Values, dense_spots, read_labels, spread_line
from point_clouds import blobs

matplotlib.use("Agg")


def drawn_boxes(ax):
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts if text.get_visible()]


def point_layer(ax):
    return next(artist for artist in ax.get_children() if isinstance(artist, PointLayer))


def test_gallery_writes_a_png_with_every_panel(tmp_path):
    Y, codes = blobs()
    maps = {"first": Y, "second": -Y, "third": Y[:, ::-1], "fourth": 2 * Y}
    path = tmp_path / "new folder" / "gallery.png"
    figure = plot_gallery(maps, codes, {"second": "recall 0.5 · 1.2 s"}, path, title="Four maps")
    assert [ax.get_title() for ax in figure.axes] == list(maps)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "recall 0.5 · 1.2 s", "", ""]
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:]) == tuple((160 * figure.get_size_inches()).astype(int))
    pixels = matplotlib.image.imread(path)[..., :3]
    height, width = pixels.shape[:2]
    for row in range(2):
        for column in range(2):
            panel = pixels[
                row * height // 2 : (row + 1) * height // 2, column * width // 2 : (column + 1) * width // 2
            ]
            assert (np.ptp(panel, axis=2) > 0.2).mean() > 0.005, "a panel shows no coloured points"


def test_every_point_is_drawn_in_the_colour_of_its_class():
    Y, codes = blobs(3, 40, 1.0)
    ax = plot_embedding(Y, codes, names="none")
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[::-1, :, :3] / 255.0
    colors = _to_rgb(categorical_palette(3))[codes]
    columns, rows = ax.transData.transform(Y).astype(int).T
    # Discs are a little transparent, and others may cover them.
    near = np.abs(pixels[rows, columns] - colors).max(axis=1) < 0.2
    assert near.mean() > 0.9
    assert ax.get_aspect() == 1.0


@pytest.mark.parametrize(("count", "spread"), [(5, 0.4), (12, 3.0), (100, 0.3)])
def test_names_are_on_their_class_and_never_overlap(count, spread):
    Y, codes = blobs(count, 30, spread)
    ax = plot_embedding(Y, [f"class {code}" for code in codes], names="map")
    boxes = drawn_boxes(ax)
    assert len(boxes) >= min(count, 10)
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[index + 1 :])
    for text in ax.texts:
        if not text.get_visible():
            continue
        members = Y[codes == int(text.get_text().split()[1])]
        nearest = np.linalg.norm(members - text.get_position(), axis=1).min()
        assert nearest < 0.25 * np.ptp(Y)


def test_names_are_text_and_not_formulas():
    ax = plot_embedding([[0, 0], [1, 1]], ["$\\frac$", "a_$"], title="$x", caption="$y$")
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.texts} == {"$\\frac$", "a_$"}


def test_values_get_a_colour_bar_and_classes_do_not():
    Y, codes = blobs()
    assert len(plot_embedding(Y, Y[:, 0]).figure.axes) == 2
    assert len(plot_embedding(Y, Y[:, 0], colorbar=False).figure.axes) == 1
    assert len(plot_embedding(Y, codes).figure.axes) == 1
    assert len(plot_gallery({"a": Y, "b": Y}, Y[:, 0]).axes) == 3


def test_legend_replaces_names():
    Y, codes = blobs(4)
    ax = plot_embedding(Y, codes, names="legend")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2", "3"]
    assert not ax.texts
    ax = plot_embedding(Y, codes, names="none")
    assert ax.get_legend() is None and not ax.texts


def test_legend_of_many_classes_names_the_largest():
    Y = np.random.default_rng(0).normal(size=(600, 2))
    labels = np.arange(600) % 100
    labels[:50] = 99
    ax = plot_embedding(Y, labels, names="legend")
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(entries) == 72 and entries[0] == "99" and entries[-1] == "and 29 more"
    gallery = plot_gallery({"map": Y, "line": Y[:, 0]}, labels)
    assert len(gallery.legends[0].get_texts()) == 24
    gallery.canvas.draw()
    assert gallery.legends[0].get_window_extent().x1 <= gallery.bbox.x1


def test_sixty_thousand_classes():
    Y = np.random.default_rng(0).normal(size=(60_000, 2))
    unique = np.array([f"id {i}" for i in range(60_000)])
    start = time.process_time()
    with pytest.warns(UserWarning, match="60,000 classes of one point each"):
        ax = plot_embedding(Y, unique)
    assert not ax.texts and ax.get_legend() is None
    few = np.where(np.arange(60_000) < 30_000, "known", unique)
    with pytest.warns(UserWarning, match="the 1 largest"):
        ax = plot_embedding(Y, few, names="legend")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["known", "30,000 other classes"]
    with pytest.warns(UserWarning, match="the 1 largest"):
        assert [text.get_text() for text in plot_embedding(Y, few, names="map").texts] == ["known"]
    assert time.process_time() - start < 6


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 200])
def test_any_size_and_up_to_three_dimensions(dimensions, n, tmp_path):
    Y = np.random.default_rng(0).normal(size=(n, dimensions))
    ax = plot_embedding(Y, np.arange(n) % 3, title="title", caption="caption")
    assert (ax.name == "3d") == (dimensions == 3)
    figure = plot_gallery({"a": Y, "b": Y}, np.arange(n) % 3, {"a": "caption"}, tmp_path / "picture.png")
    assert len(figure.axes) == 2


def test_identical_points_and_no_labels():
    for labels in (None, np.ones(10) * 0.5):
        ax = plot_embedding(np.zeros((10, 2)), labels)
        ax.figure.canvas.draw()
        assert len(point_layer(ax).points.places) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, np.inf], [1, 1]],), "Y has 1 points with NaN"),
        ((np.zeros((3, 4)),), "4 dimensions"),
        ((np.zeros((0, 2)),), "no points"),
        ((np.zeros((3, 2)), [1, 2]), "each of the 3 points"),
        ((np.zeros((3, 2, 2)),), "shape"),
    ],
)
def test_rejected_maps_and_labels(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_embedding(*arguments)


def test_rejected_choices():
    Y = np.zeros((3, 3))
    with pytest.raises(ValueError, match="names='side'"):
        plot_embedding(Y, names="side")
    with pytest.raises(ValueError, match="names='legend'"):
        plot_embedding(Y, [0, 1, 2], names="map")
    with pytest.raises(ValueError, match="projection='3d'"):
        plot_embedding(Y, ax=pyplot.figure().add_subplot())
    with pytest.raises(ValueError, match="label_kind='numbers'"):
        plot_embedding(Y, [0, 1, 2], label_kind="numbers")
    with pytest.raises(ValueError, match="not shown"):
        plot_gallery({"a": Y}, captions={"b": "text"})
    with pytest.raises(ValueError, match="different numbers"):
        plot_gallery({"a": Y, "b": Y[:2]})
    with pytest.raises(ValueError, match="empty"):
        plot_gallery({})
    with pytest.raises(TypeError, match="mapping"):
        plot_gallery(Y)
    with pytest.raises(ValueError, match="columns=0"):
        plot_gallery({"a": Y}, columns=0)


def test_sixty_thousand_points_draw_within_seconds(tmp_path):
    Y = np.random.default_rng(0).normal(size=(60_000, 2))
    start = time.process_time()
    plot_gallery({"a": Y, "b": -Y}, np.arange(60_000) % 10, path=tmp_path / "picture.png")
    assert time.process_time() - start < 8


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b", "a"], Classes),
        ([True, False, True], Classes),
        ([3, 1, 3], Classes),
        ([1.0, 2.0, np.nan], Classes),
        ([0.5, 1.0, 2.0], Values),
        (np.array(["a", None, float("nan")], dtype=object), Classes),
    ],
)
def test_labels_are_classes_or_values(labels, kind):
    assert isinstance(read_labels(labels, 3), kind)


def test_labels_edge_cases():
    assert isinstance(read_labels(np.arange(1000), 1000), Values)
    assert len(read_labels(np.arange(1000), 1000, "classes").names) == 1000
    assert isinstance(read_labels([1, 2, 1], 3, "values"), Values)
    assert read_labels(np.array(["b", None, "a"], dtype=object), 3).codes.tolist() == [1, -1, 0]
    values = read_labels([0.5, np.inf, np.nan], 3)
    assert values.point_colors()[1].tolist() == values.point_colors()[2].tolist() == [154, 154, 154]
    with pytest.raises(ValueError, match="not numbers"):
        read_labels(["a", "b", "c"], 3, "values")


def test_palette_colours_differ_with_every_vision():
    seen = _as_seen(_to_rgb(categorical_palette(12)))
    distance = np.linalg.norm(seen[:, :, None] - seen[:, None], axis=3) + np.eye(12)
    assert distance.min() > 0.07  # a just noticeable difference is about 0.02
    hundred = categorical_palette(100)
    assert len(set(hundred)) == 100
    assert hundred[:12] == categorical_palette(12) and hundred[:50] == categorical_palette(50)
    assert len(categorical_palette(1000)) == 1000


def test_ramp_gets_steadily_lighter():
    colors = ramp(np.linspace(-1, 2, 50), 0.0, 1.0)
    lightness = _as_seen(colors / 255.0)[:, :, 0]
    assert (np.diff(lightness, axis=1) > -1e-3).all()
    assert colors[0].tolist() == ramp(np.array([0.0]), 0.0, 1.0)[0].tolist()


def test_dense_spots_are_points_of_the_class_at_its_peak():
    Y, codes = blobs(3, 500)
    Y[codes == 0] *= np.where(np.arange(500) < 400, 1.0, -1.0)[:, None]  # a smaller second cluster
    for code, spots in enumerate(dense_spots(Y, codes, 3, most=5)):
        assert 1 <= len(spots) <= 5
        members = Y[codes == code]
        assert all((members == spot).all(axis=1).any() for spot in spots)
    assert dense_spots(Y, codes, 3)[0][0, 0] > 3
    assert len(dense_spots(Y, codes, 4)[3]) == 0


def test_a_line_keeps_its_coordinates():
    Y = np.random.default_rng(0).normal(size=(500, 1))
    flat = spread_line(Y)
    np.testing.assert_array_equal(flat[:, 0], Y[:, 0])
    assert np.ptp(flat[:, 1]) < 0.5 * np.ptp(Y)
