"""The page in headless Chromium: opened from disk, no console message, no request, and used as people do."""

import csv
import io
import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_digits

import actup
from actup.viewer import write_page
from browser import OpenPage, chromium

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"quoted\", & 'single' &lt;\nsecond line",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u202eright to left",
    "=1+1 $title ${data} " + "x" * 10_000,
]
CENTERS = np.array([[0, 0], [10, 0], [0, 10], [10, 10], [5, 5]])
N = 2000


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


def clusters_of_points(n=N):
    """Points of five round clusters of decreasing size, and the cluster of each."""
    generator = np.random.default_rng(0)
    codes = np.sort(generator.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05]))
    return CENTERS[codes] + generator.normal(size=(n, 2)) * 0.6, codes


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two maps with classes, values, dates, texts, pictures, neighbours and a panel."""
    Y, codes = clusters_of_points()
    maps = {"first": Y, "second": Y[:, ::-1] * (1, 2)}
    days = np.datetime64("2020-01-01") + np.arange(N)
    return write_page(
        tmp_path_factory.mktemp("page") / "page.html",
        maps,
        np.array(["alpha", "beta", "gamma", "delta", "rare"])[codes],
        {"first": "caption of the first"},
        {"word": [f"word{i:04d}" for i in range(N)]},
        np.full((N, 4, 4), 200, np.uint8),
        "Title of the page",
        columns={"height": Y[:, 1], "day": days},
        neighbors=(np.arange(N)[:, None] + [1, 2, 3]) % N,
        info={"quality": {"trustworthiness": 0.987}},
    )


@pytest.fixture
def opened(browser, path):
    page = OpenPage(browser, path)
    yield page
    page.close()


def test_shows_points_names_legend_and_panel(opened):
    assert opened.page.title() == "Title of the page"
    assert opened.page.inner_text("#status") == "2,000 points"
    rows = opened.page.locator("#legend li").all_inner_texts()
    assert [re.split(r"\s+", row.strip())[0] for row in rows] == ["alpha", "beta", "gamma", "delta", "rare"]
    assert {name["text"] for name in opened.state()["names"]} == {"alpha", "beta", "gamma", "delta", "rare"}
    assert opened.page.inner_text("#caption") == "caption of the first"
    opened.page.click("#about summary")
    assert "trustworthiness" in opened.page.inner_text("#about")
    x, y = map(round, opened.at(0))
    patch = opened.pixels()[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3)
    assert (patch[:, 2] > patch[:, 0] + 60).any()  # alpha is blue


def test_hover_draws_the_overlay_alone(opened):
    before = opened.state()["frames"]
    opened.page.mouse.move(*opened.at(7))
    opened.wait("actupPage.state().hovered >= 0")
    state = opened.state()
    assert state["frames"]["moving"] == before["moving"] and state["frames"]["refined"] == before["refined"]
    assert state["frames"]["marks"] > before["marks"]
    tooltip = opened.page.inner_text("#tooltip")
    assert f"word{state['hovered']:04d}" in tooltip and f"#{state['hovered']}" in tooltip
    assert "alpha" in tooltip and "day" in tooltip
    # The ring, the lines to the neighbours and the picture are there.
    opaque = "[...document.getElementById('marks-layer').getContext('2d').getImageData(0, 0, 900, 700).data]"
    assert opened.run(f"{opaque}.filter((value, k) => k % 4 === 3 && value > 100).length") > 60
    assert opened.run("document.getElementById('picture').width") == 4
    opened.page.mouse.move(*(value + 2 for value in opened.at(7)))
    opened.page.keyboard.press("Escape")
    assert opened.state()["hovered"] == -1 and not opened.page.is_visible("#tooltip")


def test_wheel_and_drag_move_the_camera(opened):
    x, y = opened.at(100)
    opened.page.mouse.move(x, y)
    opened.page.mouse.wheel(0, -500)
    opened.settle()
    assert opened.state()["zoom"] > 1.5
    assert np.abs(np.subtract(opened.at(100), (x, y))).max() < 2  # the point under the pointer stays
    opened.drag([(300, 300), (350, 320), (400, 340)])
    opened.settle()
    assert np.allclose(np.subtract(opened.at(100), (x, y)), (100, 40), atol=6)
    opened.page.keyboard.press("0")
    opened.wait("Math.abs(actupPage.state().zoom - 1) < 1e-6")


@pytest.mark.parametrize("kind", ["lasso", "rectangle"])
def test_lasso_selects_greys_out_and_saves(opened, kind):
    _, codes = clusters_of_points()
    wanted = np.flatnonzero(codes == 3)
    places = np.array([opened.at(int(i)) for i in wanted[:: max(1, len(wanted) // 40)]])
    (left, top), (right, bottom) = places.min(axis=0) - 25, places.max(axis=0) + 25
    if kind == "lasso":
        opened.page.keyboard.press("l")
        opened.drag([(left, top), (right, top), (right, bottom), (left, bottom), (left, top + 5)])
    else:
        opened.page.keyboard.down("Shift")
        opened.drag([(left, top), (right, bottom)])
        opened.page.keyboard.up("Shift")
    opened.settle()
    ids = opened.run("Array.from(actupPage.selection())")
    assert set(ids) <= set(wanted.tolist()) and len(ids) > 0.9 * len(wanted)
    # A point outside is grey, not hidden.
    x, y = map(round, opened.at(0))
    patch = opened.pixels()[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3)
    assert np.ptp(patch, axis=1).max() < 40 and patch.min() < 250
    table, name = opened.download("#selection-csv")
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8"), newline="")))
    assert name == "Title-of-the-page.csv" and [int(row["index"]) for row in rows] == ids
    assert rows[0]["label"] == "delta" and rows[0]["word"] == f"word{ids[0]:04d}"
    assert rows[0]["day"] == str(np.datetime64("2020-01-01") + ids[0])
    assert json.loads(opened.download("#selection-json")[0]) == ids
    opened.page.click("#selection-clear")
    assert opened.run("actupPage.selection().length") == 0


def test_legend_search_and_colors(opened):
    opened.page.click("#legend li:nth-child(1) .swatch")
    _, codes = clusters_of_points()
    assert opened.state()["selected"] == np.count_nonzero(codes != 0)
    opened.page.click("#legend li:nth-child(1) .swatch")
    opened.page.click("#legend li:nth-child(5) .name")
    assert opened.state()["selected"] == np.count_nonzero(codes == 4)
    opened.page.keyboard.press("Escape")
    opened.page.fill("#search", "WORD000")
    opened.wait("actupPage.state().selected === 10")
    opened.page.fill("#search", "#12")
    opened.wait("actupPage.state().selected === 1")
    opened.page.press("#search", "Enter")
    assert opened.state()["hovered"] == 12
    opened.page.keyboard.press("Escape")
    opened.page.select_option("#color", label="height")
    opened.settle()
    assert opened.state()["color"] == "height" and opened.page.is_visible("#scale")
    opened.page.select_option("#color", label="day")
    assert opened.page.inner_text("#scale span:first-child").startswith("≤ 2020-01-")


def test_colors_change_to_a_column_of_more_classes(browser, tmp_path):
    Y, codes = clusters_of_points()
    names = np.array(["alpha", "beta", "gamma", "delta", "rare"])[codes]
    columns = {"half": np.where(codes < 2, "low", "high"), "name": names}
    path = write_page(tmp_path / "columns.html", Y, columns=columns)
    sizes = {name: f"{np.count_nonzero(names == name):,}" for name in np.unique(names)}
    for hash_ in ("", "#color=name"):
        opened = OpenPage(browser, path, hash_)
        before = opened.pixels()
        if not hash_:
            opened.page.select_option("#color", label="name")
            opened.settle()
            assert (opened.pixels() != before).any()
        rows = opened.page.locator("#legend li").all_inner_texts()
        assert dict(row.split() for row in rows) == sizes
        assert {name["text"] for name in opened.state()["names"]} == set(sizes)
        opened.close()


def test_maps_morph_and_stand_side_by_side(opened):
    opened.page.click("#tabs button:nth-child(2)")
    opened.wait("actupPage.page.bar.views[0].map.name === 'second'")
    assert opened.state()["map"] == "second"
    opened.page.keyboard.press("s")
    opened.wait("actupPage.state().sideBySide")
    opened.settle()
    assert opened.page.locator("#titles p").all_inner_texts() == ["first", "second"]
    opened.page.mouse.move(*opened.at(40, 1))
    opened.wait("actupPage.state().hovered >= 0")
    hovered = opened.state()["hovered"]
    for view in (0, 1):  # the same point is marked in both views
        x, y = opened.run(f"actupPage.screenPosition({hovered}, {view}).map(Math.round)")
        around = f"getImageData({x} - 14, {y} - 14, 28, 28).data"
        ring = f"document.getElementById('marks-layer').getContext('2d').{around}"
        assert opened.run(f"{ring}.some((value, k) => k % 4 === 3 && value > 200)")


def test_keys_move_all_maps_and_pictures_name_them(opened):
    opened.page.keyboard.press("s")
    opened.wait("actupPage.state().sideBySide")
    opened.page.keyboard.press("+")
    opened.page.keyboard.press("Shift+ArrowLeft")
    cameras = opened.run("actupPage.page.bar.views.map(({camera}) => [camera.zoom, camera.center[0]])")
    assert all(zoom > 1.2 and x < 0 for zoom, x in cameras)
    opened.page.click("#save summary")
    svg = ElementTree.fromstring(opened.download("#save-svg")[0])
    texts = [element.text for element in svg.iterfind(".//{*}text")]
    assert texts[:2] == ["first", "second"]


def test_pictures_of_control_characters_are_xml(browser, tmp_path):
    Y, codes = clusters_of_points(200)
    path = write_page(tmp_path / "page.html", Y, [f"a\x02b\x1f{k}" for k in codes], title="t\x01\x0b\ufffe")
    page = OpenPage(browser, path)
    page.page.click("#save summary")
    svg = ElementTree.fromstring(page.download("#save-svg")[0])
    assert svg.find("{*}title").text == "t" and "ab0" in [
        element.text for element in svg.iterfind(".//{*}text")
    ]
    page.close()


def test_links_tell_missing_labels_from_a_class_of_that_name(browser, tmp_path):
    Y, codes = clusters_of_points(400)
    labels = np.array(["missing", "other", None, "more", "rest"], object)[codes]
    path = write_page(tmp_path / "page.html", Y, labels)
    for code, wanted in (("missing", "missing"), ("missing", None)):
        page = OpenPage(browser, path)
        rows = page.page.locator("#legend li", has_text=code)
        rows.nth(0 if wanted else 1).locator(".name").click()
        page.wait("location.hash.includes('only')")
        again = OpenPage(browser, path, page.run("location.hash"))
        assert again.state()["selected"] == np.count_nonzero(labels == wanted)
        again.close()
        page.close()


def test_links_restore_the_view(browser, opened, path):
    opened.page.select_option("#color", label="height")
    opened.page.fill("#search", "word01")
    opened.page.keyboard.press("Enter")
    opened.page.click("#tabs button:nth-child(2)")
    opened.wait("actupPage.page.bar.views[0].map.name === 'second'")
    opened.run("actupPage.page.bar.views[0].camera.set([0.2, -0.1], 3)")
    opened.wait("location.hash.includes('view=') && location.hash.includes('search=word01')")
    again = OpenPage(browser, path, opened.run("location.hash"))
    state = again.state()
    assert (state["map"], state["color"], state["selected"]) == ("second", "height", 100)
    assert np.allclose([*state["center"], state["zoom"]], [0.2, -0.1, 3])
    again.page.select_option("#color", label="label")
    again.page.fill("#search", "")
    again.page.click("#legend li:nth-child(2) .swatch")
    again.wait("location.hash.includes('off=beta') && !location.hash.includes('search')")
    third = OpenPage(browser, path, again.run("location.hash"))
    assert third.state()["selected"] == again.state()["selected"] < N
    third.close()
    again.close()


def test_legends_tell_missing_values_and_empty_names(browser, tmp_path):
    Y, codes = clusters_of_points(400)
    heights = np.where(codes == 4, np.nan, Y[:, 1])
    path = write_page(
        tmp_path / "page.html", Y, np.array(["", "b", "c", "d", "e"])[codes], columns={"height": heights}
    )
    page = OpenPage(browser, path)
    assert "(empty)" in page.page.locator("#legend bdi").all_text_contents()
    page.page.select_option("#color", label="height")
    missing = np.count_nonzero(codes == 4)
    assert page.page.inner_text("#scale p") == f"{missing} missing, in grey."
    page.page.click("#save summary")
    rows = csv.DictReader(io.StringIO(page.download("#save-csv")[0].decode("utf-8"), newline=""))
    assert "" in {row["label"] for row in rows}
    page.close()


def test_dates_of_all_times_are_written(browser, tmp_path):
    Y, codes = clusters_of_points(40)
    days = np.datetime64("-0100-03-01") + 400_000 * np.arange(40)
    days[-1] = np.datetime64("400000-01-01")
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y, codes, columns={"day": days}))
    texts = page.run("Array.from({length: 40}, (_, i) => actupPage.page.data.columns[1].text(i, 0))")
    assert texts[:-1] == [str(day) for day in days[:-1]] and texts[-1] == "400000"
    page.close()


def test_links_that_name_nothing_are_ignored(browser, path):
    page = OpenPage(browser, path, "#map=none&color=none&view=a,b&off=none&only=&search=")
    assert page.state()["map"] == "first" and page.state()["selected"] == N
    page.close()


def test_pictures_are_saved(opened):
    opened.page.click("#save summary")
    png, name = opened.download("#save-png")
    from PIL import Image

    image = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    box = opened.stage_box()
    assert name.endswith(".png") and np.allclose(
        image.shape[:2], (2 * box["height"], 2 * box["width"]), atol=1
    )
    assert 0.01 < (np.ptp(image.astype(int), axis=2) > 60).mean() < 0.5
    opened.page.click("#save summary")
    svg = opened.download("#save-svg")[0].decode("utf-8")
    assert svg.count("<circle") > 0.95 * N and ">alpha</text>" in svg
    opened.page.click("#save summary")
    table = opened.download("#save-csv")[0].decode("utf-8")
    assert table.count("\r\n") == N + 1


def test_interface_for_other_programs(opened):
    opened.run("(window.seen = [], actupPage.onSelection((ids) => window.seen.push(ids.length)), 0)")
    opened.run("actupPage.select(new Uint32Array([3, 5]))")
    assert opened.run("Array.from(actupPage.selection())") == [3, 5] and opened.run("window.seen") == [2]
    opened.run("actupPage.select(null)")
    opened.run("actupPage.setStatus('epoch 12')")
    assert opened.page.inner_text("#message") == "epoch 12"
    opened.run("actupPage.addPanel(Object.assign(document.createElement('p'), {textContent: 'panel'}))")
    assert opened.page.inner_text("#panels") == "panel"
    opened.run(f"actupPage.setPositions(Float32Array.from({{length: {2 * N}}}, (_, k) => k % 2 ? 0 : k), 0)")
    opened.settle()
    xs = [opened.at(i)[0] for i in (0, N // 2, N - 1)]
    assert xs[0] < xs[1] < xs[2]


@pytest.mark.parametrize("renderer", ["webgl", "canvas"])
def test_both_painters_draw_the_same(browser, path, renderer):
    page = OpenPage(browser, path, f"#renderer={renderer}&names=0", reduced_motion="reduce")
    assert page.state()["renderer"] == renderer
    box = page.stage_box()
    shown = page.pixels()[int(box["y"]) + 5 : int(box["y"] + box["height"]) - 150, 5 : int(box["width"]) - 60]
    colored = np.ptp(shown, axis=2) > 60
    rows, columns = np.nonzero(colored)
    # The five clusters lie in the corners and the middle: the outer ones span the stage.
    assert 0.02 < colored.mean() < 0.4
    assert np.ptp(columns) > 0.5 * shown.shape[1] and np.ptp(rows) > 0.5 * shown.shape[0]
    page.page.keyboard.press("2")
    page.wait("actupPage.page.bar.views[0].map.name === 'second'")
    page.close()


def test_without_webgl_the_page_draws_pixels(browser, path):
    page = OpenPage(browser, path)
    software = page.run("actupPage.page.renderer.painter.kind")
    assert software == "canvas"  # no GPU behind WebGL here
    page.close()


def test_slider_moves_points_between_maps_of_a_sequence(browser, tmp_path):
    Y, codes = clusters_of_points(300)
    maps = {f"rho {k}": Y * (1, k) for k in (1, 2, 3)}
    page = OpenPage(browser, write_page(tmp_path / "page.html", maps, codes))
    assert page.page.is_visible("#slider") and not page.page.is_visible("#tabs")
    page.page.locator("#slider").fill("1.5")
    page.wait("actupPage.state().map !== 'rho 1'")
    page.page.locator("#slider").fill("2")
    page.wait("actupPage.page.bar.views[0].map.name === 'rho 3' || actupPage.page.bar.views[0].share === 1")
    assert page.state()["map"] == "rho 3"
    page.close()


def test_hostile_text_is_shown_as_text(browser, tmp_path):
    n = len(HOSTILE)
    Y = np.random.default_rng(0).normal(size=(n, 2))
    path = write_page(
        tmp_path / "page.html", dict.fromkeys(HOSTILE[:2], Y), HOSTILE, {HOSTILE[0]: HOSTILE[1]}, HOSTILE,
        title=HOSTILE[0], info={HOSTILE[0]: {HOSTILE[1]: HOSTILE[1]}},
    )  # fmt: skip
    page = OpenPage(browser, path)
    assert page.page.title() == HOSTILE[0] and page.page.inner_text("#caption") == HOSTILE[1]
    assert page.page.locator("#legend bdi").all_text_contents() == sorted(HOSTILE)
    for i in range(n):
        page.page.mouse.move(*page.at(i))
        page.wait(f"actupPage.state().hovered === {i}")
        shown = page.run("document.querySelector('#tooltip bdi').textContent")
        assert shown.rstrip("…") == HOSTILE[i][: len(shown.rstrip("…"))]
        box = page.page.locator("#tooltip").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1000 and box["height"] < 700
    page.page.mouse.move(1, 1)
    page.page.fill("#search", "onerror")
    page.wait("actupPage.state().selected === 1")
    page.page.keyboard.press("Escape")
    page.page.click("#save summary")
    rows = list(csv.reader(io.StringIO(page.download("#save-csv")[0].decode("utf-8"), newline="")))
    assert [row[-1] for row in rows[1:]] == HOSTILE
    assert page.run("window.hacked") is None
    assert page.run("document.querySelectorAll('img').length") == 0
    page.close()


def test_layers_of_names_appear_with_the_zoom(browser, tmp_path):
    Y, codes = clusters_of_points(3000)
    fine = 4 * codes + 2 * (Y[:, 0] > CENTERS[codes, 0]) + (Y[:, 1] > CENTERS[codes, 1])
    layers = [
        SimpleNamespace(codes=codes, names=[f"coarse {k}" for k in range(5)]),
        SimpleNamespace(codes=fine, names=[f"fine {k}" for k in range(20)]),
    ]
    path = write_page(tmp_path / "page.html", Y, clusters=SimpleNamespace(layers=layers))
    page = OpenPage(browser, path, width=700, height=400)
    names = [name["text"] for name in page.state()["names"]]
    assert sum(name.startswith("coarse") for name in names) == 5
    assert sum(name.startswith("fine") for name in names) < 5
    page.run("actupPage.page.bar.views[0].camera.set([0, 0], 4)")
    page.settle()
    assert sum(name["text"].startswith("fine") for name in page.state()["names"]) >= 3
    page.close()


@pytest.mark.parametrize(("width", "height"), [(1000, 700), (390, 844)])
def test_names_stand_at_points_of_their_class(browser, tmp_path, width, height):
    data, codes = load_digits(return_X_y=True)
    names = np.array([f"the digit {k}" for k in range(10)])
    maps = {
        "umap": actup.UMAP(random_state=0).fit_transform(data),
        "tsne": actup.TSNE(random_state=0).fit_transform(data),
    }
    path = write_page(tmp_path / "page.html", maps, names[codes])
    for name in maps:
        page = OpenPage(browser, path, f"#map={name}", width=width, height=height)
        page.settle()
        points = np.array(
            page.run(f"Array.from({{length: {len(codes)}}}, (_, i) => actupPage.screenPosition(i))")
        )
        shown = page.state()["names"]
        assert len(shown) >= (9 if width > 500 else 6)
        for label in shown:
            half = [0.3 * label["font"] * len(label["text"]), 0.6 * label["font"]]
            away = np.maximum(np.abs(points - [label["x"], label["y"]]) - half, 0)
            away = np.hypot(*away.T)
            nearest = codes[away <= np.sort(away)[14]]
            assert np.mean(names[nearest] == label["text"]) > 0.5, (name, label)
        page.close()


def test_outliers_do_not_shrink_the_map_and_can_be_reached(browser, tmp_path):
    Y, codes = clusters_of_points()
    Y[0] = 5000
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y, codes))
    box = page.stage_box()
    inside = np.array([page.at(i) for i in range(1, N, 20)])
    assert np.ptp(inside[:, 1]) > 0.7 * box["height"]
    assert page.at(0)[0] > 10 * box["width"]
    page.page.keyboard.press("0")
    page.wait("actupPage.state().zoom < 0.1")
    page.settle()
    x, y = page.at(0)
    assert box["x"] < x < box["x"] + box["width"] and box["y"] < y < box["y"] + box["height"]
    page.close()


@pytest.mark.parametrize(("n", "outliers"), [(400, 1), (4000, 10)])
def test_few_outliers_do_not_shrink_a_map(browser, tmp_path, n, outliers):
    generator = np.random.default_rng(0)
    codes = np.arange(n) % 4
    Y = CENTERS[codes] + generator.normal(size=(n, 2)) * 0.6
    Y = np.vstack([Y, 200 + 40 * generator.random((outliers, 2))])
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y))
    box = page.stage_box()
    corners = np.array([page.at(k) for k in range(4)])
    assert np.ptp(corners, axis=0).min() > 0.5 * min(box["width"], box["height"])
    page.close()


def test_a_cluster_apart_is_no_outlier(browser, tmp_path):
    generator = np.random.default_rng(0)
    Y = generator.normal(size=(4000, 2))
    Y[:30] = (10, 0) + 0.1 * generator.normal(size=(30, 2))  # less than a percent of the points
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y))
    box = page.stage_box()
    assert box["x"] < page.at(3)[0] < box["x"] + box["width"]
    page.close()


def test_phone(browser, path):
    page = OpenPage(browser, path, width=390, height=844, has_touch=True, device_scale_factor=2)
    assert page.run("document.documentElement.scrollWidth") <= 390
    stage = page.stage_box()
    assert stage["width"] == 390 and stage["height"] > 500
    for name in page.state()["names"]:
        half = 0.3 * name["font"] * len(name["text"])
        assert name["x"] - half > 0 and name["x"] + half < 390, name
    x, y = page.at(9)
    page.page.touchscreen.tap(x, y)
    page.wait("actupPage.state().hovered >= 0")
    tooltip = page.page.locator("#tooltip").bounding_box()
    assert tooltip["x"] >= 0 and tooltip["x"] + tooltip["width"] <= 390
    assert not page.page.is_visible("#legend")
    page.page.tap("#sheet")
    assert page.page.is_visible("#legend")
    pinch(page)
    assert page.state()["zoom"] > 1.5
    page.close()


def test_phone_shows_selections_and_long_tooltips(browser, tmp_path):
    Y, codes = clusters_of_points(400)
    text = ["word " * 200] * 400
    hover = {"text": text, "more": text, "again": text, "height": Y[:, 1].tolist()}
    path = write_page(tmp_path / "page.html", Y, codes, hover=hover, columns={"height": Y[:, 1]})
    page = OpenPage(browser, path, width=390, height=844, has_touch=True)
    stage = page.stage_box()
    tools = page.page.locator("#view-tools").bounding_box()
    points = np.array([page.at(i) for i in range(400)])
    assert not (points > [tools["x"], tools["y"]]).all(axis=1).any()
    page.page.touchscreen.tap(*page.at(int(np.argmax(points.sum(axis=1)))))
    page.wait("actupPage.state().hovered >= 0")
    assert page.page.inner_text("#tooltip").count("height") == 1
    assert page.page.locator("#tooltip").bounding_box()["height"] < 0.5 * stage["height"]
    page.run("actupPage.select(new Uint32Array([3, 5]))")
    for button in page.page.locator("#selection button").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] < tools["x"]
    page.page.tap("#selection-clear")
    assert not page.page.is_visible("#selection")
    page.close()


def pinch(page):
    """Two fingers that move apart, through the browser's own protocol."""
    session = page.context.new_cdp_session(page.page)
    for kind, spread in [("touchStart", 30), ("touchMove", 45), ("touchMove", 70), ("touchEnd", 0)]:
        points = [{"x": 190 - spread, "y": 200, "id": 0}, {"x": 190 + spread, "y": 200, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if spread else []})
    page.settle()


def test_dark_theme(browser, path):
    page = OpenPage(browser, path, color_scheme="dark")
    assert page.pixels()[150, 5].max() < 40
    page.page.keyboard.press("t")
    page.settle()
    assert page.pixels()[150, 5].min() > 250
    page.run("actupPage.page.restore(new URLSearchParams())")  # a link without a theme
    page.settle()
    assert page.pixels()[150, 5].max() < 40
    page.close()


def test_many_points_move_in_time(browser, tmp_path):
    Y, codes = clusters_of_points(300_000)
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y, codes))
    assert page.state()["frames"]["refined"] >= 1
    page.run(
        """(async () => {
          const { camera } = actupPage.page.bar.views[0];
          for (let k = 0; k < 30; k++) {
            camera.pan(3, 2);
            await new Promise(requestAnimationFrame);
          }
        })()"""
    )
    # Drawing adapts the sample to the time that frames take, also on a busy machine.
    assert np.median(page.state()["milliseconds"][-15:]) < 60
    before = page.state()["frames"]["refined"]
    page.wait(f"actupPage.state().frames.refined > {before}")
    page.close()
