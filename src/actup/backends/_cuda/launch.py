"""How kernels are launched: enough threads for a number of items, and epochs replayed as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actup.backends._cuda.compile import cupy
from actup.backends._cuda.constants import THREADS

WARP = 32  # threads of a warp; many kernels give a warp to each row


def blocks_for(items: int, threads: int = THREADS) -> int:
    """Thread blocks that give every item a thread; at least one, because CUDA rejects an empty grid."""
    return max(1, -(-items // threads))


def launch(kernel: Any, items: int, *arguments: Any, threads: int = THREADS) -> None:
    """Launch a kernel with a thread for every item, on the current stream."""
    kernel((blocks_for(items, threads),), (threads,), arguments)


def multiprocessors() -> int:
    """The number of multiprocessors of the current device."""
    return int(cupy().cuda.Device().attributes["MultiProcessorCount"])


class Replay:
    """A fixed sequence of kernels, launched one by one the first time and as one CUDA graph from then on."""

    def __init__(self, launch_all: Callable[[], None]):
        self._launch_all = launch_all
        self._runs = 0
        self._graph: Any = None

    def run(self) -> None:
        """Launch the sequence once more, on the current stream."""
        self._runs += 1
        if self._runs == 1:  # capturing a graph does not pay for a sequence that runs once
            self._launch_all()
            return
        if self._graph is None:
            stream = cupy().cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                self._launch_all()
                self._graph = stream.end_capture()
        self._graph.launch(cupy().cuda.get_current_stream())
