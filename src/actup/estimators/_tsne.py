"""TSNE: the estimator with the parameters of scikit-learn."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from actup._arguments import explain_unknown_arguments
from actup._device import to_host
from actup._given import Given
from actup._memory import lean_enough
from actup._pipeline import Embedding
from actup._suggestions import not_one_of
from actup._threads import count_threads
from actup._typing import Rows
from actup._values import as_float
from actup._warnings import warn_user
from actup.backends import Backend, choose_backend, load_backend
from actup.estimators._base import fitted_model
from actup.estimators._convergence import Divergence, WatchedLayout, mean_sigma
from actup.estimators._growing import GrowingMap
from actup.estimators._inputs import (
    FitInputs,
    Lists,
    RandomState,
    Start,
    change,
    draw_seed,
    read_affinities,
    read_mobility,
    start_name,
)
from actup.estimators._layout_callbacks import CallbackLayout, read_callbacks
from actup.estimators._learning_rate import is_automatic
from actup.estimators._state import FittedState, check_has_graph, snapshot
from actup.graph._records import Graph
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.progress import Callback, Progress
from actup.recipe._presets import preset, preset_for
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity, Repulsion
from actup.transform._new_rows import check_map

try:
    from sklearn.utils._param_validation import InvalidParameterError
except ImportError:  # it is private in scikit-learn

    class InvalidParameterError(ValueError, TypeError):  # type: ignore[no-redef]
        """A parameter has a wrong type or value."""


_METHODS = {"auto": Repulsion.AUTO, "barnes_hut": Repulsion.BARNES_HUT, "exact": Repulsion.EXACT}
_MAX_TREE_DIMENSIONS = 3  # of a map whose repulsion a tree can sum
_AUTO_EXAGGERATION = 12.0  # the least early exaggeration of "auto", as in openTSNE
_NOT_GIVEN = "deprecated"  # scikit-learn's default of parameters that it has removed


# A dataclass, so that a parameter is written once: the generated __init__ has the explicit signature that
# scikit-learn reads, and only stores.
@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class TSNE(GrowingMap):
    """t-distributed stochastic neighbour embedding, with the parameters of scikit-learn.

    Makes a map in which rows that are near each other in the data are near each other. The same
    ``random_state`` gives the same bits on every processor, at any ``n_jobs``.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    perplexity : float or sequence of float, default=30.0
        Effective number of neighbours of a point; less than the number of samples. Numbers below 1 mean 1:
        the nearest neighbour alone. For several, such as ``[30, 300]``, the similarities are averaged, which
        keeps near and far structure (openTSNE's ``Multiscale``).
    early_exaggeration : float or "auto", default=12.0
        Factor of the attraction in the first epochs, which gathers the clusters; at least 1. "auto":
        ``exaggeration``, but at least 12, as in openTSNE.
    learning_rate : "auto" or float, default="auto"
        "auto": the steps adapt to each point's stiffness, so that there is no rate to choose. A number:
        momentum with gains and this rate, as in scikit-learn and in its unit.
    max_iter : int, default=None
        Number of iterations, the exaggerated ones included; any number from 0 on. None: 160 for 4,000 to
        60,000 samples, more for fewer (375 up to 2,000), for many more, and from a random start; 1000 if
        ``learning_rate`` is a number. In that case the first 250 iterations are exaggerated, or a quarter of
        fewer than 250; with "auto", a share of them.
    n_iter_without_progress : int, default=300
        End the descent once the KL divergence, which is measured every 50 iterations after the exaggerated
        ones, has not fallen for more than this many iterations; -1: as soon as it does not fall. The default
        has no effect if ``learning_rate`` is "auto", whose iterations are planned to the last one.
    min_grad_norm : float, default=1e-07
        End the descent if the norm of the gradient, which is measured at the same time, is no larger. The
        default has no effect if ``learning_rate`` is "auto".
    metric : str or callable, default="euclidean"
        Distance between rows: a metric that ``actup.nearest_neighbors`` knows, or a function of two rows.
        "gower" compares text and missing values too, "nan_euclidean" missing values. "precomputed": X holds
        the distances, dense or sparse.
    metric_params : dict, default=None
        Parameters of the metric.
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default=None
        Where the points start; "spectral" as in ``UMAP``. None: "pca", or "spectral" if X holds distances.
        An array keeps its scale, unless it is far wider than maps are: then it is scaled like "pca", to a
        standard deviation of 0.1. An array far from 0 is moved there. Equal rows are moved apart at random,
        so that an array of equal rows is a random start.
    verbose : bool or int, default=False
        1 or True: show one progress bar over all stages (tqdm's if it is installed). 2 and more: also print
        the lines that scikit-learn prints, with the KL divergence every 50 iterations.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh seed in every fit, see ``seed_``.
    method : {"auto", "barnes_hut", "exact"}, default="auto"
        How repulsion is computed. "auto": the fastest method for the number of samples and dimensions, which
        is interpolation on a mesh for many samples in one or two dimensions. "barnes_hut": by a tree, in at
        most three dimensions. "exact": summed over all pairs, in O(n_samples²) time.
    angle : float, default=0.5
        How wide a group of points may be relative to its distance before its points are visited one by one,
        from 0 (exact) to 1. Only used where repulsion is computed by a tree: for ``method="barnes_hut"``,
        and for many samples in three dimensions.
    n_jobs : int, default=-1
        Number of threads; -1 and None: one per core this process may use. It never changes the map.
    exaggeration : float or None, default=1.0
        Factor of the attraction after the early phase: 1 or None is t-SNE, about 4 looks like UMAP.
    dof : float, default=1.0
        Degrees of freedom of the map's kernel (1 + d²/dof)^-dof, as in openTSNE: less than 1 gives heavier
        tails, and more and finer clusters.
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
    metric_kwds : dict, default=None
        Another name of ``metric_params``, which UMAP and GDR use.
    recall : float, default=0.97
        The share of true neighbours that the search must find, on every backend; 1.0 compares all rows.
    n_iter : int, default=None
        The name of ``max_iter`` in old releases of scikit-learn; deprecated.
    square_distances : bool, default="deprecated"
        A parameter of old releases of scikit-learn. It has no effect: distances are always squared.
    callbacks : callable or sequence of callable, default=None
        openTSNE's callbacks: ``callback(iteration, error, embedding)``, called every
        ``callbacks_every_iters`` iterations with the KL divergence as error. If one returns True, the run
        stops and keeps the points where they are.
    callbacks_every_iters : int, default=50
        Iterations between two calls.
    max_memory : int or str, default=None
        Bytes that ``fit`` may take, e.g. "4GB", with X but without Python and its libraries; with backend
        "cuda" those of the GPU. A fit that would take more takes less memory and more time, for the same
        bits; one that cannot raises MemoryError before it begins. See ``memory_estimate``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components), float32
        The map.
    kl_divergence_ : float
        The Kullback-Leibler divergence of the map over all pairs, computed when it is first read, and anew
        if ``embedding_`` has changed.
    kl_divergence_method_ : {"exact", "mesh", "barnes_hut"}
        How the kernel was summed over all pairs: exactly up to 200,000 samples, then with a relative error
        of about 0.1 %, which changes the divergence by about 0.001.
    learning_rate_ : float
        ``learning_rate`` if it is a number. For "auto" 1.0, the factor of steps that adapt to each point.
    n_iter_ : int
        Number of iterations that were run.
    n_epochs_ : int
        The same number.
    graph_ : scipy CSR matrix of shape (n_samples, n_samples)
        The symmetric graph of similarities.
    recall_ : float
        Share of the true neighbours that were found, measured on a sample; NaN if neighbours were given.
    init_used_ : str
        Where the points started, and why if not where ``init`` said.
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
    GDR : Every switch between the two.
    actup.compat.opentsne : The interface of openTSNE.
    actup.quality_report : Measures how good a map is.

    Notes
    -----
    The similarities and the loss are those of scikit-learn. What differs:

    - ``learning_rate="auto"`` is another optimizer, which nearly always reaches a lower loss, in fewer
      iterations.
    - ``method="auto"``, the default, is faster than Barnes and Hut's tree.
    - The similarities are those of the 3 × perplexity nearest neighbours for every ``method``.
    - ``transform`` places new rows on the finished map.
    - ``max_iter`` may be less than 250, ``n_components`` more than 3, and ``perplexity`` several numbers.
    - ``n_iter_`` is the number of iterations; scikit-learn's is one less.

    References
    ----------
    L. van der Maaten and G. Hinton, "Visualizing Data using t-SNE", Journal of Machine Learning Research 9,
    2579-2605, 2008.

    A. Draganov, J. Jørgensen, K. Scheel, D. Mottin, I. Assent, T. Berry and C. Aslay, "ActUp: Analyzing and
    Consolidating tSNE and UMAP", IJCAI 2023, 3651-3658.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import TSNE
    >>> X = load_digits().data
    >>> model = TSNE(perplexity=20, random_state=0).fit(X[:300])
    >>> model.embedding_.shape, model.n_iter_
    ((300, 2), 375)
    >>> model.kl_divergence_ < 0.7
    True

    New rows are placed on the finished map:

    >>> model.transform(X[300:305]).shape
    (5, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    perplexity: float | Sequence[float] = 30.0
    early_exaggeration: float | str = 12.0
    learning_rate: str | float = "auto"
    max_iter: int | None = None
    n_iter_without_progress: int = 300
    min_grad_norm: float = 1e-7
    metric: str | Callable[..., float] = "euclidean"
    metric_params: dict[str, object] | None = None
    init: Start = None
    verbose: bool | int = False
    random_state: RandomState = None
    method: str = "auto"
    angle: float = 0.5
    n_jobs: int | None = -1
    exaggeration: float | None = 1.0
    dof: float = 1.0
    precomputed_knn: Lists = None
    callback: Callback | None = None
    backend: str = "cpu"
    metric_kwds: dict[str, object] | None = None
    recall: float = DEFAULT_RECALL
    n_iter: int | None = None
    square_distances: bool | str = _NOT_GIVEN
    callbacks: Any = None
    callbacks_every_iters: int = 50
    max_memory: int | str | None = None

    _EXPLORATION_MAX_ITER: ClassVar[int] = 250  # exaggerated iterations; scikit-learn's name
    _N_ITER_CHECK: ClassVar[int] = 50  # iterations between two measurements; scikit-learn's name

    def _recipe(self) -> Recipe:
        self._check_parameters()
        try:
            return self._make_recipe()
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(str(error)) from None

    def _make_recipe(self) -> Recipe:
        automatic = is_automatic(self.learning_rate)
        base = preset_for("tsne", self.n_components) if automatic else preset("classic_tsne")
        perplexity: dict[str, object] = {"perplexity": _reachable(self.perplexity)}
        given: Any = self.perplexity
        if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
            scales = tuple(map(_reachable, given))
            perplexity = {"affinity": Affinity.MULTISCALE, "perplexities": scales}
        init = base.initialization if self.init is None else self.init
        max_iter = self._max_iter()
        repulsion = base.repulsion if self.method == "auto" else _METHODS[self.method]
        made = change(
            base,
            {
                "exaggeration": "early_exaggeration",
                "late_exaggeration": "exaggeration",
                "epochs": "max_iter",
                "initialization": "init",
                "perplexities": "perplexity",
                "theta": "angle",
                "metric_kwds": "metric_params",
            },
            **perplexity,
            n_components=self.n_components,
            dof=self.dof,
            exaggeration=self._early_exaggeration(),
            late_exaggeration=self._late_exaggeration(),
            learning_rate=base.learning_rate if automatic else self.learning_rate,
            epochs=base.epochs if max_iter is None else max_iter,
            metric=self.metric,
            metric_kwds=self._metric_parameters(),
            recall=self.recall,
            initialization=start_name(init, base.initialization),
            repulsion=Repulsion.EXACT if self.angle == 0 and self.method == "barnes_hut" else repulsion,
            theta=self.angle,
        )
        return made if automatic else made.but(exaggeration_share=self._exaggerated_share(made.epochs))

    def _exaggerated_share(self, max_iter: int | None) -> float:
        """The share of the iterations that scikit-learn exaggerates; a quarter of fewer than it allows."""
        if not max_iter or max_iter < self._EXPLORATION_MAX_ITER:
            return 0.25
        return self._EXPLORATION_MAX_ITER / max_iter

    def _late_exaggeration(self) -> Any:
        return 1.0 if self.exaggeration is None else self.exaggeration

    def _early_exaggeration(self) -> Any:
        """A number; openTSNE's "auto" is at least 12, and never less than the later exaggeration."""
        if isinstance(self.early_exaggeration, str) and self.early_exaggeration == "auto":
            late = self._late_exaggeration()
            return max(_AUTO_EXAGGERATION, late) if isinstance(late, Real) else _AUTO_EXAGGERATION
        _check_number("early_exaggeration", self.early_exaggeration, Real, 1)
        return self.early_exaggeration

    def _max_iter(self) -> int | None:
        if self.n_iter is None:
            return self.max_iter
        if self.max_iter is not None:
            raise ValueError(
                f"n_iter={self.n_iter!r} and max_iter={self.max_iter!r} are two names of one parameter: "
                "give max_iter alone"
            )
        return self.n_iter

    def _metric_parameters(self) -> dict[str, object]:
        if self.metric_params is not None and self.metric_kwds is not None:
            raise ValueError(
                "metric_params and metric_kwds are two names of one parameter: give metric_params alone"
            )
        given = self.metric_kwds if self.metric_params is None else self.metric_params
        return {} if given is None else given

    def _check_parameters(self) -> None:
        """Check the parameters that no recipe has, with the ranges and errors of scikit-learn."""
        if not (isinstance(self.method, str) and self.method in _METHODS):
            raise InvalidParameterError(not_one_of("method", self.method, _METHODS))
        _check_number("angle", self.angle, Real, 0, 1)
        _check_number("min_grad_norm", self.min_grad_norm, Real, 0)
        _check_number("n_iter_without_progress", self.n_iter_without_progress, Integral, -1)
        read_callbacks(self.callbacks, self.callbacks_every_iters)
        _check_verbose(self.verbose)
        components = self.n_components
        if self.method == "barnes_hut" and isinstance(components, Real) and components > _MAX_TREE_DIMENSIONS:
            raise ValueError(
                f"'n_components' should be inferior to 4 for method='barnes_hut', which needs a tree, but is "
                f"{components}: leave method out, or give method='exact'"
            )
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        if precomputed and isinstance(self.init, str) and self.init == "pca":
            raise ValueError(
                'The parameter init="pca" cannot be used with metric="precomputed". Distances have no '
                "principal components: leave init out"
            )

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
        affinities: Any = None,
        initialization: Any = None,
    ) -> Self:
        """Make a map of X, or of similarities.

        Ctrl-C during the layout keeps the points where they are: ``fit`` then warns and returns as usual. If
        ``fit`` raises an exception, the model stays as it was before: fitted to former data, or not fitted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Finite numbers of any type, or a data frame, never changed; (n_samples, n_samples) distances,
            dense or sparse, if ``metric`` is "precomputed". None: only ``affinities`` are given, and
            ``transform`` is not available.
        y : object, default=None
            Not used.
        ensure_all_finite : bool or "allow-nan", default=True
            "allow-nan" lets missing values (NaN) through to a function as ``metric``, False infinite ones
            too. Metrics "nan_euclidean" and "gower" take missing values whatever it is, all others reject
            them.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts, at least 0; None: all alike. Samples of weight 0 are left out, and
            then placed on the map of the others as ``transform`` would place them.
        fixed : array-like of shape (n_samples,), default=None
            Samples that stay where ``init``, an array, has them: Booleans, or numbers from 0 (moves freely)
            to 1 (stays). Samples whose row of ``init`` is NaN start among their neighbours.
        affinities : openTSNE affinities or sparse matrix of shape (n_samples, n_samples), default=None
            Similarities in place of those that would be computed from X.
        initialization : str or array of shape (n_samples, n_components), default=None
            Where the points start, in place of ``init``.

        Returns
        -------
        self
        """
        if affinities is not None and sample_weight is not None:
            raise ValueError("sample_weight and affinities were both given: weigh the affinities instead")
        if affinities is None and X is None:
            raise ValueError("X and affinities are both None: give one of them")
        inputs = FitInputs(y, sample_weight, fixed, initialization, affinities, ensure_all_finite)
        return self._fit(X, inputs)

    def fit_transform(
        self,
        X: Any = None,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        sample_weight: Any = None,
        fixed: Any = None,
        affinities: Any = None,
        initialization: Any = None,
    ) -> Any:
        """Make a map of X, or of similarities, and return it.

        Parameters
        ----------
        X, y, ensure_all_finite, sample_weight, fixed, affinities, initialization
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32
            The map, or a data frame of it if ``set_output`` asked for one.
        """
        model = self.fit(
            X,
            y,
            ensure_all_finite,
            sample_weight=sample_weight,
            fixed=fixed,
            affinities=affinities,
            initialization=initialization,
        )
        return model.embedding_

    def prepare_partial(
        self, X: Any, initialization: Any = "median", k: int = 25, **affinity_params: Any
    ) -> Any:
        """New rows at their start on the map, as openTSNE has them: their points can be optimised further.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The new rows.
        initialization : {"median", "weighted", "random"} or array, default="median"
            Where the new points start.
        k : int, default=25
            Neighbours whose places decide where a new point starts.
        **affinity_params
            ``perplexity`` of the new rows.

        Returns
        -------
        actup.compat.opentsne.PartialTSNEEmbedding
            An array with a method ``optimize(n_iter)``.

        See Also
        --------
        transform : Places new rows in one step.
        """
        from actup.compat.opentsne import TSNEEmbedding, affinity

        model = fitted_model(self)
        model._training.check_searchable()
        recipe, jobs = model.recipe_, count_threads(self.n_jobs)
        affinities = affinity.MultiscaleMixture(
            to_host(model._training.rows),
            list(recipe.scales()),
            metric=recipe.metric,
            metric_params=dict(recipe.metric_kwds),
            n_jobs=jobs,
            random_state=model.seed_,
        )
        embedding = TSNEEmbedding(
            to_host(model.embedding_), affinities, recipe.dof, random_state=model.seed_, n_jobs=jobs
        )
        return embedding.prepare_partial(np.asarray(X), initialization, k, **affinity_params)

    def _prepare(self, X: Any, inputs: FitInputs, progress: Progress) -> tuple[Embedding, FittedState]:
        if isinstance(inputs.init, str):
            other = snapshot(self)
            other.init = inputs.init
            return other._prepare(X, replace(inputs, init=None), progress)
        if X is None:
            prepared, state = self._prepare_affinities(inputs, progress)
        else:
            prepared, state = super()._prepare(X, inputs, progress)
        if self.n_iter is not None:
            warn_user("n_iter is deprecated: use max_iter", FutureWarning)
        return self._with_observers(prepared), state

    def _prepare_affinities(self, inputs: FitInputs, progress: Progress) -> tuple[Embedding, FittedState]:
        """Prepare a run of similarities without rows."""
        recipe, graph = self._checked_recipe(), read_affinities(inputs.affinities)
        seed = draw_seed(self.random_state)
        checked = snapshot(self)
        checked.n_features_in_ = len(graph)
        checked.__dict__.pop("feature_names_in_", None)
        init = self.init if inputs.init is None else inputs.init
        given = Given(None if isinstance(init, str) else init, graph=graph, keep_neighbors=False)
        if inputs.fixed is not None:
            given = replace(given, mobility=read_mobility(inputs.fixed, given.init, len(graph)))
        backend = load_backend(choose_backend(self.backend, None, len(graph)))
        lean = lean_enough(self.max_memory, None, recipe, given, count_threads(self.n_jobs), backend)
        given = replace(given, lean=lean)
        prepared = self._run(None, recipe, given, backend, progress, seed)
        return prepared, FittedState.of_run(prepared, None, seed, checked)

    def _with_observers(self, prepared: Embedding) -> Embedding:
        """The run with a layout that watches its convergence or calls ``callbacks``, if it has to."""
        layout, threads = prepared.layout, count_threads(self.n_jobs)
        if layout is None:
            return prepared
        if self._is_watched():
            layout = WatchedLayout(
                layout,
                prepared.graph,
                prepared.recipe,
                min_gradient_norm=float(self.min_grad_norm),
                patience=self.n_iter_without_progress if self._stops_early() else math.inf,
                every=self._N_ITER_CHECK,
                log=self._prints_lines(),
                threads=threads,
            )
        callbacks = read_callbacks(self.callbacks, self.callbacks_every_iters)
        if callbacks:
            divergence = Divergence(prepared.graph, prepared.recipe, threads)
            layout = CallbackLayout(layout, callbacks, int(self.callbacks_every_iters), divergence)
        return prepared if layout is prepared.layout else replace(prepared, layout=layout)

    def _given(self, inputs: FitInputs, rows: Rows, recipe: Recipe) -> Given:
        given = super()._given(inputs, rows, recipe)
        if inputs.affinities is not None:
            given = replace(given, graph=read_affinities(inputs.affinities), neighbors=None)
        return replace(given, keep_neighbors=self._prints_lines())  # the lines tell of their distances

    def _report_prepared(self, prepared: Embedding) -> None:
        if not self._prints_lines() or prepared.neighbors is None:
            return
        n = len(prepared.graph)
        print(f"[t-SNE] Computed neighbors for {n} samples in {prepared.seconds['neighbors']:.3f}s...")
        print(f"[t-SNE] Computed conditional probabilities for sample {n} / {n}")
        for perplexity in prepared.recipe.scales():
            sigma = mean_sigma(to_host(prepared.neighbors.distances), perplexity)
            print(f"[t-SNE] Mean sigma: {sigma:f}")

    def _prints_lines(self) -> bool:
        return int(self.verbose) >= 2

    def _stops_early(self) -> bool:
        """Whether the descent may end before its last iteration."""
        defaults = {field.name: field.default for field in fields(TSNE)}
        names = ("n_iter_without_progress", "min_grad_norm")
        return not is_automatic(self.learning_rate) or any(
            getattr(self, name) != defaults[name] for name in names
        )

    def _is_watched(self) -> bool:
        return self._stops_early() or self._prints_lines()

    def _read_rows(
        self, X: Any, recipe: Recipe, backend: Backend, *, reset: bool, finite: bool | str = True
    ) -> Rows:
        if reset and recipe.metric == "precomputed":
            _check_distances(X, self.method)
        rows = super()._read_rows(X, recipe, backend, reset=reset, finite=finite)
        if reset:
            self._check_size(rows, recipe)
        return rows

    def _check_size(self, rows: Rows, recipe: Recipe) -> None:
        """Compare the perplexity with the number of samples, and with that of the distances of each."""
        n, perplexity = rows.shape[0], max(recipe.scales())
        if n > 1 and perplexity >= n:
            given = self.perplexity if isinstance(self.perplexity, Real) else perplexity
            raise ValueError(
                f"perplexity ({given}) must be less than n_samples ({n}): give more samples, or "
                f"perplexity={n - 1} at most"
            )
        if recipe.metric == "precomputed" and issparse(rows):
            stored, needed = int(np.diff(rows.indptr).min()), recipe.neighbors_searched(n)
            if stored < needed:
                raise ValueError(
                    f"{needed + 1} neighbors per samples are required, but some samples have only {stored} "
                    "neighbors in the sparse matrix X: store more distances, or lower the perplexity"
                )
        if self._prints_lines():
            print(f"[t-SNE] Computing {recipe.neighbors_searched(n)} nearest neighbors...")

    @property
    def learning_rate_(self) -> float:
        check_is_fitted(self, "recipe_")
        return self.recipe_.learning_rate

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
        """The loss of the map and the method that summed it, computed once for each map.

        The map is recognised by its values: the caller may have assigned another one, or changed it in place.
        """
        check_has_graph(self)
        model = snapshot(self)
        points = to_host(check_map(model.embedding_, len(model._training), model.recipe_.n_components))
        digest = hashlib.blake2b(np.ascontiguousarray(points).data).digest()
        known = model._derived.divergence
        if known is None or known[0] != digest:
            known = model._derived.divergence = (digest, *model._measure_divergence(points))
        return known[1:]

    def _measure_divergence(self, points: np.ndarray) -> tuple[float, str]:
        from actup.quality._losses import PairLosses

        if len(points) == 1:
            return 0.0, "exact"
        graph = Graph(self.graph_.indptr, self.graph_.indices, self.graph_.data)
        a, b = self.recipe_.kernel()
        threads = count_threads(self.n_jobs)
        losses = PairLosses(graph, points, a, b, threads, self.recipe_.dof, method="auto")
        return losses.kl_divergence(), losses.kernel_sum[1]


def _check_number(name: str, value: Any, kind: Any, lowest: float, highest: float = math.inf) -> None:
    """Reject anything but a number of a range; the ranges include their ends."""
    wanted = "an integer" if kind is Integral else "a number"
    if isinstance(value, bool) or not isinstance(value, kind):
        raise InvalidParameterError(f"{name}={value!r} must be {wanted}")
    if not lowest <= as_float(value, name) <= highest:
        limits = f"at least {lowest}" if highest == math.inf else f"from {lowest} to {highest}"
        raise InvalidParameterError(f"{name}={value!r} must be {wanted} {limits}")


def _check_verbose(verbose: Any) -> None:
    if not isinstance(verbose, bool | np.bool_) and not (isinstance(verbose, Integral) and int(verbose) >= 0):
        raise InvalidParameterError(
            f"verbose={verbose!r} must be a bool or an integer of at least 0: 1 shows a progress bar, 2 "
            "prints lines"
        )


def _check_distances(X: Any, method: str) -> None:
    """Reject given distances that scikit-learn rejects, with its errors."""
    shape = getattr(X, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(
            f"X should be a square distance matrix, because metric='precomputed', but its shape is "
            f"{tuple(shape)}: give the square matrix of distances between all samples"
        )
    if issparse(X) and method == "exact":
        raise TypeError(
            'method="exact" needs all distances, but X is sparse: leave method out, or give a dense matrix'
        )
    values = X
    if issparse(X):
        values = X.tocoo().data if X.format in ("dok", "lil") else X.data
    if isinstance(values, np.ndarray) and values.dtype.kind in "if" and values.size and values.min() < 0:
        raise ValueError(
            f"X has a negative value, {values.min()}: with metric='precomputed', X should contain positive "
            "distances"
        )


def _reachable(perplexity: Any) -> Any:
    """The perplexity, at least 1: similarities to one neighbour have perplexity 1, and none have less."""
    return 1.0 if isinstance(perplexity, int | float | np.number) and 0 < perplexity < 1 else perplexity
