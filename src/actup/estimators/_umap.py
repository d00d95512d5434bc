"""UMAP: the estimator with the parameters, methods and attributes of umap-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from actup._arguments import explain_unknown_arguments
from actup._threads import count_threads
from actup._typing import CsrMatrix
from actup.backends import load_backend
from actup.estimators._base import fitted_model
from actup.estimators._combined import combine
from actup.estimators._inputs import Lists, RandomState, Start, change, given_part, start_name
from actup.estimators._learning_rate import is_automatic
from actup.estimators._state import FittedAttribute, check_has_graph
from actup.estimators._umap_private import DERIVED, KNOWN_BEFORE_FIT, ONLY_IN_COMPAT
from actup.estimators._umap_runs import UmapRuns
from actup.graph._memberships import row_memberships
from actup.graph._radii import map_radii
from actup.graph._records import Graph
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.progress import Callback
from actup.recipe._presets import preset, preset_for
from actup.recipe._recipe import Recipe
from actup.transform._placement import neighbors_needed

_OTHER_STARTS = {"tswspectral": "spectral"}  # names that umap-learn has for starts


# A dataclass, so that a parameter is written once: the generated __init__ has the explicit signature that
# scikit-learn reads, and only stores.
@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class UMAP(UmapRuns):
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
        Distance between rows: a metric that ``actup.nearest_neighbors`` knows, or a function of two rows.
        "gower" compares text and missing values too, "nan_euclidean" missing values. "precomputed": X holds
        the distances, dense or sparse.
    metric_kwds : dict, default=None
        Parameters of the metric.
    output_metric : str or callable, default="euclidean"
        Distance between points of the map, e.g. "haversine" for maps on a sphere. A function of two points
        must return their distance and its gradient by the first one; it is called pair by pair, which is
        slow unless numba has compiled it.
    output_metric_kwds : dict, default=None
        Parameters of the output metric.
    n_epochs : int or list of int, default=None
        Number of epochs of the layout. None: 100, and more above 60,000 samples and from a random start; if
        the descent goes edge by edge (see ``learning_rate``), 500 up to 10,000 samples and 200 beyond. A
        list: the map after each of these epochs is kept in ``embedding_list_``.
    learning_rate : "auto" or float, default="auto"
        "auto": the steps adapt to each point's stiffness, so that there is no rate to choose; in other than
        two dimensions, "auto" is 1.0. A number: the descent goes edge by edge as in umap-learn, with this
        length of the first steps (umap-learn's default is 1.0), which falls linearly to zero. With
        ``densmap``, all points move at once, and a number is a factor of the automatic steps.
    init : {"spectral", "pca", "random"} or array of shape (n_samples, n_components), default="spectral"
        Where the points start; "tswspectral" is another name of "spectral". Above 200,000 samples, "spectral"
        maps some thousand cluster centres first and starts each point near its own centre; ``init_used_``
        says so. An array keeps its scale, unless it is far wider than maps are, as raw principal components
        can be: then it is scaled to a width of 10, as umap-learn does with every start. An array far from 0
        is moved there. Equal rows are moved apart at random, so that an array of equal rows is a random
        start.
    min_dist : float, default=0.1
        How close points may lie in the map; at most ``spread``.
    spread : float, default=1.0
        Scale of the map.
    low_memory : bool, default=True
        No effect: the search needs little memory in any case.
    n_jobs : int, default=-1
        Number of threads; -1 and None: one per core this process may use. It never changes the map.
    set_op_mix_ratio : float, default=1.0
        How the similarities of both directions are combined: 1 is their fuzzy union, 0 their intersection.
    local_connectivity : float, default=1.0
        Number of nearest neighbours that a point is fully connected to.
    repulsion_strength : float, default=1.0
        Factor of the repulsion.
    negative_sample_rate : float, default=5
        Repulsions per attraction. Its product with ``repulsion_strength`` is the weight of the repulsion, and
        that is all it does: the number of points that are drawn does not depend on it.
    transform_queue_size : float, default=4.0
        No effect, here and in umap-learn.
    a, b : float, default=None
        Parameters of the map's kernel 1/(1 + a d^(2b)); None: fitted to ``min_dist`` and ``spread``.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh seed in every fit, see ``seed_``.
    angular_rp_forest : bool, default=False
        No effect: there are no random projection trees in the search.
    target_n_neighbors : int, default=-1
        Size of the neighbourhoods of target values; -1: ``n_neighbors``.
    target_metric : str or callable, default="categorical"
        How y is compared. "categorical": equal or not, labels of any kind; -1, NaN and None are unknown. Any
        other metric compares target values, e.g. "euclidean" for numbers. Numbers that are not whole, and
        several columns, are compared by "euclidean" where the metric is "categorical".
    target_metric_kwds : dict, default=None
        Parameters of the target metric.
    target_weight : float, default=0.5
        How much y counts: 0 is only X, 1 nearly only y.
    transform_seed : int, default=42
        Seed of ``transform``, which draws the same points of the map for every new row.
    transform_mode : {"embedding", "graph"}, default="embedding"
        "graph": there is no map; ``fit_transform`` and ``transform`` return the graph of similarities.
    force_approximation_algorithm : bool, default=False
        No effect: the search chooses by its costs, and reaches the same recall either way.
    verbose : bool, default=False
        Show one progress bar over all stages (tqdm's if it is installed).
    tqdm_kwds : dict, default=None
        No effect: the bar covers all stages and has its own form.
    unique : bool, default=False
        Whether rows that occur several times become one point of the map.
    densmap : bool, default=False
        Whether the map also shows how dense the data are: sparse regions become wide.
    dens_lambda : float, default=2.0
        Weight of the density in the loss, if ``densmap``.
    dens_frac : float, default=0.3
        Last share of the epochs in which density counts, if ``densmap``.
    dens_var_shift : float, default=0.1
        Added to the variance of the local radii of the map, for stability, if ``densmap``.
    output_dens : bool, default=False
        Whether the local radii are computed and ``fit_transform`` returns them with the map.
    disconnection_distance : float, default=None
        Neighbours at this distance or beyond are not connected. None: the largest value of a bounded metric
        (e.g. 1 for "jaccard", 2 for "cosine"), else none.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        The nearest neighbours of each sample, if they are known: two arrays of the same shape. They may
        include the sample itself, as umap-learn's do, or not. A neighbour that is missing has id -1 and an
        infinite distance. X is then used for the start and searched by ``transform``.
    callback : callable, default=None
        ``callback(stage, fraction, embedding)``, called at the beginning and end of every stage and about ten
        times per second during the layout; before the layout, ``embedding`` is None. If it returns True, the
        run stops and keeps the points where they are. See ``actup.progress.Progress``.
    backend : {"cpu", "cuda", "auto", "reference"}, default="cpu"
        Where to compute; "auto": on the GPU if there is one and X has enough rows, else on the CPU. Each
        backend gives the same bits in every run; maps of different backends differ in detail.
    disconnected : {"place", "nan"}, default="place"
        What becomes of samples without any connected neighbour: they get a place at the edge of the map, or
        coordinates of NaN as in umap-learn.
    recall : float, default=0.97
        The share of true neighbours that the search must find, on every backend; 1.0 compares all rows.
    max_memory : int or str, default=None
        Bytes that ``fit`` may take, e.g. "4GB", with X but without Python and its libraries; with backend
        "cuda" those of the GPU. A fit that would take more takes less memory and more time, for the same
        bits; one that cannot raises MemoryError before it begins. See ``memory_estimate``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The symmetric graph of similarities; of the distinct rows if ``unique``.
    graph_dists_ : scipy CSR matrix of shape (n_samples, n_samples) or None
        The distances along the edges of ``graph_``, if ``densmap`` or ``output_dens``. Edges between equal
        rows are stored zeros; edges that target values have added are left out.
    embedding_list_ : list of ndarray
        The map after each of the epochs, if ``n_epochs`` is a list.
    n_epochs_list : list of int or None
        These epochs.
    knn_indices, knn_dists, knn_search_index : object or None
        The parts of ``precomputed_knn``, if it is given.
    rad_orig_, rad_emb_ : ndarray of shape (n_samples,)
        Logarithms of the local radii in the data and on the map, if ``densmap`` or ``output_dens``.
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
    AlignedUMAP : Maps of several related data sets.
    actup.quality_report : Measures how good a map is.

    Notes
    -----
    The graph and the loss are those of umap-learn. What differs:

    - In two dimensions the descent uses the repulsion of all points instead of a few random ones. This needs
      fewer epochs. Other dimensions, and ``learning_rate`` as a number, use umap-learn's own descent.
    - A ``random_state`` does not limit the run to one thread.
    - ``transform`` gives a row the same place whatever other rows it comes with.
    - No parameter is changed by ``fit``, and coordinates are never NaN unless ``disconnected="nan"``.

    References
    ----------
    L. McInnes, J. Healy and J. Melville, "UMAP: Uniform Manifold Approximation and Projection for Dimension
    Reduction", arXiv:1802.03426, 2018.

    A. Narayan, B. Berger and H. Cho, "Assessing single-cell transcriptomic variability through
    density-preserving data visualization", Nature Biotechnology 39, 765-774, 2021.

    A. Draganov, J. Jørgensen, K. Scheel, D. Mottin, I. Assent, T. Berry and C. Aslay, "ActUp: Analyzing and
    Consolidating tSNE and UMAP", IJCAI 2023, 3651-3658.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import UMAP
    >>> X, y = load_digits(return_X_y=True)
    >>> model = UMAP(n_neighbors=10, random_state=0).fit(X[:300])
    >>> model.embedding_.shape, model.n_epochs_
    ((300, 2), 123)

    New rows are placed on the finished map:

    >>> model.transform(X[300:305]).shape
    (5, 2)

    Labels pull the samples of one class together; -1 stands for unknown ones:

    >>> supervised = UMAP(random_state=0).fit(X[:300], y[:300])
    """

    n_neighbors: int = 15
    n_components: int = 2
    metric: str | Callable[..., float] = "euclidean"
    metric_kwds: dict[str, object] | None = None
    output_metric: str | Callable[..., Any] = "euclidean"
    output_metric_kwds: dict[str, object] | None = None
    n_epochs: int | Sequence[int] | None = None
    learning_rate: str | float = "auto"
    init: Start = "spectral"
    min_dist: float = 0.1
    spread: float = 1.0
    low_memory: bool = True
    n_jobs: int | None = -1
    set_op_mix_ratio: float = 1.0
    local_connectivity: float = 1.0
    repulsion_strength: float = 1.0
    negative_sample_rate: float = 5
    transform_queue_size: float = 4.0
    a: float | None = None
    b: float | None = None
    random_state: RandomState = None
    angular_rp_forest: bool = False
    target_n_neighbors: int = -1
    target_metric: str | Callable[..., float] = "categorical"
    target_metric_kwds: dict[str, object] | None = None
    target_weight: float = 0.5
    transform_seed: int = 42
    transform_mode: str = "embedding"
    force_approximation_algorithm: bool = False
    verbose: bool = False
    tqdm_kwds: dict[str, object] | None = None
    unique: bool = False
    densmap: bool = False
    dens_lambda: float = 2.0
    dens_frac: float = 0.3
    dens_var_shift: float = 0.1
    output_dens: bool = False
    disconnection_distance: float | None = None
    precomputed_knn: Lists = None
    _: KW_ONLY
    callback: Callback | None = None
    backend: str = "cpu"
    disconnected: str = "place"
    recall: float = DEFAULT_RECALL
    max_memory: int | str | None = None

    def __getattr__(self, name: str) -> Any:
        """What umap-learn keeps in private attributes, which other programs read."""
        if name in DERIVED and ("embedding_" in vars(self) or name in KNOWN_BEFORE_FIT):
            return DERIVED[name](self)
        if name in ONLY_IN_COMPAT:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: actup.compat.umap.UMAP has it",
                name=name,
                obj=self,
            )
        return self.__getattribute__(name)  # raises the AttributeError that led here

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
    ) -> Any:
        """Make a map of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite numbers of any type, never changed; (n_samples, n_samples) distances, dense or sparse, if
            ``metric`` is "precomputed".
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels or target values, which ``UMAP`` uses.
        ensure_all_finite : bool or "allow-nan", default=True
            As in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            As in ``fit``.
        fixed : array-like of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32
            The map, or a data frame of it if ``set_output`` asked for one. With ``output_dens``, a tuple of
            the map, ``rad_orig_`` and ``rad_emb_``; with ``transform_mode="graph"``, ``graph_``.
        """
        self.fit(X, y, ensure_all_finite, sample_weight=sample_weight, fixed=fixed)
        if self.transform_mode == "graph":
            return self.graph_
        if self.output_dens:
            return self.embedding_, self.rad_orig_, self.rad_emb_
        return self.embedding_

    def transform(self, X: Any, ensure_all_finite: bool | str = True) -> Any:
        """Where new rows lie on the map; see ``TSNE.transform``, which does the same.

        With ``transform_mode="graph"``, returns the similarities of the new rows to the samples instead, a
        CSR matrix of shape (n_rows, n_samples).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite numbers, never changed; (n_rows, n_samples) distances to the training data, dense or
            sparse, if ``metric`` was "precomputed".
        ensure_all_finite : bool or "allow-nan", default=True
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows, n_components), float32, or CSR matrix
        """
        self._check_transform_mode()
        if self.transform_mode != "graph":
            return super().transform(X, ensure_all_finite)
        model = fitted_model(self)
        backend = load_backend("cpu")
        rows = model._read_rows(X, model.recipe_, backend, reset=False, finite=ensure_all_finite)
        training, _, counted = model._map_of()
        rows = training.columns_of(rows, counted)
        n, threads = len(training), count_threads(model.n_jobs)
        found = training.query_on_host(rows, neighbors_needed(model.recipe_, n), threads)
        graph = row_memberships(found, model.recipe_, n, threads)
        if n == len(model._training):
            return graph
        numbers = np.arange(len(model._training))[counted]
        return csr_matrix(
            (graph.data, numbers[graph.indices], graph.indptr), (len(found), len(model._training))
        )

    def update(self, X: Any, ensure_all_finite: bool | str = True) -> Self:
        """Add rows to the map: umap-learn's name of ``partial_fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            New rows, of the same kind and columns as those of ``fit``.
        ensure_all_finite : bool or "allow-nan", default=True
            As in ``fit``.

        Returns
        -------
        self
        """
        return self._grow(X, finite=ensure_all_finite, method="update")

    def __mul__(self, other: UMAP) -> Any:
        return combine(self, other, "intersection")

    def __add__(self, other: UMAP) -> Any:
        return combine(self, other, "union")

    def __sub__(self, other: UMAP) -> Any:
        return combine(self, other, "difference")

    # --- parameters ---

    def _recipe(self) -> Recipe:
        automatic = is_automatic(self.learning_rate)
        base = preset_for("umap", self.n_components) if automatic else preset("sampled_umap")
        base = preset("umap") if self.densmap else base  # the radii of all points are needed at once
        if not (isinstance(self.output_metric, str) and self.output_metric in ("euclidean", "l2")):
            base = preset("sampled_umap").but(horizon=None)  # distances from the centre mean nothing there
        for factor in ("repulsion_strength", "negative_sample_rate"):  # each is checked under its own name
            change(base, {"repulsion_rate": factor}, repulsion_rate=getattr(self, factor))
        change(preset("umap"), {"density_weight": "dens_lambda"}, density_weight=self.dens_lambda)
        return change(
            base,
            {
                "epochs": "n_epochs",
                "initialization": "init",
                "density_weight": "dens_lambda",
                "density_share": "dens_frac",
                "density_shift": "dens_var_shift",
            },
            n_neighbors=self.n_neighbors,
            n_components=self.n_components,
            metric=self.metric,
            metric_kwds=self.metric_kwds,
            recall=self.recall,
            epochs=self._last_epoch(),
            learning_rate=base.learning_rate if automatic else self.learning_rate,
            initialization=start_name(self._start(), base.initialization),
            min_dist=self.min_dist,
            spread=self.spread,
            set_op_mix_ratio=self.set_op_mix_ratio,
            local_connectivity=self.local_connectivity,
            repulsion_rate=self.repulsion_strength * self.negative_sample_rate,
            a=self.a,
            b=self.b,
            output_metric=self.output_metric,
            output_metric_kwds=self.output_metric_kwds,
            density_share=self.dens_frac,
            density_shift=self.dens_var_shift,
            density_weight=self.dens_lambda if self.densmap else 0.0,
        )

    def _start(self) -> Start:
        return _OTHER_STARTS.get(self.init, self.init) if isinstance(self.init, str) else self.init

    def _epoch_list(self) -> list[int]:
        """The epochs of ``n_epochs`` as a list; empty if it is one number or None."""
        epochs = self.n_epochs
        if epochs is None or np.ndim(epochs) == 0:
            return []
        listed = np.asarray(epochs)
        if listed.ndim != 1 or not len(listed) or listed.dtype.kind not in "iu" or listed.min() < 0:
            raise ValueError(
                f"n_epochs={epochs!r} must be an integer of at least 0, or a list of such integers"
            )
        return [int(epoch) for epoch in listed]

    def _last_epoch(self) -> Any:
        return max(self._epoch_list(), default=self.n_epochs)

    def _snapshot_epochs(self) -> tuple[int, ...]:
        return tuple(sorted(self._epoch_list()))

    def _transform_seed(self) -> int:
        seed = self.transform_seed
        if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**64:
            raise ValueError(f"transform_seed={seed!r} must be an integer from 0 to 2**64 - 1")
        return int(seed)

    knn_indices = FittedAttribute(lambda model: given_part(model.precomputed_knn, 0))
    knn_dists = FittedAttribute(lambda model: given_part(model.precomputed_knn, 1))
    knn_search_index = FittedAttribute(lambda model: given_part(model.precomputed_knn, 2))
    n_epochs_list = FittedAttribute(lambda model: model._epoch_list() or None)

    @property
    def graph_dists_(self) -> CsrMatrix | None:
        check_has_graph(self)
        if not hasattr(self, "_edge_lengths"):
            return None
        edges, known = self.graph_.tocoo(), ~np.isnan(self._edge_lengths)
        parts = (self._edge_lengths[known], (edges.row[known], edges.col[known]))
        return csr_matrix(parts, shape=edges.shape)

    @property
    def rad_emb_(self) -> np.ndarray:
        check_has_graph(self)
        if not hasattr(self, "rad_orig_"):
            raise AttributeError("rad_emb_ needs densmap=True or output_dens=True in fit")
        inverse = getattr(self, "_unique_inverse_", np.arange(len(self.embedding_)))
        places = self.embedding_[np.unique(inverse, return_index=True)[1]]
        radii: np.ndarray = map_radii(Graph.from_scipy(self.graph_), places, *self.recipe_.kernel())[inverse]
        return radii
