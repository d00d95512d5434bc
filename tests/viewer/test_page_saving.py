"""Files that the page saves, in headless Chromium: tables and pictures."""

import csv
import io
from xml.etree import ElementTree

import numpy as np

from actup.viewer import write_page
from browser import OpenPage
from point_clouds import N, unequal_blobs


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


def test_pictures_of_control_characters_are_xml(browser, tmp_path):
    Y, codes = unequal_blobs(200)
    path = write_page(tmp_path / "page.html", Y, [f"a\x02b\x1f{k}" for k in codes], title="t\x01\x0b\ufffe")
    page = OpenPage(browser, path)
    page.page.click("#save summary")
    svg = ElementTree.fromstring(page.download("#save-svg")[0])
    assert svg.find("{*}title").text == "t" and "ab0" in [
        element.text for element in svg.iterfind(".//{*}text")
    ]
    page.close()


def test_a_column_that_is_a_text_too_is_saved_once(browser, tmp_path):
    Y, codes = unequal_blobs(40)
    kind = np.array(["a", "b", "c", "d", "e"])[codes]
    columns = {"kind": kind, "x": np.arange(40.0), "index": kind}
    path = write_page(tmp_path / "page.html", Y, columns=columns, hover={"kind": kind})
    page = OpenPage(browser, path)
    page.page.click("#save summary")
    rows = list(csv.reader(io.StringIO(page.download("#save-csv")[0].decode("utf-8"), newline="")))
    assert rows[0] == ["index", "x", "y", "x_", "index_", "kind"]
    assert [row[3:] for row in rows[1:]] == [[str(k), name, name] for k, name in enumerate(kind)]
    page.close()


def test_missing_classes_are_empty_fields_of_the_table(browser, tmp_path):
    Y, _ = unequal_blobs(40)
    kind = np.array(["a", "missing"] * 20, object)
    kind[4:8] = None
    page = OpenPage(browser, write_page(tmp_path / "page.html", Y, columns={"kind": kind}))
    page.page.click("#save summary")
    rows = list(csv.DictReader(io.StringIO(page.download("#save-csv")[0].decode("utf-8"), newline="")))
    assert [row["kind"] for row in rows] == [name or "" for name in kind]
    page.close()
