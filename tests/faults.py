"""Strike every command at random moments, and check files and messages: ``python tests/faults.py``.

A command runs in a forked child of this process. At a random moment of its run it is killed (SIGKILL), gets
Ctrl-C (SIGINT), or a random one of its allocations fails, or all from there on. Then each of its files must
be absent, the former one or whole, and the same command must work and give what it gives undisturbed.
"""

from __future__ import annotations

import argparse
import atexit
import collections
import contextlib
import ctypes
import faulthandler
import functools
import gc
import importlib
import itertools
import math
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allocation_failures import build_failing_allocations
from fault_cases import SCHEDULER, Case, call, command_line, make_cases, write_inputs
from fault_files import Snapshot, content, contents, is_unfinished, restore, snapshot, under, without_times
from process_state import child_processes
from soak import commit

FAULTS = ("SIGKILL", "SIGINT", "MemoryError")
_LEAST_BYTES = (512, 2**14)  # of an allocation that may fail; Python's objects have fewer
_HANG_LOOKS = 1200  # of 0.1 s of waiting each; a wait during which everything is paused counts as one
_WRITING_LOOKS = 300  # of 0.1 s, until workers of Dask have finished what they were writing
_WORKER_SHARE = 0.15  # of the strikes on Dask hit a worker, which then has to be started anew
# A crash in ActUp's compiled code is a mistake of ActUp; it is where the innermost frame of the stack is that
# is not of the system's libraries.
_OWN_LIBRARY = re.compile(r"/actup/_(engine|processor)")
_SYSTEM_LIBRARY = re.compile(
    r"/(failing_allocations|libc|libpthread|ld-linux-[\w-]*|libgcc_s|libstdc\+\+)\.so"
)
# What others do when an allocation fails: Rust, with which typer's pydantic is written, and glibc end the
# process; NumPy and others forget to set an exception; Python's parser finds fault with code that Dask makes.
_ABORTS = re.compile(
    r"memory allocation of \d+ bytes failed|cannot allocate memory for thread-local data|"
    r"SyntaxError: invalid syntax \(<string>, line|"
    r"SystemError: .*(without setting an exception|without exception set)"
)
_ABORTED = (-signal.SIGABRT, 127, 1)
# The last three are what Pillow says of an encoder, and FreeType of a font, that got no memory.
_MEMORY = re.compile(
    r"memory|allocat|new thread|thread (initializer|pool)|codec configuration error|FT_Open_Face|char maps",
    re.IGNORECASE,
)
_LIBRARY_FOLDER = "actup-failing-allocations-"
_GIVE_UP = 20  # rounds without a hit
# A run that succeeds although it was interrupted had nearly ended: more than this, and more than half of a
# run, is not done after Ctrl-C.
_SECONDS_AFTER_INTERRUPT = 0.1
# Runs that meet a fault and count for nothing: Ctrl-C came when all was done, or the failing allocation was
# one whose failure ends a process in another library.
_LATE, _OTHERS = "SIGINT too late", "MemoryError, another library fails"
_REPORT_SECONDS = 120.0  # between two lines that say how far the work has come


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes
    ----------
    status : int
        The exit status, or minus the number of the signal that ended it.
    out, err : str
        What it printed.
    seconds : float
    hit : bool
        Whether a signal was sent while it ran.
    seconds_after : float
        How long it ran after the signal.
    allocations : int or None
        How many allocations there were that might have failed; None: it did not come to its end.
    """

    status: int
    out: str
    err: str
    seconds: float
    hit: bool = False
    seconds_after: float = 0.0
    allocations: int | None = None


@dataclass(frozen=True)
class Failure:
    """Which allocation fails: that of a number, among those of at least so many bytes, and all later ones."""

    number: int = -1  # none
    least_bytes: int = _LEAST_BYTES[0]
    and_later: bool = False


_NO_FAILURE = Failure()


class Stage:
    """A folder in which cases run again and again, in children of this process."""

    def __init__(self, folder: Path):
        self.folder = folder / "work place"
        self.temporary = folder / "temporary"
        self._log = folder / "log"
        self.inputs: Snapshot = {}

    def set_up(self, files: Snapshot) -> None:
        """Have the inputs and these files in the folder, and nothing else."""
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        restore(self.folder, {**self.inputs, **files})

    def run(
        self,
        case: Case,
        seed: int = 0,
        *,
        strike: Callable[[int], None] | None = None,
        after: float = 0.0,
        failure: Failure = _NO_FAILURE,
    ) -> Ended:
        """Run a case in a child, and call ``strike`` with its process id some seconds after its beginning."""
        ready, begun = os.pipe()
        child = os.fork()
        if child == 0:
            self._run_in_child(case, seed, begun, failure)
        os.close(begun)
        os.read(ready, 1)
        begin = time.perf_counter()
        hit = hung = False
        struck = math.inf
        handle = os.pidfd_open(child)
        try:
            if strike is not None and not select.select([handle], [], [], after)[0]:
                hit = True
                strike(child)
                struck = time.perf_counter()
            for _ in range(_HANG_LOOKS):
                if select.select([handle], [], [], 0.1)[0]:
                    break
            else:
                os.kill(child, signal.SIGABRT)  # prints the stacks
                hung = True
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            allocations = os.read(ready, 20)
        finally:
            os.close(handle)
            os.close(ready)
        end = time.perf_counter()
        texts = [self._log.with_suffix(kind).read_text(errors="replace") for kind in (".out", ".err")]
        counted = int(allocations) if allocations else None
        printed = f"it hangs\n{texts[1]}" if hung else texts[1]
        return Ended(status, texts[0], printed, end - begin, hit, max(end - struck, 0.0), counted)

    def _run_in_child(self, case: Case, seed: int, begun: int, failure: Failure) -> None:
        code = 1
        try:
            for number, kind in ((1, ".out"), (2, ".err")):
                os.dup2(os.open(self._log.with_suffix(kind), os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
            faulthandler.enable()
            ctypes.CDLL(None).print_crashes()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(self.folder)
            tempfile.tempdir = os.environ["TMPDIR"] = str(self.temporary)
            os.write(begun, b".")
            try:
                fail_allocation(failure)
                code = call(case, seed)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                os.write(begun, str(fail_allocation(_NO_FAILURE)).encode())
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            code = 130
            if not _has_begun(error):
                print("actup: stopped", file=sys.stderr, flush=True)  # the case has not begun, or has ended
            else:
                traceback.print_exc()
                sys.stderr.flush()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _has_begun(error: BaseException) -> bool:
    """Whether an error was raised in a case, rather than before its first statement or after its last."""
    calls = list(traceback.walk_tb(error.__traceback__))
    innermost, line = calls[-1]
    if innermost.f_code is command_line.__code__ and line == innermost.f_code.co_firstlineno:
        return False
    return any(frame.f_code is call.__code__ for frame, _ in calls)


# ---- strikes ----


def kill(process: int) -> None:
    """End a process at once."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(process, signal.SIGKILL)


