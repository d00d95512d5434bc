"""What NumPy raises when it reads damaged .npy and .npz files."""

from __future__ import annotations

import tokenize
import zipfile
import zlib

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
