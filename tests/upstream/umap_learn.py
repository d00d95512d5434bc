"""Run ActUp's own tests of umap-learn's interface, which stand for umap-learn's: it does not distribute them.

    python tests/upstream/umap_learn.py [--save] [--strict]

``--save`` writes the outcomes to benchmarks/results/compatibility_umap.json.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from suite import Recorder, Suite, finish, sort_outcomes

VERSION = "0.5.12"
FOLDER = Path(__file__).parents[1] / "compat"
FILES = [*sorted(FOLDER.glob("test_umap_*.py")), FOLDER / "test_snippets.py"]

# Where the package differs from umap-learn on purpose; docs/guide/migrating.md says more.
DIFFERENCES = {
    "a seed gives another map than umap-learn's": "the descent is another one, with the same bits always",
    "`n_epochs=None` is 87 epochs in two dimensions": "a descent without noise needs fewer",
    "samples without a connected neighbour have a place": (
        'NaN breaks what comes next; `disconnected="nan"` gives it, as `actup.compat.umap.UMAP` does'
    ),
    "`fit` changes no parameter and no array of the caller": "changed parameters break `clone`",
    "`transform` of a row does not depend on the other rows": "another batch should not move points",
    "unknown arguments of `fit` are errors": "umap-learn ignores them, so that misspelt names have no effect",
    "`-` of models keeps the edges that the right model lacks": (
        "umap-learn multiplies them by 1e-4 or less, so that edges of both graphs outweigh them; "
        "`general_simplicial_set_intersection(right_complement=True)` does so here too"
    ),
    "rows some of whose neighbours are beyond `disconnection_distance`": (
        "the weights of their other neighbours are fitted to those; umap-learn's are all 1, since its "
        "bandwidth is infinite"
    ),
    '`metric="true_angular"` is the angle over pi': (
        "pynndescent gives one minus it, so that equal rows are farthest"
    ),
    '`metric="bit_jaccard"` is a distance from 0 to 1': (
        "pynndescent's is its logarithm, which is infinite for rows without common bits"
    ),
    '`metric="kantorovich"` and `"sinkhorn"` are errors': (
        "they need a cost of moving: `wasserstein_1d`, `circular_kantorovich` or a function take their place"
    ),
    "some output metrics are errors that name a function": "they are not compiled; a function is slower",
    "`optimize_layout_*` are missing": "they are steps of umap-learn's descent; the error names what to use",
    "`umap.plot` and Keras networks are missing": "`actup.plot` and `actup.ParametricUMAP` take their place",
}


def topic(file: Path) -> str:
    """The first sentence of a file's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].removeprefix("What programs for umap-learn rely on: ").rstrip(".")


def run() -> Suite:
    """Run the tests on ``actup.compat.umap``."""
    recorder = Recorder()
    pytest.main([*map(str, FILES), "-q", "--no-header", "-p", "no:cacheprovider"], plugins=[recorder])
    return Suite(
        name="umap",
        title="umap-learn, ActUp's own tests of its interface",
        version=VERSION,
        runs="actup.compat.umap",
        outcomes=sort_outcomes(recorder.outcomes, {}, {}),
        topics={file.name: topic(file) for file in FILES},
        differences=DIFFERENCES,
    )


if __name__ == "__main__":
    sys.exit(finish(run(), {}, sys.argv[1:]))
