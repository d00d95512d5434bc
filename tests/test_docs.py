"""The documentation: its examples run as they stand, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in PAGES if page.exists())
GUIDE = [page for page in PAGES if page.startswith("docs/guide/")]

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
    pages = set((ROOT / "docs").glob("**/*.md")) - {index}
    assert {page.resolve() for page in pages} <= listed


def test_the_glossary_is_in_order():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)]
    assert words == sorted(set(words))


@pytest.mark.parametrize("page", GUIDE)
def test_every_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in _PYTHON.findall((ROOT / page).read_text(encoding="utf-8")):
        if not any(name in block for name in OTHER_PACKAGES):
            exec(compile(block, page, "exec"), names)
