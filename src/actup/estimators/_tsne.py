"""TSNE: the estimator with the parameters of scikit-learn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from actup._device import to_host
from actup._threads import count_threads
from actup.estimators._arguments import explain_unknown_arguments
from actup.estimators._base import Lists, RandomState, Start, change, start_name
from actup.estimators._growing import GrowingMap
from actup.estimators._learning_rate import is_automatic
from actup.estimators._state import snapshot
from actup.graph._records import Graph
from actup.progress import Callback
from actup.recipe._presets import preset, preset_for
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Affinity
from actup.transform._new_rows import check_map


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
        Effective number of neighbours of a point; less than the number of samples. For several, such as
        ``[30, 300]``, the similarities are averaged, which keeps near and far structure (openTSNE's
        ``Multiscale``).
    early_exaggeration : float, default=12.0
        Factor of the attraction in the first epochs, which gathers the clusters.
    learning_rate : "auto" or float, default="auto"
        "auto": the steps adapt to each point's stiffness, so that there is no rate to choose. A number:
        momentum with gains and this rate, as in scikit-learn and in its unit.
    max_iter : int, default=None
        Number of iterations, the exaggerated ones included. None: 160 for 4,000 to 60,000 samples, more for
        fewer (375 up to 2,000), for many more, and from a random start; 1000 if ``learning_rate`` is a
        number.
    metric : str or callable, default="euclidean"
        Distance between rows: a metric that ``actup.nearest_neighbors`` knows, or a function of two rows.
        "gower" compares text and missing values too, "nan_euclidean" missing values. "precomputed": X holds
        the distances, dense or sparse.
    metric_kwds : dict, default=None
        Parameters of the metric.
    precomputed_knn : tuple of (indices, distances[, index]), default=None
        The nearest neighbours of each sample, if they are known: two arrays of the same shape. They may
        include the sample itself, as umap-learn's do, or not. X is then used for the start and searched by
        ``transform``.
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        Where the points start; "spectral" as in ``UMAP``. An array keeps its scale, unless it is far wider
        than maps are: then it is scaled like "pca", to a standard deviation of 0.1. An array far from 0 is
        moved there. Equal rows are moved apart at random, so that an array of equal rows is a random start.
    exaggeration : float, default=1.0
        Factor of the attraction after the early phase: 1 is t-SNE, about 4 looks like UMAP.
    dof : float, default=1.0
        Degrees of freedom of the map's kernel (1 + d²/dof)^-dof, as in openTSNE: less than 1 gives heavier
        tails, and more and finer clusters.
    random_state : int, RandomState, Generator or None, default=None
        Where the seed comes from: an int is the seed itself; None: a fresh seed in every fit, see ``seed_``.
    n_jobs : int, default=-1
        Number of threads; -1 and None: one per core this process may use. It never changes the map.
    verbose : bool or int, default=False
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
    kl_divergence_ : float
        The Kullback-Leibler divergence of the map over all pairs, computed when it is first read, and anew
        if ``embedding_`` has changed.
    kl_divergence_method_ : {"exact", "mesh", "barnes_hut"}
        How the kernel was summed over all pairs: exactly up to 200,000 samples, then with a relative error
        of about 0.1 %, which changes the divergence by about 0.001.
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
    actup.quality_report : Measures how good a map is.

    Notes
    -----
    The similarities and the loss are those of scikit-learn. What differs:

    - ``learning_rate="auto"`` is another optimizer, which nearly always reaches a lower loss, in fewer
      iterations.
    - In one and two dimensions repulsion is interpolated on a mesh, in three computed by a Barnes-Hut tree,
      and for few points summed over all pairs. There is no ``method`` or ``angle`` to choose.
    - The number of iterations is fixed by ``max_iter``; there is no early stopping.
    - ``transform`` places new rows on the finished map.
    - ``perplexity`` may be several numbers, and ``exaggeration`` and ``dof`` are additional parameters.

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
    early_exaggeration: float = 12.0
    learning_rate: str | float = "auto"
    max_iter: int | None = None
    metric: str | Callable[..., float] = "euclidean"
    metric_kwds: dict[str, object] | None = None
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
        automatic = is_automatic(self.learning_rate)
        base = preset_for("tsne", self.n_components) if automatic else preset("classic_tsne")
        perplexity: dict[str, object] = {"perplexity": self.perplexity}
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
        check_is_fitted(self, ["embedding_", "_derived"])
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
