"""The presets: named recipes. The first four are the methods people know; the rest are variants of them."""

from __future__ import annotations

from actup._suggestions import not_one_of
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Phase, Role
from actup.recipe._switches import (
    Affinity,
    Distance,
    Extent,
    Initialization,
    LearningRateUnit,
    NonEdgeWeight,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Sampling,
    Symmetrization,
    Update,
)


def preset(name: str) -> Recipe:
    """Return one of the named recipes.

    Parameters
    ----------
    name : str
        One of ``presets()``. "umap" and "tsne" are what the estimators of these names run. "gdr_umap" and
        "gdr_tsne" are GDR, the paper's method, without and with normalisation. Of the variants,
        ``"sampled_..."`` estimate the repulsion from random points, ``"accelerated_..."`` also let an edge
        attract only in some of the epochs, ``"paper_..."`` have the constants of the paper's own code, and
        "classic_tsne" descends like scikit-learn.

    Returns
    -------
    Recipe
        The recipe; change it with ``Recipe.but``.

    Raises
    ------
    ValueError
        If there is no preset of this name.

    See Also
    --------
    presets : The names.
    actup.embed : Runs a recipe.

    Examples
    --------
    >>> from actup import preset
    >>> preset("umap").n_neighbors
    15
    >>> preset("gdr_tsne").normalized
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"preset={name!r} must be the name of a preset: one of {', '.join(presets())}")
    if name not in _PRESETS:
        raise ValueError(not_one_of("preset", name, _PRESETS))
    return _PRESETS[name]


def preset_for(name: str, n_components: int) -> Recipe:
    """Return a preset for ``n_components`` dimensions: its sampled variant where no other serves them."""
    sampled = preset(f"sampled_{name}").but(n_components=n_components)
    if n_components in _NOISE_FREE_DIMENSIONS[name]:
        return preset(name).but(n_components=n_components)
    return sampled


def presets() -> list[str]:
    """Return the names of all presets.

    Returns
    -------
    list of str
        The four main methods first, then their variants.

    See Also
    --------
    preset : The recipe of a name.

    Examples
    --------
    >>> from actup import presets
    >>> presets()[:4]
    ['umap', 'tsne', 'gdr_umap', 'gdr_tsne']
    """
    return list(_PRESETS)


# Batch updates with sampled repulsion: the paper's GDR with the step sizes and weights that measured best.
_SAMPLED_GDR_UMAP = Recipe()

# The same forces with the repulsion of all points: without the noise of sampling, fewer epochs are enough.
_GDR_UMAP = Recipe(
    repulsion=Repulsion.AUTO,
    optimizer=Optimizer.STIFFNESS,
    exaggeration=4.0,
    step_cap=1.0,
    phases=(
        Phase(Role.EXAGGERATE, 13, momentum=0.9, rate=1.5),
        Phase(Role.ANNEAL, 12, momentum=0.9, rate=1.5),
        Phase(Role.EXPAND, 48, momentum=0.95, rate=1.9),
        Phase(Role.SETTLE, 14, momentum=0.8, rate=1.0),
    ),
)

# The loss of umap-learn. There, each time an edge attracts, it pulls its ends together and five random points
# repel the first end. Here the mean over all points takes the place of the random ones.
_UMAP = _GDR_UMAP.but(symmetric_attraction=True, repulsion_rate=5.0, repulsion_epsilon=0.001)

# The same loss, minimised edge by edge as in umap-learn; edge matchings keep threads from racing.
_SAMPLED_UMAP = Recipe(
    symmetric_attraction=True,
    sampling=Sampling.SCALAR,
    negatives=16,
    repulsion_rate=5.0,  # negative_sample_rate
    repulsion_epsilon=0.001,
    horizon=2.0,
    update=Update.IN_PLACE,
    decay_power=1.0,
    momentum=0.0,
)

# Normalised, for any dimension, with enough negatives for a useful estimate of the repulsion nearby.
_SAMPLED_GDR_TSNE = Recipe(
    a=1.0,
    b=1.0,
    normalized=True,
    negatives=512,
    learning_rate_unit=LearningRateUnit.POINTS,
    decay_start=0.3,
    decay_power=1.0,
    momentum=0.8,
    exaggeration=4.0,
    exaggeration_share=0.25,
    step_cap=5.0,
)
_GDR_TSNE = Recipe(
    a=1.0,
    b=1.0,
    normalized=True,
    repulsion=Repulsion.AUTO,
    optimizer=Optimizer.STIFFNESS,
    exaggeration=12.0,
    step_cap=5.0,
    phases=(
        Phase(Role.EXAGGERATE, 30, momentum=0.95),
        Phase(Role.ANNEAL, 15, momentum=0.95),
        Phase(Role.EXPAND, 50, momentum=0.998),
        Phase(Role.SETTLE, 10, momentum=0.9, floor=1.0),
    ),
)

_TSNE_GRAPH_AND_START: dict[str, object] = {
    "affinity": Affinity.GAUSSIAN,
    "distance": Distance.PLAIN,
    "symmetrization": Symmetrization.TSNE,
    "initialization": Initialization.PCA,
    "start_extent": Extent.DEVIATION,
    "start_size": 0.1,
    "prune": False,
}
_SAMPLED_TSNE = _SAMPLED_GDR_TSNE.but(**_TSNE_GRAPH_AND_START)
_TSNE = _GDR_TSNE.but(
    **_TSNE_GRAPH_AND_START,
    phases=(
        Phase(Role.EXAGGERATE, 30, momentum=0.95),
        Phase(Role.ANNEAL, 30, momentum=0.95),
        Phase(Role.EXPAND, 85, momentum=0.998),
        Phase(Role.SETTLE, 15, momentum=0.9, floor=1.0),
    ),
)

# Momentum with gains, as in scikit-learn, for users who want to set the learning rate.
_CLASSIC_TSNE = _TSNE.but(
    optimizer=Optimizer.GAINS,
    phases=(),
    epochs=1000,
    learning_rate=200.0,
    decay_power=0.0,
    momentum=0.8,
    exaggeration_share=0.25,
    gradient_clip=None,
)

# The constants of the paper's own code.
_PAPER_GDR_UMAP = Recipe(
    a=1.0,
    b=1.0,
    repulsion_mass=RepulsionMass.PER_EDGE,
    repulsion_rate=1.0,
    non_edge_weight=NonEdgeWeight.MEAN,
    repulsion_epsilon=0.001,
    optimizer=Optimizer.GAINS,
    epochs=500,
    decay_power=1.0,
    momentum=0.0,
    force_scale=4.0,
)
_PAPER_GDR_TSNE = _PAPER_GDR_UMAP.but(
    normalized=True,
    learning_rate=1 / 500,
    learning_rate_unit=LearningRateUnit.POINTS,
    decay_power=0.0,
    momentum=0.9,
    exaggeration=4.0,
    exaggeration_share=0.5,
    force_scale=1.0,
)
_PAPER_TSNE = _PAPER_GDR_TSNE.but(
    n_neighbors=90,
    distance=Distance.PLAIN,
    symmetrization=Symmetrization.TSNE,
    initialization=Initialization.RANDOM,
)

_PRESETS = {
    "umap": _UMAP,
    "tsne": _TSNE,
    "gdr_umap": _GDR_UMAP,
    "gdr_tsne": _GDR_TSNE,
    "accelerated_umap": _SAMPLED_UMAP.but(sampling=Sampling.ACCELERATED),
    "accelerated_tsne": _SAMPLED_TSNE.but(sampling=Sampling.UNBIASED),
    "accelerated_gdr_umap": _SAMPLED_GDR_UMAP.but(sampling=Sampling.UNBIASED, negatives=32),
    "accelerated_gdr_tsne": _SAMPLED_GDR_TSNE.but(sampling=Sampling.UNBIASED),
    "paper_umap": _SAMPLED_UMAP.but(epochs=500, horizon=None),
    "paper_tsne": _PAPER_TSNE,
    "paper_gdr_umap": _PAPER_GDR_UMAP,
    "paper_gdr_tsne": _PAPER_GDR_TSNE,
    "paper_accelerated_gdr_umap": _PAPER_GDR_UMAP.but(sampling=Sampling.ACCELERATED),
    "paper_accelerated_gdr_tsne": _PAPER_GDR_TSNE.but(sampling=Sampling.ACCELERATED),
    "classic_tsne": _CLASSIC_TSNE,
    "sampled_umap": _SAMPLED_UMAP,
    "sampled_tsne": _SAMPLED_TSNE,
    "sampled_gdr_umap": _SAMPLED_GDR_UMAP,
    "sampled_gdr_tsne": _SAMPLED_GDR_TSNE,
}

# The dimensions in which a preset computes the repulsion of all points; in others it is sampled. UMAP samples
# in three dimensions because a tree takes longer, and in one because points must pass each other to untangle,
# which only noise lets them do. Beyond three dimensions there is neither mesh nor tree.
_NOISE_FREE_DIMENSIONS = {"umap": (2,), "tsne": (1, 2, 3), "gdr_umap": (1, 2, 3), "gdr_tsne": (1, 2, 3)}
