"""What this process holds: memory, threads, open files, children and temporary files, read from /proc."""

from __future__ import annotations

import collections
import ctypes
import gc
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


def resident_mib() -> float:
    """The memory that the process holds, without what the allocator keeps for reuse."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True)
class Held:
    """What a process holds at a moment.

    Attributes
    ----------
    resident_mib : float
    threads : int
        Those of Python and those of compiled code.
    files : tuple of str
        What the open file descriptors refer to: paths, sockets, pipes.
    children : int
        Child processes, ended ones that nobody has waited for included.
    temporary : tuple of str
        Everything in the folder of temporary files.
    """

    resident_mib: float
    threads: int
    files: tuple[str, ...]
    children: int
    temporary: tuple[str, ...]

    @classmethod
    def now(cls) -> Held:
        """Look at this process."""
        folder = Path(tempfile.gettempdir())
        return cls(
            resident_mib(),
            len(os.listdir("/proc/self/task")),
            open_files(),
            len(child_processes()),
            tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))),
        )

    def describe(self) -> str:
        """The counts, in one line."""
        return (
            f"{self.resident_mib:7.1f} MiB, {self.threads:3} threads, {len(self.files):3} files, "
            f"{self.children} children, {len(self.temporary)} temporary files"
        )

    def more_than(self, before: Sequence[Held]) -> list[str]:
        """What there is more of than at any of several earlier moments, apart from memory.

        OpenBLAS ends its threads when a process forks, and begins them again when they are needed: one
        earlier moment would not say how many there may be.
        """
        found = []
        for name in ("threads", "children"):
            most = max(getattr(held, name) for held in before)
            if getattr(self, name) > most:
                found.append(f"{getattr(self, name)} {name} instead of {most}")
        for name in ("files", "temporary"):
            most = max(len(getattr(held, name)) for held in before)
            if len(getattr(self, name)) > most:
                new = collections.Counter(getattr(self, name)) - collections.Counter(getattr(before[0], name))
                found.append(f"more {name} than {most}, among them {', '.join([*new.elements()][:5])}")
        return found


def open_files() -> tuple[str, ...]:
    """What the open file descriptors of this process refer to, without the one that lists them."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:  # the one of the listing, which is closed by now
            continue
        if re.search(r"/#\d+ \(deleted\)$", target):  # without a name: of libffi, for callbacks of ctypes
            continue
        found.append(target.split(":")[0] if target.startswith(("socket:", "pipe:")) else target)
    return tuple(sorted(found))


def child_processes(process: int | str = "self") -> list[int]:
    """The ids of the children of a process."""
    found: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            text = Path(f"/proc/{process}/task/{thread}/children").read_text(encoding="ascii")
        except OSError:  # the thread has ended
            continue
        found.extend(map(int, text.split()))
    return found
