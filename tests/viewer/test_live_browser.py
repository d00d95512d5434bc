"""Live pages and notebook views in headless Chromium: points move, controls act, selections come back."""

from __future__ import annotations

import base64
import re
from importlib.resources import files

import numpy as np
import pytest
from sklearn.datasets import load_digits

import actup

X, LABELS = load_digits(return_X_y=True)
X, LABELS = X[:900], LABELS[:900]
MILLISECONDS = 20_000  # a test fails if something takes longer


@pytest.fixture
def page(browser):
    """A page that must show no error."""
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.set_default_timeout(MILLISECONDS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    page.close()
    assert errors == []


def screen_places(page, ids) -> np.ndarray:
    """Where points are on the screen: (m, 2)."""
    return np.array(page.evaluate("ids => ids.map((i) => actupPage.screenPosition(i))", ids))


def wait_for_message(page, pattern: str) -> None:
    """Wait for the line above the map; the page's security policy does not allow to evaluate text."""
    page.locator("#message", has_text=re.compile(pattern)).wait_for()


def state(session) -> dict:
    return session._channel.status()


def test_the_points_move_stop_and_are_steered(page):
    model = actup.UMAP(random_state=0, n_epochs=1_000_000)
    with actup.live(X, model, labels=LABELS, browser=False) as session:
        page.goto(session.url)
        page.wait_for_selector(".live")
        ids = list(range(0, 900, 50))
        wait_for_message(page, "^epoch [1-9]")
        before = screen_places(page, ids)
        page.wait_for_timeout(400)
        assert np.abs(screen_places(page, ids) - before).max() > 1
        page.get_by_role("button", name="Pause").click()
        wait_for_message(page, "^paused")
        page.wait_for_timeout(400)  # the frames that were on their way
        before = screen_places(page, ids)
        page.wait_for_timeout(300)
        np.testing.assert_array_equal(screen_places(page, ids), before)
        page.locator("input[data-factor=exaggeration]").fill("2")
        page.locator("input[data-factor=repulsion]").fill("-1")
        page.wait_for_timeout(200)
        assert (state(session)["exaggeration"], state(session)["repulsion"]) == (4.0, 0.5)
        page.get_by_role("button", name="Continue").click()
        wait_for_message(page, "^epoch")
        page.get_by_role("button", name="Stop").click()
        assert session.wait_for_layout(MILLISECONDS / 1000)
        page.wait_for_selector("text=Continue")
        page.get_by_role("button", name="End").click()
        wait_for_message(page, "^The session has ended$")
        session.wait(MILLISECONDS / 1000)
        assert session.closed


def lasso_around(page, ids) -> None:
    """Draw a lasso around points with the mouse."""
    places = screen_places(page, ids)
    box = page.locator("#stage").bounding_box()
    low, high = places.min(axis=0) - 8, places.max(axis=0) + 8
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]), (low[0], low[1])]
    corners = [(box["x"] + x, box["y"] + y) for x, y in corners]
    page.locator("#lasso").click()
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()


def test_a_lasso_is_embedded_and_left_again(page):
    model = actup.UMAP(random_state=0).fit(X)
    zeros = np.flatnonzero(LABELS == 0)
    near = zeros[
        np.argsort(np.abs(model.embedding_[zeros] - np.median(model.embedding_[zeros], axis=0)).sum(axis=1))
    ]
    with model.view(labels=LABELS, live=True) as session:
        page.goto(session.url)
        page.wait_for_selector(".live")
        lasso_around(page, near[:40].tolist())
        page.wait_for_selector("text=/Re-embed \\d+ points/")
        selected = page.evaluate("[...actupPage.selection()]")
        assert set(near[:40]) <= set(selected)
        page.wait_for_timeout(200)
        np.testing.assert_array_equal(session.selection, selected)
        page.get_by_text("Re-embed").click()
        wait_for_message(page, " points in ")
        page.wait_for_timeout(1200)  # the flight to the selection
        assert len(session.model.embedding_) == len(selected)
        stage = page.locator("#stage").bounding_box()
        shown = screen_places(page, selected)
        assert (np.ptp(shown, axis=0) > 0.3 * min(stage["width"], stage["height"])).all()
        others = screen_places(page, [i for i in range(900) if i not in set(selected)][:50])
        assert ((others < 0) | (others > 1000)).any(axis=1).all()  # hidden
        page.get_by_role("button", name="Back").click()
        page.wait_for_timeout(800)
        assert page.evaluate("actupPage.selection().length") == 0
        everything = screen_places(page, list(range(900)))
        inside = (everything > 0) & (everything < [stage["width"], stage["height"]])
        assert inside.all(axis=1).mean() > 0.97
        assert np.ptp(screen_places(page, selected), axis=0).max() < 0.8 * np.ptp(everything, axis=0).max()


def test_a_view_in_a_notebook_shows_the_page_in_a_sandboxed_frame(page):
    view = actup.view(actup.UMAP(random_state=0).fit(X), labels=LABELS)
    page.set_content(view._repr_html_())
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    assert frame.locator("#legend li").count() == 10
    assert page.frames[1].evaluate("origin") == "null"  # no access to the notebook


def test_the_selection_of_the_widget_comes_back_to_python(page):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    view = actup.view(X[:, 2:4] + 0.01 * X[:, 4:6], labels=LABELS)
    assert len(view.selection) == 0
    widget = view.widget
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "selection")
    script = files("actup.viewer._notebook").joinpath("widget.js").read_text(encoding="utf-8")
    page.set_content("<div id=cell></div>")
    page.evaluate(
        """async ([script, html]) => {
            const { default: widget } = await import("data:text/javascript;base64," + script);
            const sent = {};
            window.sent = sent;
            const values = { html, height: 500 };
            const model = {
              get: (name) => values[name],
              set: (name, value) => (sent[name] = value),
              save_changes() {},
            };
            widget.render({ model, el: document.getElementById("cell") });
        }""",
        [base64.b64encode(script.encode()).decode(), widget.html],
    )
    page.frame_locator("iframe").locator("html[data-ready]").wait_for(state="attached")
    page.frames[1].evaluate("actupPage.select([5, 3, 8])")
    page.wait_for_function("window.sent.selected")
    sent = page.evaluate("[...new Uint8Array(window.sent.selected.buffer)]")
    widget.set_state({"selected": memoryview(bytes(sent))})  # what the kernel receives
    np.testing.assert_array_equal(view.selection, [3, 5, 8])
    assert len(seen) == 1
