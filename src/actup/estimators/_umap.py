"""UMAP and TSNE: the scikit-learn face of the pipeline, each with the signature its users know.

The classes are dataclasses only so that a parameter is written once: the generated ``__init__`` has the
explicit signature that scikit-learn reads, and does nothing but store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup._pipeline import Embedding
from actup._threads import count_threads
from actup._warnings import warn_user
from actup.estimators._base import Embedder, Lists, RandomState, Start, change, start_name
from actup.graph._records import Graph, on_gpu
from actup.progress import Callback
from actup.recipe._presets import preset as named_recipe
from actup.recipe._presets import preset_for
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity


@dataclass(eq=False, repr=False)
class UMAP(Embedder):
    """Uniform manifold approximation and projection, with the parameters of umap-learn.

    The graph and the loss are those of umap-learn. In two dimensions the loss is descended with the repulsion
    of all points instead of a few drawn at random, which needs fewer epochs; any other number of dimensions,
    and ``learning_rate`` as a number, ask for umap-learn's own descent, edge by edge.

    The same ``random_state`` gives the same bits at any ``n_jobs``.

    Parameters
    ----------
    n_neighbors : int, default=15
        Size of the neighbourhood, the point itself included; cut to the number of samples with a warning.
    n_components : int, default=2
        Dimensions of the map.
    metric : str or callable, default="euclidean"
        Distance between samples: all that ``actup.nearest_neighbors`` knows, of
        rows without missing values. "precomputed": X holds the
        distances, dense or sparse.
    metric_kwds : dict, default=None
        The metric's parameters.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        Each sample's nearest neighbours, two arrays of one shape, if they are known; they may name the sample
        itself, as umap-learn's do, or not. X then decides the start, and is what ``transform`` searches.
    n_epochs : int, default=None
        Rounds of the layout; None: 100, and more above 60,000 samples and from a random start. Edge by edge:
        500 up to 10,000 samples, 200 beyond.
    learning_rate : "auto" or float, default="auto"
        "auto": steps follow each point's own stiffness, so that there is no rate to choose (in other than two
        dimensions: 1.0). A number: edge by edge as umap-learn does it, with first steps of this length (its
        default is 1.0), which falls to zero in a straight line.
    init : {"spectral", "pca", "random"} or array of shape (n_samples, n_components), default="spectral"
        Where the points start. Above 200,000 samples, "spectral" first maps some thousand centres of
        clusters and starts each point near its own; ``init_used_`` says so. An array keeps its scale,
        unless it is far wider than maps are (raw principal components, say): then it is scaled to a width of
        10, as umap-learn does with every start.
    min_dist : float, default=0.1
        How close points may lie in the map.
    spread : float, default=1.0
        Scale of the map, to which ``min_dist`` is relative.
    repulsion_strength : float, default=1.0
        Weight of the repulsion.
    negative_sample_rate : float, default=5
        Repulsions per attraction. Times ``repulsion_strength`` it says how much points repel each other,
        and nothing else: how many points are looked at for that does not depend on it.
    a, b : float, default=None
        The kernel 1/(1 + a d^(2b)) of the map; None: fitted to ``min_dist`` and ``spread``.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh one in every fit, see ``seed_``.
    transform_seed : int, default=42
        The seed of ``transform``, which draws the same points of the map for every new row.
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

    n_neighbors: int = 15
    n_components: int = 2
    _: KW_ONLY
    metric: str | Callable = "euclidean"
    metric_kwds: dict | None = None
    precomputed_knn: Lists = None
    n_epochs: int | None = None
    learning_rate: str | float = "auto"
    init: Start = "spectral"
    min_dist: float = 0.1
    spread: float = 1.0
    repulsion_strength: float = 1.0
    negative_sample_rate: float = 5
    a: float | None = None
    b: float | None = None
    random_state: RandomState = None
    transform_seed: int = 42
    n_jobs: int | None = -1
    verbose: bool = False
    callback: Callback | None = None
    backend: str = "cpu"

    def _recipe(self) -> Recipe:
        automatic = _is_auto(self.learning_rate)
        base = preset_for("umap", self.n_components) if automatic else named_recipe("sampled_umap")
        for factor in ("repulsion_strength", "negative_sample_rate"):
            change(base, {"repulsion_rate": factor}, repulsion_rate=getattr(self, factor))
        return change(
            base,
            {"epochs": "n_epochs", "initialization": "init"},
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            metric=self.metric,
            metric_kwds=self.metric_kwds or {},
            epochs=self.n_epochs,
            learning_rate=base.learning_rate if automatic else self.learning_rate,
            initialization=start_name(self.init, base.initialization),
            min_dist=self.min_dist,
            spread=self.spread,
            repulsion_rate=self.repulsion_strength * self.negative_sample_rate,
            a=self.a,
            b=self.b,
        )

    def _warn_if_labels(self, y) -> None:
        if y is not None:
            warn_user(
                "y is not used: the map is made of X alone, where umap-learn would pull samples of one label "
                "together; leave y out"
            )

    def _transform_seed(self) -> int:
        seed = self.transform_seed
        if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**64:
            raise ValueError(f"transform_seed={seed!r} must be an integer from 0 to 2**64 - 1")
        return int(seed)


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
        Iterations, the exaggerated ones included; None: 160 for 4,000 to 60,000 samples, more for fewer (375
        up to 2,000), for many more, and from a random start; 1000 if ``learning_rate`` is a number.
    metric : str or callable, default="euclidean"
        Distance between samples: all that ``actup.nearest_neighbors`` knows, of
        rows without missing values. "precomputed": X holds the
        distances, dense or sparse.
    metric_kwds : dict, default=None
        The metric's parameters.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        Each sample's nearest neighbours, two arrays of one shape, if they are known; they may name the sample
        itself, as umap-learn's do, or not. X then decides the start, and is what ``transform`` searches.
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        Where the points start; "spectral" is that of ``UMAP``. An array keeps its scale, unless it is far
        wider than maps are: then it is scaled like "pca", to a standard deviation of 0.1.
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
    backend : {"cpu", "cuda", "auto", "reference"}, default="cpu"
        Who computes; "auto": the GPU where there is one and enough points, else the CPU. Each gives the same
        bits in every run; between them the last digits differ.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    kl_divergence_ : float
        The loss of the map over all pairs; computed when it is first read.
    kl_divergence_method_ : {"exact", "mesh", "barnes_hut"}
        How its sum over all pairs was found: exactly up to 200,000 samples, then within about 0.1 %, which
        is 0.001 of the divergence.
    n_iter_ : int
        Iterations run; ``n_epochs_`` is the same number.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The similarities.
    recall_ : float
        Share of true neighbours found, measured on a sample; NaN if they were given.
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
    metric: str | Callable = "euclidean"
    metric_kwds: dict | None = None
    precomputed_knn: Lists = None
    init: Start = "pca"
    exaggeration: float = 1.0
    dof: float = 1.0
    random_state: RandomState = None
    n_jobs: int | None = -1
    verbose: bool | int = False
    callback: Callback | None = None
    backend: str = "cpu"

    def _recipe(self) -> Recipe:
        automatic = _is_auto(self.learning_rate)
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
            metric_kwds=self.metric_kwds or {},
            initialization=start_name(self.init, base.initialization),
        )

    def _keep(self, result: Embedding) -> None:
        super()._keep(result)
        self._divergence = None

    @property
    def n_iter_(self) -> int:
        return self.n_epochs_

    @property
    def kl_divergence_(self) -> float:
        return self._measured_divergence()[0]

    @property
    def kl_divergence_method_(self) -> str:
        return self._measured_divergence()[1]

    def _measured_divergence(self) -> tuple[float, str]:
        """The loss at ``embedding_`` and how it was found; measured once."""
        check_is_fitted(self, "embedding_")
        if self._divergence is None:
            self._divergence = self._measure_divergence()
        return self._divergence

    def _measure_divergence(self) -> tuple[float, str]:
        from actup.quality._losses import PairLosses

        if len(self.embedding_) == 1:
            return 0.0, "exact"
        graph = Graph(self.graph_.indptr, self.graph_.indices, self.graph_.data)
        points, threads = self.embedding_, count_threads(self.n_jobs)
        if on_gpu(points):
            from actup.backends._cuda.arrays import to_host

            points = to_host(points)
        a, b = self.recipe_.kernel()
        losses = PairLosses(graph, points, a, b, threads, self.recipe_.dof, method="auto")
        return losses.kl_divergence(), losses.kernel_sum[1]


def _is_auto(learning_rate) -> bool:
    automatic = isinstance(learning_rate, str) and learning_rate == "auto"
    if not automatic and not isinstance(learning_rate, Real):
        raise TypeError(f"learning_rate={learning_rate!r} must be 'auto' or a number")
    return automatic
