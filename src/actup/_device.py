"""Where an array lies: in the host's memory or on a GPU."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from actup._typing import Array

_DLPACK_CUDA = 2  # DLPack's number for an NVIDIA GPU


def on_gpu(array: Any) -> bool:
    """Whether an array lies on a GPU: CuPy's, torch's, any with DLPack or CUDA's array interface."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__dlpack_device__"):
        return bool(array.__dlpack_device__()[0] == _DLPACK_CUDA)
    return hasattr(array, "__cuda_array_interface__")


def array_module(array: Array) -> ModuleType:
    """The module that computes with an array: CuPy if it lies on a GPU, else NumPy."""
    if not on_gpu(array):
        return np
    import cupy

    module: ModuleType = cupy
    return module


def as_cupy(array: Any) -> Array:
    """An array that lies on a GPU as CuPy's, without a copy."""
    import cupy

    if isinstance(array, cupy.ndarray):
        return array
    array = array.detach() if hasattr(array, "detach") else array  # torch: no gradient flows through a map
    return cupy.from_dlpack(array) if hasattr(array, "__dlpack__") else cupy.asarray(array)


def to_host(array: Any) -> Any:
    """An array that lies on a GPU as a NumPy array; anything else as it is."""
    return as_cupy(array).get() if on_gpu(array) else array
