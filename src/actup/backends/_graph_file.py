"""A graph in a temporary file: made range by range of its rows, so that it is never in memory as a whole."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from actup._engine import engine
from actup.backends._memory._shape import GRAPH_FILE_PARTS
from actup.graph._memberships import engine_affinity
from actup.graph._records import Graph, GraphParts, Neighbors
from actup.recipe._recipe import Recipe

_FOLDER_VARIABLES = ("TMPDIR", "TEMP", "TMP")  # as tempfile reads them
_USUAL_FOLDERS = (  # where tempfile looks if the environment names none that it can use
    ("/tmp", "/var/tmp", "/usr/tmp")
    if os.name != "nt"
    else (os.path.expanduser(r"~\AppData\Local\Temp"), os.path.expandvars(r"%SYSTEMROOT%\Temp"))
)
_CHUNK_EDGES = 2**20  # of lists that are searched at a time for edges that end in a range


class GraphFile:
    """The graph of lists of neighbours, in a file that disappears when nobody uses it any more.

    It has the same bits as a graph that is made in memory. The file lies in the folder for temporary files,
    which should be on a disc: the one that the program has set (``tempfile.tempdir``), else the one that the
    environment names, else that of ``tempfile.gettempdir()``.

    Parameters
    ----------
    neighbors : Neighbors
    recipe : Recipe
    threads : int
    """

    def __init__(self, neighbors: Neighbors, recipe: Recipe, threads: int):
        self._n = len(neighbors)
        parts = GRAPH_FILE_PARTS
        self._starts = [self._n * part // parts for part in range(parts + 1)]
        self._offsets = np.zeros(self._n + 1, np.int64)
        with _explained_in_folder() as folder:
            self._indices, self._weights = self._open(folder), self._open(folder)
            self._write(neighbors, recipe, threads)

    def _open(self, folder: str) -> IO[bytes]:
        # Without a buffer, which would be written once more when a file on a full disc is closed.
        file: IO[bytes] = tempfile.TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115 - open as long as it is used
        weakref.finalize(self, file.close)
        return file

    def _write(self, neighbors: Neighbors, recipe: Recipe, threads: int) -> None:
        ids = neighbors.indices
        own = _affinities(neighbors, recipe, threads)
        for begin, end in zip(self._starts, self._starts[1:], strict=False):
            offsets, indices, weights = engine.symmetric_rows(
                begin,
                ids[begin:end],
                own[begin:end],
                *_edges_into(ids, own, begin, end),
                engine.Symmetrization[recipe.symmetrization.value],
                recipe.union_share(),
                threads,
            )
            self._offsets[begin + 1 : end + 1] = offsets[1:] + self._offsets[begin]
            _write_values(self._indices, indices)
            _write_values(self._weights, weights)

    def mapped(self) -> Graph:
        """The graph with ids and weights that stay in the file until they are read."""
        return Graph(self._offsets, self._map(self._indices, np.int32), self._map(self._weights, np.float32))

    def parts(self) -> GraphParts:
        """The graph, read part by part."""
        return GraphParts(self._n, int(self._offsets[-1]), self._read)

    def _read(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for begin, end in zip(self._starts, self._starts[1:], strict=False):
            first, last = self._offsets[begin], self._offsets[end]
            yield (
                self._offsets[begin : end + 1] - first,
                _read_values(self._indices, np.int32, first, last),
                _read_values(self._weights, np.float32, first, last),
            )

    def _map(self, file: IO[bytes], dtype: type[np.generic]) -> np.ndarray:
        edges = int(self._offsets[-1])
        # Writable for callers who own their graph; what they write does not reach the file.
        return np.memmap(file, dtype, "c", shape=(edges,)) if edges else np.zeros(0, dtype)


@contextmanager
def _explained_in_folder() -> Iterator[str]:
    """The folder for the file; errors of the file say why there is one, where it lies, and the remedy."""
    folder = None
    try:
        folder = _folder()
        yield folder
    except OSError as error:
        where = "there is no folder for temporary files" if folder is None else folder
        raise OSError(
            error.errno,
            f"to stay within max_memory, the graph goes into a temporary file, but {where}: "
            f"{error.strerror}; set TMPDIR to a folder on a disc with free space, or raise max_memory",
        ) from error


def _folder() -> str:
    """The folder that the program has set, else the one that the environment names, else tempfile's own.

    tempfile passes over a named folder that it cannot use, without a word, and keeps the one that it finds in
    ``tempfile.tempdir``, where programs set theirs: one of its usual folders is then no choice of theirs.
    """
    named = next(filter(None, map(os.environ.get, _FOLDER_VARIABLES)), None)
    if named is not None:
        is_set = tempfile.tempdir is not None
        if not is_set or (tempfile.gettempdir() in _USUAL_FOLDERS and not _is_usable(named)):
            return os.path.abspath(named)
    return tempfile.gettempdir()


def _is_usable(folder: str) -> bool:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, buffering=0) as file:
            file.write(b" ")
    except OSError:
        return False
    return True


def _affinities(neighbors: Neighbors, recipe: Recipe, threads: int) -> np.ndarray:
    """p(j|i) of every neighbour: (n, k) float32."""
    n = len(neighbors)
    sums, connected = engine.row_sums(neighbors.distances, threads)
    mean = engine.add_means(sums, n + int(connected.sum()), 0.0)
    own: np.ndarray = engine.range_affinities(
        0,
        neighbors.indices,
        neighbors.distances,
        n,
        engine_affinity(recipe),
        engine.Distance[recipe.distance.value],
        recipe.scales(),
        recipe.sigma or 1.0,
        recipe.subtracted_neighbor(),
        mean,
        threads,
    )
    return own


def _edges_into(
    ids: np.ndarray, own: np.ndarray, begin: int, end: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets, sources and weights of the edges that end in a range of rows, by their sources."""
    pieces: list[tuple[Any, ...]] = []
    step = max(1, _CHUNK_EDGES // max(1, ids.shape[1]))
    for first in range(0, len(ids), step):
        chunk = ids[first : first + step]
        rows, columns = np.nonzero((chunk >= begin) & (chunk < end))
        pieces.append(
            (chunk[rows, columns], (rows + first).astype(np.int32), own[first : first + step][rows, columns])
        )
    targets, sources, weights = (np.concatenate(kind) for kind in zip(*pieces, strict=True))
    return targets, sources, weights


def _write_values(file: IO[bytes], values: np.ndarray) -> None:
    rest = np.ascontiguousarray(values).view(np.uint8)
    while rest.size:  # a disc that gets full takes a part of them
        rest = rest[file.write(rest.data) :]


def _read_values(file: IO[bytes], dtype: type[np.generic], first: int, last: int) -> np.ndarray:
    file.seek(int(first) * np.dtype(dtype).itemsize)
    return np.fromfile(file, dtype, int(last - first))
