"""GDR: the estimator with every switch of the paper as a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

from actup._arguments import explain_unknown_arguments
from actup._values import read_flag
from actup._warnings import warn_user
from actup.estimators._growing import GrowingMap
from actup.estimators._inputs import Lists, RandomState, Start, change
from actup.progress import Callback
from actup.recipe._presets import preset as preset_named
from actup.recipe._presets import preset_for
from actup.recipe._recipe import Recipe, switches
from actup.recipe._schedule import Phase
from actup.recipe._switches import (
    Affinity,
    Distance,
    Loss,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Symmetrization,
)


# A dataclass, so that a parameter is written once: the generated __init__ has the explicit signature that
# scikit-learn reads, and only stores.
@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class GDR(GrowingMap):
    """Gradient dimensionality reduction: t-SNE, UMAP and everything between them, switch by switch.

    ``GDR()`` makes maps like those of UMAP, and ``GDR(normalized=True)`` maps like those of t-SNE, with one
    algorithm: the two differ in the normalisation and in the constants that belong to it. The other
    parameters are the switches of ``actup.Recipe``; None takes the value of the preset. A switch that has no
    effect in combination with the others is reported with a warning. The same ``random_state`` gives the same
    bits at any ``n_jobs``.

    Parameters
    ----------
    normalized : bool, default=None
        Whether similarities are normalised over all pairs (t-SNE) or not (UMAP).
    preset : str, default="auto"
        Which preset gives the values of all switches that are None: a name of ``actup.presets()``. "auto" is
        "gdr_tsne" if ``normalized``, else "gdr_umap"; their "sampled" variants if a given switch belongs to
        sampling, or if the map has more than three dimensions.
    n_neighbors : int, default=None
        Neighbours per point, the point itself included; not used by affinities with a perplexity.
    perplexity : float, default=None
        Effective number of neighbours, for affinity "gaussian".
    perplexities : sequence of float, default=None
        Several perplexities, whose similarities are averaged, for affinity "multiscale".
    sigma : float, default=None
        Width of the Gaussian in the unit of the distances, for affinity "fixed_sigma".
    metric : str or callable, default=None
        Distance between rows: a metric that ``actup.nearest_neighbors`` knows, or a function of two rows.
        "gower" compares text and missing values too, "nan_euclidean" missing values. "precomputed": X holds
        the distances, dense or sparse.
    metric_kwds : dict, default=None
        Parameters of the metric.
    recall : float, default=None
        The share of true neighbours that the search must find, on every backend; 1.0 compares all rows.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        The nearest neighbours of each sample, if they are known: two arrays of the same shape. They may
        include the sample itself, as umap-learn's do, or not. A neighbour that is missing has id -1 and an
        infinite distance. X is then used for the start and searched by ``transform``.
    affinity : {"umap", "gaussian", "multiscale", "fixed_sigma", "uniform"}, default=None
        How distances become similarities.
    distance : {"pseudo", "plain"}, default=None
        Whether affinity "umap" subtracts the distance to the nearest neighbour first ("pseudo").
    symmetrization : {"umap", "tsne"}, default=None
        How the similarities p and p' of both directions become one: p + p' - pp', or their mean.
    set_op_mix_ratio : float, default=None
        From the fuzzy union p + p' - pp' (1) to the intersection pp' (0), for symmetrization "umap".
    local_connectivity : float, default=None
        Which neighbour's distance is subtracted, for distance "pseudo": 1 is the nearest; fractions
        interpolate.
    n_components : int, default=None
        Dimensions of the map.
    initialization : {"spectral", "pca", "random"}, default=None
        Where the points start, "spectral" as in ``UMAP``; ``init`` can be given instead.
    start_extent : {"box", "deviation"}, default=None
        What ``start_size`` measures: the longest side of the bounding box, or the standard deviation along
        the widest axis.
    start_size : float, default=None
        Size of the start.
    a, b : float, default=None
        Parameters of the map's kernel 1/(1 + a d^(2b)).
    min_dist, spread : float, default=None
        Fit a and b to these, as UMAP does. Giving one of them replaces the preset's own a and b.
    dof : float, default=None
        Makes the kernel (1 + a d^(2b)/dof)^-dof: less than 1 gives heavier tails; needs ``normalized``.
    output_metric : str or callable, default=None
        Distance between points of the map: "euclidean", or one that ``actup.Recipe`` lists, which needs
        ``preset="paper_umap"``.
    output_metric_kwds : dict, default=None
        Parameters of the output metric: p of "minkowski".
    partition : float, default=None
        Fixes the normalisation Z at this value times n_samples², instead of summing it over the map: about
        100/n_samples resembles t-SNE and 0.2 UMAP; needs ``normalized`` and loss "kl".
    loss : {"kl", "frobenius"}, default=None
        The divergence that is minimised.
    symmetric_attraction : bool, default=None
        Whether an edge pulls both of its ends, which doubles the attraction.
    sampling : {"exhaustive", "scalar", "accelerated", "unbiased"}, default=None
        Which edges attract in an epoch.
    repulsion : {"auto", "mesh", "barnes_hut", "exact", "sampled"}, default=None
        How the repulsion between all pairs is computed.
    negatives : int, default=None
        Number of random points that a point's repulsion is estimated from, for repulsion "sampled".
    repulsion_mass : {"per_edge", "degree", "strength"}, default=None
        What a point's repulsion is proportional to.
    repulsion_rate : float, default=None
        Factor of the repulsion; unnormalised only.
    non_edge_weight : {"one", "mean"}, default=None
        The factor 1 - p of a repulsion; unnormalised only.
    repulsion_epsilon : float, default=None
        Added to squared distances, so that the repulsion of close points stays finite; unnormalised loss "kl"
        only.
    mesh_spacing : float, default=None
        Distance between the lines of the grid, for repulsion "mesh".
    theta : float, default=None
        How wide a group of points may be relative to its distance, for repulsion "barnes_hut".
    horizon : float, default=None
        Repulsion does not push a point outward that is farther out than this many root-mean-square radii of
        the map, for update "in_place".
    density_weight : float, default=None
        Weight of densMAP's term, which makes the local radii of the map follow those of the data; needs the
        unnormalised loss "kl" and update "batch".
    density_share : float, default=None
        Share of the epochs, the last ones, that have this term.
    density_shift : float, default=None
        Added to the variance of the map's log radii in this term.
    update : {"batch", "in_place"}, default=None
        Whether all points move at once or edge by edge.
    optimizer : {"step", "gains", "stiffness"}, default=None
        How a force becomes a step.
    epochs : int, default=None
        Number of epochs of the layout.
    prune : bool, default=None
        Drop edges whose weight is less than the largest one divided by the number of epochs.
    learning_rate : float, default=None
        Factor of the steps.
    learning_rate_unit : {"one", "points"}, default=None
        What the learning rate is multiplied by: 1 or the number of samples.
    decay_start : float, default=None
        Share of the epochs before the learning rate begins to fall.
    decay_power : float, default=None
        From then on, the learning rate falls as (1 - progress)^decay_power.
    momentum : float, default=None
        Share of a step that is repeated in the next.
    exaggeration : float, default=None
        Factor of the attraction in the first epochs.
    exaggeration_share : float, default=None
        Share of the epochs that have this factor; optimizer "stiffness" has phases for it.
    late_exaggeration : float, default=None
        Factor of the attraction afterwards: 1 is t-SNE, about 4 looks like UMAP.
    step_cap : float, default=None
        Longest step, for optimizers "step" and "stiffness".
    force_scale : float, default=None
        Factor of the force, for optimizer "gains".
    gradient_clip : float, default=None
        Bound on force times gain per coordinate, for optimizer "gains".
    phases : sequence of Phase, default=None
        The phases of optimizer "stiffness", in their order.
    init : str or array of shape (n_samples, n_components), default=None
        Where the points start: a name as in ``initialization``, or coordinates. Coordinates keep their scale
        unless they are far wider than maps are, and are moved to 0 if they are far from it; ``init_used_``
        says so. Equal rows are moved apart at random, so that an array of equal rows is a random start.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh seed in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Number of threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called at the beginning and end of every stage and about ten
        times per second during the layout; before the layout, ``embedding`` is None. If it returns True, the
        run stops and keeps the points where they are. See ``actup.progress.Progress``.
    backend : {"cpu", "cuda", "auto", "reference"}, default="cpu"
        Where to compute; "auto": on the GPU if there is one and X has enough rows, else on the CPU. Each
        backend gives the same bits in every run; maps of different backends differ in detail.
    max_memory : int or str, default=None
        Bytes that ``fit`` may take, e.g. "4GB", with X but without Python and its libraries; with backend
        "cuda" those of the GPU. A fit that would take more takes less memory and more time, for the same
        bits; one that cannot raises MemoryError before it begins. See ``memory_estimate``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The symmetric graph of similarities.
    recall_ : float
        Share of the true neighbours that were found, measured on a sample; NaN if neighbours were given.
    init_used_ : str
        Where the points started, and why if not where ``init`` said.
    n_epochs_ : int
        Number of epochs that were run.
    recipe_ : Recipe
        Everything that was run, switch by switch.
    seed_ : int
        The seed that was used.
    stage_seconds_ : dict of str to float
        Wall time of each stage.
    n_features_in_ : int
        Number of columns of X in ``fit``.
    feature_names_in_ : ndarray of str
        Names of these columns, if X had names.

    See Also
    --------
    UMAP : UMAP with the parameters of umap-learn.
    TSNE : t-SNE with the parameters of scikit-learn.
    actup.Recipe : The switches, with their defaults.
    actup.embed : Runs a recipe without an estimator.

    Notes
    -----
    In up to three dimensions, the preset "auto" computes the repulsion of all points instead of sampling it,
    and its optimizer needs no learning rate. The presets "paper_gdr_umap" and "paper_gdr_tsne" are the method
    with the paper's constants. Unlike umap-learn, GDR moves all points at once; unlike scikit-learn's t-SNE,
    ``GDR(normalized=True)`` uses UMAP's graph and start.

    References
    ----------
    A. Draganov, J. Jørgensen, K. Scheel, D. Mottin, I. Assent, T. Berry and C. Aslay, "ActUp: Analyzing and
    Consolidating tSNE and UMAP", IJCAI 2023, 3651-3658.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import GDR
    >>> X = load_digits().data[:300]
    >>> GDR(random_state=0).fit_transform(X).shape
    (300, 2)
    >>> model = GDR(normalized=True, loss="frobenius", random_state=0).fit(X)
    >>> model.recipe_.loss, model.recipe_.normalized
    (<Loss.FROBENIUS: 'frobenius'>, True)
    """

    normalized: bool | None = None
    _: KW_ONLY
    preset: str = "auto"
    n_neighbors: int | None = None
    perplexity: float | None = None
    perplexities: Sequence[float] | None = None
    sigma: float | None = None
    metric: str | Callable[..., float] | None = None
    metric_kwds: dict[str, object] | None = None
    recall: float | None = None
    precomputed_knn: Lists = None
    affinity: str | None = None
    distance: str | None = None
    symmetrization: str | None = None
    set_op_mix_ratio: float | None = None
    local_connectivity: float | None = None
    n_components: int | None = None
    initialization: str | None = None
    start_extent: str | None = None
    start_size: float | None = None
    a: float | None = None
    b: float | None = None
    min_dist: float | None = None
    spread: float | None = None
    dof: float | None = None
    output_metric: str | Callable[..., Any] | None = None
    output_metric_kwds: dict[str, object] | None = None
    partition: float | None = None
    loss: str | None = None
    symmetric_attraction: bool | None = None
    sampling: str | None = None
    repulsion: str | None = None
    negatives: int | None = None
    repulsion_mass: str | None = None
    repulsion_rate: float | None = None
    non_edge_weight: str | None = None
    repulsion_epsilon: float | None = None
    mesh_spacing: float | None = None
    theta: float | None = None
    horizon: float | None = None
    density_weight: float | None = None
    density_share: float | None = None
    density_shift: float | None = None
    update: str | None = None
    optimizer: str | None = None
    epochs: int | None = None
    prune: bool | None = None
    learning_rate: float | None = None
    learning_rate_unit: str | None = None
    decay_start: float | None = None
    decay_power: float | None = None
    momentum: float | None = None
    exaggeration: float | None = None
    exaggeration_share: float | None = None
    late_exaggeration: float | None = None
    step_cap: float | None = None
    force_scale: float | None = None
    gradient_clip: float | None = None
    phases: Sequence[Phase] | None = None
    init: Start = None
    random_state: RandomState = None
    n_jobs: int | None = -1
    verbose: bool = False
    callback: Callback | None = None
    backend: str = "cpu"
    max_memory: int | str | None = None

    def _recipe(self) -> Recipe:
        changes = {name: getattr(self, name) for name in switches() if getattr(self, name) is not None}
        automatic = isinstance(self.preset, str) and self.preset == "auto"
        base = self._automatic_preset(changes) if automatic else preset_named(self.preset)
        if self.init is not None and self.initialization is not None:
            raise ValueError(f"initialization={self.initialization!r} and init are both given: leave one out")
        names = {}
        if isinstance(self.init, str):
            changes["initialization"], names["initialization"] = self.init, "init"
        fitted = self.a is None and self.b is None and not (self.min_dist is None and self.spread is None)
        recipe = change(base.but(a=None, b=None) if fitted else base, names, **changes)
        _warn_of_unused_switches(changes, recipe)
        return recipe

    def _automatic_preset(self, changes: dict[str, object]) -> Recipe:
        normalized = self.normalized is not None and read_flag(self.normalized, "normalized")
        name = "gdr_tsne" if normalized else "gdr_umap"
        n_components = self.n_components if isinstance(self.n_components, Integral) else 2
        named = isinstance(self.repulsion, str)
        sampled = (named and self.repulsion == Repulsion.SAMPLED) or _SAMPLING_SWITCHES & changes.keys()
        return preset_named(f"sampled_{name}") if sampled else preset_for(name, n_components)


# Switches that only the presets with sampled repulsion use: giving one selects these presets.
_SAMPLING_SWITCHES = {
    "negatives",
    "repulsion_mass",
    "sampling",
    "update",
    "optimizer",
    "momentum",
    "decay_start",
    "decay_power",
    "exaggeration_share",
    "learning_rate_unit",
}

# switch: (whether it has no effect in a recipe, why)
_UNUSED: dict[str, tuple[Callable[[Recipe], bool], str]] = {
    "n_neighbors": (lambda r: bool(r.scales()), "the affinity uses a perplexity instead"),
    "perplexity": (lambda r: r.affinity is not Affinity.GAUSSIAN, "only affinity='gaussian' uses it"),
    "perplexities": (lambda r: r.affinity is not Affinity.MULTISCALE, "only affinity='multiscale' uses them"),
    "sigma": (lambda r: r.affinity is not Affinity.FIXED_SIGMA, "only affinity='fixed_sigma' uses it"),
    "distance": (lambda r: r.affinity is Affinity.UNIFORM, "affinity='uniform' ignores distances"),
    "set_op_mix_ratio": (
        lambda r: r.symmetrization is not Symmetrization.UMAP,
        "only symmetrization='umap' has set operations",
    ),
    "local_connectivity": (
        lambda r: r.affinity is not Affinity.UMAP or r.distance is not Distance.PSEUDO,
        "only affinity='umap' with distance='pseudo' subtracts a distance",
    ),
    "min_dist": (lambda r: r.a is not None, "a and b are given"),
    "spread": (lambda r: r.a is not None, "a and b are given"),
    "negatives": (
        lambda r: r.repulsion is not Repulsion.SAMPLED or r.repulsion_mass is RepulsionMass.PER_EDGE,
        "only repulsion='sampled' draws them, and repulsion_mass='per_edge' draws one per attraction",
    ),
    "mesh_spacing": (
        lambda r: r.repulsion not in (Repulsion.MESH, Repulsion.AUTO),
        "only repulsion='mesh' has a grid",
    ),
    "theta": (
        lambda r: r.repulsion in (Repulsion.SAMPLED, Repulsion.EXACT),
        "only repulsion='barnes_hut' groups points",
    ),
    "repulsion_rate": (lambda r: r.normalized, "the normalisation sets the repulsion"),
    "non_edge_weight": (lambda r: r.normalized, "the normalisation sets the repulsion"),
    "repulsion_epsilon": (
        lambda r: r.normalized or r.loss is Loss.FROBENIUS,
        "only the unnormalised loss 'kl' has a repulsion that needs it",
    ),
    "density_share": (lambda r: r.density_weight == 0, "density_weight is 0"),
    "density_shift": (lambda r: r.density_weight == 0, "density_weight is 0"),
    "step_cap": (lambda r: r.optimizer is Optimizer.GAINS, "optimizer='gains' clips the gradient"),
    "phases": (lambda r: r.optimizer is not Optimizer.STIFFNESS, "only optimizer='stiffness' has phases"),
    "force_scale": (lambda r: r.optimizer is not Optimizer.GAINS, "only optimizer='gains' uses it"),
    "gradient_clip": (lambda r: r.optimizer is not Optimizer.GAINS, "only optimizer='gains' uses it"),
    "exaggeration": (
        lambda r: r.exaggeration_share == 0 and r.optimizer is not Optimizer.STIFFNESS,
        "exaggeration_share is 0",
    ),
    "exaggeration_share": (
        lambda r: r.exaggeration == r.late_exaggeration or r.optimizer is Optimizer.STIFFNESS,
        "the exaggeration does not change, or phases decide when it does",
    ),
    "momentum": (lambda r: r.optimizer is Optimizer.STIFFNESS, "each of the phases has its own"),
    "decay_start": (lambda r: r.optimizer is Optimizer.STIFFNESS, "the phases decide how steps fall"),
    "decay_power": (lambda r: r.decay_start == 1, "decay_start=1 keeps the learning rate"),
}


def _warn_of_unused_switches(changes: dict[str, object], recipe: Recipe) -> None:
    for name, value in changes.items():
        if name in _UNUSED and _UNUSED[name][0](recipe):
            warn_user(f"{name}={value!r} has no effect: {_UNUSED[name][1]}")
