"""Run openTSNE's own tests, which its source distribution holds, on ``actup.compat.opentsne``.

    python tests/upstream/opentsne.py           # print the outcomes
    python tests/upstream/opentsne.py --save    # also keep them for docs/compatibility.md

The distribution is downloaded into build/ once. In the process that runs the tests, and there alone, the name
``openTSNE`` means ActUp's package.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from suite import Recorder, Suite, finish, sort_outcomes

VERSION = "1.0.4"
FOLDER = Path(__file__).parents[2] / "build" / "upstream"
MODULES = (
    "utils",
    "nearest_neighbors",
    "affinity",
    "initialization",
    "tsne",
    "kl_divergence",
    "callbacks",
    "metrics",
    "sklearn",
)

# Tests of code that has no counterpart here: other libraries that are called, and private modules.
NOT_APPLICABLE = {
    r"TestTSNEParameterFlow::test_nndescent": "tests that PyNNDescent is called",
    r"TestAnnoy::test_knn_kwargs": "tests the private module dependencies.annoy",
    r"TestHNSW::test_knn_kwargs": "tests that hnswlib is called",
    r"TestNNDescent::test_(random_state_being|building_with|runs_with|random_cluster|knn_kwargs)": (
        "tests that PyNNDescent is called"
    ),
    r"TestNNDescent::test_uncompiled_callable_is_compiled": "tests that Numba compiles a metric",
}

# Where the package differs from openTSNE on purpose.
DIFFERENCES = {
    r"TestSpectralInitializationCorrectness": "eigenvectors agree to single precision, not to seven digits",
    r"TestNNDescent::test_(uncompiled|numba_compiled)_callable_metric_same_result": (
        "distances of a search other than 'exact' are in single precision, those of a function in double"
    ),
    r"(TestTSNEParameterFlow|TestSklearn|TestGenericAffinity)::test_knn_kwargs": (
        "options of scikit-learn's NearestNeighbors have no effect: ActUp's search takes its place"
    ),
}


def source() -> Path:
    """The unpacked source distribution."""
    folder = FOLDER / f"opentsne-{VERSION}"
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        download = ["download", "--quiet", "--no-deps", "--no-binary", "openTSNE", f"openTSNE=={VERSION}"]
        subprocess.run([sys.executable, "-m", "pip", *download, "--dest", str(FOLDER)], check=True)
        with tarfile.open(FOLDER / f"opentsne-{VERSION}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    (folder / "tests" / "__init__.py").touch()  # its tests import each other, and the archive lacks this file
    return folder


def run() -> Suite:
    """Run the tests on ``actup.compat.opentsne``."""
    tests = source() / "tests"
    sys.modules["openTSNE"] = importlib.import_module("actup.compat.opentsne")
    for name in MODULES:
        sys.modules[f"openTSNE.{name}"] = importlib.import_module(f"actup.compat.opentsne.{name}")
    recorder = Recorder()
    options = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-c", os.devnull]
    pytest.main([str(tests), f"--rootdir={tests}", *options], plugins=[recorder])
    return Suite(
        name="opentsne",
        title="openTSNE, tests/ of its source distribution",
        version=VERSION,
        runs="actup.compat.opentsne",
        outcomes=sort_outcomes(recorder.outcomes, NOT_APPLICABLE, DIFFERENCES),
    )


if __name__ == "__main__":
    sys.exit(finish(run(), DIFFERENCES, sys.argv[1:]))
