"""What tests of sources and sinks share: read a source and write a map, both through pickling."""

import os
import pickle

import numpy as np

X = np.random.default_rng(0).normal(size=(1000, 6)).astype(np.float32)
MAP = np.random.default_rng(1).normal(size=(1000, 2)).astype(np.float32)


def rows_of(source, rows_per_chunk=64):
    """All rows of a source that went through pickling, after checks of every chunk."""
    source = pickle.loads(pickle.dumps(source))
    shards = []
    for shard, described in enumerate(source.shards):
        chunks = list(source.read(shard, rows_per_chunk))
        for chunk in chunks:
            assert chunk.dtype == source.dtype
            assert chunk.flags.c_contiguous
            assert 0 < len(chunk) <= rows_per_chunk
            assert chunk.shape[1] == source.columns
        shards.append(np.concatenate(chunks))
        assert len(shards[-1]) == described.rows
    assert source.rows == sum(map(len, shards))
    return np.concatenate(shards)


def ids_of(source):
    """All ids of a source, as a list."""
    return np.concatenate([source.ids(shard) for shard in range(len(source.shards))]).tolist()


def write_all(sink, source, order=None, embedding=MAP):
    """Write all shards in some order, each from a copy of the sink that went through pickling."""
    ends = np.cumsum([shard.rows for shard in source.shards])
    for shard in order or range(len(ends)):
        begin, end = ends[shard] - source.shards[shard].rows, ends[shard]
        pickle.loads(pickle.dumps(sink)).write(shard, embedding[begin:end], source.ids(shard))


def touch_later(path):
    """Have a file look as if it had been written a second later."""
    status = os.stat(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
