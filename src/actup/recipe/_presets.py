"""The cookbook: the presets. The first four are the methods people know; the rest are variants of them."""

from __future__ import annotations

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
    """One of the named recipes; ``presets()`` lists them."""
    try:
        return _PRESETS[name]
    except KeyError:
        raise ValueError(f"preset={name!r} is not one of {', '.join(presets())}") from None


def preset_for(name: str, n_components: int) -> Recipe:
    """A preset for that many dimensions, in its sampled variant where they are too many for any other."""
    sampled = preset(f"sampled_{name}").but(n_components=n_components)
    return preset(name).but(n_components=n_components) if n_components in _NOISE_FREE[name] else sampled


def presets() -> list[str]:
    """The names of all presets."""
    return list(_PRESETS)


# Batch updates from sampled repulsion: the paper's GDR with the step sizes and weights we found best.
_SAMPLED_GDR_UMAP = Recipe()

# The same forces from all points at once: no noise, so it needs fewer epochs.
_GDR_UMAP = Recipe(
    repulsion=Repulsion.AUTO,
    optimizer=Optimizer.STIFFNESS,
    exaggeration=4.0,
    step_cap=1.0,
    phases=(
        Phase(Role.EXAGGERATE, 13, momentum=0.9, rate=1.5),
        Phase(Role.ANNEAL, 12, momentum=0.9, rate=1.5),
        Phase(Role.EXPAND, 58, momentum=0.95, rate=1.5),
        Phase(Role.SETTLE, 17, momentum=0.8, rate=1.0),
    ),
)

# The loss that umap-learn descends: each time an edge of the graph acts, its ends are pulled together, and
# the first is pushed by five random points. Here their mean over all points takes the place of the draws.
_UMAP = _GDR_UMAP.but(symmetric_attraction=True, repulsion_rate=5.0, repulsion_epsilon=0.001)

# The same loss as umap-learn descends it, edge by edge; made free of races by edge matchings.
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

# Normalised, with enough negatives that the estimate of the near field is useful; for any dimension.
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

_AS_TSNE = {
    "affinity": Affinity.GAUSSIAN,
    "distance": Distance.PLAIN,
    "symmetrization": Symmetrization.TSNE,
    "initialization": Initialization.PCA,
    "start_extent": Extent.DEVIATION,
    "start_size": 0.1,
    "prune": False,
}
_SAMPLED_TSNE = _SAMPLED_GDR_TSNE.but(**_AS_TSNE)
_TSNE = _GDR_TSNE.but(
    **_AS_TSNE,
    phases=(
        Phase(Role.EXAGGERATE, 30, momentum=0.95),
        Phase(Role.ANNEAL, 30, momentum=0.95),
        Phase(Role.EXPAND, 85, momentum=0.998),
        Phase(Role.SETTLE, 15, momentum=0.9, floor=1.0),
    ),
)

# Momentum with gains, as scikit-learn does it, for those who want to set the learning rate.
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

# Dimensions of maps without draws. In three, a tree takes longer than the draws of UMAP; in more there is
# none. In one, points must pass each other to untangle, and only noise lets them.
_NOISE_FREE = {"umap": (2,), "tsne": (1, 2, 3), "gdr_umap": (1, 2, 3), "gdr_tsne": (1, 2, 3)}
