"""The page in headless Chromium, used as people do: pointer, lasso, legend, search, colours, maps."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from actup.viewer import write_page
from browser import OpenPage
from point_clouds import N, unequal_blobs


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
    _, codes = unequal_blobs()
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
    _, codes = unequal_blobs()
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
    Y, codes = unequal_blobs()
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


def test_points_without_a_place_are_not_shown_and_others_keep_their_numbers(browser, tmp_path):
    Y, codes = unequal_blobs(100)
    Y[[3, 50]] = np.nan
    other = Y[:, ::-1].copy()
    other[7] = np.nan
    with pytest.warns(UserWarning, match="3 points without a place are not shown"):
        path = write_page(
            tmp_path / "page.html",
            {"first": Y, "second": other},
            codes,
            neighbors=(np.arange(100)[:, None] + 1) % 100,
        )
    page = OpenPage(browser, path)
    assert page.page.inner_text("#status") == "97 of 100 points"
    page.page.click("#save summary")
    rows = list(csv.DictReader(io.StringIO(page.download("#save-csv")[0].decode("utf-8"), newline="")))
    kept = np.setdiff1d(np.arange(100), [3, 7, 50])
    assert [int(row["index"]) for row in rows] == kept.tolist()
    shown = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_allclose(shown, Y[kept] - Y[kept].mean(axis=0), atol=2e-3 * np.ptp(Y[kept]))
    page.page.mouse.move(*page.at(8))
    page.wait("actupPage.state().hovered === 8")
    page.close()


def test_pages_may_begin_side_by_side_except_on_phones(browser, tmp_path):
    Y, codes = unequal_blobs(100)
    maps, captions = {"first": Y, "second": Y[:, ::-1]}, {"first": "trust 0.9"}
    path = write_page(tmp_path / "page.html", maps, codes, captions, side_by_side=True)
    page = OpenPage(browser, path)
    assert page.state()["sideBySide"] and not page.page.is_visible("#tabs")
    assert page.page.locator("#titles small").all_inner_texts() == ["trust 0.9", ""]
    page.page.keyboard.press("s")
    page.wait("!actupPage.state().sideBySide && location.hash.includes('side=0')")
    page.close()
    for options in ({"hash_": "#side=0"}, {"width": 390, "height": 844}):
        page = OpenPage(browser, path, **options)
        assert not page.state()["sideBySide"] and page.page.is_visible("#tabs")
        page.close()


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


def test_slider_moves_points_between_maps_of_a_sequence(browser, tmp_path):
    Y, codes = unequal_blobs(300)
    maps = {f"rho {k}": Y * (1, k) for k in (1, 2, 3)}
    page = OpenPage(browser, write_page(tmp_path / "page.html", maps, codes))
    assert page.page.is_visible("#slider") and not page.page.is_visible("#tabs")
    page.page.locator("#slider").fill("1.5")
    page.wait("actupPage.state().map !== 'rho 1'")
    page.page.locator("#slider").fill("2")
    page.wait("actupPage.page.bar.views[0].map.name === 'rho 3' || actupPage.page.bar.views[0].share === 1")
    assert page.state()["map"] == "rho 3"
    page.close()


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
