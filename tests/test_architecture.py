"""The shape of the package: imports point one way, and the way from fit to the compiled search is short."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_blobs

import actup
from actup._engine import engine

ROOT = Path(actup.__file__).parent

# From the lowest layer to the highest: a module imports from its own layer and from those before it.
LAYERS = [
    {
        "_typing",
        "_lazy",
        "_cached_property",
        "_arguments",
        "_suggestions",
        "_warnings",
        "_errors",
        "_array_files",
        "_values",
        "_threads",
        "_processor",
        "_engine",
        "_elementary",
        "_reporting",
        "_device",
        "_csr",
        "_maps",
        "_labels",
        "_bytes",
        "_output_path",
        "_whole_file",
    },
    {"graph"},
    {"neighbors"},
    {"recipe"},
    {"quality", "metrics", "start", "transform", "clusters"},
    {"backends", "progress"},
    {"_given", "_memory", "_pipeline"},
    {"_embed_many", "estimators", "saving"},
    {"compat"},
    {"accel"},
    {"plotting", "datasets", "sc", "_atlas", "distributed"},
    {"viewer"},
    {"_experiments"},
    {"_cli", "__main__"},
]
LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}
# Imports that point up, inside functions: a model shows itself with the viewer, is fitted to files, and gives
# openTSNE's points of new rows.
UPWARDS = {
    "estimators/_tsne.py": ["actup.compat.opentsne.TSNEEmbedding", "actup.compat.opentsne.affinity"],
    "estimators/_viewing.py": ["actup.viewer.view"],
    "estimators/_files.py": ["actup.distributed.embed"],
}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported_modules(path: Path) -> set[str]:
    """The modules of actup that a file imports when it runs, also inside functions: dotted names."""
    names: set[str] = set()

    def visit(node: ast.AST) -> None:
        if is_type_checking(node):
            return
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "actup":
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names if alias.name.startswith("actup."))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


def top(name: str) -> str:
    """The part of the package below actup that a dotted name or a path belongs to."""
    return name.split(".")[1]


def test_every_part_has_a_layer():
    parts = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert parts <= set(LAYER_OF)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    own = LAYER_OF[path.relative_to(ROOT).parts[0].removesuffix(".py")]
    upwards = sorted(name for name in imported_modules(path) if LAYER_OF.get(top(name), own) > own)
    assert upwards == UPWARDS.get(path.relative_to(ROOT).as_posix(), [])


def record_callers(monkeypatch, name: str) -> list[list[str]]:
    """Have every call of an engine function record the modules of actup on the stack, outermost first."""
    stacks: list[list[str]] = []
    function = getattr(engine, name)

    def recorded(*arguments):
        stack: list[str] = []
        frame = sys._getframe(1)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("actup.") and module not in stack:
                stack.insert(0, module)
            frame = frame.f_back
        stacks.append(stack)
        return function(*arguments)

    monkeypatch.setattr(engine, name, recorded)
    return stacks


@pytest.mark.parametrize(("search", "n"), [("ClusterIndex", 22_000), ("exact_neighbors", 500)])
def test_the_way_from_fit_to_the_compiled_search_is_short(search, n, monkeypatch):
    """At most ten modules, as docs/architecture.md draws it."""
    stacks = record_callers(monkeypatch, search)
    X = make_blobs(n, 60, centers=20, random_state=0)[0].astype("float32")
    actup.UMAP(n_epochs=0, random_state=0).fit(X)
    assert stacks
    drawing = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for stack in stacks:
        assert len(stack) <= 10
        for name in stack:
            assert name.removeprefix("actup.").replace(".", "/") in drawing, name