def interrupt(process: int) -> None:
    """Press Ctrl-C."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGINT)


def fail_allocation(failure: Failure) -> int:
    """Choose which allocation of this process fails; how many there were since the last choice."""
    return int(_preloaded()(failure.number, failure.least_bytes, failure.and_later))


@functools.cache
def _preloaded() -> Any:
    """The function of the preloaded library; kept, because looking it up needs memory."""
    choose = ctypes.CDLL(None).fail_allocation
    choose.restype, choose.argtypes = ctypes.c_long, (ctypes.c_long, ctypes.c_size_t, ctypes.c_int)
    return choose


def preload() -> None:
    """Begin this program anew with the library whose allocations can be made to fail, unless it has it."""
    if hasattr(ctypes.CDLL(None), "fail_allocation"):
        fail_allocation(_NO_FAILURE)
        folder = Path(os.environ["LD_PRELOAD"]).parent
        if folder.name.startswith(_LIBRARY_FOLDER):
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return
    library = Path(tempfile.mkdtemp(prefix=_LIBRARY_FOLDER)) / "failing_allocations.so"
    build_failing_allocations(library)
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"LD_PRELOAD": str(library)})


def starve(process: int) -> None:
    """Let a worker have no more memory than it has."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize()
        resource.prlimit(process, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def feed(process: int) -> None:
    """Take the limit of ``starve`` away."""
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


STRIKES: dict[str, Callable[[int], None]] = {
    "SIGKILL": kill,
    "SIGINT": interrupt,
    "MemoryError": starve,
}

# ---- one case ----


class Trial:
    """A case, what it gives undisturbed, and the faults it has met."""

    def __init__(self, case: Case, stage: Stage, workers: Callable[[], list[int]]):
        self.case, self._stage, self._workers = case, stage, workers
        self.counts: collections.Counter[str] = collections.Counter()
        self.endings: collections.Counter[str] = collections.Counter()
        self.unfinished_left = 0
        self._allocations: dict[int, int] = {}
        self._seconds: collections.deque[float] = collections.deque(maxlen=9)
        self._former = self._undisturbed(1)
        self._expected = self._undisturbed(0)
        self._outputs = [name for name in self._expected if not under(name, case.resumes)]
        self._wanted = contents(stage.folder, self._outputs)
        self._out = self._final.out
        self._living: list[int] = []  # workers of Dask before a strike

    def _undisturbed(self, seed: int) -> Snapshot:
        self._stage.set_up({})
        self._final = self._stage.run(self.case, seed)
        if self._final.status != 0:
            raise RuntimeError(f"{self.case.name} does not work: {self._final}")
        self._seconds.append(self._final.seconds)
        return {
            name: data
            for name, data in snapshot(self._stage.folder).items()
            if name not in self._stage.inputs
        }

    def strike(self, fault: str, draw: random.Random) -> list[str]:
        """Run the case with a fault at a random moment, and again without; returns what is wrong."""
        before = self._former if draw.random() < 0.5 else {}
        self._stage.set_up(before)
        self._living = self._workers() if self.case.on_dask else []
        victims = self._living if fault != "SIGINT" else []
        worker = draw.choice(victims) if victims and draw.random() < _WORKER_SHARE else None
        if fault == "MemoryError" and worker is None:
            failure = self._draw_failure(draw)
            moment, ended = f"allocation {failure}", self._stage.run(self.case, failure=failure)
            hit = ended.allocations is None or ended.allocations > failure.number
        else:
            after = draw.uniform(0, sorted(self._seconds)[len(self._seconds) // 2])
            moment = f"after {after:.3f} s"
            strike = STRIKES[fault] if worker is None else lambda _: STRIKES[fault](worker)
            ended = self._stage.run(self.case, strike=strike, after=after)
            hit = ended.hit and (fault != "SIGKILL" or ended.status != 0 or worker is not None)
        if worker is not None:
            feed(worker)
        if not hit:
            self._seconds.append(ended.seconds)
            return []
        if fault == "SIGINT" and ended.status == 0:
            self.counts[_LATE] += 1
        elif fault == "MemoryError" and _is_of_another_library(ended):
            self.counts[_OTHERS] += 1
        else:
            self.counts[fault] += 1
        wrong = self._judge_end(fault, ended, worker) + self._judge_files(ended, before, fault)
        left = set(snapshot(self._stage.folder))
        again = self._stage.run(self.case, 0)
        self._seconds.append(again.seconds)
        wrong += self._judge_next(again, left)
        return [f"{self.case.name}, {fault}, {moment}: {text}" for text in wrong]

    def _draw_failure(self, draw: random.Random) -> Failure:
        """A random allocation of the case."""
        least = draw.choice(_LEAST_BYTES)
        if least not in self._allocations:
            ended = self._stage.run(self.case, failure=Failure(least_bytes=least))
            self._allocations[least] = ended.allocations or 1
        # Without its smaller allocations Python cannot even say what happened.
        and_later = least == max(_LEAST_BYTES) and draw.random() < 0.5
        return Failure(draw.randrange(self._allocations[least]), least, and_later)

    def _judge_end(self, fault: str, ended: Ended, worker: int | None) -> list[str]:
        if fault == "MemoryError" and _is_of_another_library(ended):
            self.endings[f"{_OTHERS}: {ended.status}"] += 1
            return []
        lines = ended.err.splitlines()
        last = lines[-1] if lines else ""
        self.endings[f"{fault}: {ended.status} {_without_numbers(last)}"] += 1
        wrong = []
        # A program's weak references and destructors may print what they met, and Dask logs what its client
        # met; a command does not.
        printed_by_others = "Exception ignored" in ended.err or self.case.on_dask
        if "Traceback" in ended.err and (self.case.is_command or not printed_by_others):
            wrong.append(f"a traceback: {_shortened(ended.err)}")
        if fault == "SIGKILL" and worker is None:
            return [] if ended.status == -signal.SIGKILL else [f"status {ended.status}"]
        if ended.status == 0:
            if fault == "SIGINT" and self._goes_on(ended):
                wrong.append(
                    f"it went on for {ended.seconds_after:.2f} s after Ctrl-C: {_shortened(ended.err)}"
                )
            return wrong
        if fault == "SIGINT":
            if ended.status != 130 or (self.case.is_command and last != "actup: stopped"):
                wrong.append(f"status {ended.status}: {_shortened(ended.err)}")
        elif ended.status != 2 or not last.startswith("actup: ") or not _MEMORY.search(last):
            wrong.append(f"status {ended.status}: {_shortened(ended.err)}")
        return wrong

    def _goes_on(self, ended: Ended) -> bool:
        """Whether a run that succeeds has ignored Ctrl-C.

        In programs Python drops it where it comes in the callback of a weak reference, and says so.
        """
        if not self.case.is_command and re.search(
            r"^Exception ignored in.*^KeyboardInterrupt", ended.err, re.MULTILINE | re.DOTALL
        ):
            return False
        half = sorted(self._seconds)[len(self._seconds) // 2] / 2
        return "actup: stopped" in ended.err or ended.seconds_after > max(_SECONDS_AFTER_INTERRUPT, half)

    def _judge_files(self, ended: Ended, before: Snapshot, fault: str) -> list[str]:
        if self.case.on_dask:
            self._wait_for_workers()
        # Also by a crash, or the end of a worker: nobody could tidy up.
        killed = ended.status < 0 or (self.case.on_dask and set(self._workers()) != set(self._living))
        found, wrong = snapshot(self._stage.folder), []
        for name, data in self._stage.inputs.items():
            if found.pop(name, None) != data:
                wrong.append(f"the input {name} was changed")
        for name in before:
            if name not in found and name in self._outputs:
                wrong.append(f"{name} was there before and is gone")
        for name, data in found.items():
            if is_unfinished(name):
                if killed:
                    self.unfinished_left += 1
                else:
                    wrong.append(f"{name} was left unfinished")
            elif before.get(name) != data and self._expected.get(name) != data:
                wrong += self._judge_new_file(name, fault)
        if ended.status == 0:
            wrong += self._judge_success(ended, fault)
        if any(self._stage.temporary.iterdir()) and not killed:
            wrong.append(f"temporary files are left: {sorted(os.listdir(self._stage.temporary))}")
        return wrong

    def _wait_for_workers(self) -> None:
        """Wait until workers, which outlive their client, have written what they were writing."""
        for _ in range(_WRITING_LOOKS):
            if not any(is_unfinished(name) for name in snapshot(self._stage.folder)):
                return
            time.sleep(0.1)

    def _judge_success(self, ended: Ended, fault: str) -> list[str]:
        """What a run lacks that says that it has succeeded."""
        wrong = [f"a success without {name}" for name in self._outputs if not self._has_result(name, fault)]
        if without_times(ended.out) != without_times(self._out) and self.case.name != "info":
            wrong.append(f"a success prints something else: {ended.out[-500:]}, not {self._out[-500:]}")
        return wrong

    def _has_result(self, name: str, fault: str) -> bool:
        path = self._stage.folder / name
        if not path.exists():
            return False
        # Agg, which draws for Matplotlib, leaves out an outline for which it gets no memory.
        incomplete = fault == "MemoryError" and name.endswith(".png")
        return incomplete or path.read_bytes() == self._expected[name] or content(path) == self._wanted[name]

    def _judge_new_file(self, name: str, fault: str) -> list[str]:
        if name not in self._expected and not under(name, self.case.resumes):
            return [f"{name} is none of the results"]
        try:
            held = content(self._stage.folder / name)
        except Exception as error:
            return [f"{name} is not whole: {type(error).__name__}: {error}"]
        wanted = self._wanted.get(name, held)
        if name.endswith(".jsonl"):  # a line for each run so far
            wanted = {key: result for key, result in wanted.items() if key in held}
        whole = held == wanted or name.endswith(".md")  # which has the results so far
        if not whole and fault == "MemoryError" and name.endswith(".png"):
            # A whole picture in which Agg, which draws for Matplotlib, has left out an outline.
            self.endings["MemoryError: another library left out part of a picture"] += 1
            return []
        return [] if whole else [f"{name} has another content"]

    def _judge_next(self, again: Ended, left: set[str]) -> list[str]:
        if again.status != 0 or "Traceback" in again.err:
            return [f"the next run fails with status {again.status}: {_shortened(again.err)}"]
        wrong = []
        if without_times(again.out) != without_times(self._out) and self.case.name != "info":
            wrong.append(f"the next run prints something else: {again.out[-500:]}, not {self._out[-500:]}")
        found = snapshot(self._stage.folder)
        for name in self._outputs:
            if name not in found:
                wrong.append(f"the next run does not write {name}")
            elif (
                found[name] != self._expected[name]
                and content(self._stage.folder / name) != self._wanted[name]
            ):
                wrong.append(f"the next run gives another {name}")
        new = {name for name in found if is_unfinished(name)} - left
        if new:
            wrong.append(f"the next run leaves {sorted(new)}")
        return wrong


def _is_of_another_library(ended: Ended) -> bool:
    """Whether a library has ended the process, or failed without an error, because it got no memory."""
    if ended.err.startswith("it hangs"):
        return False
    if ended.status in _ABORTED and _ABORTS.search(ended.err):
        return True
    if ended.status not in (-signal.SIGSEGV, -signal.SIGABRT):
        return False
    libraries = re.findall(r"^(/\S+?)\(.*\) ?\[0x[0-9a-f]+\]$", ended.err, re.MULTILINE)
    others = [path for path in libraries if not _SYSTEM_LIBRARY.search(path)]
    return bool(others) and not _OWN_LIBRARY.search(others[0])


def _shortened(text: str) -> str:
    """What was printed, without the list of modules that follows the stacks of a crash."""
    return text.partition("Extension modules:")[0][-3000:]


def _without_numbers(text: str) -> str:
    """A message whose numbers and paths are left out, so that it can be counted."""
    return re.sub(r"[\d.,]+", "#", re.sub(r"/\S+", "PATH", text))[:110]


# ---- all cases ----


def warm_up(cases: Sequence[Case], folder: Path) -> None:
    """Do all cases in this process, so that its children import nothing: moments then fall into the work."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        contextlib.chdir(folder),
    ):
        for case in cases:
            if case.on_dask:
                importlib.import_module("distributed")
            else:
                call(case, 0)
    gc.collect()  # children would collect it, and Python drops Ctrl-C within
    gc.freeze()


@contextlib.contextmanager
def dask_cluster(wanted: bool) -> Iterator[Callable[[], list[int]]]:
    """Two workers of Dask in processes of their own; yields a function that lists their process ids."""
    if not wanted:
        yield list
        return
    program = (
        "import sys, dask, distributed\n"
        "if __name__ == '__main__':\n"
        # When a worker that a MemoryError has silenced is given up; Dask's own time is 5 minutes. One that is
        # closed for that is replaced by adapt().
        "    dask.config.set({'distributed.scheduler.worker-ttl': '20s'})\n"
        "    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit='2GiB',"
        " dashboard_address=':0') as cluster:\n"
        "        cluster.adapt(minimum=2, maximum=2, interval='500ms')\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.py"
        path.write_text(program, encoding="utf-8")
        with open(Path(folder) / "log", "wb") as log, subprocess.Popen(
            [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder
        ) as cluster:  # fmt: skip
            assert cluster.stdout is not None and cluster.stdin is not None
            os.environ[SCHEDULER] = cluster.stdout.readline().decode().strip()

            def workers() -> list[int]:
                found = child_processes(cluster.pid)
                return [
                    child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
                ]

            try:
                yield workers
            finally:
                cluster.stdin.close()


def run(
    moments: int,
    minutes: float,
    seed: int,
    cases: Sequence[Case],
    say: Callable[[str], None],
) -> list[str]:
    """Strike commands in turn until each has met each fault so often or time is up; return what is wrong."""
    draw = random.Random(seed)
    failures: list[str] = []
    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="actup-faults-") as folder,
        dask_cluster(any(case.on_dask for case in cases)) as workers,
    ):
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        write_inputs(inputs)
        rows = snapshot(inputs)
        warm_up(cases, inputs)
        trials = []
        for number, case in enumerate(cases):
            stage = Stage(Path(folder) / str(number))
            (Path(folder) / str(number)).mkdir()
            stage.inputs = rows
            trials.append(Trial(case, stage, workers))
        groups: dict[str, list[Trial]] = {}
        for trial in trials:
            groups.setdefault(trial.case.group, []).append(trial)
        turns = itertools.count()
        misses, told = 0, time.monotonic()
        while misses < _GIVE_UP and time.monotonic() - begin < minutes * 60:
            number, struck = next(turns), 0
            for fault, members in itertools.product(FAULTS, groups.values()):
                if sum(trial.counts[fault] for trial in members) >= moments:
                    continue
                trial = members[number % len(members)]
                before = trial.counts[fault]
                for text in trial.strike(fault, draw):
                    failures.append(text)
                    say(f"<<< {text}")
                struck += trial.counts[fault] - before
            if all(sum(t.counts[fault] for t in g) >= moments for fault in FAULTS for g in groups.values()):
                break
            misses = 0 if struck else misses + 1
            if time.monotonic() - told > _REPORT_SECONDS:
                told = time.monotonic()
                done = {
                    name: sum(trial.counts[fault] for trial in members for fault in FAULTS)
                    for name, members in groups.items()
                }
                say(f"  {(told - begin) / 60:.0f} minutes: {done}")
        report(trials, say)
        if minutes == math.inf:
            failures += [
                f"{name} met {fault} {count} times instead of {moments}"
                for name, members in groups.items()
                for fault in FAULTS
                if (count := sum(trial.counts[fault] for trial in members)) < moments
            ]
        elif not any(trial.counts for trial in trials):
            failures.append("nothing was struck in this time")
    say(f"{(time.monotonic() - begin) / 60:.1f} minutes")
    return failures


def report(trials: Sequence[Trial], say: Callable[[str], None]) -> None:
    """Say how often each case met each fault, and how runs ended."""
    say(f"{'':34} {'  '.join(f'{fault:>11}' for fault in FAULTS)}  unfinished files after SIGKILL")
    for trial in trials:
        counts = "  ".join(f"{trial.counts[fault]:11}" for fault in FAULTS)
        say(f"{trial.case.name:34} {counts}  {trial.unfinished_left}")
    groups: dict[str, collections.Counter[str]] = {}
    for trial in trials:
        groups.setdefault(trial.case.group, collections.Counter()).update(trial.counts)
    say("by command:")
    for name, counter in groups.items():
        say(f"{name:34} {'  '.join(f'{counter[fault]:11}' for fault in FAULTS)}")
    total: collections.Counter[str] = sum((trial.counts for trial in trials), collections.Counter())
    say(f"{'all':34} {'  '.join(f'{total[fault]:11}' for fault in FAULTS)}")
    say("not counted above:")
    for name, counter in groups.items():
        say(f"{name:34} {'; '.join(f'{counter[kind]} {kind}' for kind in (_LATE, _OTHERS))}")
    say("how runs ended:")
    endings: collections.Counter[str] = sum((trial.endings for trial in trials), collections.Counter())
    for text, count in endings.most_common(40):
        say(f"{count:7}  {text}")


def main() -> int:
    """Run, print, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=200, help="of each fault, for each command")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which it ends in any case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose name matches this regular expression")
    options = parser.parse_args()
    preload()
    warnings.simplefilter("ignore")
    os.environ.pop("ACTUP_DATA", None)

    def say(text: str) -> None:
        print(text, flush=True)

    say(
        f"python tests/faults.py --moments {options.moments} --seed {options.seed}"
        f"{f' --only {options.only!r}' if options.only else ''}, commit {commit()}"
    )
    cases = [case for case in make_cases() if re.search(options.only, case.name)]
    if not cases:
        parser.error(
            f"--only {options.only!r} matches none of {', '.join(case.name for case in make_cases())}"
        )
    failures = run(options.moments, options.minutes, options.seed, cases, say)
    say(f"{len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
