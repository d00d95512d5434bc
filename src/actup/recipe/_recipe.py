"""Recipe: every switch of the paper and every default, as one frozen value; _presets.py names the good ones.

A recipe describes a run completely; nothing else in the package holds a default. A switch is one field with
one value, so that an experiment is ``recipe.but(normalized=True)`` and nothing more. docs/layout.md specifies
what the fields do to the points, epoch by epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from actup._suggestions import closest_name
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.recipe._checks import check_recipe
from actup.recipe._kernel import fit_kernel
from actup.recipe._schedule import Phase, Schedule, falling_schedule, phase_lengths, phased_schedule
from actup.recipe._switches import (
    Affinity,
    Distance,
    Extent,
    Initialization,
    LearningRateUnit,
    Loss,
    NonEdgeWeight,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Sampling,
    Symmetrization,
    Update,
)

_NEIGHBORS_PER_PERPLEXITY = 3  # beyond them, Gaussian similarities are negligible; as in every other t-SNE

# Repulsion "auto" sums over all pairs up to this many points, because the mesh or tree is hardly faster.
_EXACT_REPULSION_MAX_N = 4_000
# In unnormalised maps of 1 or 2 dimensions the mesh is faster much earlier: a pair costs more, and the map is
# smaller, so that the mesh has fewer lines.
_EXACT_UNNORMALIZED_REPULSION_MAX_N = 500

_LONG_DESCENT_MAX_N = 10_000  # more epochs for fewer points, as in umap-learn
_WIDE_MESH_MIN_N = 60_000  # the interpolation errors of many points cancel, so that a wider mesh is enough

# Names that the estimators, or other libraries, have for a switch.
_ESTIMATOR_NAMES = {
    "n_epochs": "epochs",
    "max_iter": "epochs",
    "n_iter": "epochs",
    "init": "initialization",
    "dim": "n_components",
    "n_dims": "n_components",
    "k": "n_neighbors",
    "metric_params": "metric_kwds",
    "negative_sample_rate": "repulsion_rate",
    "repulsion_strength": "repulsion_rate",
    "early_exaggeration": "exaggeration",
    "angle": "theta",
    "dens_lambda": "density_weight",
    "dens_frac": "density_share",
    "dens_var_shift": "density_shift",
}


@dataclass(frozen=True)
class Recipe:
    """A complete description of a run: every switch and every default.

    A recipe is a frozen value. Take one from ``preset`` and change what you want with ``but``. Every field is
    checked when a recipe is made: switches with named values may be given as strings, and a combination that
    cannot be run is rejected with a remedy.

    Attributes
    ----------
    n_neighbors : int, default=15
        Neighbours per point, the point itself included, as in umap-learn. Affinities "gaussian" and
        "multiscale" use the perplexity instead.
    perplexity : float, default=30.0
        Effective number of neighbours, for affinity "gaussian"; three times as many are searched.
    perplexities : tuple of float, default=()
        Several perplexities, for affinity "multiscale"; three times the largest are searched.
    sigma : float or None, default=None
        Width of the Gaussian in the unit of the distances, for affinity "fixed_sigma".
    metric : str or callable, default="euclidean"
        Distance between rows of X: a name that ``actup.nearest_neighbors`` knows, or a function of two rows.
    metric_kwds : tuple of (str, object), default=()
        Parameters of the metric; may be given as a dict.
    recall : float, default=0.97
        The share of true neighbours that a search must find, on every backend; 1.0 compares all rows.
    affinity : Affinity, default="umap"
        How distances become similarities.
    distance : Distance, default="pseudo"
        Whether affinity "umap" subtracts the distance to the nearest neighbour first.
    symmetrization : Symmetrization, default="umap"
        How the similarities of both directions become the weight of an edge.
    set_op_mix_ratio : float, default=1.0
        Symmetrization "umap" gives the fuzzy union of both directions (1), their intersection (0), in which
        only mutual neighbours have an edge, or a weighted mean of the two.
    local_connectivity : float, default=1.0
        Which neighbour's distance "pseudo" distances subtract: the first, or another one; fractions
        interpolate between two neighbours, and 0 subtracts nothing.
    n_components : int, default=2
        Dimensions of the map.
    initialization : Initialization, default="spectral"
        Where the points start.
    start_extent : Extent, default="box"
        What ``start_size`` measures.
    start_size : float, default=10.0
        Size of the start.
    a, b : float or None, default=None
        Parameters of the map's kernel (1 + a d^(2b)/dof)^-dof; None: fitted to ``min_dist`` and ``spread``.
    min_dist : float, default=0.1
        Distance up to which points of the map count as equally close.
    spread : float, default=1.0
        Scale of the map, in which the kernel falls beyond ``min_dist``.
    dof : float, default=1.0
        Degrees of freedom of the kernel: less than 1 gives heavier tails, and more and finer clusters.
        Other values than 1 need ``normalized``.
    output_metric : str or callable, default="euclidean"
        Distance between points of the map. Others are "haversine" (on the sphere, in polar angles and
        longitudes), "hyperboloid", "spherical_gaussian_energy", "diagonal_gaussian_energy",
        "gaussian_energy", "manhattan", "chebyshev", "minkowski", "cosine", "correlation", "canberra" and
        "braycurtis"; they need ``update`` "in_place" without ``horizon``, as
        ``preset("paper_umap")`` has it. A function of two points must return their distance and its gradient
        by the first one; it is called pair by pair, which is slow unless numba has compiled it.
    output_metric_kwds : tuple of (str, object), default=()
        Parameters of the output metric: p of "minkowski". May be given as a dict.
    normalized : bool, default=False
        Whether similarities are normalised over all pairs (t-SNE) or not (UMAP).
    partition : float or None, default=None
        Fixes the partition function Z, the sum of the kernel over all pairs, at this value times n². About
        100/n resembles t-SNE and 0.2 UMAP; None: Z is that of the map. Needs ``normalized`` and loss "kl".
    loss : Loss, default="kl"
        The divergence that is minimised.
    symmetric_attraction : bool, default=False
        Whether an edge pulls both of its ends, which doubles the attraction.
    sampling : Sampling, default="exhaustive"
        Which edges attract in an epoch.
    repulsion : Repulsion, default="sampled"
        How the repulsion between all pairs is computed.
    negatives : int, default=64
        Random points that a point's repulsion is estimated from, for repulsion "sampled".
    repulsion_mass : RepulsionMass, default="strength"
        What a point's repulsion is proportional to.
    repulsion_rate : float, default=3.15
        Factor of the unnormalised repulsion. The default, with mass "strength", gives as much repulsion as
        one negative per edge gives on a UMAP graph of 15 neighbours.
    non_edge_weight : NonEdgeWeight, default="one"
        The factor 1 - p of an unnormalised repulsion.
    repulsion_epsilon : float, default=0.01
        Added to squared distances, so that the unnormalised repulsion of close points stays finite.
    mesh_spacing : float or None, default=None
        Distance between the lines of the grid, for repulsion "mesh"; None: see ``spacing``.
    theta : float, default=0.5
        How wide a group of points may be relative to its distance, for repulsion "barnes_hut".
    horizon : float or None, default=None
        Repulsion does not push a point outward that is farther out than this many root-mean-square radii of
        the map, for update "in_place"; None: no limit.
    density_weight : float, default=0.0
        Weight of densMAP's term, which makes the local radii of the map follow those of the data; 0: no such
        term. umap-learn's ``dens_lambda``. Needs the unnormalised loss "kl" and update "batch".
    density_share : float, default=0.3
        Share of the epochs, the last ones, that have this term. umap-learn's ``dens_frac``.
    density_shift : float, default=0.1
        Added to the variance of the map's log radii, so that the term stays finite where all are equal.
        umap-learn's ``dens_var_shift``.
    update : Update, default="batch"
        Whether all points move at once or edge by edge.
    optimizer : Optimizer, default="step"
        How a force becomes a step.
    epochs : int or None, default=None
        Number of epochs; None: see ``n_epochs``.
    prune : bool, default=True
        Drop edges whose weight is less than the largest one divided by the number of epochs.
    learning_rate : float, default=1.0
        Factor of the steps.
    learning_rate_unit : LearningRateUnit, default="one"
        What the learning rate is multiplied by.
    decay_start : float, default=0.0
        Share of the epochs before the learning rate begins to fall.
    decay_power : float, default=1.5
        From then on, the learning rate falls as (1 - progress)^decay_power; 0: it stays constant.
    momentum : float, default=0.5
        Share of a step that is repeated in the next; optimizer "stiffness" has it in its phases.
    exaggeration : float, default=1.0
        Factor of the attraction in the first epochs.
    exaggeration_share : float, default=0.0
        Share of the epochs that have this factor; optimizer "stiffness" has phases for it.
    late_exaggeration : float, default=1.0
        Factor of the attraction afterwards: 1 is t-SNE, about 4 looks like UMAP.
    step_cap : float, default=4.0
        Longest step, for optimizers "step" and "stiffness"; it falls with the learning rate.
    force_scale : float, default=1.0
        Factor of the force, applied before gains and clip, for optimizer "gains".
    gradient_clip : float or None, default=1.0
        Bound on force times gain per coordinate, for optimizer "gains"; None: no bound.
    phases : tuple of Phase, default=()
        The phases of optimizer "stiffness", in their order.

    See Also
    --------
    preset : The named recipes.
    actup.embed : Runs a recipe.
    actup.GDR : An estimator with these fields as parameters.

    Examples
    --------
    >>> from actup import Recipe, preset
    >>> recipe = preset("tsne").but(perplexity=50, loss="frobenius")
    >>> recipe.loss
    <Loss.FROBENIUS: 'frobenius'>
    >>> recipe.neighbors_searched(n_samples=10_000)
    150
    >>> Recipe(affinity="gaussian")
    Traceback (most recent call last):
        ...
    ValueError: affinity='gaussian' uses plain distances: set distance='plain'
    """

    # the graph
    n_neighbors: int = 15
    perplexity: float = 30.0
    perplexities: tuple[float, ...] = ()
    sigma: float | None = None
    metric: str | Callable[..., float] = "euclidean"
    metric_kwds: tuple[tuple[str, object], ...] = ()
    recall: float = DEFAULT_RECALL
    affinity: Affinity = Affinity.UMAP
    distance: Distance = Distance.PSEUDO
    symmetrization: Symmetrization = Symmetrization.UMAP
    set_op_mix_ratio: float = 1.0
    local_connectivity: float = 1.0
    # the start
    n_components: int = 2
    initialization: Initialization = Initialization.SPECTRAL
    start_extent: Extent = Extent.BOX
    start_size: float = 10.0
    # the kernel of the map
    a: float | None = None
    b: float | None = None
    min_dist: float = 0.1
    spread: float = 1.0
    dof: float = 1.0
    output_metric: str | Callable[..., Any] = "euclidean"
    output_metric_kwds: tuple[tuple[str, object], ...] = ()
    # the forces
    normalized: bool = False
    partition: float | None = None
    loss: Loss = Loss.KL
    symmetric_attraction: bool = False
    sampling: Sampling = Sampling.EXHAUSTIVE
    repulsion: Repulsion = Repulsion.SAMPLED
    negatives: int = 64
    repulsion_mass: RepulsionMass = RepulsionMass.STRENGTH
    repulsion_rate: float = 3.15
    non_edge_weight: NonEdgeWeight = NonEdgeWeight.ONE
    repulsion_epsilon: float = 0.01
    mesh_spacing: float | None = None
    theta: float = 0.5
    horizon: float | None = None
    # the density
    density_weight: float = 0.0
    density_share: float = 0.3
    density_shift: float = 0.1
    # the descent
    update: Update = Update.BATCH
    optimizer: Optimizer = Optimizer.STEP
    epochs: int | None = None
    prune: bool = True
    learning_rate: float = 1.0
    learning_rate_unit: LearningRateUnit = LearningRateUnit.ONE
    decay_start: float = 0.0
    decay_power: float = 1.5
    momentum: float = 0.5
    exaggeration: float = 1.0
    exaggeration_share: float = 0.0
    late_exaggeration: float = 1.0
    step_cap: float = 4.0
    force_scale: float = 1.0
    gradient_clip: float | None = 1.0
    phases: tuple[Phase, ...] = ()

    def __post_init__(self) -> None:
        check_recipe(self)

    def but(self, **changes: Any) -> Recipe:
        """Return the same recipe with some fields changed.

        Parameters
        ----------
        **changes
            Names and new values of fields.

        Returns
        -------
        Recipe
            A new recipe; this one stays as it is.

        Raises
        ------
        TypeError, ValueError
            If a name is no field, if a value is out of range, or if the values cannot be run together.

        Examples
        --------
        >>> from actup import preset
        >>> recipe = preset("umap").but(n_neighbors=30, metric="cosine")
        >>> recipe.n_neighbors, recipe.metric
        (30, 'cosine')
        """
        unknown = sorted(set(changes) - set(switches()))
        if unknown:
            close = closest_name(unknown[0], switches(), _ESTIMATOR_NAMES)
            hint = f": did you mean {close!r}?" if close else f"; the switches are {', '.join(switches())}"
            raise TypeError(f"{unknown[0]!r} is not a switch of Recipe{hint}")
        return replace(self, **changes)

    def n_epochs(self, n_samples: int) -> int:
        """Return the number of epochs of a run: ``epochs``, or the number that suits ``n_samples`` points.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        int
            Number of epochs.

        Examples
        --------
        >>> from actup import preset
        >>> preset("umap").n_epochs(20_000), preset("umap").n_epochs(1_000_000)
        (87, 119)
        """
        if self.epochs is not None:
            return self.epochs
        if self.optimizer is Optimizer.STIFFNESS:
            return sum(phase_lengths(self, n_samples))
        return 500 if self.normalized or n_samples <= _LONG_DESCENT_MAX_N else 200

    def schedule(self, n_samples: int) -> Schedule:
        """Return the values that change from epoch to epoch.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        Schedule
            Arrays ``learning_rate``, ``momentum``, ``exaggeration``, ``step_cap``, ``stiffness_floor`` and
            ``dilation`` with one value per epoch.

        Examples
        --------
        >>> from actup import preset
        >>> schedule = preset("tsne").schedule(20_000)
        >>> len(schedule), float(schedule.exaggeration[0]), float(schedule.exaggeration[-1])
        (160, 12.0, 1.0)
        """
        make = phased_schedule if self.optimizer is Optimizer.STIFFNESS else falling_schedule
        return make(self, n_samples)

    def first_learning_rate(self, n_samples: int) -> float:
        """Return the learning rate of the first epoch, multiplied by its unit.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        float
            ``learning_rate``, times ``n_samples`` if ``learning_rate_unit`` is "points".

        Examples
        --------
        >>> from actup import preset
        >>> preset("sampled_gdr_tsne").first_learning_rate(1000)
        1000.0
        """
        return self.learning_rate * (n_samples if self.learning_rate_unit is LearningRateUnit.POINTS else 1)

    def subtracted_neighbor(self) -> float:
        """Return the number of the neighbour whose distance affinity "umap" calls rho.

        Returns
        -------
        float
            ``local_connectivity``; 1 if ``distance`` is "plain", which does not subtract rho.

        Examples
        --------
        >>> from actup import Recipe
        >>> Recipe(local_connectivity=2).subtracted_neighbor()
        2.0
        """
        return self.local_connectivity if self.distance is Distance.PSEUDO else 1.0

    def union_share(self) -> float:
        """Return the share of the fuzzy union in the weight of an edge; the rest is the intersection.

        Returns
        -------
        float
            ``set_op_mix_ratio``, or 1 if ``symmetrization`` is "tsne", which has no set operations.

        Examples
        --------
        >>> from actup import Recipe
        >>> Recipe(set_op_mix_ratio=0.5).union_share()
        0.5
        """
        return self.set_op_mix_ratio if self.symmetrization is Symmetrization.UMAP else 1.0

    def density_begin(self, n_samples: int) -> int:
        """Return the first epoch that has the density term, or the number of epochs if none has.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        int
            The epochs before the last ``density_share`` of them.

        Examples
        --------
        >>> from actup import preset
        >>> preset("umap").but(density_weight=2.0, epochs=100).density_begin(1000)
        70
        """
        epochs = self.n_epochs(n_samples)
        return math.floor(epochs * (1 - self.density_share)) if self.density_weight > 0 else epochs

    @property
    def has_random_start(self) -> bool:
        """Whether the points start at random places instead of where the data put them."""
        return self.initialization is Initialization.RANDOM

    def repulsion_for(self, n_samples: int) -> Repulsion:
        """Return how repulsion is computed for ``n_samples`` points: ``repulsion``, with "auto" resolved.

        "auto" is the fastest method without random draws: "exact" for few points, "mesh" for more in one or
        two dimensions, "barnes_hut" in three. In more dimensions there is only "sampled".

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        Repulsion
            Any value but "auto".

        Examples
        --------
        >>> from actup import preset
        >>> [str(preset("tsne").repulsion_for(n)) for n in (1_000, 100_000)]
        ['exact', 'mesh']
        """
        if self.repulsion is not Repulsion.AUTO:
            return self.repulsion
        has_mesh = self.n_components <= 2
        cheap_mesh = has_mesh and not self.normalized
        if n_samples <= (_EXACT_UNNORMALIZED_REPULSION_MAX_N if cheap_mesh else _EXACT_REPULSION_MAX_N):
            return Repulsion.EXACT
        if has_mesh:
            return Repulsion.MESH
        return Repulsion.BARNES_HUT if self.n_components == 3 else Repulsion.SAMPLED

    def spacing(self, n_samples: int) -> float:
        """Return the distance between the lines of the mesh.

        It is ``mesh_spacing``, or as wide as the sharpest feature of the repulsion allows.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        float
            The distance, in the unit of the map.

        Examples
        --------
        >>> from actup import preset
        >>> preset("tsne").spacing(10_000), preset("umap").spacing(10_000)
        (0.5, 0.15)
        """
        if self.mesh_spacing is not None:
            return self.mesh_spacing
        if self.loss is not Loss.KL:
            return 0.35  # the square of the kernel is narrower
        if not self.normalized:
            return 0.15  # UMAP's repulsion is nearly singular
        return 0.7 if n_samples >= _WIDE_MESH_MIN_N else 0.5

    def kernel(self) -> tuple[float, float]:
        """Return a and b of the map's kernel, fitted to ``min_dist`` and ``spread`` if they are not given.

        Returns
        -------
        a, b : float
            The kernel is (1 + a d^(2b)/dof)^-dof.

        Examples
        --------
        >>> from actup import preset
        >>> preset("tsne").kernel()
        (1.0, 1.0)
        >>> a, b = preset("umap").kernel()
        >>> round(a, 3), round(b, 3)
        (1.577, 0.895)
        """
        if self.a is not None and self.b is not None:
            return self.a, self.b
        return fit_kernel(self.min_dist, self.spread)

    def neighbors_per_row(self) -> int:
        """Return how many neighbours a row's similarities are made of, if there are enough points.

        Returns
        -------
        int
            Three times the largest perplexity, or ``n_neighbors`` - 1 if the affinity has no perplexity.

        Examples
        --------
        >>> from actup import preset
        >>> preset("tsne").neighbors_per_row(), preset("umap").neighbors_per_row()
        (90, 14)
        """
        scales = self.scales()
        return math.floor(_NEIGHBORS_PER_PERPLEXITY * max(scales)) if scales else self.n_neighbors - 1

    def neighbors_searched(self, n_samples: int) -> int:
        """Return how many neighbours are searched for each of ``n_samples`` points, itself excluded.

        Parameters
        ----------
        n_samples : int
            Number of points.

        Returns
        -------
        int
            ``neighbors_per_row()``, but no more than there are other points.

        Examples
        --------
        >>> from actup import preset
        >>> preset("tsne").neighbors_searched(1000), preset("tsne").neighbors_searched(50)
        (90, 49)
        """
        return max(0, min(n_samples - 1, self.neighbors_per_row()))

    def scales(self) -> tuple[float, ...]:
        """Return the perplexities of the affinity.

        Returns
        -------
        tuple of float
            One for "gaussian", ``perplexities`` for "multiscale", none for any other affinity.

        Examples
        --------
        >>> from actup import preset
        >>> preset("tsne").scales(), preset("umap").scales()
        ((30.0,), ())
        """
        match self.affinity:
            case Affinity.GAUSSIAN:
                return (self.perplexity,)
            case Affinity.MULTISCALE:
                return self.perplexities
        return ()


def switches() -> list[str]:
    """The names of all fields of Recipe."""
    return [field.name for field in fields(Recipe)]
