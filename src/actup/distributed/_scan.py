"""The stage "scan": reads every shard once, checks its values and takes a sample of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from actup._engine import engine
from actup._warnings import warn_user
from actup.distributed._plan import Plan
from actup.distributed._sources import ShardError, Source
from actup.distributed._sources._base import reason
from actup.distributed._sources._parquet import require_pyarrow
from actup.neighbors._finite_values import first_nonfinite
from actup.neighbors._row_transforms import CENTER_ROWS

_CHUNK_BYTES = 2**25  # of rows that are read at a time
_FLOAT32_MAX = float(np.finfo(np.float32).max)
# Evenly spaced rows by which a search in memory shifts and orders columns.
_SPACED_SAMPLES = {"center": CENTER_ROWS, "column_order": engine.COLUMN_ORDER_ROWS}


def chunk_rows(plan: Plan) -> int:
    """Rows that are read at a time."""
    return max(1, min(plan.block_rows, _CHUNK_BYTES // max(1, plan.source.columns * 8)))


def read_blocks(plan: Plan, shard: int) -> Iterator[tuple[int, np.ndarray]]:
    """The blocks of a shard, with their numbers, as the source gives the rows."""
    numbers = plan.blocks_of(shard)
    kept: list[np.ndarray] = []
    for chunk in plan.source.read(shard, chunk_rows(plan)):
        kept.append(chunk)
        while numbers and sum(map(len, kept)) >= plan.blocks[numbers[0]].rows:
            rows = plan.blocks[numbers[0]].rows
            together = np.concatenate(kept) if len(kept) > 1 else kept[0]
            yield numbers.pop(0), together[:rows]
            kept = [together[rows:]]
    _reject_other_length(plan, shard, missing=len(numbers) > 0, extra=sum(map(len, kept)))


def _reject_other_length(plan: Plan, shard: int, missing: bool, extra: int) -> None:
    if missing or extra:
        name, rows = plan.source.shards[shard].name, plan.source.shards[shard].rows
        raise ShardError(
            name,
            f"it has {'more' if extra else 'fewer'} rows than the {rows} it had when the run was planned: "
            "let nothing write to it during a run, and call again",
        )


def sample_sizes(plan: Plan) -> np.ndarray:
    """How many rows of every shard belong to the sample."""
    bounds = plan.first_row_of_shard * plan.sample_rows // plan.rows
    return np.diff(bounds)


def scan(plan: Plan, shard: int, threads: int) -> dict[str, Any]:
    """Check the values of a shard, and save samples of its rows.

    A shard that is broken, or changes later, is found before any other work is done.
    """
    with discarded_copy_of_bad_shard(plan.source, shard):
        return _scan(plan, shard)


@contextmanager
def discarded_copy_of_bad_shard(source: Source, shard: int) -> Iterator[None]:
    """Have a shard that cannot be used read again by the next call, also if the source has a copy of it."""
    try:
        yield
    except ShardError:
        source.discard_copy(shard)
        raise


def _scan(plan: Plan, shard: int) -> dict[str, Any]:
    fingerprint = fingerprint_of(plan, shard)
    check_ids(plan.source, shard)
    rows = plan.source.shards[shard].rows
    chosen = _sampled_rows(plan, shard)
    samples = {
        name: np.empty((len(at), plan.source.columns), plan.source.dtype) for name, at in chosen.items()
    }
    begin, content = 0, Content(plan.source, plan.source.ids(shard))
    for chunk in plan.source.read(shard, chunk_rows(plan)):
        content.add(chunk)
        check_values(plan, shard, begin, chunk)
        for name, at in chosen.items():
            first, last = np.searchsorted(at, [begin, begin + len(chunk)])
            samples[name][first:last] = chunk[at[first:last] - begin]
        begin += len(chunk)
    _reject_other_length(plan, shard, missing=begin < rows, extra=max(0, begin - rows))
    for name, sample in samples.items():
        plan.folder.write(f"sample/{name}.{shard}", sample)
    return {"fingerprint": fingerprint, "content": content.digest()}


class Content:
    """A digest of the rows of a shard, and of their ids: a file written anew may have the same ones."""

    def __init__(self, source: Source, ids: np.ndarray | None = None):
        self._hash = hashlib.blake2b(f"{source.dtype} {source.columns}".encode(), digest_size=16)
        if ids is not None:
            self._hash.update("\n".join(map(repr, ids.tolist())).encode("utf-8", "surrogatepass"))

    def add(self, rows: np.ndarray) -> None:
        """Add the next rows, which are C-contiguous."""
        self._hash.update(rows.reshape(-1).view(np.uint8).data)

    def digest(self) -> str:
        return self._hash.hexdigest()


def _sampled_rows(plan: Plan, shard: int) -> dict[str, np.ndarray]:
    """The rows of a shard in each sample: random ones for cells and truth, and evenly spaced ones."""
    rows, first = plan.source.shards[shard].rows, int(plan.first_row_of_shard[shard])
    count = int(sample_sizes(plan)[shard])
    random = np.random.default_rng([plan.seed, 11, shard])
    chosen = {"cells": np.sort(random.choice(rows, count, replace=False))}
    for name, wanted in _SPACED_SAMPLES.items():
        step = max(1, plan.rows // wanted)
        chosen[name] = np.arange(-first % step, rows, step)
    begin, end = np.searchsorted(plan.truth_rows, [first, first + rows])
    chosen["truth"] = plan.truth_rows[begin:end] - first
    return chosen


def read_sample(plan: Plan, name: str) -> np.ndarray:
    """A sample of all rows, in their order."""
    shards = range(len(plan.source.shards))
    return np.concatenate([plan.folder.read(f"sample/{name}.{shard}") for shard in shards])


def check_values(plan: Plan, shard: int, first_row: int, rows: np.ndarray) -> None:
    """Reject values that are missing, infinite or too large for float32; names the shard and its row."""
    name = plan.source.shards[shard].name
    found = first_nonfinite(rows)
    if found is not None:
        row, column, value = found
        kind = "NaN" if np.isnan(value) else "infinity"
        raise ShardError(
            name,
            f"it contains {kind} in row {first_row + row}, column {column}: fill it, and the same call "
            "goes on where it was; or drop its row, which makes it another source and another run",
        )
    if rows.dtype == np.float64 and rows.size and np.abs(rows).max() > _FLOAT32_MAX:
        raise ShardError(
            name,
            f"it has a value too large for float32, {np.abs(rows).max():.3g}, in the part from row "
            f"{first_row:,} on: divide all rows by their largest value",
        )


def check_ids(source: Source, shard: int) -> None:
    """Reject values of the id column that are missing, or that one column of a table cannot hold."""
    ids = source.ids(shard)
    if ids is None:
        return
    pa = require_pyarrow("writing ids of rows")
    name = source.shards[shard].name
    try:
        missing = pa.array(ids, from_pandas=True).null_count
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ShardError(
            name, f"its ids are not of one type ({reason(error)}): convert all of them to text or to numbers"
        ) from error
    if missing:
        raise ShardError(name, f"{missing} of its rows have no id: fill the gaps, or leave id_column out")


def fingerprint_of(plan: Plan, shard: int) -> str:
    """The fingerprint of a shard; names the shard if its file has gone since the run was planned."""
    try:
        return plan.source.fingerprint(shard)
    except OSError as error:
        raise ShardError(
            plan.source.shards[shard].name,
            f"cannot be read ({reason(error)}), but could when the run was planned: put it back, and the "
            "same call goes on where it was",
        ) from error


def accept_unchanged_contents(plan: Plan) -> None:
    """Read shards again whose files are others than when they were scanned; note those with the same rows."""
    for shard in range(len(plan.source.shards)):
        if not _has_changed(plan, shard):
            continue
        fingerprint = fingerprint_of(plan, shard)
        record = plan.folder.require_record(f"scan-{shard}")
        with discarded_copy_of_bad_shard(plan.source, shard):
            content = Content(plan.source, plan.source.ids(shard))
            for chunk in plan.source.read(shard, chunk_rows(plan)):
                content.add(chunk)
        if content.digest() == record.get("content"):
            plan.folder.write_record(f"scan-{shard}", {**record, "fingerprint": fingerprint})


def forget_finished_run(plan: Plan) -> None:
    """Have the run begin anew if a shard has changed since an earlier call has made the map."""
    if plan.folder.record("layout") is None:
        return
    changed = next((shard for shard in range(len(plan.source.shards)) if _has_changed(plan, shard)), None)
    if changed is not None:
        warn_user(
            f"{plan.source.shards[changed].name} has changed since the map in {plan.folder.path} was made: "
            "that map is removed, and all is computed again"
        )
        plan.folder.clear()


def forget_changed_scans(plan: Plan) -> None:
    """Have shards scanned again that have changed since then, as long as nothing was computed from them."""
    if plan.folder.record("cells") is not None:
        return
    for shard in range(len(plan.source.shards)):
        if _has_changed(plan, shard):
            plan.folder.forget(f"scan-{shard}")


def reject_if_changed(plan: Plan, shard: int) -> None:
    """Reject a shard that has changed since it was scanned, by this call or an earlier one."""
    if _has_changed(plan, shard):
        name = plan.source.shards[shard].name
        raise ShardError(
            name,
            "it has changed since this run has read it first: put the former one back, or remove "
            f"{plan.folder.path} to begin anew",
        )


def _has_changed(plan: Plan, shard: int) -> bool:
    record = plan.folder.record(f"scan-{shard}")
    return record is not None and record["fingerprint"] != fingerprint_of(plan, shard)
