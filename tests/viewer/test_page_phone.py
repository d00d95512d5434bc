"""The page on a phone, in headless Chromium: touch, narrow panels and long tooltips."""

import numpy as np
import pytest

from actup.viewer import write_page
from browser import OpenPage
from point_clouds import unequal_blobs


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
    Y, codes = unequal_blobs(400)
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


@pytest.mark.parametrize("size", [(390, 844), (1000, 260)])
def test_long_tooltips_begin_with_the_label_and_scroll_after_a_tap(browser, tmp_path, size):
    Y, codes = unequal_blobs(400)
    hover = {f"field {k}": [f"{'word ' * 40}{i}" for i in range(400)] for k in range(12)}
    path = write_page(tmp_path / "page.html", Y, [f"kind {code}" for code in codes], hover=hover)
    page = OpenPage(browser, path, width=size[0], height=size[1], has_touch=True)
    tooltip = page.page.locator("#tooltip")
    page.page.touchscreen.tap(*page.at(9))
    page.wait("actupPage.state().pinned >= 0")
    outer, heading = tooltip.bounding_box(), tooltip.locator("strong").first.bounding_box()
    assert outer["y"] <= heading["y"] and heading["y"] + heading["height"] <= outer["y"] + outer["height"]
    zoom = page.state()["zoom"]
    page.page.mouse.move(outer["x"] + 20, outer["y"] + 20)
    page.page.mouse.wheel(0, 5000)
    page.wait("document.getElementById('tooltip').scrollTop > 50")
    last, outer = tooltip.locator("small").bounding_box(), tooltip.bounding_box()
    assert last["y"] + last["height"] <= outer["y"] + outer["height"]
    assert page.state()["zoom"] == zoom
    page.close()


def pinch(page):
    """Two fingers that move apart, through the browser's own protocol."""
    session = page.context.new_cdp_session(page.page)
    for kind, spread in [("touchStart", 30), ("touchMove", 45), ("touchMove", 70), ("touchEnd", 0)]:
        points = [{"x": 190 - spread, "y": 200, "id": 0}, {"x": 190 + spread, "y": 200, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if spread else []})
    page.settle()
