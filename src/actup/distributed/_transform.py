"""transform(): new rows in files on the map of a fitted model, shard by shard."""

from __future__ import annotations

import copy
import hashlib
import os
import reprlib
import secrets
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import actup
from actup._errors import WrongType
from actup._output_path import read_path
from actup._threads import count_threads
from actup.distributed import _dask
from actup.distributed._api import exclusive, reject_other_process
from actup.distributed._disc import explained_full_disc
from actup.distributed._folder import WorkFolder
from actup.distributed._planning import open_rows, reject_out_in_source
from actup.distributed._scan import Content, discarded_copy_of_bad_shard
from actup.distributed._sinks import Sink, open_sink
from actup.distributed._sources import ShardError, Source
from actup.distributed._sources._storage import as_location
from actup.distributed._stored import stored_source
from actup.distributed._tasks import reject_other_version
from actup.distributed._workers import Workers
from actup.estimators._aligned import AlignedUMAP
from actup.estimators._base import Embedder
from actup.progress import Progress, read_progress

_CHUNK_BYTES = 2**26  # of rows that are placed at a time
_MODEL_BYTES_HASHED = 2**20  # read at a time


@dataclass(frozen=True)
class Placing:
    """What a worker needs to place the rows of a shard."""

    model_path: str
    model_digest: str
    source: Source
    sink: Sink
    folder: WorkFolder
    version: str  # of ActUp in the client


def transform(
    model: Any,
    source: Any,
    *,
    work: str | os.PathLike[str],
    client: Any = None,
    out: Any = None,
    columns: Any = None,
    id_column: str | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Any:
    """Place rows in files on the map of a fitted model.

    Every row gets the place that ``model.transform`` gives it: it depends on that row alone, not on shards,
    workers or threads. The same call again goes on where an earlier one was stopped: it reads all rows again,
    and places those of shards that have changed or have no places yet.

    Parameters
    ----------
    model : UMAP, TSNE or GDR, or path of a saved model
        Fitted, e.g. to a sample of the rows.
    source : object
        The new rows, as in ``actup.distributed.embed``.
    work : str or path-like
        A folder for the saved model and intermediate files, which all workers see.
    client : distributed.Client, default=None
        Spreads the shards over its workers. None: they are placed in this process.
    out, columns, id_column
        As in ``actup.distributed.embed``.
    threads : int, default=None
        Threads of this process; None and -1: one per core. Workers use the threads they have.
    progress : Progress or bool, default=None
        Shows how far it is, as stage "layout".

    Returns
    -------
    object
        The places in the order of the rows, in the kind that ``out`` or the source asks for.

    See Also
    --------
    actup.distributed.embed : A map of all rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import actup
    >>> X = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
    >>> model = actup.UMAP(random_state=0, n_epochs=50).fit(X[:500])
    >>> with tempfile.TemporaryDirectory() as work:
    ...     places = actup.distributed.transform(model, X[500:], work=work)
    >>> np.array_equal(places, model.transform(X[500:]))
    True
    """
    progress = read_progress(progress)
    n_threads = count_threads(threads, "threads")
    reject_out_in_source(source, out)
    workers = None if client is None else Workers(client)
    rows = stored_source(open_rows(source, columns, id_column, work), work, client)
    reject_other_process(rows, client)
    work = as_location(work)
    Path(work).mkdir(parents=True, exist_ok=True)
    model_path = _saved(model, Path(work))
    digest = _digest_of_file(model_path)
    fitted = _load(str(model_path), digest)
    _reject_other_columns(fitted, rows)
    key = hashlib.sha256(f"{actup.__version__} {digest} {rows.identity()}".encode()).hexdigest()[:16]
    folder = WorkFolder(Path(work) / f"actup-transform-{key}")
    sink = open_sink(out, rows, fitted.embedding_.shape[1], str(folder.path))
    placing = Placing(str(model_path), digest, rows, sink, folder, actup.__version__)
    with exclusive(folder.path):
        folder.reject_damaged_arrays()
        shards = range(len(rows.shards))
        if workers is None:
            for shard in shards:
                place_shard(placing, shard, n_threads)
                progress.report("layout", (shard + 1) / len(shards))
        else:
            workers.reject_without_files(folder.path, rows)
            name = f"actup-transform-{key}"
            count, place = len(shards), _place_on_worker
            _dask.run_for_each_shard(workers, folder.path, place, placing, count, name, 0, progress)
        with explained_full_disc(f"work={work!r} or out={sink.local_target!r}"):
            return sink.finish()


def _saved(model: Any, work: Path) -> Path:
    """The path of the model in a file that is named after its content."""
    if isinstance(model, (str, os.PathLike)):
        return Path(read_path(model, "model")).absolute()
    if not isinstance(model, Embedder | AlignedUMAP):  # which says how to save its models
        shown = reprlib.repr(model)
        raise WrongType(f"model={shown} must be a fitted estimator of ActUp, or the path of a saved one")
    path = work / f".model-{secrets.token_hex(8)}.actup"
    try:
        model.save(path)
        named = work / f"model-{_digest_of_file(path)}.actup"
        path.replace(named)
    finally:
        path.unlink(missing_ok=True)
    return named.absolute()


def _digest_of_file(path: Path) -> str:
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_MODEL_BYTES_HASHED):
            total.update(piece)
    return total.hexdigest()[:16]


