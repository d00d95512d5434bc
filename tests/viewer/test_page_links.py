"""Links of the page in headless Chromium: they restore what was shown."""

import numpy as np

from actup.viewer import write_page
from browser import OpenPage
from point_clouds import N, unequal_blobs


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


def test_links_tell_missing_labels_from_a_class_of_that_name(browser, tmp_path):
    Y, codes = unequal_blobs(400)
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


def test_links_that_name_nothing_are_ignored(browser, path):
    page = OpenPage(browser, path, "#map=none&color=none&view=a,b&off=none&only=&search=")
    assert page.state()["map"] == "first" and page.state()["selected"] == N
    page.close()
