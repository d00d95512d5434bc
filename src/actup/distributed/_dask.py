"""Run a plan on the workers of a dask.distributed client. Only small records travel through the scheduler.

The client submits the tasks of one stage at a time, to workers with enough memory for it. It also decides
which tasks are tried again, because Dask would do so after any error.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from actup._bytes import format_bytes
from actup._whole_file import whole_file
from actup.distributed._disc import is_full
from actup.distributed._needs import Needs
from actup.distributed._plan import Plan
from actup.distributed._tasks import STAGES, Stage, parts_of, record_name, remove_used_files, run_task
from actup.distributed._workers import Workers, has_gpu, usable_memory
from actup.progress import Progress

_RETRIES = 2  # of a task that failed for a reason that may pass
_RETRY_SECONDS = 1.0  # before the first retry; twice as long before the second
_POLL_SECONDS = 0.5  # between two looks at workers, and at how far the layout is
_LOOK_SECONDS = 10.0  # between two looks at what the scheduler knows of tasks, while none ends
_PATIENCE_SECONDS = 300.0  # until a run ends because no worker with enough memory comes back

# A task uses all threads of its worker, so that tasks of one worker take turns.
_one_at_a_time = threading.Lock()


def _run_on_worker(plan: Plan, stage: Stage, part: int | None) -> dict[str, Any]:
    """A task of a stage, on a worker."""
    from distributed import get_worker

    worker, topic = get_worker(), event_topic(plan)

    def report(fraction: float) -> None:
        worker.log_event(topic, {"stage": stage.name, "fraction": fraction})

    return run_task(plan, stage, part, worker.state.nthreads, report)


def _in_turn(function: Callable[..., Any], arguments: str, part: Any, memory: int, attempt: int) -> Any:
    """Call a function on a worker, after all earlier tasks of the worker, and later if it is a retry."""
    from distributed import get_worker

    usable = usable_memory(get_worker())
    if usable is not None and usable < memory:  # it came after the task was submitted
        raise MemoryError(
            f"worker {get_worker().address} may use {format_bytes(usable)} of memory, but a task needs "
            f"{format_bytes(memory)}: end this worker, or start it with more memory"
        )
    time.sleep(attempt * _RETRY_SECONDS)
    with _one_at_a_time:
        return function(*_read_arguments(arguments), part)


def _write_arguments(folder: Path, arguments: tuple[Any, ...]) -> str:
    """Write what all tasks have in common to a file: a plan of many shards would burden the scheduler."""
    content = pickle.dumps(arguments)
    path = folder / "tasks" / f"{hashlib.sha256(content).hexdigest()[:16]}.pickle"
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)
    return str(path)


@lru_cache(maxsize=2)
def _read_arguments(path: str) -> tuple[Any, ...]:
    arguments: tuple[Any, ...] = pickle.loads(Path(path).read_bytes())
    return arguments


def event_topic(plan: Plan) -> str:
    """The name under which workers log how far the layout is."""
    return f"actup-{plan.key}"


def run_on_workers(plan: Plan, workers: Workers, progress: Progress) -> dict[str, dict[str, Any]]:
    """Do all tasks of a plan that are not done yet on the workers of a client.

    An error of a task cancels the others and is raised here; what is done stays done.

    Returns
    -------
    dict of str to dict
        The records of all tasks.
    """
    records: dict[str, dict[str, Any]] = {}
    shown = _Shown(plan, workers.client, progress)
    memory = Needs.of(plan).memory
    for stage in STAGES:
        waiting = []
        for part in parts_of(plan, stage):
            record = plan.folder.record(record_name(stage, part))
            if record is None:
                waiting.append(part)
            else:
                records[record_name(stage, part)] = record
                shown.add(stage)
        tasks = _Tasks(
            workers,
            plan.folder.path,
            f"actup-{stage.name}-{plan.key}",
            _run_on_worker,
            (plan, stage),
            memory[stage.memory_of],
            gpu=stage.name == "layout" and _layout_needs_gpu(plan, workers),
        )

        def keep(part: int | None, record: dict[str, Any], stage: Stage = stage) -> None:
            records[record_name(stage, part)] = record
            shown.add(stage)

        tasks.run(waiting, keep, shown.layout if stage.name == "layout" else None)
        remove_used_files(plan, stage)
    return records


def worker_threads() -> int:
    """The threads of the worker that runs this task."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def run_for_each_shard(
    workers: Workers,
    folder: Path,
    function: Callable[..., Any],
    what: Any,
    shards: int,
    name: str,
    memory: int,
    progress: Progress,
) -> None:
    """Call ``function(what, shard)``, which needs ``memory`` bytes, on workers for every shard.

    Workers read ``what`` from a file in ``folder``.
    """
    tasks = _Tasks(workers, folder, name, function, (what,), memory)
    counter = itertools.count(1)
    tasks.run(range(shards), lambda shard, result: progress.report("layout", next(counter) / shards))


