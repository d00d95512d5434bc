"""The part "bits" of scale.py: hashes of lists, graph and map of one plan, run in many ways.

In process at 1 and 2 threads, killed again and again; on 1, 2 and 3 Dask workers, on workers with different
levels of the engine; after SIGKILL of a worker in the middle of a task of every stage; after SIGKILL of a
client whose scheduler and workers live on. Rows are noise, and the plan allows few guests, so that
refinement rounds are run.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import actup
from actup._engine import offered_levels
from actup.distributed import make_plan
from actup.distributed._api import FilesEmbedding, run_plan
from actup.distributed._estimate import BASE_BYTES, _search_row_bytes
from actup.distributed._plan import Plan
from actup.distributed._tasks import STAGES, parts_of
from actup.progress import Progress
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster, WorkerPlugin

ROWS, COLUMNS, FILES, GROUPS = 24_000, 20, 4, 6
KILLS_TRIED = 6  # until one hits the middle of a task
CLIENTS_KILLED = ("scan-0", "truth-0", "search-1", "refine-1-0", "symmetric-1")  # after these records


def write_rows(folder: Path) -> list[Path]:
    """Files of noise, in which few neighbours share a group."""
    folder.mkdir(parents=True)
    rows = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    paths = [folder / f"{number}.npy" for number in range(FILES)]
    for path, part in zip(paths, np.array_split(rows, FILES), strict=True):
        np.save(path, part)
    return paths


def plan_of(files: list[Path], work: Path) -> Plan:
    """A plan of several groups with room for few guests."""
    plan = make_plan(files, actup.preset("umap"), work=work, backend="cpu")
    room = BASE_BYTES + int(2 * ROWS / GROUPS * _search_row_bytes(plan.shape))
    return replace(plan, groups=GROUPS, block_rows=2500, memory=room)


def run_bits(work: Path) -> dict:
    """Digests of the same plan, run in many ways, and whether all are equal."""
    files = write_rows(work / "rows")

    def run(name: str, client: Client | None = None, threads: int = 2) -> FilesEmbedding:
        return run_plan(plan_of(files, work / name), client, None, threads, Progress())

    reference = run("threads1", threads=1)
    assert reference.refinement_rounds >= 1, "no refinement round was run"
    digests = {"in process, 1 thread": reference.digests, "in process, 2 threads": run("threads2").digests}
    digests["process killed and run again"] = killed_process(files, work / "killed", run)
    for workers in (1, 2, 3):
        with cluster(workers) as client:
            digests[f"{workers} workers"] = run(f"workers{workers}", client).digests
    levels = offered_levels()
    if len(levels) > 1:
        with mixed_cluster(levels[0], levels[-1]) as client:
            digests[f"workers of levels {levels[0]} and {levels[-1]}"] = run("levels", client).digests
    for stage in [*(stage.name for stage in STAGES), "deliver"]:
        digests[f"worker killed in {stage}"] = killed_worker(files, work, stage, reference)
    for record in CLIENTS_KILLED:
        digests[f"client killed after {record}"] = killed_client(files, work / f"client-{record}", record)
    return {"equal": all(found == reference.digests for found in digests.values()), "runs": digests}


@contextmanager
def cluster(workers: int):
    """A Dask client with workers in processes of their own."""
    options = {"threads_per_worker": 1, "memory_limit": "4GiB", "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as local, Client(local) as client:
        yield client


@contextmanager
def mixed_cluster(*levels: str):
    """A Dask client with one worker of each level of the engine."""
    workers = {
        number: {"cls": Nanny, "options": {"nthreads": 1, "env": {"ACTUP_CPU": level}}}
        for number, level in enumerate(levels)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with SpecCluster(workers=workers, scheduler=scheduler) as local, Client(local) as client:
        yield client


# --- a worker killed in the middle of a task ---


@dataclass
class Killer(WorkerPlugin):
    """Kills the worker that begins the first task of a stage, some seconds later.

    Attributes
    ----------
    prefix : str
        Of the keys of the stage's tasks.
    marker : str
        A file that says that a worker was killed: "during" a task, or "after" it.
    results : str
        The path of what a finished task has written, as a glob pattern; {} stands for its number.
    seconds : float
    """

    prefix: str
    marker: str
    results: str
    seconds: float

    def transition(self, key, start, finish, **kwargs) -> None:
        if finish != "executing" or not str(key).startswith(self.prefix):
            return
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        part = str(key).removeprefix(self.prefix).strip("-")
        result = self.results.format(int(part) if part else "")
        threading.Timer(self.seconds, self._kill, [result]).start()

    def _kill(self, result: str) -> None:
        Path(self.marker).write_text("after" if glob.glob(result) else "during")
        os.kill(os.getpid(), signal.SIGKILL)


def killed_worker(files: list[Path], work: Path, stage: str, reference: FilesEmbedding) -> dict:
    """Digests of a run whose first task of a stage is killed; repeated until a kill hits the task."""
    described = next((entry for entry in STAGES if entry.name == stage), None)
    tasks = 1 if described is None else len(parts_of(reference.plan, described))
    seconds = reference.seconds.get(stage.split("-")[0], 0.0) / tasks / 2
    for attempt in range(KILLS_TRIED):
        plan = plan_of(files, work / f"kill-{stage}-{attempt}")
        folder, marker = plan.folder.path, work / f"killed-{stage}-{attempt}"
        name = stage if tasks == 1 else f"{stage}-{{}}"
        results = f"{folder}/done/{name}.json"
        if stage == "deliver":
            results = f"{folder}/output-*/part-{{:05d}}.npy"
        with cluster(2) as client:
            killer = Killer(f"actup-{stage}-{plan.key}", str(marker), results, seconds)
            client.register_plugin(killer)
            found = run_plan(plan, client, None, 2, Progress()).digests
        if marker.exists() and marker.read_text() == "during":
            return found
        if found != reference.digests:
            return found
        seconds /= 2
    raise RuntimeError(f"no worker could be killed during stage {stage}")


# --- a process, or a client, killed ---

_CLIENT = """
import sys
from pathlib import Path
from scale_bits import plan_of
from actup.distributed._api import run_plan
from actup.progress import Progress
from distributed import Client

