"""stored_source(): collections of Dask are written to files once, by the workers that compute them.

A run reads its rows several times, and a collection would be computed anew each time.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from actup.distributed._disc import explained_full_disc
from actup.distributed._sources import DaskSource, ShardError, Source


def stored_source(source: Source | DaskSource, work: str | os.PathLike[str], client: Any) -> Source:
    """The source itself, or the files that the blocks of a collection of Dask are written to.

    Blocks that an earlier call has written are not computed again.

    Parameters
    ----------
    source : Source or DaskSource
    work : str or path-like
    client : distributed.Client or None
        None: blocks are computed here, one at a time.
    """
    if not isinstance(source, DaskSource):
        return source
    name = hashlib.sha256(source.identity().encode()).hexdigest()[:16]
    folder = Path(work).absolute() / f"actup-blocks-{name}"
    with explained_full_disc(f"work={os.fspath(work)!r}"):
        _store_blocks(source, folder, client)
    try:
        return source.stored(str(folder))
    except ShardError:  # blocks do not fit together, and nobody knows which of them will be mended
        for path in folder.glob("block-*.npy"):
            path.unlink()
        raise


def _store_blocks(source: DaskSource, folder: Path, client: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    missing = [
        (block, path)
        for number, block in enumerate(source.blocks())
        if not os.path.exists(path := source.block_path(str(folder), number))
    ]
    if client is None:
        for block, path in missing:
            source.store_block(block.compute(scheduler="threads"), path)
    else:
        import dask

        stored = [dask.delayed(source.store_block)(block, path) for block, path in missing]
        client.gather(client.compute(stored))
