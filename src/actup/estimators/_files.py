"""fit_files(): maps of rows in files that need not fit into memory, as a method of the estimators."""

from __future__ import annotations

import os
import reprlib
from typing import TYPE_CHECKING, Any, Self

from actup.estimators._inputs import draw_seed
from actup.estimators._state import FittedState
from actup.progress import Progress
from actup.recipe._recipe import Recipe

# Parameters of the estimators that need all rows, or the whole graph, in memory.
_NEEDS_MEMORY = ("precomputed_knn", "disconnection_distance", "unique", "output_dens", "disconnected")


class FilesMixin:
    """Gives an estimator ``fit_files``."""

    if TYPE_CHECKING:  # what an Embedder has
        random_state: Any
        n_jobs: int | None
        backend: str
        max_memory: int | str | None

        def _checked_recipe(self) -> Recipe: ...
        def _progress(self) -> Progress: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def fit_files(
        self,
        source: Any,
        *,
        work: str | os.PathLike[str],
        client: Any = None,
        out: Any = None,
        recall: float | None = None,
        memory: int | str | None = None,
        columns: Any = None,
        id_column: str | None = None,
    ) -> Self:
        """Make a map of rows in files, which need not fit into memory.

        ``embedding_`` is then the map in the kind that ``out`` or the source asks for, such as the path of a
        file. The model keeps neither rows nor graph: to place new rows on a map, ``fit`` a sample of the rows
        and use ``actup.distributed.transform``. Of the parameters of the estimator, those that say what to
        compute are used, and ``random_state`` (None counts as 0, so that the same call goes on), ``n_jobs``,
        ``verbose``, ``callback`` and ``backend``. Others that need rows or graph in memory are rejected.

        Parameters
        ----------
        source : object
            Path or URL of .npy, .parquet, .zarr or .h5ad files, a folder of parquet files, a Dask array or
            data frame, an array.
        work : str or path-like
            A folder for intermediate files. The same call again goes on where an earlier one was stopped.
        client : distributed.Client, default=None
            Spreads the work over its workers.
        out : str or path-like, default=None
            Where the map is written; None: in ``work``, in the kind of the source.
        recall : float, default=None
            The wanted share of true neighbours; None: the ``recall`` of the estimator.
        memory : int or str, default=None
            Bytes that a process of the run may use, e.g. "5GB"; None: ``max_memory``.
        columns, id_column : object, default=None
            Which columns are used, and which one names the rows.

        Returns
        -------
        self

        See Also
        --------
        actup.distributed.embed : The same as a function, with all details.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import actup
        >>> X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
        >>> with tempfile.TemporaryDirectory() as work:
        ...     np.save(f"{work}/X.npy", X)
        ...     model = actup.UMAP(random_state=0, n_epochs=50).fit_files(f"{work}/X.npy", work=work)
        ...     np.load(model.embedding_).shape
        (500, 2)
        """
        from actup.distributed import embed

        self._reject_unused_parameters()
        recipe = self._checked_recipe()
        given = self.random_state
        seed = 0 if given is None else draw_seed(given)  # a random seed would begin anew each time
        with self._progress() as progress:
            result = embed(
                source,
                recipe,
                work=work,
                client=client,
                out=out,
                seed=seed,
                recall=recall,
                memory=self.max_memory if memory is None else memory,
                columns=columns,
                id_column=id_column,
                threads=self.n_jobs,
                backend=self.backend,
                progress=progress,
            )
        FittedState(
            embedding_=result.embedding,
            init_used_=result.init_used,
            n_epochs_=result.n_epochs,
            recall_=result.recall,
            recipe_=result.recipe,
            seed_=seed,
            stage_seconds_=result.seconds,
            n_features_in_=result.plan.source.columns,
            feature_names_in_=None,
            _training=None,
            _derived=None,
        ).replace_state_of(self)
        return self

    def _reject_unused_parameters(self) -> None:
        """Reject parameters that say something about rows or a graph in memory."""
        defaults = type(self)().get_params(deep=False)
        for name, value in self.get_params(deep=False).items():
            is_array = name == "init" and value is not None and not isinstance(value, str)
            is_array |= name in _NEEDS_MEMORY and getattr(value, "ndim", 0) > 0  # compares to an array
            if is_array or (
                name in _NEEDS_MEMORY and value is not defaults[name] and value != defaults[name]
            ):
                raise ValueError(
                    f"{name}={reprlib.repr(value)} needs all rows in memory, which fit_files does not have: "
                    "leave it out, or use fit"
                )