@dataclass
class _Tasks:
    """Tasks that can run on any worker with enough memory.

    Attributes
    ----------
    workers : Workers
    folder : Path
        That of the run.
    name : str
        What the keys of the tasks begin with.
    function : callable
    arguments : tuple
        A task is ``function(*arguments, part)``.
    memory : int
        Bytes that a task needs.
    gpu : bool
        Whether it needs a GPU.
    """

    workers: Workers
    folder: Path
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    memory: int
    gpu: bool = False

    def run(
        self,
        parts: Iterable[int | None],
        finished: Callable[[Any, Any], None],
        idle: Callable[[], None] | None = None,
    ) -> None:
        """Run the tasks of parts.

        Parameters
        ----------
        parts : iterable of int or None
        finished : callable
            Called with the part and the result of every task that is done.
        idle : callable or None
            Called now and then while no task ends.
        """
        self._attempts: dict[int | None, int] = dict.fromkeys(parts, 0)
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running: dict[Any, int | None] = {}
        self._stuck: set[Any] = set()  # keys of tasks that may have been lost
        self._next_look = time.monotonic() + _LOOK_SECONDS
        try:
            self._submit(list(self._attempts))
            while self._running:
                try:
                    future = self._done.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    self._reject_lost_connection()
                    self._look_for_lost_messages()
                    self._submit_again_if_workers_are_gone()
                    if idle is not None:
                        idle()
                    continue
                if future not in self._running:  # it was submitted again
                    continue
                part = self._running.pop(future)
                error = self._wait_for(future.exception) if future.status == "error" else None
                if error is None:
                    finished(part, self._wait_for(future.result))
                else:
                    self._try_again(part, error)
        finally:
            self.workers.client.cancel(list(self._running), force=True)

    def _wait_for(self, of_future: Callable[..., Any]) -> Any:
        """What a future that is done has to say; a client without a scheduler would wait for it for ever."""
        while True:
            try:
                return of_future(timeout=_POLL_SECONDS)
            except TimeoutError:
                self._reject_lost_connection()
            except CancelledError as error:
                raise _lost_connection(self.workers.client) from error

    def _reject_lost_connection(self) -> None:
        """Reject a client whose connection is closed and that does not connect again."""
        client = self.workers.client
        connection = client.scheduler_comm
        is_open = connection is not None and not connection.closed()
        if client.status == "closed" or (client.status == "running" and not is_open):
            raise _lost_connection(client)

    def _look_for_lost_messages(self) -> None:
        """Find tasks that have ended unnoticed; reject a client that misses what the scheduler knows of them.

        A client whose event loop has no memory loses callbacks and messages, and would wait for ever.
        """
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_SECONDS
        client = self.workers.client
        for future in self._running:
            if future.status in ("finished", "error", "cancelled"):
                self._done.put(future)
        keys = [future.key for future in self._running if future.status == "pending"]
        try:
            states = client.sync(
                client.scheduler.get_task_status, keys=keys, callback_timeout=3 * _LOOK_SECONDS
            )
        except (OSError, TimeoutError) as error:
            raise _lost_connection(client) from error
        stuck = {key for key in keys if states[key] in (None, "forgotten", "memory", "erred")}
        if stuck & self._stuck:  # messages about the others may be on their way
            raise _lost_connection(client)
        self._stuck = stuck

    def _submit(self, parts: list[int | None]) -> None:
        if not parts:
            return
        self._restriction = self._able_workers()
        arguments = _write_arguments(self.folder, self.arguments)
        for part in parts:
            attempt = self._attempts[part]
            key = self.name + ("" if part is None else f"-{part}") + (f"-retry{attempt}" if attempt else "")
            future = self.workers.client.submit(
                _in_turn,
                self.function,
                arguments,
                part,
                self.memory,
                attempt,
                key=key,
                pure=False,
                workers=self._restriction,
            )
            self._running[future] = part
            future.add_done_callback(self._done.put)

    def _able_workers(self) -> list[str] | None:
        """The workers with enough memory, which killed ones may be again soon; None if all have it."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while (found := self.workers.restriction(self.memory, self.gpu)) == []:
            if time.monotonic() > end:
                raise MemoryError(
                    f"no worker with {format_bytes(self.memory)} of memory{' and a GPU' * self.gpu} is left "
                    f"for {self.name!r} (there are {self.workers.in_words() or 'no workers'}): start one, "
                    "and the same call goes on where it was"
                )
            time.sleep(_POLL_SECONDS)
        return found

    def _submit_again_if_workers_are_gone(self) -> None:
        """Submit tasks again that wait for ended workers, which have other addresses when started anew."""
        if self._restriction is None or set(self._restriction) & set(self.workers.client.nthreads()):
            return
        lost, self._running = self._running, {}
        self.workers.client.cancel(list(lost), force=True)
        for part in lost.values():
            self._attempts[part] += 1  # for another key
        self._submit(list(lost.values()))

    def _try_again(self, part: int | None, error: BaseException) -> None:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            raise MemoryError(
                f"task {error.task} has ended {error.allowed_failures + 1} workers, probably because memory "
                f"was short, although {format_bytes(self.memory)} should suffice: give workers more memory, "
                "or less to memory=, and look at their logs"
            ) from error
        self._attempts[part] += 1
        if self._attempts[part] > _RETRIES or not may_pass(error):
            raise error
        self._submit([part])


def _lost_connection(client: Any) -> ConnectionError:
    return ConnectionError(
        f"{client!r} has lost its connection to the scheduler, which may have ended, or memory has run out "
        "in this process (its log says more): connect anew, and the same call goes on where it was"
    )


def may_pass(error: BaseException) -> bool:
    """Whether the same task may succeed later or on another worker: files, connections, memory."""
    return isinstance(error, OSError | EOFError | MemoryError) and not is_full(error)


def reject_unfit_workers(plan: Plan, workers: Workers) -> None:
    """Reject a cluster that lacks the memory of a stage, or the GPU."""
    for stage, needed in Needs.of(plan).memory.items():
        if not workers.able(needed):
            remedy = (
                "start a worker on a machine with more memory, or use a sample of the rows"
                if stage == "layout"
                else "start larger workers, or give less to memory=, which makes smaller groups"
            )
            raise MemoryError(
                f"stage {stage!r} needs {format_bytes(needed)} of memory, but the largest worker has less: "
                f"{workers.in_words()}: {remedy}"
            )
    if plan.backend == "cuda" and not workers.able(Needs.of(plan).memory["layout"], gpu=True):
        _reject_missing_gpu("no worker with enough memory finds one")


def _layout_needs_gpu(plan: Plan, workers: Workers) -> bool:
    if plan.backend == "auto":
        return bool(workers.able(Needs.of(plan).memory["layout"], gpu=True))
    return plan.backend == "cuda"


def reject_missing_gpu(plan: Plan) -> None:
    """Reject a layout on a GPU that this process does not have."""
    if plan.backend == "cuda" and not has_gpu():
        _reject_missing_gpu("this process finds none")


def _reject_missing_gpu(why: str) -> None:
    raise ImportError(
        f"backend='cuda' needs CuPy and an NVIDIA GPU, but {why}: use backend='auto' or 'cpu', or "
        "pip install 'actup[cuda12]' or 'actup[cuda13]' where there is a GPU"
    )


class _Shown:
    """Counts finished tasks and shows them as progress of a run."""

    def __init__(self, plan: Plan, client: Any, progress: Progress):
        self._plan, self._client, self._progress = plan, client, progress
        self._done = dict.fromkeys((stage.name for stage in STAGES), 0)

    def add(self, stage: Stage) -> None:
        """Count a finished task."""
        self._done[stage.name] += 1
        self._show(stage, 0.0)

    def layout(self) -> None:
        """Show how far the layout is, which its worker logs."""
        events = self._client.get_events(event_topic(self._plan))
        if events:
            self._show(STAGES[-1], events[-1][1]["fraction"])

    def _show(self, stage: Stage, more: float) -> None:
        fraction = sum(
            other.share * self._done[other.name] / len(parts_of(self._plan, other))
            for other in STAGES
            if other.shown_as == stage.shown_as
        )
        self._progress.report(stage.shown_as, min(1.0, fraction + more * stage.share))
