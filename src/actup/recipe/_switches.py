"""The choices a recipe makes: one enum per switch, one value per way."""

from __future__ import annotations

from enum import StrEnum


class Affinity(StrEnum):
    """How distances to neighbours become similarities p(j|i)."""

    UMAP = "umap"  # exp(-(d - rho)/sigma), the row sums to log2(n_neighbors)
    GAUSSIAN = "gaussian"  # exp(-d²/2sigma²)/sum, the row's entropy is log(perplexity)
    MULTISCALE = "multiscale"  # the mean of such rows, one for each of ``perplexities``
    FIXED_SIGMA = "fixed_sigma"  # exp(-d²/2sigma²)/sum, with the same ``sigma`` in every row
    UNIFORM = "uniform"  # 1 for every neighbour


class Distance(StrEnum):
    """Whether the distance to the nearest neighbour is subtracted first (affinity "umap" only)."""

    PSEUDO = "pseudo"  # d - rho
    PLAIN = "plain"  # d


class Symmetrization(StrEnum):
    """How p(j|i) and p(i|j) become one weight."""

    UMAP = "umap"  # p + p' - p p'
    TSNE = "tsne"  # (p + p')/2


class Initialization(StrEnum):
    """Where the points start; an array of coordinates is given to the estimators instead."""

    SPECTRAL = "spectral"
    PCA = "pca"
    RANDOM = "random"


class Extent(StrEnum):
    """What ``start_size`` measures."""

    BOX = "box"  # the longest side of the bounding box
    DEVIATION = "deviation"  # the standard deviation of the widest axis


class Loss(StrEnum):
    """The divergence between the high- and the low-dimensional similarities."""

    KL = "kl"
    FROBENIUS = "frobenius"


class Sampling(StrEnum):
    """Which attractions act in an epoch, and how strongly. r is a weight relative to the largest one."""

    EXHAUSTIVE = "exhaustive"  # every edge, times its weight (GDR)
    SCALAR = "scalar"  # an edge acts in a share r of the epochs, with weight 1 (UMAP)
    ACCELERATED = "accelerated"  # a share r of the epochs AND times its weight, as published
    UNBIASED = "unbiased"  # a share r of the epochs, with the largest edge's weight


class Repulsion(StrEnum):
    """How the repulsion from all other points is found."""

    SAMPLED = "sampled"  # from ``negatives`` random points
    EXACT = "exact"  # from every point: O(n²) per epoch
    MESH = "mesh"  # from every point, through a potential on a grid: 1-D and 2-D
    BARNES_HUT = "barnes_hut"  # from every point, far ones in groups: 1-D to 3-D
    AUTO = "auto"  # see repulsion_for()


class RepulsionMass(StrEnum):
    """How much repulsion a point feels in the unnormalised setting."""

    PER_EDGE = "per_edge"  # one negative per attraction that acts, as the reference code does
    DEGREE = "degree"  # the mean over the negatives, times the number of edges
    STRENGTH = "strength"  # the mean over the negatives, times the sum of relative weights


class NonEdgeWeight(StrEnum):
    """The factor 1 - p(i,k) of an unnormalised repulsion from a random point k."""

    ONE = "one"  # p(i,k) is zero for nearly every k
    MEAN = "mean"  # the paper's choice: one minus the mean weight of the stored edges


class Update(StrEnum):
    """When points move."""

    BATCH = "batch"  # all forces first, then all points (t-SNE, GDR)
    IN_PLACE = "in_place"  # edge by edge, over matchings of edges that share no point (umap-learn)


class Optimizer(StrEnum):
    """How a force becomes a step."""

    STEP = "step"  # momentum; the step's length is capped
    GAINS = "gains"  # momentum; per-coordinate gains; the gradient is clipped per coordinate
    STIFFNESS = "stiffness"  # momentum; the force over the point's own stiffness; in phases, see schedule.py


class LearningRateUnit(StrEnum):
    """What ``learning_rate`` is multiplied by."""

    ONE = "one"
    POINTS = "points"  # n, as normalised forces are of order 1/n; loss "frobenius": n Z/10
