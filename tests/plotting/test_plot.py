"""actup.plot: what it accepts, panels, names, outliers, dates, themes and files."""

import datetime
import re
from types import SimpleNamespace

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import actup
from actup.plotting import plot_gallery
from actup.plotting._color_assignment import assign_colors
from actup.plotting._colors import _to_rgb, color_distances
from actup.plotting._layer import PointLayer
from actup.plotting._scene import read_labels
from point_clouds import blobs

matplotlib.use("Agg")


def clusters_of(codes, fine):
    """A stand-in for the result of ``find_clusters``: two layers, coarse to fine."""
    layers = []
    for prefix, part in (("coarse", codes), ("fine", fine)):
        centers = np.array([Y_OF[part == code].mean(axis=0) for code in range(part.max() + 1)])
        names = [f"{prefix} {code}" for code in range(part.max() + 1)]
        layers.append(SimpleNamespace(codes=part.astype(np.int32), names=names, centers=centers))
    return SimpleNamespace(layers=layers, labels=fine, main=1)


Y_OF, CODES = blobs(4, 200, 1.2)


def drawn(ax):
    """The pixels of a figure as it is shown, and the visible names."""
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba())[..., :3] / 255.0


def visible_names(ax):
    return [text for text in ax.texts if text.get_visible()]


def assert_names_are_apart_and_inside(ax):
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in visible_names(ax)]
    frame = ax.get_window_extent()
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[index + 1 :])
        assert box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1


def layers_of(ax):
    return [artist for artist in ax.get_children() if isinstance(artist, PointLayer)]


# ---- what is accepted ----


def cells(*keys):
    """What ActUp sees of an AnnData."""
    return SimpleNamespace(obs=None, obsm=dict.fromkeys(keys))


def test_models_arrays_and_frames_are_accepted():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    Y, codes = blobs(4, 50)
    model = actup.UMAP(n_epochs=0, random_state=0).fit(np.random.default_rng(0).normal(size=(60, 5)))
    np.testing.assert_array_equal(layers_of(actup.plot(model))[0].points.places, model.embedding_)
    frame = pandas.DataFrame(Y, columns=["x", "y"])
    for given in (
        Y,
        Y.tolist(),
        frame,
        polars.from_pandas(frame),
        pyarrow.Table.from_pandas(frame),
        Y.astype("f4"),
    ):
        ax = actup.plot(given, pandas.Series(codes))
        np.testing.assert_allclose(layers_of(ax)[0].points.places, Y, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((actup.UMAP(),), {}, NotFittedError, "call fit first"),
        (({"UMAP": np.zeros((3, 2))},), {}, TypeError, "plot_gallery"),
        ((np.zeros((3, 2)), "species"), {}, TypeError, r"frame\['species'\]"),
        ((np.zeros((3, 2)), [1, 2]), {}, ValueError, "labels must have one entry for each of the 3"),
        (
            (np.zeros((3, 2)), None, ["a", "b", "c"]),
            {},
            ValueError,
            "not numbers; give them as labels",
        ),
        ((np.zeros((3, 2)), {"a": [1, 2]}), {}, ValueError, r"labels\['a'\] must have one entry"),
        ((np.zeros((3, 2)),), {"theme": "blue"}, ValueError, "theme='blue'"),
        ((np.zeros((3, 2)),), {"view": "most"}, ValueError, "view='most'"),
        ((np.zeros((3, 2)),), {"names": "side"}, ValueError, "names='side'"),
        ((np.zeros((3, 2)),), {"point_size": -1}, ValueError, "point_size=-1"),
        ((np.zeros((3, 2)),), {"path": "map.xyz"}, ValueError, "must end in .png"),
        ((np.zeros((3, 2)),), {"dpi": 0}, ValueError, "dpi=0"),
        ((np.zeros((3, 2)),), {"columns": 0}, ValueError, "columns=0"),
        ((np.zeros((3, 2)),), {"clusters": [0, 1, 2]}, TypeError, "find_clusters"),
        ((np.zeros((3, 2)), {"a": [1, 2, 3], "b": [1, 2, 3]}), {"caption": "c"}, ValueError, "caption needs"),
        ((np.zeros((3, 4)),), {}, ValueError, "4 dimensions"),
        ((cells("X_pca", "X_umap"),), {}, TypeError, r"e.g. adata.obsm\['X_umap'\] \(here: 'X_pca', 'X"),
        ((cells("X_pca", "X_tsne"),), {}, TypeError, r"e.g. adata.obsm\['X_tsne'\] \(here: "),
        ((cells(),), {}, TypeError, r"e.g. adata.obsm\['X_umap'\] \(here: none\)"),
    ],
)
def test_rejected_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        actup.plot(*arguments, **options)


