"""AlignedUMAP: maps of several related data sets, in which related samples lie at similar places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from actup._arguments import explain_unknown_arguments
from actup._errors import AbsentMethod
from actup._pipeline import Embedding
from actup._values import as_float
from actup._warnings import warn_user
from actup.estimators._inputs import FitInputs, RandomState, Start
from actup.estimators._slices import (
    Link,
    Slice,
    align_starts,
    draw_together,
    link_windows,
    read_relation,
    read_slices,
)
from actup.estimators._state import FittedState
from actup.estimators._umap import UMAP
from actup.progress import Callback, Progress

_DEFAULT_EPOCHS = 200  # as many as umap-learn runs
# Parameters that all slices share; of others, a list has one value for each slice.
_SINGLE_VALUES = ("init", "n_components", "n_epochs", "metric_kwds", "target_metric_kwds")


@explain_unknown_arguments
@dataclass(eq=False, repr=False)
class AlignedUMAP(BaseEstimator):
    """UMAP of several related data sets at once, with the parameters of umap-learn's AlignedUMAP.

    The data sets (slices) are, for example, the same customers month by month. Each slice gets its own map.
    Samples that are related lie at similar places of the maps, as far as their neighbours allow it.

    Parameters that one slice may have of its own (``n_neighbors``, ``min_dist``, ``spread``,
    ``repulsion_strength``, ``negative_sample_rate``, ``local_connectivity``, ``set_op_mix_ratio``,
    ``unique``) may be lists with one value per slice.

    Parameters
    ----------
    n_neighbors : int or list of int, default=15
        Size of the neighbourhood, the point itself included.
    n_components : int, default=2
        Dimensions of the maps.
    metric : str or callable, default="euclidean"
        Distance between rows.
    metric_kwds : dict, default=None
        Parameters of the metric.
    n_epochs : int, default=None
        Number of epochs of all layouts; None: 200.
    learning_rate : "auto" or float, default="auto"
        As in ``UMAP``. "auto" gives maps that keep more neighbours and move less; umap-learn takes 1.0.
    init : {"spectral", "pca", "random"} or array, default="spectral"
        Where the points of the first slice start. Those of the next slices start where their related points
        start, or among their neighbours.
    alignment_regularisation : float, default=0.01
        How strongly related points attract each other.
    alignment_window_size : int, default=3
        How many slices before and after its own a point is drawn to.
    min_dist : float or list of float, default=0.1
    spread : float or list of float, default=1.0
    low_memory : bool, default=False
        No effect.
    set_op_mix_ratio : float or list of float, default=1.0
    local_connectivity : float or list of float, default=1.0
    repulsion_strength : float or list of float, default=1.0
    negative_sample_rate : float or list of float, default=5
    transform_queue_size : float, default=4.0
        No effect.
    a, b : float, default=None
    random_state : int, RandomState, Generator or None, default=None
    angular_rp_forest : bool, default=False
        No effect.
    target_n_neighbors : int, default=-1
    target_metric : str or callable, default="categorical"
    target_metric_kwds : dict, default=None
    target_weight : float, default=0.5
    transform_seed : int, default=42
    force_approximation_algorithm : bool, default=False
        No effect.
    verbose : bool, default=False
        Show a progress bar.
    unique : bool or list of bool, default=False
    n_jobs : int, default=-1
        Number of threads; it never changes the maps.
    callback : callable, default=None
        As in ``UMAP``; ``embedding`` is None.

    Attributes
    ----------
    embeddings_ : list of ndarray of shape (n_samples, n_components), float32
        The map of each slice.
    mappers_ : list of UMAP
        A fitted model of each slice, which can place new rows on its map.
    n_models_ : int
        Number of slices.
    dict_relations_ : list of dict
        The relations between each slice and the next one.

    See Also
    --------
    UMAP : One map; its parameters of the same names mean the same.
    UMAP.refit : A map of new data that resembles an older map.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from actup import AlignedUMAP
    >>> X = load_digits().data
    >>> slices = [X[:200], X[100:300]]
    >>> relations = [{100 + i: i for i in range(100)}]  # row 100 of the first slice is row 0 of the second
    >>> model = AlignedUMAP(n_epochs=20, random_state=0).fit(slices, relations=relations)
    >>> [embedding.shape for embedding in model.embeddings_]
    [(200, 2), (200, 2)]
    """

    n_neighbors: int | Sequence[int] = 15
    n_components: int = 2
    metric: str | Callable[..., float] = "euclidean"
    metric_kwds: dict[str, object] | None = None
    n_epochs: int | None = None
    learning_rate: str | float = "auto"
    init: Start = "spectral"
    alignment_regularisation: float = 1e-2
    alignment_window_size: int = 3
    min_dist: float | Sequence[float] = 0.1
    spread: float | Sequence[float] = 1.0
    low_memory: bool = False
    set_op_mix_ratio: float | Sequence[float] = 1.0
    local_connectivity: float | Sequence[float] = 1.0
    repulsion_strength: float | Sequence[float] = 1.0
    negative_sample_rate: float | Sequence[float] = 5
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
    force_approximation_algorithm: bool = False
    verbose: bool = False
    unique: bool | Sequence[bool] = False
    _: KW_ONLY
    n_jobs: int | None = -1
    callback: Callback | None = None

    save = AbsentMethod(
        "AlignedUMAP has no save, because a file holds one map: save each of its models with "
        "model.mappers_[0].save(path) and so on, and dict_relations_ apart, or pickle the whole"
    )

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        *,
        relations: Sequence[Any] | None = None,
        window_size: int | None = None,
    ) -> Self:
        """Make a map of each slice, aligned with the others.

        Ctrl-C during the layout keeps the points of all slices where they are: ``fit`` then warns and returns
        as usual.

        Parameters
        ----------
        X : list of array-like of shape (n_samples, n_features)
            The slices in their order. They may differ in their numbers of samples and of features.
        y : list of array-like of shape (n_samples,), default=None
            Labels of each slice; None: no labels.
        relations : list of dict
            One for each slice but the last: which sample of the slice is which sample of the next one,
            ``{number: number in the next slice}``, or an array of shape (m, 2) of such pairs.
        window_size : int, default=None
            In place of ``alignment_window_size``.

        Returns
        -------
        self
        """
        slices = read_slices(X, y)
        if relations is None:
            raise ValueError(
                "relations is missing: give a list with one dict {number: number in the next slice} for each "
                "slice but the last"
            )
        if not isinstance(relations, list | tuple) or len(relations) != len(slices) - 1:
            raise ValueError(
                f"relations must be a list of {len(slices) - 1} dicts for {len(slices)} slices, got "
                f"{len(relations) if hasattr(relations, '__len__') else type(relations).__name__}"
            )
        window = self._check_window(window_size)
        with Progress(self.verbose, self.callback) as progress:
            prepared = [self._prepare(i, rows, labels, progress) for i, (rows, labels) in enumerate(slices)]
            made = [Slice.of(mapper, run, state) for mapper, run, state in prepared]
            links = [read_relation(part, i, made) for i, part in enumerate(relations)]
            align_starts(made, links)
            self._descend(made, link_windows(made, links, window), progress, first=0)
        self._keep(made, links)
        return self

    def fit_transform(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        *,
        relations: Sequence[Any] | None = None,
        window_size: int | None = None,
    ) -> list[np.ndarray]:
        """Make a map of each slice, aligned with the others, and return the maps.

        Parameters
        ----------
        X, y, relations, window_size
            As in ``fit``.

        Returns
        -------
        list of ndarray of shape (n_samples, n_components), float32
        """
        maps: list[np.ndarray] = self.fit(X, y, relations=relations, window_size=window_size).embeddings_
        return maps

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        relations: Any = None,
        window_size: int | None = None,
        **parameters: Any,
    ) -> Self:
        """Add a slice after the last one. The maps that are there do not change.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The new slice.
        y : array-like of shape (n_samples,), default=None
            Its labels.
        relations : dict or array of shape (m, 2)
            Which sample of the last slice is which sample of the new one.
        window_size : int, default=None
            In place of ``alignment_window_size``.
        **parameters
            Values of parameters for this slice, where lists have one for each slice so far.

        Returns
        -------
        self
        """
        check_is_fitted(self, "embeddings_")
        if relations is None:
            raise ValueError("relations is missing: give a dict {number in the last slice: number in X}")
        window = self._check_window(window_size)
        old = [Slice.of_model(mapper) for mapper in self.mappers_]
        with Progress(self.verbose, self.callback) as progress:
            made = [*old, Slice.of(*self._prepare(len(old), X, y, progress, parameters))]
            links = [np.array(list(part.items()), np.int64).reshape(-1, 2) for part in self.dict_relations_]
            links.append(read_relation(relations, len(old) - 1, made))
            align_starts(made, links, first=len(old))
            self._descend(made, link_windows(made, links, window), progress, first=len(old))
        self._keep(made, links)
        return self

    def _check_window(self, window_size: int | None) -> int:
        window = self.alignment_window_size if window_size is None else window_size
        if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
            raise ValueError(f"alignment_window_size={window!r} must be an integer of at least 1")
        strength = self.alignment_regularisation
        is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
        if not is_number or not 0 <= as_float(strength, "alignment_regularisation") < np.inf:
            raise ValueError(f"alignment_regularisation={strength!r} must be a number of at least 0")
        return int(window)

    def _prepare(
        self, number: int, X: Any, y: Any, progress: Progress, own: Mapping[str, Any] | None = None
    ) -> tuple[UMAP, Embedding, FittedState]:
        """The model of a slice, its run up to the layout, and what the run will leave on it."""
        shared = {field.name for field in fields(UMAP)} & {field.name for field in fields(self)}
        given = dict(own or {})
        unknown = sorted(set(given) - shared)
        if unknown:
            raise TypeError(
                f"{unknown[0]!r} is no parameter of a slice: they are {', '.join(sorted(shared))}"
            )
        values = given | {
            name: _value_of_slice(name, getattr(self, name), number) for name in sorted(shared - set(given))
        }
        if isinstance(values["n_epochs"], list | tuple | np.ndarray):
            raise TypeError(f"n_epochs={values['n_epochs']!r} must be one integer: slices run in step")
        if values["n_epochs"] is None:
            values["n_epochs"] = _DEFAULT_EPOCHS
        mapper = UMAP(**values)
        if number:
            mapper.init = "random"  # replaced by the places of related points
        try:
            run, state = mapper._prepare(X, FitInputs(y), progress)
        except (TypeError, ValueError) as error:
            error.add_note(f"in slice {number}")
            raise
        if run.layout is None:
            raise ValueError(f"slice {number} has {len(run.embedding)} sample: give at least 2")
        mapper.init = self.init
        return mapper, run, state

    def _descend(
        self, slices: list[Slice], windows: list[list[Link]], progress: Progress, first: int
    ) -> None:
        """Run the layouts of the slices from ``first`` on in step, and draw related points together.

        Ctrl-C ends it with a warning; the points stay where they are.
        """
        n_epochs = slices[-1].layout.n_epochs
        done = 0
        try:
            while done < n_epochs and not progress.stopped:
                self._run_epoch(slices, windows, first, done)
                done += 1
                progress.report("layout", done / n_epochs)
        except KeyboardInterrupt:
            warn_user(f"interrupted at epoch {done} of {n_epochs}: the points stay where they are")

    def _run_epoch(self, slices: list[Slice], windows: list[list[Link]], first: int, epoch: int) -> None:
        """Run one epoch of every layout, then draw related points together, once all places are known."""
        reached = [part.places for part in slices]
        for number in range(first, len(slices)):
            slices[number].layout.run(epoch + 1)
            reached[number] = slices[number].layout.embedding()
        strengths = [self.alignment_regularisation * part.learning_rate(epoch) for part in slices[first:]]
        moved = [
            draw_together(slices, reached, number, windows[number], strength)
            for number, strength in enumerate(strengths, first)
        ]
        for part, places in zip(slices[first:], moved, strict=True):
            part.places = places
            part.layout.replace_points(places)

    def _keep(self, slices: list[Slice], links: list[np.ndarray]) -> None:
        """Set all attributes, once everything has succeeded."""
        for part in slices:
            part.finish()
        fitted = {
            "embeddings_": [part.mapper.embedding_ for part in slices],
            "mappers_": [part.mapper for part in slices],
            "n_models_": len(slices),
            "dict_relations_": [dict(zip(*map(np.ndarray.tolist, link.T), strict=True)) for link in links],
        }
        self.__dict__ = self.__dict__ | fitted


def _value_of_slice(name: str, value: Any, number: int) -> Any:
    """The parameter's value in a slice, if it has one for each."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    if name in _SINGLE_VALUES or not (is_array or isinstance(value, list | tuple)):
        return value
    if number >= len(value):
        raise ValueError(
            f"{name} has {len(value)} values, but there are more slices: give one for each slice"
        )
    return value[number]
