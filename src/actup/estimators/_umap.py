"""UMAP: the estimator with the parameters of umap-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral

from actup._warnings import warn_user
from actup.estimators._base import Embedder, Lists, RandomState, Start, change, start_name
from actup.estimators._learning_rate import is_automatic
from actup.progress import Callback
from actup.recipe._presets import preset, preset_for
from actup.recipe._recipe import Recipe


# A dataclass, so that a parameter is written once: the generated __init__ has the explicit signature that
# scikit-learn reads, and only stores.
@dataclass(eq=False, repr=False)
class UMAP(Embedder):
    """Uniform manifold approximation and projection, with the parameters of umap-learn.

    Makes a map in which rows that are near each other in the data are near each other. The same
    ``random_state`` gives the same bits on every processor, at any ``n_jobs``.

    Parameters
    ----------
    n_neighbors : int, default=15
        Size of the neighbourhood, the point itself included. More neighbours show more of the global
        structure, fewer more detail. Cut to the number of samples, with a warning.
    n_components : int, default=2
        Dimensions of the map.
    metric : str or callable, default="euclidean"
        Distance between rows: a metric that ``actup.nearest_neighbors`` knows, for rows without missing
        values, or a function of two rows. "precomputed": X holds the distances, dense or sparse.
    metric_kwds : dict, default=None
        Parameters of the metric.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        The nearest neighbours of each sample, if they are known: two arrays of the same shape. They may
        include the sample itself, as umap-learn's do, or not. X is then used for the start and searched by
        ``transform``.
    n_epochs : int, default=None
        Number of epochs of the layout. None: 100, and more above 60,000 samples and from a random start; if
        the descent goes edge by edge (see ``learning_rate``), 500 up to 10,000 samples and 200 beyond.
    learning_rate : "auto" or float, default="auto"
        "auto": the steps adapt to each point's stiffness, so that there is no rate to choose; in other than
        two dimensions, "auto" is 1.0. A number: the descent goes edge by edge as in umap-learn, with this
        length of the first steps (umap-learn's default is 1.0), which falls linearly to zero.
    init : {"spectral", "pca", "random"} or array of shape (n_samples, n_components), default="spectral"
        Where the points start. Above 200,000 samples, "spectral" maps some thousand cluster centres first and
        starts each point near its own centre; ``init_used_`` says so. An array keeps its scale, unless it is
        far wider than maps are, as raw principal components can be: then it is scaled to a width of 10, as
        umap-learn does with every start. An array far from 0 is moved there. Equal rows are moved apart at
        random, so that an array of equal rows is a random start.
    min_dist : float, default=0.1
        How close points may lie in the map; at most ``spread``.
    spread : float, default=1.0
        Scale of the map.
    repulsion_strength : float, default=1.0
        Factor of the repulsion.
    negative_sample_rate : float, default=5
        Repulsions per attraction. Its product with ``repulsion_strength`` is the weight of the repulsion, and
        that is all it does: the number of points that are drawn does not depend on it.
    a, b : float, default=None
        Parameters of the map's kernel 1/(1 + a d^(2b)); None: fitted to ``min_dist`` and ``spread``.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh seed in every fit, see ``seed_``.
    transform_seed : int, default=42
        Seed of ``transform``, which draws the same points of the map for every new row.
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
    TSNE : t-SNE with the parameters of scikit-learn.
    GDR : Every switch between the two.
    actup.quality_report : Measures how good a map is.

    Notes
    -----
    The graph and the loss are those of umap-learn. What differs:

    - In two dimensions the descent uses the repulsion of all points instead of a few random ones. This needs
      fewer epochs. Other dimensions, and ``learning_rate`` as a number, use umap-learn's own descent.
    - A ``random_state`` does not limit the run to one thread.
    - Labels are not used: ``y`` is ignored with a warning.
    - ``transform`` gives a row the same place whatever other rows it comes with.
    - densMAP and metrics of the output space are not available.

    References
    ----------
    L. McInnes, J. Healy and J. Melville, "UMAP: Uniform Manifold Approximation and Projection for Dimension
    Reduction", arXiv:1802.03426, 2018.

    A. Draganov, J. Jørgensen, K. Scheel, D. Mottin, I. Assent, T. Berry and C. Aslay, "ActUp: Analyzing and
    Consolidating tSNE and UMAP", IJCAI 2023, 3651-3658.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import UMAP
    >>> X = load_digits().data
    >>> model = UMAP(n_neighbors=10, random_state=0).fit(X[:300])
    >>> model.embedding_.shape, model.n_epochs_
    ((300, 2), 100)

    New rows are placed on the finished map:

    >>> model.transform(X[300:305]).shape
    (5, 2)
    """

    n_neighbors: int = 15
    n_components: int = 2
    _: KW_ONLY
    metric: str | Callable[..., float] = "euclidean"
    metric_kwds: dict[str, object] | None = None
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
        automatic = is_automatic(self.learning_rate)
        base = preset_for("umap", self.n_components) if automatic else preset("sampled_umap")
        for factor in ("repulsion_strength", "negative_sample_rate"):  # each is checked under its own name
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

    def _warn_if_labels(self, y: object) -> None:
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