def test_clusters_of_other_points_are_rejected():
    with pytest.raises(ValueError, match="codes of 800 points, but the map has 3"):
        actup.plot(np.zeros((3, 2)), clusters=clusters_of(CODES, CODES))


@pytest.mark.parametrize("n", [1, 2, 100, 6000])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_size_dimension_and_theme(n, dimensions, theme, tmp_path):
    Y = np.random.default_rng(0).normal(size=(n, dimensions))
    ax = actup.plot(Y, np.arange(n) % 3, theme=theme, path=tmp_path / "map.png", dpi=60)
    pixels = matplotlib.image.imread(tmp_path / "map.png")[..., :3]
    assert (pixels[0, 0].mean() > 0.9) == (theme == "light")
    assert (np.ptp(pixels, axis=2) > 0.2).any(), "no coloured point"
    assert isinstance(ax, Axes) and (ax.name == "3d") == (dimensions == 3)


# ---- what is drawn ----


def test_a_sparse_and_a_dense_class_both_show():
    generator = np.random.default_rng(0)
    Y = np.vstack([generator.normal(0, 1, (200_000, 2)), generator.normal((5, 0), 0.3, (60, 2))])
    ax = actup.plot(Y, np.repeat([0, 1], [200_000, 60]), names="none")
    pixels = drawn(ax)[::-1]
    blue, orange = _to_rgb(["#0072b2", "#e69f00"])
    columns, rows = ax.transData.transform(Y[200_000:]).astype(int).T
    # Every lone point tints its pixel towards its class's colour, and the core of the dense class is deep.
    tint = (1 - pixels[rows, columns]) @ (1 - orange)
    assert (tint > 0.1).mean() > 0.95
    column, row = ax.transData.transform((0, 0)).astype(int)
    core = pixels[row, column]
    assert np.abs(core - blue).max() < 0.35 and core.sum() < blue.sum() + 0.05
    column, row = ax.transData.transform((2.6, 0)).astype(int)
    assert pixels[row - 3 : row + 4, column - 3 : column + 4].sum(axis=2).mean() > core.sum() + 0.3


def test_images_follow_the_resolution():
    Y, codes = blobs(4, 50)
    ax = actup.plot(Y, codes)
    (layer,) = layers_of(ax)
    sizes = []
    for dpi in (50, 100):
        ax.figure.set_dpi(dpi)
        ax.figure.canvas.draw()
        sizes.append(layer._drawn[1].shape[0])
    assert sizes[1] == pytest.approx(2 * sizes[0], abs=3)
    image = layer._drawn[1]
    ax.figure.canvas.draw()
    assert layer._drawn[1] is image, "an unchanged view is rendered again"


