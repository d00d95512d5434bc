"""count_threads(): what n_jobs means, everywhere."""

from __future__ import annotations

from numbers import Integral

_FEW, _PER_CORE = 64, 4


def count_threads(n_jobs: int | None, name: str = "n_jobs") -> int:
    """How many threads a number means: None and -1 are one per usable core, -2 one fewer, and so on.

    Far more threads than cores would only wait for each other, and no result depends on their number: they
    are not started.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"{name}={n_jobs!r} must be an integer or None")
    if n_jobs == 0:
        raise ValueError(f"{name}=0 has no meaning: use -1 for all cores, or a positive number of threads")
    if n_jobs is not None and n_jobs > 0:
        return min(int(n_jobs), max(_FEW, _PER_CORE * _usable_cores()))
    return max(1, _usable_cores() + 1 + (-1 if n_jobs is None else int(n_jobs)))


def _usable_cores() -> int:
    """The cores this process may use, which inside a container can be fewer than the machine has."""
    from joblib import cpu_count  # it also knows the quotas of containers

    return cpu_count()
