"""Compiles the kernels of the CUDA backend when they are first used; CuPy caches the result on disk.

Kernel files are in ``kernels/`` and share their formulas with the CPU through the headers of ``_native``.
Whatever stays fixed during a run (dimensions, loss, ...) is a macro, so that each variant contains only the
code it needs. Several threads compile files in the background, so that the kernels of a run can be requested
when it begins (``ahead.py``).
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from actup._threads import BackgroundCall, BackgroundCalls
from actup.backends._cuda.constants import MACROS

KERNELS = Path(__file__).parent / "kernels"
NATIVE = Path(__file__).parents[2] / "_native"

_MAX_COMPILER_THREADS = 12
# From this version on the compiler uses the first architecture of several, and CuPy adds its own to ours.
_MIN_HOPPER_COMPILER = (12, 9)

_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
_CONDITION = re.compile(r"^#(if|endif)", re.MULTILINE)


@cache
def cupy() -> Any:
    """The module CuPy, with a usable GPU; raises an error that says what is missing otherwise."""
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


@cache
def gpu_is_available() -> bool:
    """Whether CuPy is installed and finds a GPU."""
    try:
        cupy()
    except (ImportError, RuntimeError):
        return False
    return True


def hopper_is_usable() -> bool:
    """Whether instructions that only compute capability 9.0 has can be compiled and run on this device."""
    capability, compiler = cupy().cuda.Device().compute_capability, cupy().cuda.nvrtc.getVersion()
    return bool(capability == "90" and compiler >= _MIN_HOPPER_COMPILER)


def load_kernels(name: str, *, fast_math: bool = False, hopper: bool = False, **macros: int | str) -> Any:
    """Compile ``kernels/<name>.cu``, or return it if it is compiled already.

    Parameters
    ----------
    name : str
    fast_math : bool, default=False
        Approximate division, square root and functions, to a few units in the last place: for forces.
    hopper : bool, default=False
        Allow instructions that only compute capability 9.0 has; needs ``hopper_is_usable``.
    **macros : int or str
        Macros that the file reads.

    Returns
    -------
    cupy.RawModule
        ``get_function(name)`` returns a kernel. The same arguments return the same module, per device.
    """
    return request_kernels(name, fast_math=fast_math, hopper=hopper, **macros).result()


def value_macros(rows: Any) -> dict[str, Any]:
    """The macros of kernels/row_value.h for rows of float32, float16, uint8 or int8."""
    return {} if rows.dtype == "float32" else {"ROW_VALUE": str(rows.dtype).upper()}


def request_kernels(
    name: str, *, fast_math: bool = False, hopper: bool = False, **macros: int | str
) -> BackgroundCall[Any]:
    """Start to compile a file in the background; the parameters are those of ``load_kernels``."""
    device = cupy().cuda.runtime.getDevice()
    options = ["-std=c++17"]
    if fast_math:
        options.append("--use_fast_math")
    if hopper:
        options.append("-arch=sm_90a")
    return _requested(name, tuple(options), tuple(sorted(macros.items())), device)


@cache
def _requested(
    name: str, options: tuple[str, ...], macros: tuple[tuple[str, int | str], ...], device: int
) -> BackgroundCall[Any]:
    # Macros go into the source, not into the options: CuPy starts the compiler for every new set of options.
    source = _defines(dict(macros)) + source_of(name)

    def compiled() -> Any:
        module = cupy().RawModule(code=source, options=options)
        with cupy().cuda.Device(device):
            module.compile()
        return module

    return compilers().submit(compiled)


@cache
def compilers() -> BackgroundCalls:
    """The threads that compile."""
    return BackgroundCalls(min(_MAX_COMPILER_THREADS, os.cpu_count() or 1))


@cache
def source_of(name: str) -> str:
    """The text of a kernel file, with our headers inlined and the macros of ``constants.py`` in front.

    Headers are inlined because CuPy finds a compiled module on disk by its source: a change of a header has
    to change the source.
    """
    return _defines(MACROS) + _inlined(KERNELS / f"{name}.cu", set())


def _defines(macros: dict[str, Any]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in macros.items())


def _inlined(path: Path, seen: set[Path]) -> str:
    """A file's text in which the first #include of each of our headers is replaced by the header's text.

    Such an #include must not depend on a condition: the header would be missing where a later file needs it.
    """
    text = path.read_text(encoding="utf-8").replace("#pragma once\n", "")

    def replace(match: re.Match[str]) -> str:
        conditions = _CONDITION.findall(text, 0, match.start())
        if conditions.count("if") != conditions.count("endif"):
            raise ValueError(f"{path.name} includes {match[1]} inside of an #if: move the #include out of it")
        header = next(folder / match[1] for folder in (KERNELS, NATIVE) if (folder / match[1]).exists())
        if header in seen:
            return ""
        seen.add(header)
        return _inlined(header, seen)

    return _INCLUDE.sub(replace, text)
