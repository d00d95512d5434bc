"""The paper's four methods as recipes, and its switches."""

from __future__ import annotations

from actup.recipe import (
    Distance,
    Initialization,
    Recipe,
    Repulsion,
    RepulsionMass,
    Symmetrization,
    preset,
)

# The paper's settings. Its tSNE sums the repulsion over all points with a Barnes-Hut tree, ours with the
# mesh.
PAPER = {
    "tSNE": preset("paper_tsne").but(
        repulsion=Repulsion.MESH, repulsion_mass=RepulsionMass.DEGREE, gradient_clip=None
    ),
    "GDR_tsne": preset("paper_gdr_tsne"),
    "UMAP": preset("paper_umap"),
    "GDR_umap": preset("paper_gdr_umap"),
}
# ActUp's default settings of the same methods.
DEFAULTS = {
    "tSNE": preset("tsne"),
    "GDR_tsne": preset("gdr_tsne"),
    "UMAP": preset("umap"),
    "GDR_umap": preset("gdr_umap"),
}

# The columns of the paper's tables: no switch turned, then one switch each.
COLUMNS = ("default", "start", "pseudo-distance", "symmetrisation", "symmetric attraction", "a, b")


def switched(recipe: Recipe, column: str) -> Recipe:
    """The recipe with the switch of a column turned to its other position."""
    match column:
        case "default":
            return recipe
        case "start":
            random = recipe.initialization is Initialization.RANDOM
            return recipe.but(initialization=Initialization.SPECTRAL if random else Initialization.RANDOM)
        case "pseudo-distance":
            plain = recipe.distance is Distance.PLAIN
            return recipe.but(distance=Distance.PSEUDO if plain else Distance.PLAIN)
        case "symmetrisation":
            as_tsne = recipe.symmetrization is Symmetrization.TSNE
            return recipe.but(symmetrization=Symmetrization.UMAP if as_tsne else Symmetrization.TSNE)
        case "symmetric attraction":
            return recipe.but(symmetric_attraction=not recipe.symmetric_attraction)
        case "a, b":
            return recipe.but(a=1.0, b=1.0) if recipe.a is None else recipe.but(a=None, b=None)
    raise ValueError(f"column={column!r} is not one of {', '.join(COLUMNS)}")
