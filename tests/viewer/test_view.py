"""Views: pages for notebooks, browsers and files."""

from __future__ import annotations

import html
import re
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import pytest
from sklearn.datasets import load_iris

import actup
from actup.viewer import View
from actup.viewer._notebook import _widget

IRIS = load_iris()
LABELS = IRIS.target_names[IRIS.target]


@pytest.fixture(scope="module")
def model():
    return actup.UMAP(random_state=0).fit(IRIS.data)


def test_the_saved_page_is_that_of_write_page(model, tmp_path):
    page = actup.view(model, LABELS, title="Iris")
    assert isinstance(page, View)
    saved = page.save(tmp_path / "folder" / "view.html").read_bytes()
    written = actup.viewer.write_page(tmp_path / "page.html", model, LABELS, title="Iris").read_bytes()
    assert saved == written
    assert b"postMessage" not in saved and b"connect-src" not in saved  # it has nobody to talk to


def test_models_and_mappings_are_viewed_alike(model, tmp_path):
    pages = [model.view(LABELS), actup.view({"UMAP": model}, LABELS), actup.view(model, LABELS)]
    texts = {page.save(tmp_path / "page.html").read_text(encoding="utf-8") for page in pages}
    assert len(texts) == 1


def test_wrong_labels_are_rejected_before_anything_is_shown(model):
    with pytest.raises(ValueError, match="149"):
        model.view(LABELS[1:])
    with pytest.raises(ValueError, match="149"):
        actup.live(IRIS.data, labels=LABELS[1:], browser=False)
    with pytest.raises(ValueError, match="not fitted"):
        actup.UMAP().view()


def test_open_shows_a_file(model, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = model.view(LABELS)
    assert page.open() is page
    path = Path(url2pathname(urlsplit(opened[0]).path))
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    path.unlink()
    path.parent.rmdir()


def test_the_frame_of_a_notebook_is_sandboxed_and_quotes_the_page(model):
    frame = model.view(['"><script>alert(1)</script>'] * 150)._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert "<script" not in frame and frame.count("<iframe") == 1
    source = frame.partition('srcdoc="')[2].rpartition('"')[0]
    assert '"' not in source and html.unescape(source).startswith("<!doctype html>")


def test_without_anywidget_a_notebook_gets_the_frame(model, monkeypatch):
    monkeypatch.setattr(_widget, "find_spec", lambda name: None)
    page = model.view(LABELS)
    bundle = page._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert re.search(r"a page of \d\.\d MB; open\(\) shows it", bundle["text/plain"])
    assert len(page.selection) == 0


def test_with_anywidget_a_notebook_gets_a_widget_whose_selection_is_ids(model):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    page = model.view(LABELS)
    data, _ = page._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "postMessage" in page.widget.html and page.widget is page.widget
    page.widget.set_state({"selected": memoryview(np.array([2, 70], "<u4").tobytes())})
    np.testing.assert_array_equal(page.selection, [2, 70])
