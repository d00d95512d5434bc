"""stored_source(): collections of Dask are written to files once, by the workers that compute them.

A run reads its rows several times, and a collection would be computed anew each time.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from actup.distributed._disc import explained_full_disc
from actup.distributed._estimate import Shape, disc_bytes
from actup.distributed._needs import existing_parent, reject_full
from actup.distributed._sources import DaskSource, ShardError, Source
from actup.recipe._recipe import Recipe


def stored_source(
    source: Source | DaskSource, work: str | os.PathLike[str], client: Any, recipe: Recipe | None = None
) -> Source:
    """The source itself, or the files that the blocks of a collection of Dask are written to.

    Blocks that an earlier call has written are not computed again. A disc that is too small for them is
    rejected before they are computed, or as soon as enough of them are stored if their sizes are not known.

    Parameters
    ----------
    source : Source or DaskSource
    work : str or path-like
    client : distributed.Client or None
        None: blocks are computed here, one at a time.
    recipe : Recipe or None
        Of the map that will be made in ``work``, whose files need room too; None: no map.
    """
    if not isinstance(source, DaskSource):
        return source
    name = hashlib.sha256(source.identity().encode()).hexdigest()[:16]
    folder = Path(work).absolute() / f"actup-blocks-{name}"
    _store_blocks(source, folder, f"work={os.fspath(work)!r}", client, recipe)
    try:
        return source.stored(str(folder))
    except ShardError:  # blocks do not fit together, and nobody knows which of them will be mended
        for path in folder.glob("block-*.npy"):
            path.unlink()
        raise


def _store_blocks(source: DaskSource, folder: Path, where: str, client: Any, recipe: Recipe | None) -> None:
    """Store the blocks that are missing; ``where`` is what errors call the folder that has them."""
    paths = [source.block_path(str(folder), number) for number in range(source.n_blocks)]
    missing = [number for number, path in enumerate(paths) if not os.path.exists(path)]
    if not missing:
        return
    needed = _known_bytes(source, missing, recipe)
    if needed is not None:
        reject_full(f"{where}, with a copy of source,", existing_parent(folder), needed)
    blocks = source.blocks()
    tasks = [(blocks[number], paths[number]) for number in missing]
    smallest = sys.maxsize
    with closing(_stored_one_by_one(source, tasks, where, client)) as stored:
        for done, size in enumerate(stored, start=1):
            if needed is None:  # the others will hardly all be smaller than the smallest one so far
                smallest = min(smallest, size)
                what = f"{where}, which has {done} of {len(tasks)} blocks of source so far,"
                reject_full(what, folder, smallest * (len(tasks) - done), how_sure="about")


def _known_bytes(source: DaskSource, missing: list[int], recipe: Recipe | None) -> int | None:
    """Bytes of a copy of blocks, and of the files of a run that reads it; None if nobody knows yet."""
    if source.rows is None or source.columns is None or source.dtype is None:
        return None
    copy = source.bytes_of_blocks(missing)
    if recipe is None:
        return copy
    shape = Shape.of_rows(source.rows, source.columns, source.dtype, recipe)
    return copy + disc_bytes(shape, recipe.n_components)


def _stored_one_by_one(
    source: DaskSource, tasks: list[tuple[Any, str]], where: str, client: Any
) -> Generator[int, None, None]:
    """Have blocks stored, here or by workers; yields the bytes of each one when it is written."""
    stored = _stored_here(source, tasks) if client is None else _stored_by_workers(source, tasks, client)
    with explained_full_disc(where), closing(stored):
        Path(tasks[0][1]).parent.mkdir(parents=True, exist_ok=True)
        yield from stored


def _stored_here(source: DaskSource, tasks: list[tuple[Any, str]]) -> Generator[int, None, None]:
    for block, path in tasks:
        yield source.store_block(block.compute(scheduler="threads"), path)


def _stored_by_workers(
    source: DaskSource, tasks: list[tuple[Any, str]], client: Any
) -> Generator[int, None, None]:
    import dask

    from distributed import as_completed

    futures = client.compute([dask.delayed(source.store_block)(block, path) for block, path in tasks])
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:  # also if one of them fails, or the disc is too small for the others
        client.cancel(futures)
