"""Peak memory of a fit: the graph, the layout's copy of it, and little besides; neighbours are freed."""

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import actup
from actup.backends._cpu import CpuBackend

# Prints the peak of the resident memory, from the end of the graph stage on, beyond what there was before the
# fit, in bytes per row. The warm-up takes what any fit takes: threads, modules, the engine's own memory.
SCRIPT = """
from pathlib import Path
import numpy as np
import actup

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024

def forget_the_peak(stage, fraction, embedding):
    if stage == "graph" and fraction == 1:
        Path("/proc/self/clear_refs").write_text("5")

rng = np.random.default_rng(0)
n = 210_000  # enough for a start at landmarks
X = rng.standard_normal((n, 12), np.float32) @ rng.standard_normal((12, 50), np.float32)
actup.UMAP(n_epochs=5, random_state=0, n_jobs=2).fit(X[:6000])
before = status("VmRSS")
actup.UMAP(n_epochs=5, random_state=0, n_jobs=2, callback=forget_the_peak).fit(X)
print((status("VmHWM") - before) / n)
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak cannot be reset here")
def test_peak_memory_after_the_graph():
    run = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    added = float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert added <= 430, f"{added:.0f} bytes per row: are the neighbours still in memory, 112 bytes per row?"


@pytest.mark.parametrize("estimator", [actup.UMAP, actup.TSNE, actup.GDR])
def test_neighbors_are_freed_before_the_layout(estimator, monkeypatch):
    found = []
    search, make_layout = CpuBackend.nearest_neighbors, CpuBackend.make_layout

    def searched(*arguments):
        neighbors = search(*arguments)
        found.extend(weakref.ref(array) for array in (neighbors.indices, neighbors.distances))
        return neighbors

    def laid_out(*arguments):
        assert len(found) == 2
        assert all(array() is None for array in found)
        return make_layout(*arguments)

    monkeypatch.setattr(CpuBackend, "nearest_neighbors", searched)
    monkeypatch.setattr(CpuBackend, "make_layout", laid_out)
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = estimator(random_state=0).fit(X)
    assert model.recall_ == 1.0


def test_embed_keeps_the_neighbors():
    X = np.random.default_rng(0).normal(size=(200, 5))
    result = actup.embed(X, actup.preset("umap").but(epochs=5))
    assert result.neighbors.indices.shape == (200, 14)
    assert result.recall == result.neighbors.recall == 1.0
