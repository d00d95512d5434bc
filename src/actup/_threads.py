"""count_threads(): the number of threads that n_jobs asks for."""

from __future__ import annotations

from numbers import Integral

# More threads than this would only wait for each other. 64 threads are always allowed.
_MAX_THREADS_PER_CORE = 4
_ALWAYS_ALLOWED_THREADS = 64


def count_threads(n_jobs: int | None, name: str = "n_jobs") -> int:
    """Return the number of threads: None and -1 mean one per usable core, -2 one fewer, and so on.

    A number far above the number of cores is lowered, which changes no result.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn.
    name : str, default="n_jobs"
        What errors call the parameter.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"{name}={n_jobs!r} must be an integer or None")
    if n_jobs == 0:
        raise ValueError(f"{name}=0 has no meaning: use -1 for all cores, or a positive number of threads")
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), max(_ALWAYS_ALLOWED_THREADS, _MAX_THREADS_PER_CORE * _usable_cores()))
    return max(1, _usable_cores() + 1 + (-1 if n_jobs is None else int(n_jobs)))


def _usable_cores() -> int:
    """The number of cores this process may use, which can be fewer than the machine has."""
    from joblib import cpu_count  # also respects affinity masks and the quotas of containers

    return int(cpu_count())