def test_outliers_do_not_shrink_the_map_and_are_counted():
    Y, codes = blobs(4, 50)
    Y[0], Y[1] = (1e5, 0), (0, -1e4)
    ax = actup.plot(Y, codes)
    assert np.ptp(ax.get_xlim()) < 30
    assert "2 points outside" in [text.get_text() for text in ax.texts]
    assert_names_are_apart_and_inside(ax)
    ax = actup.plot(Y, codes, note=False)
    assert "2 points outside" not in [text.get_text() for text in ax.texts]
    ax = actup.plot(Y, codes, view="all")
    assert np.ptp(ax.get_xlim()) > 1e5
    flat = actup.plot(np.where(np.arange(300) == 0, 1e6, np.linspace(0, 1, 300)))
    assert np.ptp(flat.get_xlim()) < 3


@pytest.mark.parametrize("size", [(1.2, 1.2), (2, 6), (6, 2), (8, 8)])
def test_names_fit_any_frame_and_are_elided(size):
    Y, codes = blobs(8, 50)
    names = [f"class {code} with a very long name, which goes on and on {code}" for code in range(8)]
    names[3] = "w" * 10_000
    figure = pyplot.figure(figsize=size, layout="constrained")
    ax = actup.plot(Y, [names[code] for code in codes], ax=figure.add_subplot())
    assert_names_are_apart_and_inside(ax)
    figure.set_size_inches(1.5 * size[1], size[0])
    assert_names_are_apart_and_inside(ax)
    if min(size) > 5:
        texts = [text.get_text() for text in visible_names(ax)]
        assert len(texts) == 8 and sum("…" in text for text in texts) == 1


def test_small_classes_are_not_covered_by_their_names():
    Y, codes = blobs(12, 8, 0.1)
    ax = actup.plot(Y, [f"cluster {code}" for code in codes])
    ax.figure.canvas.draw()
    places = ax.transData.transform(Y)
    assert len(visible_names(ax)) == 12
    for text in visible_names(ax):
        box = text.get_window_extent()
        assert not any(box.contains(x, y) for x, y in places)


def test_names_on_clusters_layer_by_layer():
    fine = 3 * CODES + np.arange(len(CODES)) % 3
    fine[::7] = -1
    ax = actup.plot(Y_OF, clusters=clusters_of(CODES, fine))
    assert_names_are_apart_and_inside(ax)
    sizes = {text.get_text().split()[0]: text.get_fontsize() for text in visible_names(ax)}
    assert sizes["coarse"] > sizes["fine"]
    assert sum("coarse" in text.get_text() for text in visible_names(ax)) == 4
    (layer,) = layers_of(ax)
    assert (
        len({tuple(color) for color in layer.points.ink.mixed(layer.points.ink.channels(slice(None)), 800)})
        == 13  # clusters of the main layer, and points in none
    )
    labelled = actup.plot(Y_OF, CODES % 2, clusters=clusters_of(CODES, fine))
    assert [text.get_text() for text in labelled.get_legend().get_texts()] == ["0", "1"]
    assert any("coarse" in text.get_text() for text in visible_names(labelled))


@pytest.mark.parametrize("names", [["no", "yes"], ["P1", "P2", "P3", "P4"]])
def test_classes_that_mix_all_over_the_map_get_a_legend(names):
    labels = np.array(names)[np.random.default_rng(1).integers(len(names), size=len(Y_OF))]
    mixed = actup.plot(Y_OF, labels)
    assert not visible_names(mixed)
    assert sorted(text.get_text() for text in mixed.get_legend().get_texts()) == names
    assert len(visible_names(actup.plot(Y_OF, labels, names="map"))) == len(names)
    separate = actup.plot(Y_OF, np.array(["a", "b", "c", "d"])[CODES])
    assert len(visible_names(separate)) == 4 and separate.get_legend() is None


def test_panels_are_titled_by_the_names_of_series():
    pandas = pytest.importorskip("pandas")
    figure = actup.plot(
        Y_OF, pandas.Series(CODES, name="kind"), pandas.Series(Y_OF[:, 0], name="height"), colorbar=False
    )
    assert [ax.get_title() for ax in figure.axes] == ["kind", "height"]


