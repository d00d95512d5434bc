"""UMAP, TSNE and GDR: the scikit-learn face of the pipeline, each with the signature its users know.

The classes are dataclasses only so that a parameter is written once: the generated ``__init__`` has the
explicit signature that scikit-learn reads, and does nothing but store.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup.backends import load_backend
from actup.cookbook import preset as named_recipe
from actup.cookbook import preset_for
from actup.embedder import Embedder, RandomState, Start, change, start_name
from actup.graph import Graph
from actup.pipeline import Embedding
from actup.progress import Callback
from actup.recipe import (
    Affinity,
    Loss,
    Optimizer,
    Recipe,
    Repulsion,
    RepulsionMass,
    switches,
)
from actup.schedule import Phase
from actup.threads import count_threads


@dataclass(eq=False, repr=False)
class UMAP(Embedder):
    """Uniform manifold approximation and projection, with the parameters of umap-learn.

    The same ``random_state`` gives the same bits at any ``n_jobs``.

    Parameters
    ----------
    n_neighbors : int, default=15
        Size of the neighbourhood, the point itself included; cut to the number of samples with a warning.
    n_components : int, default=2
        Dimensions of the map.
    metric : str, default="euclidean"
        Distance between samples.
    n_epochs : int, default=None
        Rounds of the layout; None: 500 up to 10,000 samples, 200 beyond.
    learning_rate : float, default=1.0
        Length of the first steps; it falls to zero in a straight line.
    init : {"spectral", "pca", "random"} or array of shape (n_samples, n_components), default="spectral"
        Where the points start.
    min_dist : float, default=0.1
        How close points may lie in the map.
    spread : float, default=1.0
        Scale of the map, to which ``min_dist`` is relative.
    repulsion_strength : float, default=1.0
        Weight of the repulsion.
    negative_sample_rate : float, default=5
        Repulsions per attraction. Times ``repulsion_strength`` it says how much points repel each other;
        how many points are drawn to estimate that does not depend on it.
    a, b : float, default=None
        The kernel 1/(1 + a d^(2b)) of the map; None: fitted to ``min_dist`` and ``spread``.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh one in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called about ten times per second during the layout;
        returning True stops there and keeps the points. See ``actup.progress.Progress``.
    backend : str, default="cpu"
        Who computes.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The similarities.
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

    n_neighbors: int = 15
    n_components: int = 2
    _: KW_ONLY
    metric: str = "euclidean"
    n_epochs: int | None = None
    learning_rate: float = 1.0
    init: Start = "spectral"
    min_dist: float = 0.1
    spread: float = 1.0
    repulsion_strength: float = 1.0
    negative_sample_rate: float = 5
    a: float | None = None
    b: float | None = None
    random_state: RandomState = None
    n_jobs: int | None = -1
    verbose: bool = False
    callback: Callback | None = None
    backend: str = "cpu"

    def _recipe(self) -> Recipe:
        base = named_recipe("umap")
        for factor in ("repulsion_strength", "negative_sample_rate"):
            change(base, {"repulsion_rate": factor}, repulsion_rate=getattr(self, factor))
        return change(
            base,
            {"epochs": "n_epochs", "initialization": "init"},
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            metric=self.metric,
            epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            initialization=start_name(self.init, base.initialization),
            min_dist=self.min_dist,
            spread=self.spread,
            repulsion_rate=self.repulsion_strength * self.negative_sample_rate,
            a=self.a,
            b=self.b,
        )


