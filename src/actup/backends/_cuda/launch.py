"""How kernels are started: enough threads for a number of items, and epochs replayed as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable

from actup.backends._cuda.compile import cupy

THREADS = 256


def blocks_for(items: int, threads: int = THREADS) -> int:
    """Thread blocks that give every item a thread; at least one, since CUDA starts no fewer."""
    return max(1, -(-items // threads))


def start(kernel, items: int, *arguments, threads: int = THREADS) -> None:
    """Start a kernel with a thread for every item, on the current stream."""
    kernel((blocks_for(items, threads),), (threads,), arguments)


class Replay:
    """A fixed sequence of kernels, started one by one at first and as one CUDA graph from then on."""

    def __init__(self, launch: Callable[[], None]):
        self._launch = launch
        self._runs = 0
        self._graph = None

    def run(self) -> None:
        """Start the sequence once more, on the current stream."""
        self._runs += 1
        if self._runs == 1:  # a sequence that runs once is not worth a graph
            self._launch()
            return
        if self._graph is None:
            stream = cupy().cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                self._launch()
                self._graph = stream.end_capture()
        self._graph.launch(cupy().cuda.get_current_stream())
