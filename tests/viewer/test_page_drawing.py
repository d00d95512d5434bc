"""What the page draws in headless Chromium: painters, themes, the part of the map in view, many points."""

import numpy as np
import pytest

from actup.viewer import write_page
from browser import OpenPage
from point_clouds import CENTERS, N, unequal_blobs


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


def test_outliers_do_not_shrink_the_map_and_can_be_reached(browser, tmp_path):
    Y, codes = unequal_blobs()
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


def test_many_points_move_in_time(browser, tmp_path):
    Y, codes = unequal_blobs(300_000)
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
    # At rest all points are drawn, unless frames came to hold them all.
    page.wait(f"actupPage.state().frames.refined > {before} || actupPage.page.renderer.budget >= 300000")
    page.close()