@pytest.mark.parametrize("dimensions", [1, 3])
def test_clusters_of_other_dimensions(dimensions):
    Y = np.column_stack([Y_OF, Y_OF])[:, :dimensions]
    clusters = clusters_of(CODES, CODES)
    for layer in clusters.layers:
        layer.centers = np.full((4, dimensions), np.nan)
    ax = actup.plot(Y, clusters=clusters)
    ax.figure.canvas.draw()
    assert len(visible_names(ax)) >= 2 if dimensions == 1 else not visible_names(ax)


def test_legend_lists_classes_by_size():
    labels = np.array(["b"] * 5 + ["a"] * 2 + ["c"] * 9 + [None] * 3, object)
    ax = actup.plot(np.random.default_rng(0).normal(size=(19, 2)), labels, names="legend")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["c", "b", "a", "missing"]


def test_pandas_missing_labels_are_grey():
    pandas = pytest.importorskip("pandas")
    Y, codes = blobs(2, 40)
    for dtype in ("Int64", "string", "category"):
        labels = pandas.Series(codes).astype("Int64").where(codes == 0).astype(dtype)
        ax = actup.plot(Y, labels, names="none")
        pixels = drawn(ax)[::-1]
        columns, rows = ax.transData.transform(Y[codes == 1]).astype(int).T
        assert np.ptp(pixels[rows, columns], axis=1).max() < 0.05


# ---- values and dates ----


DAYS = np.datetime64("2020-01-01") + np.arange(200).astype("timedelta64[D]") * 5


@pytest.mark.parametrize("kind", ["datetime64", "pandas", "time zone", "dates", "polars"])
def test_dates_are_a_scale_with_readable_dates(kind):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    labels = {
        "datetime64": DAYS,
        "pandas": pandas.Series(DAYS).where(np.arange(200) > 4),
        "time zone": pandas.Series(DAYS).dt.tz_localize("Europe/Vienna"),
        "dates": [None, *(datetime.date(2020, 1, 1) + datetime.timedelta(5 * i) for i in range(1, 200))],
        "polars": polars.Series(DAYS.astype("datetime64[us]")),
    }[kind]
    scene = read_labels(labels, 200)
    assert scene.scale == "date"
    assert scene.values[100] == pytest.approx(DAYS[100].astype("datetime64[s]").astype(float), abs=7300)
    ax = actup.plot(np.random.default_rng(0).normal(size=(200, 2)), labels)
    ax.figure.canvas.draw()
    bar = ax.figure.axes[1]
    ticks = [text.get_text() for text in bar.get_yticklabels()]
    assert any(re.fullmatch(r"20(20|21|22)", tick) for tick in ticks), ticks
    assert not ax.get_legend() and not visible_names(ax)


def test_durations_are_days_and_dates_can_be_classes():
    hours = np.arange(200).astype("timedelta64[h]")
    scene = read_labels(hours, 200)
    assert scene.scale == "duration" and scene.values[24] == 1.0
    ax = actup.plot(np.random.default_rng(0).normal(size=(200, 2)), hours)
    assert ax.figure.axes[1].get_ylabel() == "days"
    assert read_labels(DAYS, 200, "classes").names[1] == "2020-01-06"
    assert read_labels(DAYS[:3], 3).names == ["2020-01-01", "2020-01-06", "2020-01-11"]


def test_values_have_a_colour_bar_and_whole_numbers_may_be_values():
    Y, codes = blobs(4, 50)
    assert len(actup.plot(Y, values=codes).figure.axes) == 2
    assert len(actup.plot(Y, values=codes, colorbar=False).figure.axes) == 1


# ---- several panels ----


