"""Type aliases that several stages share."""

from __future__ import annotations

from typing import Any, TypeAlias

# An array of NumPy or, on backend "cuda", of CuPy.
Array: TypeAlias = Any
# A scipy.sparse matrix or array in CSR form.
CsrMatrix: TypeAlias = Any
# Rows of X: an ndarray or CSR matrix on the CPU, a CuPy array on a GPU.
Rows: TypeAlias = Any
