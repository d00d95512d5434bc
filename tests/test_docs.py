"""The documentation: its examples run as they stand, its links lead somewhere, its tools do their work."""

import re
import runpy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from test_public_names import MODULES

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in PAGES)
WITH_CODE = [
    page for page in PAGES if page.startswith("docs/") and "```python" in (ROOT / page).read_text("utf-8")
]
NAVIGATION = {
    "index.md",
    "getting-started.md",
    "results.md",
    "guide/index.md",
}  # which only lead to other pages
GALLERY = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/gallery/*/plot_*.py"))

OTHER_PACKAGES = ("import scanpy", "from bertopic", "write_atlas")  # which need not be installed here

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    """A page without its blocks of code, in which brackets and # mean something else."""
    return _BLOCK.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_somewhere(page):
    for link in _LINK.findall(prose(ROOT / page)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), link
        if anchor:
            assert anchor in anchors(path), link


def test_the_index_lists_every_page():
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(index))}
    pages = set((ROOT / "docs").glob("**/*.md")) - {index} - {ROOT / "docs" / page for page in NAVIGATION}
    assert {page.resolve() for page in pages} <= listed


def test_the_glossary_is_in_order():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)]
    assert words == sorted(set(words))


def test_the_navigation_leads_to_every_page_of_the_guide():
    guide = ROOT / "docs" / "guide"
    listed = set(re.findall(r"^([\w-]+)$", (guide / "index.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert {page.stem for page in guide.glob("*.md")} - {"index"} <= listed


@pytest.mark.parametrize("page", WITH_CODE)
def test_every_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for block in _PYTHON.findall((ROOT / page).read_text(encoding="utf-8")):
        if not any(name in block for name in OTHER_PACKAGES):
            exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("program", GALLERY)
def test_every_program_of_the_gallery_draws(program, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    text = (ROOT / program).read_text(encoding="utf-8")
    for package in ("anndata",):
        if f"import {package}" in text and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    try:
        canvas = FigureCanvasAgg(runpy.run_path(str(ROOT / program))["figure"])
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        assert (pixels.min(axis=2) < 200).mean() > 0.005  # points, or images, beside the text
    finally:
        pyplot.close("all")


@pytest.fixture
def extension(monkeypatch):
    """Imports a module of docs/_extensions by its name."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    return import_module


def test_the_reference_has_every_public_name(extension):
    pages = extension("api_pages").pages()
    documented = [getattr(import_module(path), name) for path in MODULES for name in names_on(pages, path)]
    ids = set(map(id, documented))
    lacking = [
        f"{path}.{name}"
        for path in MODULES
        for name in import_module(path).__all__
        if not name.startswith("__")
        and id(value := getattr(import_module(path), name)) not in ids
        and not hasattr(value, "__path__")
        and type(value).__name__ != "module"
    ]
    assert lacking == []


def names_on(pages, module):
    """The names of a module that its page of the reference lists."""
    text = pages.get("index" if module == "actup" else module, "")
    listed = re.findall(r"^   (\w+)$", text, re.MULTILINE) + re.findall(r"``(\w+)``", text)
    listed += re.findall(rf"^\.\. auto\w+:: {re.escape(module)}\.(\w+)$", text, re.MULTILINE)
    return [name for name in listed if hasattr(import_module(module), name)]


def test_links_are_adapted_to_the_built_pages(extension):
    docs, web = ROOT / "docs", "https://example.org/actup"

    def adapted(link, page):
        return extension("links").adapted(link, (docs / page).parent, docs, web)

    assert adapted("gpu.md", "guide/inputs.md") == "gpu.md"
    assert adapted("../faq.md", "guide/inputs.md") == "../faq.md"
    assert adapted("../README.md", "README.md") == f"{web}/blob/main/README.md"
    assert adapted("../../benchmarks", "guide/inputs.md") == f"{web}/tree/main/benchmarks"
    example = adapted("../gallery/read/plot_3_noise.py", "guide/inputs.md")
    assert example == "../examples/read/plot_3_noise.rst"
    assert adapted("gallery/GALLERY_HEADER.rst", "faq.md") == "examples/index.rst"


def test_broken_links_of_built_pages_are_found(extension, tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="top">Other</h1>')
    (tmp_path / "page.html").write_text(
        '<a href="other.html#top">ok</a><a href="https://example.org">not followed</a>'
        '<a href="#here" id="here">ok</a>'
        '<a href="other.html#none">1</a><a href="gone.html">2</a><script src="https://example.org/a.js"></script>'
    )
    assert extension("check_links").broken_links(tmp_path) == [
        "page.html: other.html#none: the page has no such anchor",
        "page.html: gone.html: there is no such file",
        "page.html: https://example.org/a.js: is loaded from the network",
    ]
