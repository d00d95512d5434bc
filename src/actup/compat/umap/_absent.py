"""Names of umap-learn that ActUp does not have, and what to use instead."""

from __future__ import annotations

_PACKAGE = __name__.rpartition(".")[0]
_DESCENT = "umap.umap_.simplicial_set_embedding lays out a graph"
INSTEAD = {
    "plot": "actup.plotting draws maps",
    "parametric_umap": "actup.ParametricUMAP learns a transform without Keras",
    "ParametricUMAP": "actup.ParametricUMAP learns a transform without Keras",
    "load_ParametricUMAP": "actup.load reads saved models",
    "layouts.optimize_layout_euclidean": _DESCENT,
    "layouts.optimize_layout_generic": f"{_DESCENT}, also with output_metric",
    "layouts.optimize_layout_inverse": "UMAP.inverse_transform gives rows for places of a map",
    "layouts.optimize_layout_aligned_euclidean": "umap.AlignedUMAP lays out related data together",
}


def explain_absent(module: str, name: str) -> AttributeError:
    """The error for a name that a module of this package lacks; it says what to use instead."""
    path = f"{module}.{name}".removeprefix(f"{_PACKAGE}.")
    hint = f": {INSTEAD[path]}" if path in INSTEAD else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