def test_several_columns_make_a_panel_each():
    pandas = pytest.importorskip("pandas")
    Y, codes = blobs(4, 50)
    frame = pandas.DataFrame(
        {"type": codes, "day": np.datetime64("2021-05-01") + np.arange(200).astype("timedelta64[D]")}
    )
    figure = actup.plot(Y, frame, {"height": Y[:, 1]}, title="Three")
    assert isinstance(figure, Figure)
    panels = [ax for ax in figure.axes if layers_of(ax)]
    assert [ax.get_title() for ax in panels] == ["type", "day", "height"]
    assert len(figure.axes) == 5  # two of them have colour bars
    both = actup.plot(Y, codes, Y[:, 0])
    assert [ax.get_title() for ax in both.axes if layers_of(ax)] == ["labels", "values"]
    listed = actup.plot(Y, [codes, codes % 2, codes % 3], columns=1)
    assert [ax.get_title() for ax in listed.axes] == ["1", "2", "3"]
    assert listed.get_size_inches()[1] > 2 * listed.get_size_inches()[0]
    assert isinstance(actup.plot(Y[:2], [[0, 1], [1, 1]]), Figure)


def test_facets_show_one_class_before_all_others():
    Y, codes = blobs(3, 50)
    figure = actup.plot(Y, codes, facets=[f"part {code}" for code in codes])
    assert [ax.get_title() for ax in figure.axes] == ["part 0 (50)", "part 1 (50)", "part 2 (50)"]
    for code, ax in enumerate(figure.axes):
        (layer,) = layers_of(ax)
        np.testing.assert_array_equal(layer.points.places, Y[codes == code])
        assert len(layer.backdrop) == 100
        pixels = drawn(ax)[::-1]
        for other in range(3):
            columns, rows = ax.transData.transform(Y[codes == other]).astype(int).T
            colored = np.ptp(pixels[rows, columns], axis=1) > 0.2
            assert colored.mean() > 0.9 if other == code else not colored.any()
    assert not figure.legends
    assert len(actup.plot(Y, codes, facets=codes % 2).legends) == 1
    assert len(actup.plot(Y, values=Y[:, 0], facets=codes).axes) == 4


def test_facets_of_many_classes_and_several_columns():
    Y = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(UserWarning, match="40 classes: the 30 largest"):
        assert len(actup.plot(Y, facets=np.arange(200) % 40).axes) == 30
    with pytest.raises(ValueError, match="facets need one column"):
        actup.plot(Y, {"a": Y[:, 0], "b": Y[:, 1]}, facets=np.arange(200) % 2)
    with pytest.raises(ValueError, match="needs a single panel"):
        actup.plot(Y, facets=np.arange(200) % 2, ax=pyplot.figure().add_subplot())


# ---- colours ----


def test_neighbours_of_many_classes_differ():
    """Classes along a line: each one's colour is far from those of the next ones."""
    place = np.arange(3000) / 3000
    Y = np.column_stack([100 * place, np.random.default_rng(0).random(3000)])
    classes = read_labels((30 * place).astype(int), 3000)
    spread = assign_colors(classes, Y)
    assert sorted(spread.colors) == sorted(classes.colors)

    def nearest(colors):
        return np.diag(color_distances(colors), 1)

    assert nearest(spread.colors).min() > 1.5 * nearest(classes.colors).min()
    assert nearest(spread.colors).min() > 0.15
    few = read_labels(np.arange(3000) % 12, 3000)
    assert assign_colors(few, Y).colors == few.colors


# ---- files ----