if __name__ == "__main__":
    work, address, *files = sys.argv[1:]
    client = Client(address) if address else None
    run_plan(plan_of([Path(file) for file in files], Path(work)), client, None, 2, Progress())
"""


def start_client(files: list[Path], work: Path, address: str) -> subprocess.Popen:
    """A process that runs the plan, on the workers of a scheduler if there is an address."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", _CLIENT, str(work), address, *map(str, files)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


def killed_process(files: list[Path], work: Path, run) -> dict:
    """Kill a run in process again and again, each time when it has got a little further."""
    for record in CLIENTS_KILLED:
        kill_after(start_client(files, work, ""), plan_of(files, work), record)
    return run(work.name).digests


def killed_client(files: list[Path], work: Path, record: str) -> dict:
    """Kill a client, then run the same plan with another one; finished records must stay as they are."""
    plan = plan_of(files, work)
    with cluster(2) as client:
        kill_after(start_client(files, work, client.scheduler.address), plan, record)
        before = finished_records(plan)
        found = run_plan(plan, client, None, 2, Progress()).digests
        after = finished_records(plan)
    assert before, "no task was done before the client was killed"
    assert len(before) < len(after), "the client was killed too late"
    assert all(after[name] == time_written for name, time_written in before.items())
    return found


def kill_after(process: subprocess.Popen, plan: Plan, record: str) -> None:
    """Kill a process as soon as a task is done."""
    while plan.folder.record(record) is None:
        assert process.poll() is None, f"the run ended before {record}"
        time.sleep(0.002)
    process.kill()
    process.wait()


def finished_records(plan: Plan) -> dict[str, int]:
    """When the record of every finished task was written."""
    return {path.name: path.stat().st_mtime_ns for path in (plan.folder.path / "done").glob("[!.]*.json")}
