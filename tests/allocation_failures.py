"""Fits whose allocations fail one after the other; run in a process of its own by test_memory_failures.py.

    LD_PRELOAD=failing_allocations.so python tests/allocation_failures.py CASE [most]

Every large allocation of a fit fails once (or ``most`` of them, evenly spaced). Each time, ``fit`` must raise
a MemoryError that names the stage and leave the model as it was, or do without that memory and give the usual
bits. At the end no file, no memory and no thread is lost, and a fit gives the usual bits. With RLIMIT as
second argument, the address space is limited instead.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import actup
from actup.backends import load_backend

# Of an allocation that fails. NumPy 2.4 crashes if its buffers for casts, of up to 128 KiB, cannot be had.
LEAST_BYTES = 2**17 + 1
EPOCHS = {"n_epochs": 4}


def points(n: int, columns: int, dtype=np.float32) -> np.ndarray:
    random = np.random.default_rng(0)
    rows = random.standard_normal((n, 5), np.float32) @ random.standard_normal((5, columns), np.float32)
    return (rows * 20 + 100).astype(dtype)


def texts(n: int) -> sparse.csr_matrix:
    random = np.random.default_rng(0)
    return sparse.random_array((n, 2000), density=0.02, format="csr", dtype=np.float32, rng=random)


# Name: the model and its rows, which between them reach every stage, search and kind of layout.
CASES = {
    "codes": lambda: (actup.UMAP(**EPOCHS), points(6000, 40, np.float64)),
    "clusters": lambda: (actup.UMAP(init="pca", **EPOCHS), points(21_000, 12)),
    "proxy": lambda: (actup.UMAP(metric="manhattan", **EPOCHS), points(12_000, 30)),
    "sparse": lambda: (actup.UMAP(metric="cosine", **EPOCHS), texts(6000)),
    "gower": lambda: (actup.UMAP(metric="gower", **EPOCHS), points(6000, 8, np.float64)),
    "scikit-learn": lambda: (actup.UMAP(metric="sokalmichener", **EPOCHS), points(5000, 8)),
    "tree": lambda: (actup.TSNE(n_components=3, perplexity=8, max_iter=3), points(8000, 10)),
    "mesh": lambda: (actup.TSNE(perplexity=10, max_iter=3), points(8000, 10)),
    "matchings": lambda: (actup.GDR(preset="paper_umap", epochs=3), points(8000, 10)),
    "density": lambda: (actup.UMAP(densmap=True, **EPOCHS), points(8000, 10)),
    "graph on disc": lambda: (actup.UMAP(max_memory=5_500_000, **EPOCHS), points(8000, 10)),
    "labels": lambda: (actup.UMAP(target_weight=0.5, **EPOCHS), points(8000, 10)),
}


def build_failing_allocations(library: Path) -> None:
    """Compile the library to preload."""
    source = Path(__file__).with_name("failing_allocations.cpp")
    flags = ["-shared", "-fPIC", "-O1", "-std=c++17", "-ldl"]
    subprocess.run(["c++", str(source), "-o", str(library), *flags], check=True)


def main() -> None:
    name, *rest = sys.argv[1:]
    warnings.simplefilter("ignore")
    tempfile.tempdir = tempfile.mkdtemp()
    model, X = CASES[name]()
    model.set_params(random_state=0, n_jobs=2)
    y = np.arange(X.shape[0]) % 7 if name == "labels" else None
    model.fit(X, y)
    expected, kept = model.embedding_.copy(), dict(vars(model))
    if rest[:1] == ["RLIMIT"]:
        outcome = limited(model, X, y, expected, kept)
    else:
        outcome = failing(model, X, y, expected, kept, int(rest[0]) if rest else None)
    model.fit(X, y)
    assert (model.embedding_ == expected).all()
    assert os.listdir(tempfile.tempdir) == [], "a temporary file was left behind"
    os.rmdir(tempfile.tempdir)
    print(json.dumps(outcome))


def failing(model, X, y, expected, kept, most: int | None) -> dict:
    fail = ctypes.CDLL(None).fail_allocation
    fail.argtypes, fail.restype = (ctypes.c_long, ctypes.c_size_t, ctypes.c_int), ctypes.c_long
    fail(-1, LEAST_BYTES, 0)
    model.fit(X, y)
    kept = dict(vars(model))
    count = fail(-1, LEAST_BYTES, 0)
    chosen = range(count) if most is None else np.unique(np.linspace(0, count - 1, most).astype(int)).tolist()
    stages: dict[str, int] = {}
    base, threads_before = None, threads()
    for number in chosen:
        for later in (0, 1):
            fail(number, LEAST_BYTES, later)
            try:
                model.fit(X, y)
                stage = "done without"
            except MemoryError as error:
                stage = stage_of(error)
            finally:
                fail(-1, LEAST_BYTES, 0)
            kept = check(model, stage, expected, kept, f"allocation {number} of {count}")
            stages[stage] = stages.get(stage, 0) + 1
        gc.collect()
        base = resident_bytes() if base is None else base
    grown = resident_bytes() - base
    assert threads() == threads_before, f"{threads()} threads, {threads_before} before"
    assert grown < 2**23, f"{grown / 2**20:.1f} MiB are lost"
    return {"allocations": count, "failed": len(chosen), "stages": stages}


def limited(model, X, y, expected, kept) -> dict:
    """Fits in an address space that has ever less room."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    stages: dict[str, int] = {}
    for room in np.geomspace(2**27, 2**15, 40).astype(int).tolist():
        gc.collect()
        resource.setrlimit(resource.RLIMIT_AS, (status_bytes("VmSize") + room, before[1]))
        try:
            model.fit(X, y)
            stage = "done without"
        except MemoryError as error:
            stage = stage_of(error)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        kept = check(model, stage, expected, kept, f"{room} bytes of room")
        stages[stage] = stages.get(stage, 0) + 1
    return {"stages": stages}


def stage_of(error: MemoryError) -> str:
    """The stage that an error names."""
    for stage in ("read", "neighbors", "graph", "start", "layout"):
        if f"in stage {stage!r}" in str(error):
            return stage
    return f"none: {error!r}"


def check(model, stage: str, expected, kept: dict, what: str) -> dict:
    assert not stage.startswith("none"), f"{what}: {stage}"
    if stage == "done without":
        assert (model.embedding_ == expected).all(), f"{what}: other bits"
        return dict(vars(model))
    now = vars(model)
    assert now.keys() == kept.keys(), f"{what}: {now.keys() ^ kept.keys()} changed"
    assert all(now[name] is kept[name] for name in kept), f"{what}: attributes were replaced"
    return kept


def resident_bytes() -> int:
    load_backend("cpu").free_memory()  # what the heap keeps is not lost
    return status_bytes("RssAnon")


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def status_bytes(name: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:")) * 1024


if __name__ == "__main__":
    main()
