"""The workers of a Dask client: which of them can do a task, and which make a run impossible."""

from __future__ import annotations

import os
import reprlib
import secrets
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import actup
from actup._bytes import format_available
from actup._errors import WrongType
from actup.distributed._sources import Source
from actup.distributed._tasks import VersionMismatch

_USABLE_SHARE = 0.9  # of the memory limit of a worker: Dask ends it at 95 %
_NAMED_WORKERS = 3  # in an error
_MARKER = "client"  # file in the folder of a run, by which workers know that they see the same folder
_SAME_FILE_SECONDS = 10.0  # that a shared file system may take to show a new file


@dataclass(frozen=True)
class Worker:
    """What a run must know about a worker.

    Attributes
    ----------
    address : str
    version : str
        That of ActUp.
    bits : str
        A short name of the bits that it computes.
    memory : int or None
        Bytes that a task may use; None: there is no limit.
    has_gpu : bool
    """

    address: str
    version: str
    bits: str
    memory: int | None
    has_gpu: bool

    def has_memory(self, needed: int) -> bool:
        """Whether a task that needs so many bytes can run."""
        return self.memory is None or self.memory >= needed


class Workers:
    """The workers of a client, each of which is asked once what it has.

    Parameters
    ----------
    client : distributed.Client
    asks_for_gpu : bool
        Whether it matters which workers have a GPU; a search for one takes time.
    """

    def __init__(self, client: Any, asks_for_gpu: bool = False):
        if not hasattr(client, "nthreads"):
            raise WrongType(f"client={reprlib.repr(client)} must be a dask.distributed.Client, or None")
        self.client = client
        self._asks_for_gpu = asks_for_gpu
        self._known: dict[str, Worker] = {}
        self.addresses()
        if not self._known:
            raise RuntimeError(
                "client has no workers: start some, or wait for them with client.wait_for_workers(1)"
            )

    def addresses(self) -> list[str]:
        """The addresses of all workers that are there now; new ones are asked what they have."""
        present = list(self.client.nthreads())
        new = [address for address in present if address not in self._known]
        if new:
            answers = self.client.run(_describe, self._asks_for_gpu, workers=new, on_error="return")
            for address, answer in answers.items():
                if not isinstance(answer, OSError):  # it has gone meanwhile
                    self._known[address] = _accepted(address, answer)
        return [address for address in present if address in self._known]

    def able(self, needed: int, gpu: bool = False) -> list[str]:
        """The addresses of the workers that can do a task.

        Parameters
        ----------
        needed : int
            Bytes of memory.
        gpu : bool
            Whether it needs a GPU.
        """
        return [
            address
            for address in self.addresses()
            if self._known[address].has_memory(needed) and (self._known[address].has_gpu or not gpu)
        ]

    def restriction(self, needed: int, gpu: bool = False) -> list[str] | None:
        """The workers that a task is kept to; None if all can do it, also those that come later."""
        able = self.able(needed, gpu)
        return None if len(able) == len(self.client.nthreads()) else able

    def in_words(self) -> str:
        """The workers with the most memory, for an error."""
        found = sorted((self._known[address] for address in self.addresses()), key=_memory_first)
        words = [f"{worker.address} ({_memory_in_words(worker)})" for worker in found[:_NAMED_WORKERS]]
        more = f" and {len(found) - _NAMED_WORKERS} others have less" if len(found) > _NAMED_WORKERS else ""
        return ", ".join(words) + more

    def reject_without_files(self, folder: Path, source: Source) -> None:
        """Reject workers that do not see the folder of the run, or not the first shard of the source."""
        token = secrets.token_hex(8)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MARKER).write_text(token)
        fingerprint = source.fingerprint(0)
        answers = self.client.run(
            _missing, str(folder), token, source, fingerprint, workers=self.addresses(), on_error="return"
        )
        for address, missing in answers.items():
            if isinstance(missing, str):
                raise FileNotFoundError(
                    f"worker {address} does not see {missing} that the client sees: all workers need work "
                    "and the source under the same paths, on discs that they share"
                )


def _accepted(address: str, answer: Worker | Exception) -> Worker:
    """The answer of a worker; one that computes other bits is rejected by name."""
    remedy = "install the same version on all workers and in the client"
    if not isinstance(answer, Worker):
        raise VersionMismatch(
            f"worker {address} cannot use ActUp ({type(answer).__name__}: {answer}): {remedy}"
        ) from answer
    if answer.version != actup.__version__:
        raise VersionMismatch(
            f"worker {address} has ActUp {answer.version}, the client has ActUp {actup.__version__}: {remedy}"
        )
    if answer.bits != _bits():
        raise VersionMismatch(
            f"worker {address} has another build of ActUp {answer.version}, whose results differ from those "
            f"of the client's: {remedy}"
        )
    return answer


def _describe(asks_for_gpu: bool, dask_worker: Any) -> Worker:
    """What a worker has; runs on it."""
    gpu = has_gpu() if asks_for_gpu else False
    return Worker(dask_worker.address, actup.__version__, _bits(), usable_memory(dask_worker), gpu)


def usable_memory(dask_worker: Any) -> int | None:
    """Bytes that a task on a worker may use; None if there is no limit."""
    limit = dask_worker.memory_manager.memory_limit
    return int(limit * _USABLE_SHARE) if limit else None


def has_gpu() -> bool:
    """Whether this process can use a GPU."""
    from actup.backends import load_backend

    return load_backend("cuda").is_available()


@cache
def _bits() -> str:
    """A short name of the bits of a small map: builds that compute other bits have another one."""
    import numpy as np

    from actup.distributed._folder import digest

    rows = np.random.default_rng(0).random((300, 10), np.float32)
    recipe = actup.preset("umap").but(epochs=5, initialization="pca")
    return digest(actup.embed(rows, recipe, backend="cpu", threads=1).embedding)


def _missing(folder: str, token: str, source: Source, fingerprint: str) -> str | None:
    """What this worker does not see of a run's files; None if it sees all."""
    end = time.monotonic() + _SAME_FILE_SECONDS
    while not _shows(os.path.join(folder, _MARKER), token):
        if time.monotonic() > end:
            return f"the work folder {folder}"
        time.sleep(0.1)
    try:
        found = source.fingerprint(0)
    except OSError:
        found = None
    return None if found == fingerprint else f"the shard {source.shards[0].name}"


def _shows(path: str, token: str) -> bool:
    try:
        return Path(path).read_text() == token
    except OSError:
        return False


def _memory_first(worker: Worker) -> float:
    return -float("inf") if worker.memory is None else -worker.memory


def _memory_in_words(worker: Worker) -> str:
    return "no limit" if worker.memory is None else f"{format_available(worker.memory)} usable"
