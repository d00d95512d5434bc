"""The switches of a recipe that choose between named values: one enum per switch."""

from __future__ import annotations

from enum import StrEnum


class Affinity(StrEnum):
    """How the distances d of a row to its neighbours become similarities p(j|i).

    Attributes
    ----------
    UMAP : "umap"
        exp(-(d - rho)/sigma), where rho is the distance to the nearest neighbour; sigma is chosen so that
        the row sums to log2(n_neighbors).
    GAUSSIAN : "gaussian"
        exp(-d²/2sigma²), divided by its sum over the row; sigma is chosen so that the row's entropy is
        log(perplexity).
    MULTISCALE : "multiscale"
        The mean of several "gaussian" rows, one for each value of ``perplexities``.
    FIXED_SIGMA : "fixed_sigma"
        exp(-d²/2sigma²), divided by its sum over the row, with the same ``sigma`` in every row.
    UNIFORM : "uniform"
        1 for every neighbour.
    """

    UMAP = "umap"
    GAUSSIAN = "gaussian"
    MULTISCALE = "multiscale"
    FIXED_SIGMA = "fixed_sigma"
    UNIFORM = "uniform"


class Distance(StrEnum):
    """Whether affinity "umap" subtracts the distance to the nearest neighbour, rho, from all distances.

    Attributes
    ----------
    PSEUDO : "pseudo"
        Use d - rho.
    PLAIN : "plain"
        Use d.
    """

    PSEUDO = "pseudo"
    PLAIN = "plain"


class Symmetrization(StrEnum):
    """How p = p(j|i) and p' = p(i|j) become the weight of one edge.

    Attributes
    ----------
    UMAP : "umap"
        p + p' - p p', the union of two fuzzy sets.
    TSNE : "tsne"
        (p + p')/2, the mean.
    """

    UMAP = "umap"
    TSNE = "tsne"


class Initialization(StrEnum):
    """Where the points start. Coordinates of your own are passed to the estimators as ``init``.

    Attributes
    ----------
    SPECTRAL : "spectral"
        Eigenvectors of the graph's normalised Laplacian.
    PCA : "pca"
        The first principal components of X.
    RANDOM : "random"
        Random places.
    """

    SPECTRAL = "spectral"
    PCA = "pca"
    RANDOM = "random"


class Extent(StrEnum):
    """What ``start_size`` measures.

    Attributes
    ----------
    BOX : "box"
        The longest side of the bounding box.
    DEVIATION : "deviation"
        The standard deviation along the widest axis.
    """

    BOX = "box"
    DEVIATION = "deviation"


class Loss(StrEnum):
    """The divergence between the similarities of the data and those of the map.

    Attributes
    ----------
    KL : "kl"
        The Kullback-Leibler divergence of t-SNE if similarities are normalised, the cross-entropy of UMAP if
        they are not.
    FROBENIUS : "frobenius"
        The sum of squared differences.
    """

    KL = "kl"
    FROBENIUS = "frobenius"


class Sampling(StrEnum):
    """Which edges attract in an epoch, and how strongly.

    In the following, r is the weight of an edge divided by the largest weight of the graph.

    Attributes
    ----------
    EXHAUSTIVE : "exhaustive"
        Every edge attracts in every epoch, in proportion to its weight (GDR, t-SNE).
    SCALAR : "scalar"
        An edge attracts in a share r of the epochs, each time with weight 1 (UMAP).
    ACCELERATED : "accelerated"
        An edge attracts in a share r of the epochs, each time in proportion to its weight. So weights count
        twice, as they do in the paper.
    UNBIASED : "unbiased"
        An edge attracts in a share r of the epochs, each time with the largest weight of the graph. On
        average this equals "exhaustive".
    """

    EXHAUSTIVE = "exhaustive"
    SCALAR = "scalar"
    ACCELERATED = "accelerated"
    UNBIASED = "unbiased"


class Repulsion(StrEnum):
    """How the repulsion between all pairs of points is computed.

    Attributes
    ----------
    SAMPLED : "sampled"
        Estimated from ``negatives`` random points; maps of any dimension.
    EXACT : "exact"
        Summed over all pairs, which takes O(n²) time per epoch; maps of any dimension.
    MESH : "mesh"
        Interpolated from a potential on a grid; 1-D and 2-D maps.
    BARNES_HUT : "barnes_hut"
        Summed over a tree, in which far points are grouped; 1-D to 3-D maps.
    AUTO : "auto"
        One of the others, by the number of points and dimensions: see ``Recipe.repulsion_for``.
    """

    SAMPLED = "sampled"
    EXACT = "exact"
    MESH = "mesh"
    BARNES_HUT = "barnes_hut"
    AUTO = "auto"


class RepulsionMass(StrEnum):
    """What a point's unnormalised repulsion is proportional to.

    Attributes
    ----------
    PER_EDGE : "per_edge"
        The sum over as many negatives as edges of the point attract in the epoch, as in the paper's code.
    DEGREE : "degree"
        The mean over the negatives, times the number of the point's edges.
    STRENGTH : "strength"
        The mean over the negatives, times the sum of the point's relative edge weights.
    """

    PER_EDGE = "per_edge"
    DEGREE = "degree"
    STRENGTH = "strength"


class NonEdgeWeight(StrEnum):
    """The factor 1 - p(i, k) of the unnormalised repulsion between point i and a negative k.

    Attributes
    ----------
    ONE : "one"
        1, because p(i, k) is zero for nearly every k.
    MEAN : "mean"
        1 minus the mean weight of all edges, as in the paper.
    """

    ONE = "one"
    MEAN = "mean"


class Update(StrEnum):
    """When points move.

    Attributes
    ----------
    BATCH : "batch"
        All forces are computed first, then all points move (t-SNE, GDR).
    IN_PLACE : "in_place"
        Both ends of an edge move before the next edge is looked at (umap-learn). Edges that share no point
        are processed in parallel.
    """

    BATCH = "batch"
    IN_PLACE = "in_place"


class Optimizer(StrEnum):
    """How a force becomes a step. All three use momentum.

    Attributes
    ----------
    STEP : "step"
        The learning rate times the force; the length of a step is capped.
    GAINS : "gains"
        Each coordinate has a gain that grows while the force keeps its sign; the force is clipped per
        coordinate.
    STIFFNESS : "stiffness"
        The force divided by the point's stiffness, so that no learning rate needs to be chosen; runs in
        ``phases``.
    """

    STEP = "step"
    GAINS = "gains"
    STIFFNESS = "stiffness"


class LearningRateUnit(StrEnum):
    """What ``learning_rate`` is multiplied by.

    Attributes
    ----------
    ONE : "one"
        1.
    POINTS : "points"
        The number of points n, because normalised forces are of order 1/n. With loss "frobenius", the force
        is also multiplied by Z/10, where Z is the sum of the kernel over all pairs.
    """

    ONE = "one"
    POINTS = "points"
