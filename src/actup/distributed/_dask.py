"""Run a plan on the workers of a dask.distributed client. Only small records travel through the scheduler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from actup.distributed._needs import reject_too_little_room
from actup.distributed._plan import Plan
from actup.distributed._tasks import STAGES, Stage, parts_of, record_name, remove_used_files, run_task
from actup.progress import Progress

_RETRIES = 2  # of a task that failed, e.g. because its worker was short of memory
_POLL_SECONDS = 0.5  # between two looks at how far the layout is

# A task uses all threads of its worker, so that tasks of one worker take turns.
_one_at_a_time = threading.Lock()


def _run_on_worker(plan: Plan, stage: Stage, part: int | None, waited_for: Any) -> dict[str, Any]:
    """A task on a worker. ``waited_for`` only makes Dask finish the stage before first."""
    from distributed import get_worker

    worker, topic = get_worker(), event_topic(plan)

    def report(fraction: float) -> None:
        worker.log_event(topic, {"stage": stage.name, "fraction": fraction})

    with _one_at_a_time:
        return run_task(plan, stage, part, worker.state.nthreads, report)


def _finish_stage(plan: Plan, stage: Stage, *records: Any) -> None:
    """The end of a stage: one task that all tasks of the next one wait for."""
    remove_used_files(plan, stage)


def event_topic(plan: Plan) -> str:
    """The name under which workers log how far the layout is."""
    return f"actup-{plan.key}"


def run_on_workers(plan: Plan, client: Any, progress: Progress) -> dict[str, dict[str, Any]]:
    """Do all tasks of a plan that are not done yet on the workers of a client.

    All tasks are submitted at once. An error of a task cancels the others and is raised here; what is done
    stays done.

    Parameters
    ----------
    plan : Plan
    client : distributed.Client
    progress : Progress

    Returns
    -------
    dict of str to dict
        The records of all tasks.
    """
    from distributed import as_completed

    tasks: dict[Any, tuple[Stage, int | None]] = {}
    ends, end = [], None
    gpu_workers = _workers_with_gpu(plan, client)
    for stage in STAGES:
        restricted = {"workers": gpu_workers} if stage.name == "layout" and gpu_workers else {}
        submitted = []
        for part in parts_of(plan, stage):
            key = f"actup-{stage.name}-{plan.key}" + ("" if part is None else f"-{part}")
            future = client.submit(
                _run_on_worker, plan, stage, part, end, key=key, pure=False, retries=_RETRIES, **restricted
            )
            tasks[future] = (stage, part)
            submitted.append(future)
        end = client.submit(
            _finish_stage, plan, stage, *submitted, key=f"actup-end-of-{stage.name}-{plan.key}", pure=False
        )
        ends.append(end)
    records: dict[str, dict[str, Any]] = {}
    shown = _Shown(plan, client, progress)
    try:
        completed = as_completed(list(tasks), timeout=None)
        stop = threading.Event()
        watch = threading.Thread(target=shown.watch_layout, args=(stop,), daemon=True)
        watch.start()
        try:
            for future in completed:
                stage, part = tasks[future]
                records[record_name(stage, part)] = future.result()
                shown.add(stage)
        finally:
            stop.set()
            watch.join()
        client.gather(ends)
    except BaseException:
        client.cancel([*tasks, *ends], force=True)
        raise
    return records


def worker_threads() -> int:
    """The threads of the worker that runs this task."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def run_for_each_shard(
    client: Any, function: Callable[..., Any], what: Any, shards: int, name: str, progress: Progress
) -> None:
    """Call ``function(what, shard)`` on workers for every shard, one at a time on each worker."""
    from distributed import as_completed

    futures = [
        client.submit(_in_turn, function, what, shard, key=f"{name}-{shard}", pure=False, retries=_RETRIES)
        for shard in range(shards)
    ]
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            progress.report("layout", done / shards)
    except BaseException:
        client.cancel(futures, force=True)
        raise


def _in_turn(function: Callable[..., Any], what: Any, shard: int) -> None:
    with _one_at_a_time:
        function(what, shard)


def reject_small_workers(plan: Plan, client: Any) -> None:
    """Reject a cluster without workers, or of which none has the memory that the plan needs."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise RuntimeError(
            "client has no workers: start some, or wait for them with client.wait_for_workers(1)"
        )
    limits = [worker["memory_limit"] for worker in workers.values() if worker["memory_limit"]]
    reject_too_little_room(plan, max(limits) if limits else None, "the largest worker")


def reject_missing_gpu(plan: Plan, client: Any) -> None:
    """Reject a layout on a GPU that neither this process nor any worker has."""
    if plan.backend != "cuda":
        return
    if not (_has_gpu() if client is None else _workers_with_gpu(plan, client)):
        where = "this process finds none" if client is None else "no worker finds one"
        raise ImportError(
            f"backend='cuda' needs CuPy and an NVIDIA GPU, but {where}: use backend='auto' or 'cpu', or "
            "pip install 'actup[cuda12]' or 'actup[cuda13]' where there is a GPU"
        )


def _workers_with_gpu(plan: Plan, client: Any) -> list[str]:
    """The workers on which the layout may run on a GPU."""
    if plan.backend == "cpu":
        return []
    found: dict[str, bool] = client.run(_has_gpu)
    return [address for address, has_gpu in found.items() if has_gpu]


def _has_gpu() -> bool:
    from actup.backends import load_backend

    return load_backend("cuda").is_available()


class _Shown:
    """Counts finished tasks and shows them as progress of a run."""

    def __init__(self, plan: Plan, client: Any, progress: Progress):
        self._plan, self._client, self._progress = plan, client, progress
        self._done = dict.fromkeys((stage.name for stage in STAGES), 0)
        self._lock = threading.Lock()

    def add(self, stage: Stage) -> None:
        with self._lock:
            self._done[stage.name] += 1
            self._show(stage, 0.0)

    def _show(self, stage: Stage, more: float) -> None:
        fraction = sum(
            other.share * self._done[other.name] / len(parts_of(self._plan, other))
            for other in STAGES
            if other.shown_as == stage.shown_as
        )
        self._progress.report(stage.shown_as, min(1.0, fraction + more * stage.share))

    def watch_layout(self, stop: threading.Event) -> None:
        """Show how far the layout is, which its worker logs, until ``stop`` is set."""
        layout = STAGES[-1]
        while not stop.wait(_POLL_SECONDS):
            events = self._client.get_events(event_topic(self._plan))
            with self._lock:
                if events and not self._done[layout.name]:
                    self._show(layout, events[-1][1]["fraction"])