@dataclass(eq=False, repr=False)
class TSNE(Embedder):
    """t-distributed stochastic neighbour embedding, with the parameters of scikit-learn.

    The same ``random_state`` gives the same bits at any ``n_jobs``.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    perplexity : float or sequence of float, default=30.0
        The effective number of neighbours of a point; less than the number of samples. Of several, such as
        ``[30, 300]``, the similarities are the mean, which keeps near and far structure (openTSNE's
        ``Multiscale``).
    early_exaggeration : float, default=12.0
        Attraction is multiplied by this at first, which gathers the clusters.
    learning_rate : "auto" or float, default="auto"
        "auto": steps follow each point's own stiffness, so that there is no rate to choose. A number:
        momentum with gains and this rate, as scikit-learn does it and in its unit.
    max_iter : int, default=None
        Iterations, the exaggerated ones included; None: about 160, more for many points; 1000 if
        ``learning_rate`` is a number.
    metric : str, default="euclidean"
        Distance between samples.
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        Where the points start.
    exaggeration : float, default=1.0
        Attraction is multiplied by this after the early phase: 1 is t-SNE, about 4 looks like UMAP.
    dof : float, default=1.0
        Degrees of freedom of the map's kernel (1 + d²/dof)^-dof, as openTSNE has it: less than 1 gives
        heavier tails, and more and finer clusters.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh one in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool or int, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called about ten times per second during the layout;
        returning True stops there and keeps the points. See ``actup.progress.Progress``.
    backend : str, default="cpu"
        Who computes.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    kl_divergence_ : float
        The loss of the map over all pairs; computed when it is first read, in time of order n_samples².
    n_iter_ : int
        Iterations run; ``n_epochs_`` is the same number.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The similarities.
    init_used_ : str
        Where the points started.
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

    n_components: int = 2
    _: KW_ONLY
    perplexity: float | Sequence[float] = 30.0
    early_exaggeration: float = 12.0
    learning_rate: str | float = "auto"
    max_iter: int | None = None
    metric: str = "euclidean"
    init: Start = "pca"
    exaggeration: float = 1.0
    dof: float = 1.0
    random_state: RandomState = None
    n_jobs: int | None = -1
    verbose: bool | int = False
    callback: Callback | None = None
    backend: str = "cpu"

    def _recipe(self) -> Recipe:
        automatic = isinstance(self.learning_rate, str) and self.learning_rate == "auto"
        base = preset_for("tsne", self.n_components) if automatic else named_recipe("classic_tsne")
        perplexity = {"perplexity": self.perplexity}
        if isinstance(self.perplexity, list | tuple | np.ndarray):
            perplexity = {"affinity": Affinity.MULTISCALE, "perplexities": self.perplexity}
        return change(
            base,
            {
                "exaggeration": "early_exaggeration",
                "late_exaggeration": "exaggeration",
                "epochs": "max_iter",
                "initialization": "init",
                "perplexities": "perplexity",
            },
            **perplexity,
            n_components=self.n_components,
            dof=self.dof,
            exaggeration=self.early_exaggeration,
            late_exaggeration=self.exaggeration,
            learning_rate=base.learning_rate if automatic else self.learning_rate,
            epochs=base.epochs if self.max_iter is None else self.max_iter,
            metric=self.metric,
            initialization=start_name(self.init, base.initialization),
        )

    def _keep(self, result: Embedding) -> None:
        super()._keep(result)
        self._kl_divergence = None

    @property
    def n_iter_(self) -> int:
        return self.n_epochs_

    @property
    def kl_divergence_(self) -> float:
        check_is_fitted(self, "embedding_")
        if self._kl_divergence is None:
            self._kl_divergence = self._loss()
        return self._kl_divergence

    def _loss(self) -> float:
        """The loss at ``embedding_``, from a layout that is made for it and never run."""
        if len(self.embedding_) == 1:
            return 0.0
        graph = Graph(self.graph_.indptr, self.graph_.indices, self.graph_.data)
        engine, threads = load_backend(self.backend), count_threads(self.n_jobs)
        return engine.make_layout(graph, self.embedding_, self.recipe_, self.seed_, threads).loss()


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
    metric : str, default=None
        Distance between samples.
    affinity : {"umap", "gaussian", "multiscale", "fixed_sigma", "uniform"}, default=None
        How distances become similarities.
    distance : {"pseudo", "plain"}, default=None
        Whether the distance to the nearest neighbour is subtracted first.
    symmetrization : {"umap", "tsne"}, default=None
        How the similarities of both directions become one: p + p' - pp', or their mean.
    n_components : int, default=None
        Dimensions of the map.
    initialization : {"spectral", "pca", "random"}, default=None
        Where the points start; ``init`` can be given instead.
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
        Where the points start: a name, like ``initialization``, or coordinates.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh one in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called about ten times per second during the layout;
        returning True stops there and keeps the points. See ``actup.progress.Progress``.
    backend : str, default="cpu"
        Who computes.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The similarities.
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
    metric: str | None = None
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
    "loss",
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
            warnings.warn(f"{name}={value!r} has no effect: {_IDLE[name][1]}", UserWarning, stacklevel=5)
