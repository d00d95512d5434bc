"""actup info: what is installed here, and what it runs on."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import actup
from actup._cli.reporting import show

_REQUIRED = ("numpy", "scipy", "scikit-learn")
_OPTIONAL = ("typer", "tqdm", "pyarrow", "anndata", "matplotlib", "pandas", "anywidget", "cupy-cuda12x",
             "cupy-cuda13x")  # fmt: skip


def command() -> None:
    """Print versions, processor, GPU, threads, memory and caches, for bug reports too."""
    for name, value in _facts():
        show(f"{name:<14} {value}")


def _facts() -> Iterator[tuple[str, str]]:
    from actup._engine import level, offered_levels
    from actup._experiments.environment import machine
    from actup._threads import count_threads
    from actup.neighbors._tables import available_memory

    yield "actup", f"{actup.__version__} in {Path(actup.__file__).parent}"
    yield "python", f"{platform.python_version()} on {platform.platform()}"
    for package in _REQUIRED:
        yield package, _version(package) or "not installed"
    for package in _OPTIONAL:
        if (found := _version(package)) is not None:
            yield package, found
    yield "processor", f"{machine()['processor']} ({platform.machine()})"
    yield "engine", f"{level} (this processor can run: {', '.join(offered_levels())})"
    yield "threads", str(count_threads(None))
    memory = available_memory()
    yield "memory", "unknown" if memory is None else f"{memory / 2**30:.1f} GiB available"
    yield "gpu", _gpu()
    yield "kernel cache", _cache()
    yield "data sets", os.environ.get("ACTUP_DATA") or "no folder: ACTUP_DATA is not set"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _gpu() -> str:
    from actup.backends._cuda.compile import cupy

    try:
        runtime = cupy().cuda.runtime
    except (ImportError, RuntimeError) as error:
        return f"none ({error})"
    properties = runtime.getDeviceProperties(runtime.getDevice())
    name = properties["name"].decode()
    return f"{name}, {properties['totalGlobalMem'] / 2**30:.0f} GiB, CUDA {runtime.runtimeGetVersion()}"


def _cache() -> str:
    """The folder in which CuPy keeps the compiled kernels of the GPU."""
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    if not folder.is_dir():
        return f"{folder} (none yet; only a GPU needs it)"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{folder} ({size / 2**20:.0f} MiB)"
