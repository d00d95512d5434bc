"""Write .npy files whose errors have the reason, which np.save loses; what NumPy raises for damaged files."""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy_format

from actup._whole_file import whole_file

# A header is read as Python's text, so what Python's parser raises is among them. OSError and MemoryError are
# not: they may have other reasons.
ARRAY_FILE_ERRORS = (
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    SyntaxError,
    RecursionError,
    NotImplementedError,  # a compression that Python does not have
    RuntimeError,  # an encrypted member
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


class Writable(Protocol):
    """What bytes can be written to."""

    def write(self, data: bytes | memoryview, /) -> int: ...


def write_header(file: Writable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Write the header of a C-contiguous array."""
    description = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, description)


def write_values(file: Writable, array: np.ndarray) -> None:
    """Write the values of an array in C order."""
    file.write(np.ascontiguousarray(array).data if array.size else b"")


def save_array(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Write an array as a .npy file, whole or not at all."""
    with whole_file(path) as unfinished, open(unfinished, "wb") as file:
        write_header(file, array.shape, array.dtype)
        write_values(file, array)
