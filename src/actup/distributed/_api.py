"""embed(): a map of rows that need not fit into memory, on this machine or on the workers of a cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actup._bytes import format_bytes
from actup._pipeline import OTHER_NAMES, belongs_to_recipe
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._warnings import warn_user
from actup.distributed import _dask, _local, _map
from actup.distributed._disc import explained_full_disc
from actup.distributed._needs import (
    Needs,
    describe_free,
    reject_too_little_disc,
    reject_too_little_memory,
)
from actup.distributed._other_runs import warn_of_other_files
from actup.distributed._plan import Plan
from actup.distributed._planning import check_parameters, make_plan, open_rows, reject_out_in_source
from actup.distributed._refine import measured_recall, record_after, rounds_done
from actup.distributed._scan import (
    accept_unchanged_contents,
    forget_changed_scans,
    forget_finished_run,
    reject_if_changed,
)
from actup.distributed._sinks import Sink, open_sink
from actup.distributed._sources import Source
from actup.distributed._stored import stored_source
from actup.distributed._workers import Workers
from actup.neighbors._tables import available_memory
from actup.progress import Progress, read_progress
from actup.recipe._recipe import Recipe

_logger = logging.getLogger("actup.distributed")


@dataclass(frozen=True)
class FilesEmbedding:
    """A map of rows in files, and how it was made.

    Attributes
    ----------
    embedding : object
        The map, in the order of the rows, in the kind that ``out`` or the source asks for: an array, the path
        of a file or folder, a Dask array or data frame.
    recipe : Recipe
        The recipe as it was run.
    recall : float
        Share of true neighbours found, measured on up to 1,000 rows.
    groups, spill : int
        Groups of rows that were searched, and near cells whose groups each row visited.
    coverage : float
        Share of true neighbours that met in a group.
    extra_rows : float
        Guests of groups per row.
    refinement_rounds : int
        How often rows were compared with the neighbours of their neighbours, because too few true neighbours
        met in a group.
    init_used : str
        Where the points started.
    n_epochs : int
        How many epochs were run.
    backend : str
        Where the layout ran.
    seconds, processor_seconds : dict of str to float
        Wall and processor time of every stage, summed over its tasks.
    peak_bytes : int
        The largest memory of a process that ran a task.
    digests : dict of str to str
        Short names of the bits of "lists", "graph" and "map": equal for equal results.
    plan : Plan

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from actup import distributed
    >>> X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as work:
    ...     result = distributed.embed(X, "umap", work=work)
    >>> result.embedding.shape, result.groups, result.n_epochs
    ((500, 2), 1, 123)
    """

    embedding: Any
    recipe: Recipe
    recall: float
    groups: int
    spill: int
    coverage: float
    extra_rows: float
    refinement_rounds: int
    init_used: str
    n_epochs: int
    backend: str
    seconds: dict[str, float] = field(repr=False)
    processor_seconds: dict[str, float] = field(repr=False)
    peak_bytes: int = field(repr=False)
    digests: dict[str, str] = field(repr=False)
    plan: Plan = field(repr=False)


@explain_unknown_keywords(OTHER_NAMES, belongs_to_recipe)
def embed(
    source: Any,
    recipe: Recipe | str = "umap",
    *,
    work: str | os.PathLike[str],
    client: Any = None,
    out: Any = None,
    seed: int = 0,
    recall: float | None = None,
    memory: int | str | None = None,
    columns: Any = None,
    id_column: str | None = None,
    threads: int | None = None,
    backend: str = "auto",
    progress: Progress | bool | None = None,
) -> FilesEmbedding:
    """Make a map of rows in files, which need not fit into memory.

    All stages but the layout read and write files in ``work``, part by part. The same call again goes on
    where an earlier one was stopped, and gives the same bits: with or without a client, with any number of
    workers and threads.

    Parameters
    ----------
    source : object
        The rows: path or URL of a .npy file, of a parquet file or a folder of them, of a zarr array, or of
        an .h5ad file; a list of such files; a zarr or backed AnnData object; a Dask array or data frame; an
        array. URLs of object stores are read through fsspec.
    recipe : Recipe or str, default="umap"
        What to do. Metrics are "euclidean", "manhattan", "chebyshev", "cosine" and "correlation".
    work : str or path-like
        A folder for intermediate files. With a client, all workers must see it under this path.
    client : distributed.Client, default=None
        Spreads the work over its workers. None: everything runs in this process.
    out : str or path-like, default=None
        Where the map is written: a .npy, .parquet or .zarr path, or a folder of parquet files. None: in
        ``work``, in the kind of the source.
    seed : int, default=0
    recall : float, default=None
        The wanted share of true neighbours. 1.0: all rows are compared with all rows. None: as the recipe
        says, whose default is 0.97.
    memory : int or str, default=None
        Bytes that a process of the run may use, e.g. "5GB": rows are divided into as many groups as that
        needs. None: as much as the layout needs in any case, at least 1 GiB. With a client, each task runs
        on a worker that has the memory for it, and the layout may need more than ``memory``.
    columns : object, default=None
        Which columns are used: names, one name of a column of lists, or "obsm/X_pca" of an AnnData.
    id_column : str, default=None
        A column whose values name the rows of the map. None: rows are numbered.
    threads : int, default=None
        Threads of this process; None and -1: one per core. Workers use the threads they have.
    backend : str, default="auto"
        Where the layout runs: "cpu", "cuda", or "auto": on a GPU if the process or a worker has one.
    progress : Progress or bool, default=None
        True: show a bar. An ``actup.progress.Progress`` can also call a function of yours, which gets no
        points here.

    Returns
    -------
    FilesEmbedding

    Raises
    ------
    ShardError
        If a shard cannot be read, has values that are not finite, or has changed during an unfinished run.
        Mend it and call again.
    MemoryError, OSError
        If memory or disc do not suffice, before any work is done; or if a disc becomes full. Whether the
        copy of a Dask data frame fits is known only when some of its partitions are computed.
    RuntimeError
        If another run is at work in the same folder, or a worker has another version or build of ActUp.

    Warns
    -----
    UserWarning
        If the measured recall stays below ``recall`` by more than the error of the measurement; or if
        ``work`` holds an unfinished run of the same source with other files or numbers of rows; or a
        finished one whose rows have changed, which is removed.

    See Also
    --------
    actup.embed : For rows in memory.
    actup.distributed.make_plan : What a run will take.
    actup.distributed.transform : New rows on the map of a fitted model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from actup import distributed
    >>> X = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as work:
    ...     np.save(f"{work}/X.npy", X)
    ...     result = distributed.embed(f"{work}/X.npy", "umap", work=work, out=f"{work}/map.npy")
    ...     np.load(f"{work}/map.npy").shape
    (1000, 2)
    """
    progress = read_progress(progress)
    n_threads = count_threads(threads, "threads")
    checked = check_parameters(recipe, seed, recall, memory, backend)
    reject_out_in_source(source, out)
    if client is not None:
        Workers(client)  # rejects other versions before blocks of a collection are computed
    rows = stored_source(open_rows(source, columns, id_column, work), work, client, checked)
    reject_other_process(rows, client)
    plan = make_plan(
        rows, recipe, work=work, seed=seed, recall=recall, memory=memory, backend=backend, client=client
    )
    with progress:
        result = run_plan(plan, client, out, n_threads, progress)
    _warn_of_low_recall(result)
    return result


def run_plan(plan: Plan, client: Any, out: Any, threads: int, progress: Progress) -> FilesEmbedding:
    """Do all tasks of a plan that are not done yet, and write the map to ``out``.

    Parameters
    ----------
    plan : Plan
    client : distributed.Client or None
    out : object
        As in ``embed``.
    threads : int
        Of this process, if there is no client.
    progress : Progress
    """
    sink = _sink_of(plan, out)
    workers = None if client is None else Workers(client, asks_for_gpu=plan.backend != "cpu")
    if workers is None:
        _reject_unfit_process(plan)
    else:
        _dask.reject_unfit_workers(plan, workers)
    reject_too_little_disc(plan, sink)
    _logger.info(
        "plan %s: %d rows, %d groups, files in %s", plan.key, plan.rows, plan.groups, plan.folder.path
    )
    with exclusive(plan.folder.path):
        accept_unchanged_contents(plan)
        forget_finished_run(plan)
        plan.folder.reject_damaged_arrays()
        warn_of_other_files(plan)
        forget_changed_scans(plan)
        for shard in range(len(plan.source.shards)):
            reject_if_changed(plan, shard)
        if workers is None:
            records = _local.run_here(plan, threads, progress)
        else:
            workers.reject_without_files(plan.folder.path, plan.source)
            records = _dask.run_on_workers(plan, workers, progress)
        result = _result(plan, records, _delivered(plan, sink, workers))
    _logger.info("plan %s: done, recall %.3f", plan.key, result.recall)
    return result


def reject_run_here(plan: Plan, out: Any) -> None:
    """Raise the error with which a run in this process would be refused before it starts, if there is one."""
    sink = _sink_of(plan, out)
    _reject_unfit_process(plan)
    reject_too_little_disc(plan, sink)


def _sink_of(plan: Plan, out: Any) -> Sink:
    return open_sink(out, plan.source, plan.recipe.n_components, str(plan.folder.path))


def _reject_unfit_process(plan: Plan) -> None:
    _dask.reject_missing_gpu(plan)
    reject_too_little_memory(plan, available_memory())


def describe_room(plan: Plan, out: Any) -> str:
    """The memory and the discs that a run in this process would have, in lines like those of ``explain``."""
    memory, target = available_memory(), _sink_of(plan, out).local_target
    lines = [f"memory of machine    {'unknown' if memory is None else format_bytes(memory)} available"]
    lines.append(f"disc of work         {describe_free(Path(plan.work))}")
    if out is not None and target is not None:
        lines.append(f"disc of out          {describe_free(Path(target))}")
    return "\n".join(lines)


def reject_other_process(source: Source, client: Any) -> None:
    """Reject rows that only this process has, if workers should read them."""
    if client is not None and source.in_process:
        raise ValueError(
            "source is an array in this process, which the workers of client cannot read: save it, e.g. with "
            "np.save, to a file that all of them see, or use client=None"
        )


def _delivered(plan: Plan, sink: Sink, workers: Workers | None) -> Any:
    """Write the map to the sink, shard by shard; returns what the sink makes of it."""
    delivery, shards = _map.Delivery(plan, sink), len(plan.source.shards)
    if workers is None:
        for shard in range(shards):
            _map.deliver(delivery, shard)
    else:
        name, memory = f"actup-deliver-{plan.key}", Needs.of(plan).memory["scan"]
        folder = plan.folder.path
        _dask.run_for_each_shard(workers, folder, _map.deliver, delivery, shards, name, memory, Progress())
    with explained_full_disc(_map.places_written(delivery)):
        return sink.finish()


def _result(plan: Plan, records: dict[str, dict[str, Any]], embedding: Any) -> FilesEmbedding:
    def total(value: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for name, record in records.items():
            stage = name.split("-")[0]
            sums[stage] = sums.get(stage, 0.0) + record[value]
        return sums

    def joined(parts: list[dict[str, Any]]) -> str:
        return "".join(record["digest"] for record in parts)

    decided, layout, rounds = records["choose"], records["layout"], rounds_done(plan)
    lists = [records[record_after(rounds, group)] for group in range(plan.groups)]
    graph = [records[f"symmetric-{group}"] for group in range(plan.groups)]
    return FilesEmbedding(
        embedding=embedding,
        recipe=plan.recipe,
        recall=measured_recall(lists),
        groups=plan.groups,
        spill=decided["spill"],
        coverage=decided["coverage"][-1],
        extra_rows=decided["extra_rows"],
        refinement_rounds=rounds,
        init_used=layout["init"],
        n_epochs=layout["epochs"],
        backend=layout["backend"],
        seconds=total("seconds"),
        processor_seconds=total("processor_seconds"),
        peak_bytes=max(record["peak_bytes"] for record in records.values()),
        digests={"lists": joined(lists), "graph": joined(graph), "map": layout["digest"]},
        plan=plan,
    )


_RECALL_TOLERANCE = 0.01  # about two standard errors of a recall measured on 1,000 rows


def _warn_of_low_recall(result: FilesEmbedding) -> None:
    recall = result.plan.recall
    if result.recall < recall - _RECALL_TOLERANCE:
        warn_user(
            f"about {result.recall:.1%} of the nearest neighbours were found, {recall:.1%} were wanted: the "
            f"rows are hard to divide into groups (only {result.coverage:.1%} of neighbours meet in one): a "
            "larger memory= makes fewer groups, recall=1.0 compares all rows"
        )


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keep two runs from working on the same files at the same time; the lock ends with its process."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two runs apart
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(
                f"another run is at work in {folder}: wait for it, or choose another work folder"
            ) from None
        yield
