"""Compiles the kernels of the CUDA backend when they are first used; CuPy keeps the result on disk.

A kernel file stands in ``kernels/`` and shares its formulas with the CPU through the headers of ``_native``.
What a run never changes (dimensions, loss, ...) is a macro: each variant is compiled for what it does. Files
are compiled by several threads, so those a run will need can be asked for at its beginning (``ahead.py``).
"""

from __future__ import annotations

import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).parent / "kernels"
NATIVE = Path(__file__).parents[2] / "_native"

_MOST_THREADS = 12  # that compile at a time

_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)


@cache
def cupy() -> ModuleType:
    """CuPy, with a device to use; an error that says what is missing otherwise."""
    try:
        import cupy
    except ImportError:
        raise ImportError(
            "backend='cuda' needs CuPy: pip install actup[cuda12] or actup[cuda13], as the driver's CUDA is"
        ) from None
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(f"backend='cuda' found no usable GPU ({error}): use backend='cpu'") from None
    if not devices:
        raise RuntimeError("backend='cuda' found no GPU: use backend='cpu'")
    return cupy


def load_kernels(name: str, *, fast_math: bool = False, **macros: int | str):
    """The compiled file ``kernels/<name>.cu``.

    Parameters
    ----------
    name : str
    fast_math : bool, default=False
        Approximate division, square root and functions, to a few units in the last place: for forces.
    **macros : int or str
        Definitions the file reads.

    Returns
    -------
    cupy.RawModule
        ``get_function(name)`` gives a kernel. The same arguments give the same module, per device.
    """
    return request_kernels(name, fast_math=fast_math, **macros).result()


def request_kernels(name: str, *, fast_math: bool = False, **macros: int | str) -> Future:
    """The same as something to come: begins to compile, and does not wait."""
    device = cupy().cuda.runtime.getDevice()
    return _requested(name, fast_math, tuple(sorted(macros.items())), device)


@cache
def _requested(name: str, fast_math: bool, macros: tuple, device: int) -> Future:
    # Macros are part of the source: for every new set of options CuPy asks the compiler who it is.
    source = "".join(f"#define {key} {value}\n" for key, value in macros) + source_of(name)
    options = ("-std=c++17", "--use_fast_math") if fast_math else ("-std=c++17",)

    def compiled():
        module = cupy().RawModule(code=source, options=options)
        with cupy().cuda.Device(device):
            module.compile()
        return module

    return compilers().submit(compiled)


@cache
def compilers() -> ThreadPoolExecutor:
    """The threads that compile."""
    return ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "actup-compile")


@cache
def source_of(name: str) -> str:
    """The text of a kernel file with our headers in their places.

    CuPy finds a compiled module on disk by its source, so a change of a header has to show in it.
    """
    return _inlined(KERNELS / f"{name}.cu", set())


def _inlined(path: Path, seen: set[Path]) -> str:
    """A file's text, each header it names with quotes put in once, as ``#pragma once`` asks."""

    def replace(match: re.Match) -> str:
        header = next(folder / match[1] for folder in (KERNELS, NATIVE) if (folder / match[1]).exists())
        if header in seen:
            return ""
        seen.add(header)
        return _inlined(header, seen)

    return _INCLUDE.sub(replace, path.read_text().replace("#pragma once\n", ""))
