"""KNeighborsTransformer: the search as a scikit-learn transformer, for pipelines and for scanpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from actup._arguments import explain_unknown_arguments
from actup._errors import AbsentMethod
from actup._suggestions import not_one_of
from actup._threads import count_threads
from actup._typing import CsrMatrix, Rows
from actup._values import read_count
from actup.graph._records import Neighbors
from actup.neighbors._api import check_options
from actup.neighbors._calibration import DEFAULT_RECALL
from actup.neighbors._comparison import reject_negative
from actup.neighbors._finite_values import Role
from actup.neighbors._metric_parameters import check_parameters
from actup.neighbors._metrics import canonical_metric
from actup.neighbors._rows import as_sparse_or_dense, read_rows
from actup.neighbors._search import Search, SearchOptions, check_k, make_search

_MODES = ("distance", "connectivity")
# scikit-learn's algorithms are all exact.
_SEARCHES = {"ball_tree": "exact", "kd_tree": "exact", "brute": "exact"}
_NAMED_POWERS = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}  # minkowski with p


@explain_unknown_arguments
class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform X into the sparse matrix of distances to the nearest neighbours, as scikit-learn's does.

    Takes the place of ``sklearn.neighbors.KNeighborsTransformer`` with ActUp's search: in pipelines before
    estimators with ``metric="precomputed"`` (t-SNE, DBSCAN, Isomap, k-neighbours classifiers) or
    ``affinity="precomputed_nearest_neighbors"`` (spectral clustering), and as the ``transformer`` of
    ``scanpy.pp.neighbors``.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether the matrix holds distances, or 1 for every neighbour.
    n_neighbors : int, default=5
        The number of neighbours. In mode "distance" every row of the matrix has one entry more, because a
        sample counts as its own neighbour; in mode "connectivity" the sample is one of ``n_neighbors``.
    algorithm : {"auto", "exact", "approximate", "brute", "kd_tree", "ball_tree"}, default="auto"
        "exact" compares all pairs, and so do scikit-learn's names "brute", "kd_tree" and "ball_tree", which
        promise exact neighbours. "approximate" and "auto" are those of ``actup.nearest_neighbors``.
    leaf_size : int, default=30
        Without effect, since there are no trees; here because scikit-learn has it.
    metric : str or callable, default="minkowski"
        A metric of ``actup.nearest_neighbors``. "precomputed": X holds distances, dense or sparse.
    p : float, default=2
        The power of metric "minkowski", unless ``metric_params`` has one: 2 is the Euclidean distance.
    metric_params : dict, default=None
        Parameters of the metric.
    n_jobs : int, default=None
        Number of threads; None and -1: one per core that this process may use. Read when the first neighbours
        are searched.
    recall : float, default=0.97
        The share of true neighbours that an approximate search should find.
    random_state : int, default=0
        Seed of an approximate search.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric that is searched in: "euclidean" for "minkowski" with ``p=2``.
    effective_metric_params_ : dict
        The parameters of that metric.
    n_samples_fit_ : int
        The number of rows that are searched.
    n_features_in_ : int
        Number of columns of X in ``fit``.
    feature_names_in_ : ndarray of str
        Names of these columns, if X had names.

    See Also
    --------
    actup.nearest_neighbors : The same search as a function, with the recall it reached.
    actup.NeighborIndex : The same search for new rows.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> import actup
    >>> X = load_digits().data
    >>> distances = actup.KNeighborsTransformer(n_neighbors=10).fit_transform(X)
    >>> distances.shape, distances.nnz // len(X)
    ((1797, 1797), 11)
    >>> neighbors = actup.KNeighborsTransformer(n_neighbors=10)
    >>> make_pipeline(neighbors, DBSCAN(22, metric="precomputed")).fit_predict(X).shape
    (1797,)
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        recall: float = DEFAULT_RECALL,
        random_state: int = 0,
    ):
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.recall = recall
        self.random_state = random_state

    _searched: _SearchedRows

    save = AbsentMethod(
        "KNeighborsTransformer has no save, because it computes nothing in fit: keep X and fit again, or "
        "pickle it, which leaves out the search index"
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows that are to be searched.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Numbers of any type; (n_samples, n_samples) distances if ``metric`` is "precomputed". Kept: do not
            change it while the transformer is in use.
        y : None
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        self
        """
        self._become(self._fitted(X))
        return self

    def _fitted(self, X: Any) -> Self:
        """A copy that is fitted to X; this transformer stays as it is, whatever fails."""
        _check_mode(self.mode)
        self._options()
        metric, parameters = self._effective_metric()
        fitted = object.__new__(type(self))
        fitted._become(self)
        rows = fitted._read(X, metric, reset=True)
        if metric == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"metric='precomputed' needs a square matrix of distances, got shape {rows.shape}"
            )
        fitted.effective_metric_, fitted.effective_metric_params_ = metric, parameters
        fitted.n_samples_fit_ = fitted._n_features_out = int(rows.shape[0])
        fitted._searched = _SearchedRows(rows)
        return fitted

    def _become(self, other: Self) -> None:
        self.__dict__ = dict(vars(other))

    def transform(self, X: Any) -> CsrMatrix:
        """The matrix of distances from rows to their nearest neighbours among the rows of ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            (n_queries, n_samples_fit) distances if ``metric`` is "precomputed".

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit), float64
            The entries of a row are in ascending order of distance; zeros are stored.
        """
        check_is_fitted(self)
        n_neighbors = read_count(self.n_neighbors, "n_neighbors", 1)
        return self.kneighbors_graph(X, n_neighbors + (self.mode == "distance"), self.mode)

    def fit_transform(self, X: Any, y: Any = None) -> CsrMatrix:
        """Search the nearest neighbours of every row of X among all rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As in ``fit``.
        y : None
            Not used.

        Returns
        -------
        CSR matrix of shape (n_samples, n_samples), float64
            As from ``transform``. The first entry of every row is the sample itself, at distance 0.
        """
        fitted = self._fitted(X)
        n_neighbors = check_k(self.n_neighbors, fitted.n_samples_fit_, excludes_self=self.mode == "distance")
        found = fitted._neighbors_of_fitted(n_neighbors - (self.mode == "connectivity"))
        self._become(fitted)
        own = np.arange(len(found), dtype=np.int32)[:, None]
        indices = np.hstack([own, found.indices])
        distances = np.hstack([np.zeros_like(own, np.float32), found.distances])
        return self._graph(indices, distances, self.mode)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """The nearest neighbours of rows among the rows of ``fit``, nearest first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            None: the rows of ``fit``, none of which is then its own neighbour.
        n_neighbors : int, default=None
            None: the parameter ``n_neighbors``.
        return_distance : bool, default=True
            Whether to return distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float32
            Only if ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors), int32
        """
        check_is_fitted(self)
        k = check_k(
            self.n_neighbors if n_neighbors is None else n_neighbors,
            self.n_samples_fit_,
            excludes_self=X is None,
        )
        found = self._neighbors_of_fitted(k) if X is None else self._query(X, k)
        return (found.distances, found.indices) if return_distance else found.indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> CsrMatrix:
        """The nearest neighbours of rows as a sparse matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            None: the rows of ``fit``, none of which is then its own neighbour.
        n_neighbors : int, default=None
            The number of entries of a row; None: the parameter ``n_neighbors``.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the matrix holds 1 for every neighbour, or distances.

        Returns
        -------
        CSR matrix of shape (n_queries, n_samples_fit), float64
        """
        _check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        return self._graph(indices, distances, mode)

    def _graph(self, indices: np.ndarray, distances: np.ndarray, mode: str) -> CsrMatrix:
        n, k = indices.shape
        # float64, because many estimators convert other types, and SciPy's conversion undoes the order.
        values = distances.ravel().astype(np.float64) if mode == "distance" else np.ones(n * k)
        offsets = np.arange(0, n * k + 1, k)
        # What scikit-learn's own estimators return since 1.9.
        arrays = sklearn.get_config().get("sparse_interface", "spmatrix") == "sparray"
        kind = sparse.csr_array if arrays else sparse.csr_matrix
        return kind((values, indices.ravel(), offsets), shape=(n, self.n_samples_fit_))

    def _neighbors_of_fitted(self, k: int) -> Neighbors:
        """The k nearest others of every row of the fit; k from 0 to n - 1."""
        if k == 0:
            empty = np.empty((self.n_samples_fit_, 0))
            return Neighbors(empty.astype(np.int32), empty)
        return self._search().neighbors(k)

    def _query(self, X: Any, k: int) -> Neighbors:
        metric = self.effective_metric_
        rows = self._read(X, metric, reset=False)
        if metric != "precomputed":
            reject_negative(metric, rows, "X")
            rows = as_sparse_or_dense(rows, sparse.issparse(self._searched.rows))
        return self._search().query(rows, k)

    def _search(self) -> Search:
        """The search of the fitted rows, prepared when it is first used."""
        if self._searched.search is None:
            self._searched.search = make_search(
                self._searched.rows,
                self.effective_metric_,
                self.effective_metric_params_,
                self._options(),
                count_threads(self.n_jobs),
            )
        search: Search = self._searched.search
        return search

    def _options(self) -> SearchOptions:
        algorithm: Any = self.algorithm
        if isinstance(algorithm, str):  # others are rejected by name
            algorithm = _SEARCHES.get(algorithm, algorithm)
        return check_options(algorithm, self.recall, self.random_state)

    def _effective_metric(self) -> tuple[str | Callable[..., float], dict[str, Any]]:
        """The metric and its parameters, with the named metric for a named power."""
        check_parameters(self.metric_params, "metric_params")
        metric, parameters = canonical_metric(self.metric), dict(self.metric_params or {})
        if metric != "minkowski":
            return metric, parameters
        parameters.setdefault("p", self.p)
        power = parameters["p"]
        if set(parameters) == {"p"} and isinstance(power, Real) and power in _NAMED_POWERS:
            return _NAMED_POWERS[float(power)], {}
        return metric, parameters

    def _read(self, X: Any, metric: str | Callable[..., float], *, reset: bool) -> Rows:
        check = partial(validate_data, self, reset=reset)
        return read_rows(X, metric, check=check, role=Role.DATA if reset else Role.NEW_ROWS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


class _SearchedRows:
    """The rows of a fit and, once it has been used, their search, which is not part of a pickle."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.search: Search | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows, "search": None}


def _check_mode(mode: str) -> None:
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(not_one_of("mode", mode, _MODES))
