"""What a search adds to memory: at most 0.3 times X and three times the lists it returns."""

import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import resource, sys
import numpy as np
import actup.neighbors, actup.backends.proxy  # what is imported later would count as well
from sklearn.utils import check_array

X = np.load(sys.argv[1], mmap_mode=sys.argv[2] if sys.argv[2] != "none" else None)
check_array(X[:2000], dtype=None)
actup.nearest_neighbors(X[:6000], 15, algorithm="approximate")  # threads, the engine's own memory
if sys.argv[2] != "none":
    X[:: 4096 // X.strides[0] + 1].sum()  # pages of the file are not memory of the search

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
found = actup.nearest_neighbors(X, 15, n_jobs=2)
assert found.engine == "join", found.engine
print(peak() - before, X.nbytes, found.indices.nbytes + found.distances.nbytes)
"""


def points(n, columns, dtype):
    """Like images: groups that vary in few directions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, columns)).astype(np.float32) * 40 + 128
    directions = rng.normal(size=(12, columns)).astype(np.float32) * 8
    X = np.empty((n, columns), dtype)
    for begin in range(0, n, 10_000):
        count = min(10_000, n - begin)
        part = (
            rng.standard_normal((count, 12), np.float32) @ directions + centres[rng.integers(50, size=count)]
        )
        X[begin : begin + count] = (part + rng.standard_normal(part.shape, np.float32)).clip(0, 255)
    return X


def noise(n, columns, dtype):
    """Nothing to search by: the codes grow as wide as they may."""
    X = np.random.default_rng(0).integers(0, 256, (n, columns), np.uint8)
    return X.astype(dtype, copy=False)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts in another unit elsewhere")
@pytest.mark.parametrize("mode", ["none", "r"])
@pytest.mark.parametrize(
    ("make", "n", "columns", "dtype"),
    [
        (points, 200_000, 50, np.float32),
        (points, 60_000, 784, np.uint8),
        (noise, 20_001, 784, np.uint8),
    ],
)
def test_peak_memory(make, n, columns, dtype, mode, tmp_path):
    np.save(tmp_path / "X.npy", make(n, columns, dtype))
    run = [sys.executable, "-c", SCRIPT, str(tmp_path / "X.npy"), mode]
    added, data, lists = map(int, subprocess.run(run, check=True, capture_output=True).stdout.split())
    assert added <= 0.3 * data + 3 * lists, f"{added / 2**20:.0f} MiB for X of {data / 2**20:.0f} MiB"