@pytest.mark.parametrize("n", [100, 20_000])
def test_vector_files_hold_text_and_one_image_per_panel(n, tmp_path):
    Y = np.random.default_rng(0).normal(size=(n, 2))
    labels = np.array(["first", "<second>"])[(Y[:, 0] > 0).astype(int)]
    actup.plot(Y, labels, title="A & B", path=tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert text.count("<image") == 1
    assert all(
        re.search(rf"<text[^>]*>{name}</text>", text) for name in ("first", "&lt;second&gt;", "A &amp; B")
    )
    actup.plot(Y, {"a": labels, "b": labels}, {"c": Y[:, 0]}, path=tmp_path / "maps.svg")
    text = (tmp_path / "maps.svg").read_text(encoding="utf-8")
    bars = 1  # matplotlib draws a colour bar as an image of its own
    assert text.count("<image") == 3 + bars
    actup.plot(Y, labels, path=tmp_path / "map.pdf")
    file = (tmp_path / "map.pdf").read_bytes()
    assert file.startswith(b"%PDF") and len(re.findall(rb"/Subtype /Image", file)) <= 2  # colours and alpha
    assert b"/Type42" in file or b"/TrueType" in file or b"/Type0" in file


def test_images_in_vector_files_stand_where_the_points_are(tmp_path):
    """The names of the corners are beside the points of the corners, also in a file of vector graphics."""
    import base64
    import io

    Y = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    ax = actup.plot(Y, ["a", "b", "c"], names="none", path=tmp_path / "map.svg", dpi=72)
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    data = re.search(r'href="data:image/png;base64,([^"]+)"', text)[1]
    image = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))
    height, width = image.shape[:2]
    fractions = ax.transAxes.inverted().transform(ax.transData.transform(Y))
    # matplotlib writes the image upside down and turns it over, or not: read the transformation.
    flipped = "scale(1 -1)" in text
    for (x, y), color in zip(fractions, _to_rgb(["#0072b2", "#e69f00", "#009e73"]), strict=True):
        row = y * height if flipped else (1 - y) * height
        assert np.abs(image[int(row), int(x * width), :3] - color).max() < 0.15


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_file(kind, tmp_path):
    Y, labels = blobs()
    files = [tmp_path / f"{number}.{kind}" for number in range(2)]
    for path in files:
        actup.plot(Y, labels, path=path)
    first, second = (path.read_bytes() for path in files)
    assert first == second and b"CreationDate" not in first and b"<dc:date>" not in first


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    path = tmp_path / "new" / "map.png"
    actup.plot(np.zeros((3, 2)), path=path)
    before = path.read_bytes()

    def fail(self, renderer):
        raise RuntimeError("no space left")

    monkeypatch.setattr(PointLayer, "draw", fail)
    with pytest.raises(RuntimeError, match="no space left"):
        actup.plot(np.ones((3, 2)), path=path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["map.png"]


PICTURES = {
    "one panel": lambda path: actup.plot(np.zeros((3, 2)), path=path).figure,
    "columns": lambda path: actup.plot(np.zeros((3, 2)), [0, 1, 1], values=[0.5, 1, 2], path=path),
    "facets": lambda path: actup.plot(np.zeros((4, 2)), facets=[0, 0, 1, 1], path=path),
    "gallery": lambda path: plot_gallery({"a": np.zeros((3, 2)), "b": np.ones((3, 3))}, path=path),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_figures_are_those_of_pyplot_unless_they_are_files(draw, tmp_path):
    draw(tmp_path / "map.png")
    assert pyplot.get_fignums() == []
    figure = draw(None)
    assert pyplot.get_fignums() == [figure.number] and pyplot.gcf() is figure


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_notebooks_show_a_figure_that_is_the_value_of_a_cell_once(draw, monkeypatch):
    formatters = pytest.importorskip("IPython.core.formatters")
    inline = pytest.importorskip("matplotlib_inline.backend_inline")
    before = pyplot.get_backend()
    pyplot.switch_backend("module://matplotlib_inline.backend_inline")
    try:
        figure = draw(None)
        shown = formatters.DisplayFormatter().ipython_display_formatter
        assert shown(figure), "pyplot shows it at the end of the cell"
        displayed = []
        monkeypatch.setattr(inline, "display", lambda figure, **_: displayed.append(figure))
        inline.show(close=True)
        assert displayed == [figure]
        assert not shown(figure), "the value of a later cell: IPython shows it"
    finally:
        pyplot.switch_backend(before)


def test_a_million_points(tmp_path):
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 8, 1_000_000)
    angle = codes * 0.7854
    Y = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.15 * generator.standard_normal((1_000_000, 2))
    ax = actup.plot(Y.astype(np.float32), codes, path=tmp_path / "map.png", dpi=100)
    assert_names_are_apart_and_inside(ax)
    assert len(visible_names(ax)) == 8


def layered(*layers):
    """Clusters with layers of codes and names; the last one colours the points."""
    made = [
        SimpleNamespace(codes=np.array(codes), names=names, centers=np.full((len(names), 2), np.nan))
        for codes, names in layers
    ]
    return SimpleNamespace(layers=made, main=len(made) - 1)


def points_under_names(ax, Y):
    """For each name that a picture shows, which points are under it."""
    ax.figure.canvas.draw()
    pixels = ax.transData.transform(Y)
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts if text.get_visible()}
    return {
        name: (pixels > (box.x0, box.y0)).all(axis=1) & (pixels < (box.x1, box.y1)).all(axis=1)
        for name, box in boxes.items()
    }


