"""make_plan(): reads what the caller wants, decides the sizes, and rejects what cannot work."""

from __future__ import annotations

import os
from dataclasses import replace
from numbers import Integral
from typing import Any

from actup._bytes import format_bytes, read_bytes
from actup._errors import WrongType
from actup._output_path import read_path
from actup._pipeline import adapt_to_size
from actup.backends import check_backend
from actup.backends._memory._shape import BASE_BYTES
from actup.distributed import _estimate
from actup.distributed._estimate import Shape
from actup.distributed._needs import Needs
from actup.distributed._plan import Plan
from actup.distributed._sources import DaskSource, Source, open_source
from actup.distributed._sources._storage import as_location, file_name, is_below, is_folder, is_remote
from actup.neighbors._metrics import METRICS, canonical_metric, metrics_where
from actup.recipe._output_metrics import EUCLIDEAN
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Update

_MIN_MEMORY = 2**30  # what a run may use in any case, if the caller does not say
_MAX_ROWS = 2**31 - 1  # ids have 32 bits
_SHARD_ROWS = 2**18  # rows of a large file that one task reads


def make_plan(
    source: Any,
    recipe: Recipe | str = "umap",
    *,
    work: str | os.PathLike[str],
    seed: int = 0,
    recall: float | None = None,
    memory: int | str | None = None,
    columns: Any = None,
    id_column: str | None = None,
    backend: str = "auto",
    client: Any = None,
) -> Plan:
    """Plan a run over files without starting it: ``plan.explain()`` says what it takes.

    Parameters
    ----------
    source, recipe, work, seed, recall, memory, columns, id_column, backend
        As in ``actup.distributed.embed``.
    client : distributed.Client, default=None
        If given, the layout may need more than ``memory``: it runs on a worker that has as much as it needs.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If a parameter cannot be used, or the layout needs more memory than ``memory``.

    See Also
    --------
    actup.distributed.embed : Runs it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from actup.distributed import make_plan
    >>> X = np.random.default_rng(0).normal(size=(5000, 20)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as work:
    ...     print(make_plan(X, "umap", work=work, memory="2 GB").explain())  # doctest: +ELLIPSIS
    5,000 rows x 20 columns (float32) in 1 shard, 14 neighbours per row
    ...
    """
    recipe = check_parameters(recipe, seed, recall, memory, backend)
    opened = source if isinstance(source, Source) else open_rows(source, columns, id_column, work)
    if isinstance(opened, DaskSource):
        raise TypeError(
            "source is a collection of dask, whose rows are counted when they are computed: save it, e.g. "
            "with to_parquet or to_zarr, to plan a run, or call actup.distributed.embed"
        )
    recipe = adapt_to_size(recipe, _check_rows(opened))
    shape = Shape.of(opened, recipe)
    limit = _memory_limit(memory, shape, is_spread=client is not None)
    budget = limit - BASE_BYTES
    plan = Plan(
        source=opened,
        recipe=recipe,
        work=as_location(work),
        groups=_estimate.groups_for(shape, budget),
        block_rows=_estimate.block_rows_for(shape, budget),
        memory=limit,
        seed=int(seed),
        backend=backend,
    )
    return _fitted_into_memory(plan)


