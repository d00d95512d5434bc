"""Small runs over files for tests: rows in clusters, and plans with more groups than such rows need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from actup.distributed import make_plan
from actup.distributed._api import run_plan
from actup.progress import Progress


def clustered_rows(n: int = 3000, columns: int = 12, seed: int = 0) -> np.ndarray:
    """Rows around 20 centres, of which neighbouring ones overlap."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(20, columns)) * 2
    return (centers[random.integers(20, size=n)] + random.normal(size=(n, columns))).astype(np.float32)


def small_plan(source, work, recipe="umap", *, groups=5, block_rows=700, **options):
    """A plan whose rows are divided into several groups and blocks although they would fit into one."""
    plan = make_plan(source, recipe, work=work, backend="cpu", **options)
    return replace(plan, groups=groups, block_rows=block_rows)


def run(plan, *, client=None, out=None, threads=2, progress=None):
    """Run a plan."""
    return run_plan(plan, client, out, threads, progress or Progress())