def test_names_of_coarse_clusters_stand_on_none_that_only_finer_layers_have():
    # Two narrow clusters, each between two that are in no coarse cluster.
    rng = np.random.default_rng(0)
    middles = np.array([[0, 0], [0, 40], [-5, 0], [5, 0], [-5, 40], [5, 40]])
    spreads = np.array([0.7, 12])
    Y = (middles[:, None] + spreads * rng.normal(size=(6, 400, 2))).reshape(-1, 2)
    fine = np.repeat(np.arange(6), 400)
    coarse = np.where(fine < 2, fine, -1)
    names = ["a long name of a cluster", "another long name"]
    clusters = layered((coarse, names), (fine, [*names, "c", "d", "e", "f"]))
    under = points_under_names(actup.plot(Y, clusters=clusters), Y)
    for code, name in enumerate(names):
        shown = next(inside for text, inside in under.items() if text.replace("\n", " ") == name)
        own = np.count_nonzero(shown & (coarse == code))
        assert own >= np.count_nonzero(shown & (fine != code))


def test_a_cluster_that_is_in_two_layers_has_one_name():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(900, 2)) + np.repeat([[0, 0], [20, 0], [20, 8]], 300, axis=0)
    coarse, fine = np.repeat([0, 1, 1], 300), np.repeat([0, 1, 2], 300)
    clusters = layered((coarse, ["whole", "pair"]), (fine, ["again", "upper", "lower"]))
    shown = points_under_names(actup.plot(Y, clusters=clusters), Y)
    assert set(shown) == {"whole", "pair", "upper", "lower"}


def test_points_without_a_place_are_left_out_with_one_warning(tmp_path):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 2)) + np.repeat([[0, 0], [20, 0]], 100, axis=0)
    Y[[0, 150]] = np.nan
    labels = np.repeat(["a", "b"], 100).astype(object)
    labels[0] = "nowhere"
    clusters = actup.find_clusters(Y, labels=labels, n_layers=1)
    for options in (
        {"labels": labels},
        {"values": np.arange(200.0)},
        {"labels": labels, "values": np.arange(200.0)},
        {"labels": labels, "facets": labels},
        {"clusters": clusters},
    ):
        with pytest.warns(UserWarning) as caught:
            actup.plot(Y, path=tmp_path / "map.png", **options)
        assert [str(warning.message) for warning in caught] == [
            "2 points without a place are not shown: NaN coordinates, such as of disconnected samples"
        ]
    with pytest.raises(ValueError, match="Y has 200 points with NaN"):
        actup.plot(np.full((200, 2), np.nan))


def test_galleries_leave_out_points_without_a_place_on_one_map():
    Y = np.random.default_rng(0).normal(size=(50, 2))
    gaps = Y.copy()
    gaps[7] = np.nan
    with pytest.warns(UserWarning, match="1 point without a place is not shown"):
        figure = actup.plotting.plot_gallery({"whole": Y, "gaps": gaps}, labels=np.arange(50) % 3)
    assert len(figure.axes) == 2