def _fitted_into_memory(plan: Plan) -> Plan:
    """The plan with as many groups as its memory needs; a plan that more groups do not help is rejected.

    What the layout needs does not depend on groups, and has been compared with the memory before.
    """
    while True:
        needs = {stage: size for stage, size in Needs.of(plan).memory.items() if stage != "layout"}
        stage = max(needs, key=lambda name: needs[name])
        if needs[stage] <= plan.memory:
            return plan
        if stage not in ("truth", "search", "refine", "graph") or plan.groups >= plan.rows:
            raise ValueError(
                f"memory={format_bytes(plan.memory)} is too little: stage {stage!r} needs "
                f"{format_bytes(needs[stage])}: give that much, or reduce the columns first"
            )
        plan = replace(plan, groups=min(plan.rows, plan.groups + max(1, plan.groups // 4)))


def check_parameters(
    recipe: Recipe | str, seed: int, recall: float | None, memory: int | str | None, backend: str
) -> Recipe:
    """Reject parameters that cannot be used, whatever the source; returns the recipe with the recall."""
    recipe = _read_recipe(recipe)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed!r} must be an integer from 0 to 2**64 - 1")
    if recall is not None:
        recipe = recipe.but(recall=recall)
    check_backend(backend)  # not whether it is there: a worker may have the GPU that this process lacks
    if memory is not None:
        read_bytes(memory, "memory")
    return recipe


def open_rows(
    source: Any, columns: Any, id_column: str | None, work: str | os.PathLike[str]
) -> Source | DaskSource:
    """The source in shards of a size that one task can read."""
    if not isinstance(work, str | os.PathLike):
        raise WrongType(f"work={work!r} must be the path of a folder for intermediate files")
    read_path(work, "work")
    if is_remote(as_location(work)):
        raise ValueError(
            f"work={os.fspath(work)!r} is a URL: give a folder of a file system that all workers share"
        )
    if os.path.isfile(work):
        raise NotADirectoryError(f"work={os.fspath(work)!r} is a file: give a folder for intermediate files")
    return open_source(source, columns, id_column=id_column, shard_rows=_SHARD_ROWS, work=as_location(work))


def reject_out_in_source(source: Any, out: Any) -> None:
    """Reject a map in the folder that is the source: a later call would read it as rows."""
    if not isinstance(source, str | os.PathLike) or not isinstance(out, str | os.PathLike):
        return
    folder, target = as_location(source), as_location(out)
    is_parquet = target.endswith(".parquet") or "." not in file_name(target) or is_folder(target)
    if is_parquet and is_folder(folder) and is_below(target, folder):
        raise ValueError(
            f"out={os.fspath(out)!r} lies in the source {os.fspath(source)!r}, of which it would be a part "
            "when it is read next: give a path outside of it"
        )


def _read_recipe(recipe: Recipe | str) -> Recipe:
    recipe = preset(recipe) if isinstance(recipe, str) else recipe
    if not isinstance(recipe, Recipe):
        raise WrongType(f"recipe={recipe!r} must be a Recipe or the name of a preset")
    metric = canonical_metric(recipe.metric)
    allowed = [name for name in metrics_where(landmarks=True) if METRICS[name].name != "inner_product"]
    if metric not in allowed:
        raise ValueError(
            f"metric={recipe.metric!r} cannot be searched in parts: use one of "
            f"{', '.join(map(repr, allowed))}, or actup.embed, which holds all rows in memory"
        )
    for switch, value, is_possible in (
        ("density_weight", recipe.density_weight, recipe.density_weight == 0),
        ("output_metric", recipe.output_metric, recipe.output_metric == EUCLIDEAN),
        ("update", recipe.update, recipe.update is not Update.IN_PLACE),
    ):
        if not is_possible:
            raise ValueError(
                f"{switch}={str(value)!r} needs the whole graph in memory: use a recipe without it, e.g. "
                "actup.preset('umap'), or actup.embed"
            )
    return recipe.but(metric=metric)


def _check_rows(source: Source) -> int:
    if source.rows < 2:
        raise ValueError(f"the source has {source.rows} rows: a map needs at least 2")
    if source.rows > _MAX_ROWS:
        raise ValueError(
            f"the source has {source.rows:,} rows, more than the {_MAX_ROWS:,} that 32-bit ids allow"
        )
    return source.rows


def _memory_limit(memory: int | str | None, shape: Shape, is_spread: bool) -> int:
    """How many bytes a process of the run may use; in a run on workers, all but the one with the layout."""
    needed = _estimate.layout_bytes(shape) + BASE_BYTES
    if memory is None:
        return max(_MIN_MEMORY, needed)
    limit = read_bytes(memory, "memory")
    smallest = 2 * BASE_BYTES
    if limit < needed and needed > smallest and not is_spread:
        raise ValueError(
            f"memory={memory!r} is too little: the layout of {shape.rows:,} points needs "
            f"{format_bytes(needed)}: give that much, or a sample of the rows"
        )
    if limit < smallest:
        raise ValueError(
            f"memory={memory!r} is too little: Python with ActUp and some rows at a time need "
            f"{format_bytes(smallest)}, however few rows there are: give that much"
        )
    return limit
