"""Points of a page at rest lie beside its titles, captions and buttons, in headless Chromium."""

import numpy as np
import pytest

from actup.viewer import write_page
from browser import OpenPage

RADIUS_PIXELS = 4
CAPTION = "neighbour recall 0.731, trustworthiness 0.981, label accuracy 0.933"


@pytest.fixture(scope="module")
def shapes():
    """Maps whose points fill a square, a wide and a high rectangle, to the corners."""
    side = np.linspace(-1, 1, 15)
    square = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    return {"square": square, "wide": square * (2, 1), "high": square * (1, 2), "flat": square * (1, 0.1)}


@pytest.mark.parametrize("size", [(1280, 720), (1440, 800), (390, 844), (700, 320)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_points_at_rest_are_under_no_caption_and_no_button(browser, tmp_path, shapes, count, size):
    maps = dict(list(shapes.items())[:count])
    path = write_page(tmp_path / "page.html", maps, captions=dict.fromkeys(maps, CAPTION))
    for hash_ in ["", "#map=wide", "#map=high", "#side=1"][: 1 if count == 1 else 4]:
        page = OpenPage(browser, path, hash_, *size)
        stage = page.stage_box()
        covered = [page.page.locator("#view-tools"), page.page.locator("#caption")]
        boxes = [element.bounding_box() for element in covered if element.is_visible()]
        boxes += [element.bounding_box() for element in page.page.locator("#titles div").all()]
        assert len(boxes) == (1 + count if hash_ == "#side=1" else 2)
        for view in range(count if hash_ == "#side=1" else 1):
            places = page.run(
                f"Array.from({{length: 225}}, (_, i) => actupPage.screenPosition(i, {view}))"
            ) + np.array([stage["x"], stage["y"]])
            for box in boxes:
                low = np.array([box["x"], box["y"]])
                high = low + np.array([box["width"], box["height"]])
                under = ((places > low - RADIUS_PIXELS) & (places < high + RADIUS_PIXELS)).all(axis=1)
                assert not under.any(), (hash_, view, box, places[under])
        page.close()


def test_maps_of_a_page_keep_their_place_while_they_morph(browser, tmp_path, shapes):
    captions = {"square": CAPTION, "wide": "", "high": "short"}
    path = write_page(tmp_path / "page.html", {name: shapes[name] for name in captions}, captions=captions)
    page = OpenPage(browser, path, width=390, height=844)
    bar = "actupPage.page.bar"
    for index in (1, 2):
        page.run(f"{bar}.slideTo({index} - 0.001)")  # the end of a morph
        before = np.array([page.run(f"actupPage.screenPosition({i})") for i in (0, 112, 224)])
        page.run(f"{bar}.show({index}, false)")
        page.settle()
        after = np.array([page.run(f"actupPage.screenPosition({i})") for i in (0, 112, 224)])
        assert np.abs(after - before).max() < 2
    page.close()
