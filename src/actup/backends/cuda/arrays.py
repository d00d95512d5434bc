"""Arrays on the GPU: what is taken without a copy, what it is given back as, and how much room there is."""

from __future__ import annotations

import numpy as np

from actup.backends.cuda.compile import cupy


def on_device(array) -> bool:
    """Whether an array lies on a GPU: CuPy's, torch's, or any with ``__cuda_array_interface__``."""
    return hasattr(array, "__cuda_array_interface__")


def free_bytes() -> int:
    """Bytes of the GPU's memory that CuPy can hand out."""
    cp = cupy()
    return cp.cuda.Device().mem_info[0] + cp.get_default_memory_pool().free_bytes()


def to_device(array, dtype=np.float32):
    """The array as a C-contiguous cupy.ndarray; without a copy if it is one on the device already."""
    cp = cupy()
    return cp.ascontiguousarray(cp.asarray(array), dtype)


def to_host(array) -> np.ndarray:
    """The array as a numpy.ndarray, wherever it lies."""
    return cupy().asnumpy(cupy().asarray(array)) if on_device(array) else np.asarray(array)


def like(array, template):
    """A cupy.ndarray as the kind of another array: CuPy's, torch's, or whatever takes DLPack; else NumPy's."""
    if not on_device(template):
        return to_host(array)
    module = type(template).__module__.split(".")[0]
    if module == "torch":
        import torch

        return torch.from_dlpack(array)
    return array
