"""scikit-learn's own tests of TSNE pass on ``actup.TSNE``, except where it differs on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

SCRIPT = Path(__file__).with_name("sklearn_tsne.py")


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9), reason="tests of another interface"
)
def test_upstream_tests_pass():
    """In a process of their own, because they replace standard output and have other settings of pytest."""
    ran = subprocess.run([sys.executable, str(SCRIPT), "--strict"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
