"""Programs on the topics of umap-learn's documentation, run with ``umap`` replaced by ``actup``.

Each file of ``snippets/`` is a program for umap-learn, which runs there too, except where a comment says so.
"""

import re
from pathlib import Path

import pytest

SNIPPETS = sorted((Path(__file__).parent / "snippets").glob("*.py"))


def test_there_are_enough():
    assert len(SNIPPETS) >= 40


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet(path):
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^import umap$", "import actup as umap", text, flags=re.MULTILINE)
    text = re.sub(r"^from umap\.(\w+) import", r"from actup.compat.umap.\1 import", text, flags=re.MULTILINE)
    assert not re.search(r"^(import|from) umap\b", text, re.MULTILINE)
    exec(compile(text, str(path), "exec"), {"__name__": "snippet"})