@lru_cache(maxsize=1)
def _load(path: str, digest: str) -> Any:
    """The model of a file of a digest, which a worker loads once."""
    return actup.load(path)


def _reject_other_columns(model: Any, rows: Source) -> None:
    """Reject rows of other columns than those of the fit, or in another order."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None and rows.column_names is not None and rows.column_names != tuple(wanted):
        names = ", ".join(map(str, rows.column_names[:3])) + (", …" if len(rows.column_names) > 3 else "")
        raise ValueError(
            f"the source has the columns {names}, not those that the model was fitted to, or in another "
            "order: give columns=list(model.feature_names_in_)"
        )
    if model.n_features_in_ != rows.columns:
        raise ValueError(
            f"the source has {rows.columns} columns, but the model was fitted to {model.n_features_in_}: "
            "choose the same columns with columns="
        )


def _place_on_worker(placing: Placing, shard: int) -> None:
    place_shard(placing, shard, _dask.worker_threads())


def place_shard(placing: Placing, shard: int, threads: int) -> None:
    """Write the places of a shard's rows; those that an earlier call has computed are kept in the folder."""
    reject_other_version(placing.version)
    with explained_full_disc(f"the folder {placing.folder.path} or out={placing.sink.local_target!r}"):
        _write_places(placing, shard, threads)


def _write_places(placing: Placing, shard: int, threads: int) -> None:
    source, folder, name = placing.source, placing.folder, f"place-{shard}"
    record = folder.record(name)
    with discarded_copy_of_bad_shard(source, shard):
        if record is None or record.get("content") != _content_of(source, shard):
            folder.forget(name)  # before its places are replaced: an earlier file may come back
            places, content = _places(placing, shard, threads)
            folder.write(f"places/{shard}", places)
            folder.write_record(name, {"content": content})
    placing.sink.write(shard, folder.read(f"places/{shard}"), source.ids(shard))


def _content_of(source: Source, shard: int) -> str:
    """The digest of a shard's rows; the time of a file does not tell whether it has others."""
    content = Content(source)
    for chunk in source.read(shard, _chunk_rows(source)):
        content.add(chunk)
    return content.digest()


def _places(placing: Placing, shard: int, threads: int) -> tuple[np.ndarray, str]:
    """The places of a shard's rows, in order, and the digest of these rows."""
    model = copy.copy(_load(placing.model_path, placing.model_digest))
    model.set_params(n_jobs=threads)
    vars(model).pop("feature_names_in_", None)  # chunks have no names; those of the source were compared
    places, begin, content = [], 0, Content(placing.source)
    for chunk in placing.source.read(shard, _chunk_rows(placing.source)):
        content.add(chunk)
        try:
            places.append(np.asarray(model.transform(chunk), np.float32))
        except ValueError as error:
            name = placing.source.shards[shard].name
            raise ShardError(name, f"in the part from row {begin:,} on, {error}") from error
        begin += len(chunk)
    return np.concatenate(places), content.digest()


def _chunk_rows(source: Source) -> int:
    """Rows that are read at a time."""
    return max(1, _CHUNK_BYTES // max(1, source.columns * 8))
