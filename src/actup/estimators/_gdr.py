"""GDR: the estimator with every switch of the paper as a keyword."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from actup._warnings import warn_user
from actup.estimators._base import Embedder, Lists, RandomState, Start
from actup.progress import Callback
from actup.recipe._presets import preset as named_recipe
from actup.recipe._presets import preset_for
from actup.recipe._recipe import Recipe, switches
from actup.recipe._schedule import Phase
from actup.recipe._switches import Affinity, Loss, Optimizer, Repulsion, RepulsionMass


@dataclass(eq=False, repr=False)
class GDR(Embedder):
    """Gradient dimensionality reduction: t-SNE, UMAP and everything between them, switch by switch.

    ``GDR()`` gives maps like UMAP's and ``GDR(normalized=True)`` maps like t-SNE's, from one algorithm: the
    two differ in the normalisation and in the constants that go with it. Every other parameter is a switch of
    ``Recipe``; None leaves it as the preset has it. A switch that has no effect beside the others is
    reported with a warning.

    Parameters
    ----------
    normalized : bool, default=None
        Whether similarities are normalised over all pairs (t-SNE) or not (UMAP).
    preset : str, default="auto"
        Where the values of all switches that are None come from: a name of ``actup.presets()``; "auto":
        "gdr_tsne" if ``normalized``, else "gdr_umap"; their "sampled" variants if a switch that is given
        belongs to sampling, or if the map has more than three dimensions.
    n_neighbors : int, default=None
        Size of the neighbourhood, the point itself included; not for affinities with a perplexity.
    perplexity : float, default=None
        The effective number of neighbours; affinity "gaussian" only.
    perplexities : sequence of float, default=None
        Several of them, whose similarities are averaged; affinity "multiscale" only.
    sigma : float, default=None
        Width of the Gaussian, in the unit of the distances; affinity "fixed_sigma" only.
    metric : str or callable, default=None
        Distance between samples: all that ``actup.nearest_neighbors`` knows. "precomputed": X holds the
        distances, dense or sparse.
    metric_kwds : dict, default=None
        The metric's parameters.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        Each sample's nearest neighbours, two arrays of one shape, if they are known; they may name the sample
        itself, as umap-learn's do, or not. X then decides the start, and is what ``transform`` searches.
    affinity : {"umap", "gaussian", "multiscale", "fixed_sigma", "uniform"}, default=None
        How distances become similarities.
    distance : {"pseudo", "plain"}, default=None
        Whether the distance to the nearest neighbour is subtracted first.
    symmetrization : {"umap", "tsne"}, default=None
        How the similarities of both directions become one: p + p' - pp', or their mean.
    n_components : int, default=None
        Dimensions of the map.
    initialization : {"spectral", "pca", "random"}, default=None
        Where the points start, "spectral" as in ``UMAP``; ``init`` can be given instead.
    start_extent : {"box", "deviation"}, default=None
        What ``start_size`` measures.
    start_size : float, default=None
        Size of the start.
    a, b : float, default=None
        The kernel 1/(1 + a d^(2b)) of the map.
    min_dist, spread : float, default=None
        What a and b are fitted to. Giving one of them replaces a preset's own a and b.
    dof : float, default=None
        Makes the kernel (1 + a d^(2b)/dof)^-dof: less than 1 gives heavier tails; normalised only.
    partition : float, default=None
        Fixes the normalisation Z at this times n_samples², instead of summing it over the map: about
        100/n_samples is t-SNE's and 0.2 UMAP's; normalised, loss "kl" only.
    loss : {"kl", "frobenius"}, default=None
        The divergence that is made small.
    symmetric_attraction : bool, default=None
        Whether an edge pulls both of its ends, which doubles the attraction.
    sampling : {"exhaustive", "scalar", "accelerated", "unbiased"}, default=None
        Which attractions act in an epoch.
    repulsion : {"auto", "mesh", "barnes_hut", "exact", "sampled"}, default=None
        How the repulsion of all points is found.
    negatives : int, default=None
        How many points are drawn to estimate a point's repulsion.
    repulsion_mass : {"per_edge", "degree", "strength"}, default=None
        How much repulsion a point feels.
    repulsion_rate : float, default=None
        Weight of the repulsion; unnormalised only.
    non_edge_weight : {"one", "mean"}, default=None
        The factor 1 - p of a repulsion; unnormalised only.
    repulsion_epsilon : float, default=None
        Keeps the repulsion of close points finite; unnormalised, loss "kl" only.
    mesh_spacing : float, default=None
        Distance of the grid's lines; repulsion "mesh" only.
    theta : float, default=None
        How wide a group of points may be, relative to its distance; repulsion "barnes_hut".
    horizon : float, default=None
        Beyond this many root-mean-square radii of the map, repulsion pushes no point farther out; update
        "in_place" only.
    update : {"batch", "in_place"}, default=None
        Whether all points move at once or edge by edge.
    optimizer : {"step", "gains", "stiffness"}, default=None
        How a force becomes a step.
    epochs : int, default=None
        Rounds of the layout.
    prune : bool, default=None
        Drop edges too weak to act.
    learning_rate : float, default=None
        Length of the steps.
    learning_rate_unit : {"one", "points"}, default=None
        What the learning rate is multiplied by: 1 or the number of samples.
    decay_start : float, default=None
        Share of the epochs before the learning rate begins to fall.
    decay_power : float, default=None
        It then falls as (1 - progress)^power.
    momentum : float, default=None
        Share of a step that is repeated in the next.
    exaggeration : float, default=None
        Attraction is multiplied by this ...
    exaggeration_share : float, default=None
        ... in this share of the epochs; optimizer "stiffness" has phases for it.
    late_exaggeration : float, default=None
        And by this afterwards: the way from t-SNE (1) towards UMAP (about 4).
    step_cap : float, default=None
        Longest step; optimizers "step" and "stiffness".
    force_scale : float, default=None
        Multiplies the force; optimizer "gains" only.
    gradient_clip : float, default=None
        Bound on force times gain; optimizer "gains" only.
    phases : sequence of Phase, default=None
        What optimizer "stiffness" does one after the other.
    init : str or array of shape (n_samples, n_components), default=None
        Where the points start: a name, like ``initialization``, or coordinates, which keep their scale unless
        they are far wider than maps are; ``init_used_`` says so.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh one in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called about ten times per second during the layout;
        returning True stops there and keeps the points. See ``actup.progress.Progress``.
    backend : {"cpu", "cuda", "auto", "reference"}, default="cpu"
        Who computes; "auto": the GPU where there is one and enough points, else the CPU. Each gives the same
        bits in every run; between them the last digits differ.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The similarities.
    recall_ : float
        Share of true neighbours found, measured on a sample; NaN if they were given.
    init_used_ : str
        Where the points started.
    n_epochs_ : int
        Epochs run.
    recipe_ : Recipe
        Everything that was run, switch by switch.
    seed_ : int
        The seed that was run.
    stage_seconds_ : dict of str to float
        Wall time of every stage.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, if X had names.
    """

    normalized: bool | None = None
    _: KW_ONLY
    preset: str = "auto"
    n_neighbors: int | None = None
    perplexity: float | None = None
    perplexities: Sequence[float] | None = None
    sigma: float | None = None
    metric: str | Callable | None = None
    metric_kwds: dict | None = None
    precomputed_knn: Lists = None
    affinity: str | None = None
    distance: str | None = None
    symmetrization: str | None = None
    n_components: int | None = None
    initialization: str | None = None
    start_extent: str | None = None
    start_size: float | None = None
    a: float | None = None
    b: float | None = None
    min_dist: float | None = None
    spread: float | None = None
    dof: float | None = None
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
    phases: tuple[Phase, ...] | None = None
    init: Start = None
    random_state: RandomState = None
    n_jobs: int | None = -1
    verbose: bool = False
    callback: Callback | None = None
    backend: str = "cpu"

    def _recipe(self) -> Recipe:
        changes = {name: getattr(self, name) for name in switches() if getattr(self, name) is not None}
        base = self._automatic_preset(changes) if self.preset == "auto" else named_recipe(self.preset)
        if self.init is not None and self.initialization is not None:
            raise ValueError(f"initialization={self.initialization!r} and init are both given: leave one out")
        if isinstance(self.init, str):
            changes["initialization"] = self.init
        fitted = self.a is None and self.b is None and not (self.min_dist is None and self.spread is None)
        recipe = (base.but(a=None, b=None) if fitted else base).but(**changes)
        _warn_of_idle_switches(changes, recipe)
        return recipe

    def _automatic_preset(self, changes: dict[str, object]) -> Recipe:
        name = "gdr_tsne" if self.normalized else "gdr_umap"
        sampled = self.repulsion == Repulsion.SAMPLED or _OF_SAMPLING & changes.keys()
        return named_recipe(f"sampled_{name}") if sampled else preset_for(name, self.n_components or 2)


# Switches that the noise-free descent has no use for: giving one asks for the sampled descent.
_OF_SAMPLING = {
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

# switch: when it has no effect, and why
_IDLE: dict[str, tuple[Callable[[Recipe], bool], str]] = {
    "n_neighbors": (lambda r: bool(r.scales()), "the affinity has a perplexity in its place"),
    "perplexity": (lambda r: r.affinity is not Affinity.GAUSSIAN, "only affinity='gaussian' has one"),
    "perplexities": (lambda r: r.affinity is not Affinity.MULTISCALE, "only affinity='multiscale' has them"),
    "sigma": (lambda r: r.affinity is not Affinity.FIXED_SIGMA, "only affinity='fixed_sigma' has one"),
    "distance": (lambda r: r.affinity is Affinity.UNIFORM, "affinity='uniform' looks at no distances"),
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
    "step_cap": (lambda r: r.optimizer is Optimizer.GAINS, "optimizer='gains' clips the gradient"),
    "phases": (lambda r: r.optimizer is not Optimizer.STIFFNESS, "only optimizer='stiffness' has phases"),
    "force_scale": (lambda r: r.optimizer is not Optimizer.GAINS, "only optimizer='gains' has it"),
    "gradient_clip": (lambda r: r.optimizer is not Optimizer.GAINS, "only optimizer='gains' has it"),
    "exaggeration": (
        lambda r: r.exaggeration_share == 0 and r.optimizer is not Optimizer.STIFFNESS,
        "exaggeration_share is 0",
    ),
    "exaggeration_share": (
        lambda r: r.exaggeration == r.late_exaggeration or r.optimizer is Optimizer.STIFFNESS,
        "the exaggeration does not change, or has phases of its own",
    ),
    "momentum": (lambda r: r.optimizer is Optimizer.STIFFNESS, "the phases say it"),
    "decay_start": (lambda r: r.optimizer is Optimizer.STIFFNESS, "the phases say how steps fall"),
    "decay_power": (lambda r: r.decay_start == 1, "decay_start=1 keeps the learning rate"),
}


def _warn_of_idle_switches(changes: dict[str, object], recipe: Recipe) -> None:
    for name, value in changes.items():
        if name in _IDLE and _IDLE[name][0](recipe):
            warn_user(f"{name}={value!r} has no effect: {_IDLE[name][1]}")
