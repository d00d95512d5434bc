"""Texts on the page in headless Chromium: names, legends, tooltips and hostile text."""

import csv
import io
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

import actup
from actup.viewer import write_page
from browser import OpenPage
from point_clouds import CENTERS, unequal_blobs

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"quoted\", & 'single' &lt;\nsecond line",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u202eright to left",
    "=1+1 $title ${data} " + "x" * 10_000,
]


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


def test_legends_tell_missing_values_and_empty_names(browser, tmp_path):
    Y, codes = unequal_blobs(400)
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
    Y, codes = unequal_blobs(40)
    days = np.datetime64("-0100-03-01") + 400_000 * np.arange(40)
    days[-1] = np.datetime64("400000-01-01")
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y, codes, columns={"day": days}))
    texts = page.run("Array.from({length: 40}, (_, i) => actupPage.page.data.columns[1].text(i, 0))")
    assert texts[:-1] == [str(day) for day in days[:-1]] and texts[-1] == "400000"
    page.close()


def test_layers_of_names_appear_with_the_zoom(browser, tmp_path):
    Y, codes = unequal_blobs(3000)
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


def test_a_cluster_that_is_in_two_layers_has_one_name(browser, tmp_path):
    Y, codes = unequal_blobs(3000)
    right = np.where(Y[:, 0] > CENTERS[codes, 0], codes, -1)
    layers = [SimpleNamespace(codes=part, names=list("abcde")) for part in (codes, right)]
    path = write_page(tmp_path / "page.html", Y, clusters=SimpleNamespace(layers=layers))
    page = OpenPage(browser, path)
    assert sorted(name["text"] for name in page.state()["names"]) == list("abcde")
    page.close()


def test_names_of_coarse_clusters_stand_on_none_that_only_finer_layers_have(browser, tmp_path):
    # Two narrow clusters, each between two that are in no coarse cluster.
    rng = np.random.default_rng(0)
    middles = np.array([[0, 0], [0, 40], [-5, 0], [5, 0], [-5, 40], [5, 40]])
    Y = (middles[:, None] + np.array([0.7, 5]) * rng.normal(size=(6, 400, 2))).reshape(-1, 2)
    fine = np.repeat(np.arange(6), 400)
    coarse = np.where(fine < 2, fine, -1)
    names = ["a long name of a cluster", "another long name"]
    layers = [
        SimpleNamespace(codes=coarse, names=names),
        SimpleNamespace(codes=fine, names=[*names, "c", "d", "e", "f"]),
    ]
    page = OpenPage(
        browser, write_page(tmp_path / "page.html", Y, clusters=SimpleNamespace(layers=layers)), width=800
    )
    points = np.array(page.run("Array.from({length: 2400}, (_, i) => actupPage.screenPosition(i))"))
    shown = page.state()["names"]
    assert len(shown) >= 4
    for label in shown:
        if label["text"] not in names:
            continue
        half = [0.25 * label["font"] * len(label["text"]), 0.6 * label["font"]]
        under = (np.abs(points - [label["x"], label["y"]]) < half).all(axis=1)
        own = np.count_nonzero(under & (coarse == names.index(label["text"])))
        assert own >= 0.5 * np.count_nonzero(under), label
    page.close()
