"""Arrays on the GPU: transfers to and from it, conversion to the caller's kind of array, free memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from actup import _device
from actup._device import as_cupy, on_gpu
from actup._typing import Array
from actup.backends._cuda.compile import cupy, load_kernels, value_macros
from actup.graph._records import Graph, Neighbors

if TYPE_CHECKING:
    from actup._pipeline import Embedding
    from actup.backends import Layout


_MAX_COPIED_SHARE = 0.4  # of the free memory: larger data stays in the host's memory
_MAX_UNUSED_SHARE = 0.05  # of the device's memory, which CuPy keeps for later when a stage begins
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_SPIN_SECONDS, _SLEEP_SECONDS = 0.02, 0.002  # waiting for the device: without a pause, then with pauses
_CHECK_BLOCKS = 1024  # thread blocks that look for values that are not finite

# CUDA's own constants.
_HOST_REGISTER_MAPPED = 2
_MEMORY_TYPE_HOST = 1


def synchronize() -> None:
    """Wait until the device has finished all work of the current stream; Ctrl-C ends the wait."""
    stream = cupy().cuda.get_current_stream()
    begin = time.perf_counter()
    while not stream.done and time.perf_counter() - begin < _SPIN_SECONDS:
        time.sleep(0)  # lets other threads run
    while not stream.done:
        time.sleep(_SLEEP_SECONDS)
    stream.synchronize()


def free_bytes() -> int:
    """Bytes of the GPU's memory that CuPy can hand out."""
    cp = cupy()
    return int(cp.cuda.Device().mem_info[0] + cp.get_default_memory_pool().free_bytes())


def release_unused_memory() -> None:
    """Return memory that CuPy keeps for later to the device, if it is a large share of the device's memory.

    The arrays of the next stage have other sizes: they would not fit into the gaps of this one.
    """
    cp = cupy()
    pool = cp.get_default_memory_pool()
    if pool.free_bytes() > _MAX_UNUSED_SHARE * cp.cuda.Device().mem_info[1]:
        pool.free_all_blocks()


def require_bytes(needed: float, what: str) -> None:
    """Raise a MemoryError before work begins that does not fit into the free memory."""
    free = free_bytes()
    if needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.1f} GB of the GPU's memory, of which {free / 1e9:.1f} GB are "
            "free: use backend='cpu', or free memory held by other arrays"
        )


def to_device(array: Array, dtype: Any = np.float32) -> Array:
    """The array as a C-contiguous cupy.ndarray; without a copy if it is one on the device already."""
    cp = cupy()
    return cp.ascontiguousarray(as_cupy(array) if on_gpu(array) else cp.asarray(array), dtype)


class _RegisteredMemory:
    """Registers the memory of a NumPy array with CUDA, so that the device can read it."""

    # By place and size: CUDA registers memory only once, which several runs may read at the same time.
    _alive: ClassVar[WeakValueDictionary[tuple[int, int], _RegisteredMemory]] = WeakValueDictionary()

    @classmethod
    def of(cls, array: np.ndarray) -> _RegisteredMemory:
        key = array.ctypes.data, array.nbytes
        found = cls._alive.get(key)
        if found is None:
            cls._alive[key] = found = cls(array)
        return found

    def __init__(self, array: np.ndarray):
        self._array = array
        cupy().cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, _HOST_REGISTER_MAPPED)

    def __del__(self) -> None:
        cupy().cuda.runtime.hostUnregister(self._array.ctypes.data)


def map_host_array(array: np.ndarray) -> Array:
    """A cupy.ndarray whose values stay in the host's memory: kernels read them over the bus.

    For data that is too large for the device. Reading it is slow, but a search reads it only to round its
    rows to 16 bits, which stay on the device, and to compare the best candidates.
    """
    cp = cupy()
    owner = _RegisteredMemory.of(array)
    device = cp.cuda.Device().id
    memory = cp.cuda.UnownedMemory(array.ctypes.data, array.nbytes, owner, device)
    return cp.ndarray(array.shape, array.dtype, cp.cuda.MemoryPointer(memory, 0))


def is_host_memory(array: Array) -> bool:
    """Whether the values of a cupy.ndarray are in the host's memory."""
    return bool(cupy().cuda.runtime.pointerGetAttributes(array.data.ptr).type == _MEMORY_TYPE_HOST)


def copy_or_map(array: np.ndarray) -> Array:
    """The rows as a cupy.ndarray: copied to the device, or mapped if they would fill too much of it."""
    fits = array.nbytes <= _MAX_COPIED_SHARE * free_bytes()
    return to_device(array, None) if fits else map_host_array(array)


def all_finite(array: Array, least: float = -_LARGEST_FLOAT32) -> bool:
    """Whether all values of a C-contiguous array on the device are finite and at least ``least``.

    The array has a type of ``value_macros``.
    """
    if array.dtype.kind in "iu" and least <= np.iinfo(array.dtype).min:
        return True
    found = cupy().zeros(1, np.int32)
    kernel = load_kernels("checks", **value_macros(array)).get_function("any_outside")
    kernel((_CHECK_BLOCKS,), (256,), (array, np.int64(array.size), np.float32(least), found))
    return not found.get()[0]


def to_host(array: Array) -> np.ndarray:
    """The array as a numpy.ndarray, copied from the device if necessary."""
    return np.asarray(_device.to_host(array))


def as_kind_of(array: Array, template: Array) -> Array:
    """Convert a cupy.ndarray to the template's kind: torch or CuPy if that is on a GPU, else NumPy."""
    if not on_gpu(template):
        return to_host(array)
    if type(template).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_dlpack(array)
    return to_device(array)


class ConvertedLayout:
    """A layout whose embedding is returned as the caller's kind of array; see ``actup.backends.Layout``."""

    def __init__(self, layout: Layout, template: Array):
        self._layout = layout
        self._template = template
        self.n_epochs = layout.n_epochs

    @property
    def epoch(self) -> int:
        return self._layout.epoch

    def run(self, until: int) -> None:
        self._layout.run(until)
        synchronize()  # callers that time or stop a run need to know how far it is

    def replace_points(self, Y: Array) -> None:
        self._layout.replace_points(Y)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        self._layout.steer(exaggeration, repulsion)

    def embedding(self) -> Array:
        return as_kind_of(self._layout.embedding(), self._template)

    def state(self) -> dict[str, np.ndarray]:
        return self._layout.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self._layout.restore(state)

    def loss(self) -> float:
        return self._layout.loss()


def results_as_kind_of(prepared: Embedding, template: Array) -> Embedding:
    """Convert a prepared run to the caller's kind of array: NumPy unless ``template`` is on a GPU."""
    layout = None if prepared.layout is None else ConvertedLayout(prepared.layout, template)
    prepared = replace(prepared, embedding=as_kind_of(prepared.embedding, template), layout=layout)
    if on_gpu(template):
        return prepared
    graph, neighbors = host_graph(prepared.graph), prepared.neighbors
    if neighbors is not None:
        neighbors = host_neighbors(neighbors)
    return replace(prepared, graph=graph, neighbors=neighbors)


def offsets_of(counts: Array) -> Array:
    """Where each of some consecutive groups begins, and where the last one ends: (groups + 1,) int64."""
    cp = cupy()
    offsets = cp.zeros(len(counts) + 1, np.int64)
    cp.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets


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
