"""Compute backends: "cpu" (the compiled engine), "cuda" (one GPU), "reference" (NumPy, the tests' oracle)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from actup._device import on_gpu
from actup._errors import WrongType
from actup._suggestions import not_one_of
from actup._warnings import warn_user
from actup.backends._base import Backend, Layout, PointInputs

__all__ = [
    "Backend",
    "Layout",
    "PointInputs",
    "backends",
    "choose_backend",
    "cuda_is_available",
    "load_backend",
]

# To add a backend: a subclass of Backend, and its row here.
_BACKENDS = {
    "cpu": ("actup.backends._cpu", "CpuBackend"),
    "cuda": ("actup.backends._cuda", "CudaBackend"),
    "reference": ("actup.backends._reference", "ReferenceBackend"),
}

_GPU_MIN_POINTS = 5_000  # with fewer points backend "auto" stays on the CPU: a GPU would not be faster


def backends() -> list[str]:
    """The names of the backends that can run here: "cuda" only where CuPy finds a GPU.

    Examples
    --------
    >>> from actup.backends import backends
    >>> "cpu" in backends()
    True
    """
    return [name for name in _BACKENDS if load_backend(name).is_available()]


def cuda_is_available() -> bool:
    """Whether backend "cuda" can run: CuPy is installed and finds a GPU.

    Examples
    --------
    >>> from actup.backends import backends, cuda_is_available
    >>> cuda_is_available() == ("cuda" in backends())
    True
    """
    return load_backend("cuda").is_available()


def choose_backend(name: str, X: Any, n_samples: int) -> str:
    """The backend that "auto" stands for: "cuda" where a GPU is there and has enough to do, else "cpu".

    Parameters
    ----------
    name : str
        Any name but "auto" is returned as it is.
    X : array-like
        Data on a GPU is always enough; sparse data stays on the CPU.
    n_samples : int

    Returns
    -------
    str

    Examples
    --------
    >>> from actup.backends import choose_backend
    >>> choose_backend("auto", [[0.0], [1.0]], 2)
    'cpu'
    """
    if not isinstance(name, str):
        raise _not_a_name(name)
    if name != "auto":
        return name
    if (n_samples < _GPU_MIN_POINTS and not on_gpu(X)) or hasattr(X, "tocsr"):
        return "cpu"
    if cuda_is_available():
        return "cuda"
    _warn_of_unusable_gpu()
    return "cpu"


@cache
def _warn_of_unusable_gpu() -> None:
    """Warn once if CuPy is installed but cannot be used."""
    from actup.backends._cuda.compile import cupy

    try:
        cupy()
    except ImportError:
        pass
    except RuntimeError as error:
        warn_user(f"backend='auto' uses the CPU: {error}")


def load_backend(name: str) -> Backend:
    """The backend of that name.

    Examples
    --------
    >>> from actup.backends import load_backend
    >>> load_backend("cpu").name
    'cpu'
    """
    check_backend(name)
    if name == "auto":
        raise ValueError(not_one_of("backend", name, [*_BACKENDS]))
    return _backend(name)


def check_backend(name: Any) -> None:
    """Reject what is no name of a backend; "auto" is one."""
    if not isinstance(name, str):
        raise _not_a_name(name)
    if name != "auto" and name not in _BACKENDS:
        raise ValueError(not_one_of("backend", name, ["auto", *_BACKENDS]))


def _not_a_name(value: object) -> WrongType:
    return WrongType(f"backend={value!r} must be a name: {', '.join(map(repr, ['auto', *_BACKENDS]))}")


@cache
def _backend(name: str) -> Backend:
    module, kind = _BACKENDS[name]
    backend: Backend = getattr(import_module(module), kind)()
    return backend
