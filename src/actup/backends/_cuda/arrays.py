"""Arrays on the GPU: what is taken without a copy, what it is given back as, and how much room there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_array

from actup.backends._cuda.compile import cupy, load_kernels
from actup.graph._records import Graph, Neighbors, on_gpu

if TYPE_CHECKING:
    from actup._pipeline import Embedding
    from actup.backends import Layout


_COPIED = 0.4  # of the free memory: larger data stays on the host
_LARGEST = float(np.finfo(np.float32).max)
_MAPPED = 2  # what CUDA calls memory that the device can read
_OF_HOST = 1  # what CUDA calls memory of the host


def synchronize() -> None:
    """Wait for all that the device has been asked to do."""
    cupy().cuda.get_current_stream().synchronize()


def free_bytes() -> int:
    """Bytes of the GPU's memory that CuPy can hand out."""
    cp = cupy()
    return cp.cuda.Device().mem_info[0] + cp.get_default_memory_pool().free_bytes()


def require_bytes(needed: float, what: str) -> None:
    """Refuse work that the free memory cannot hold, before it begins."""
    free = free_bytes()
    if needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.1f} GB of the GPU's memory, of which {free / 1e9:.1f} GB are "
            "free: use backend='cpu', or free memory held by other arrays"
        )


def to_device(array, dtype=np.float32):
    """The array as a C-contiguous cupy.ndarray; without a copy if it is one on the device already."""
    cp = cupy()
    if on_gpu(array) and not isinstance(array, cp.ndarray):
        array = array.detach() if hasattr(array, "detach") else array  # torch: no gradient goes through a map
        array = cp.from_dlpack(array) if hasattr(array, "__dlpack__") else cp.asarray(array)
    return cp.ascontiguousarray(cp.asarray(array), dtype)


class _Registered:
    """The pages of a NumPy array while the device may read them."""

    def __init__(self, array: np.ndarray):
        self._array = array
        cupy().cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, _MAPPED)

    def __del__(self):
        cupy().cuda.runtime.hostUnregister(self._array.ctypes.data)


def mapped(array: np.ndarray):
    """The array as a cupy.ndarray that stays in the host's memory: kernels read it over the bus.

    For data that is too large for the device. Slow to read, but a search reads it only to round its rows to
    16 bits, which are kept on the device, and to compare the best candidates.
    """
    cp = cupy()
    owner = _Registered(array)
    device = cp.cuda.Device().id
    memory = cp.cuda.UnownedMemory(array.ctypes.data, array.nbytes, owner, device)
    return cp.ndarray(array.shape, array.dtype, cp.cuda.MemoryPointer(memory, 0))


def all_finite(array, least: float = -_LARGEST) -> bool:
    """Whether all of a C-contiguous float32 array on the device is finite and not less than the least."""
    found = cupy().zeros(1, np.int32)
    kernel = load_kernels("checks").get_function("any_outside")
    kernel((1024,), (256,), (array, np.int64(array.size), np.float32(least), found))
    return not found.get()[0]


def is_mapped(array) -> bool:
    """Whether a cupy.ndarray lies in the host's memory."""
    return cupy().cuda.runtime.pointerGetAttributes(array.data.ptr).type == _OF_HOST


def placed(array: np.ndarray):
    """The rows as a cupy.ndarray: on the device, or on the host if they would take too much of its memory."""
    return to_device(array) if array.nbytes <= _COPIED * free_bytes() else mapped(array)


def to_host(array) -> np.ndarray:
    """The array as a numpy.ndarray, wherever it lies."""
    return to_device(array, None).get() if on_gpu(array) else np.asarray(array)


def like(array, template):
    """A cupy.ndarray as the kind of another array: torch's or CuPy's if that lies on a GPU, else NumPy's."""
    if not on_gpu(template):
        return to_host(array)
    if type(template).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_dlpack(array)
    return to_device(array)


def check_device_points(X):
    """X on the device as every stage may take it for granted; errors are those of scikit-learn's check.

    Parameters
    ----------
    X : array-like of shape (n, columns)
        On the device it is used where it lies if it is C-contiguous float32.

    Returns
    -------
    cupy.ndarray of shape (n, columns), float32, finite
    """
    from actup.backends._cuda.ahead import compile_common  # which needs all other modules

    if hasattr(X, "tocsr"):
        raise TypeError("X is sparse, which backend='cuda' does not take: use backend='cpu' or X.toarray()")
    compile_common()
    if not on_gpu(X):
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
            X = check_array(X, input_name="X", dtype=np.float32, order="C", ensure_all_finite=False)
        points = placed(X)
    else:
        points = to_device(X)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"X has shape {points.shape}; give at least one row and one column")
    if not all_finite(points):
        raise ValueError("Input X contains NaN, infinity or a value too large for dtype('float32').")
    return points


class DeliveredLayout:
    """A layout whose points are given as the caller's kind of array; see ``actup.backends.Layout``."""

    def __init__(self, layout: Layout, template):
        self._layout = layout
        self._template = template
        self.n_epochs = layout.n_epochs

    @property
    def epoch(self) -> int:
        return self._layout.epoch

    def run(self, until: int) -> None:
        self._layout.run(until)
        synchronize()  # who measures or stops a run wants to know how far it is

    def embedding(self):
        return like(self._layout.embedding(), self._template)

    def loss(self) -> float:
        return self._layout.loss()


def delivered(prepared: Embedding, template) -> Embedding:
    """What was prepared, for a caller who gave ``template``: NumPy arrays unless that lies on a GPU."""
    layout = prepared.layout and DeliveredLayout(prepared.layout, template)
    prepared = replace(prepared, embedding=like(prepared.embedding, template), layout=layout)
    if on_gpu(template):
        return prepared
    graph, neighbors = host_graph(prepared.graph), prepared.neighbors
    if neighbors is not None:
        neighbors = host_neighbors(neighbors)
    return replace(prepared, graph=graph, neighbors=neighbors)


def device_graph(graph: Graph) -> Graph:
    """The graph with its arrays on the device."""
    return Graph(
        to_device(graph.offsets, np.int64), to_device(graph.indices, np.int32), to_device(graph.weights)
    )


def host_graph(graph: Graph) -> Graph:
    """The graph with its arrays on the host."""
    return Graph(*map(to_host, (graph.offsets, graph.indices, graph.weights)))


def host_neighbors(neighbors: Neighbors) -> Neighbors:
    """The neighbours with their arrays on the host."""
    return replace(neighbors, indices=to_host(neighbors.indices), distances=to_host(neighbors.distances))
