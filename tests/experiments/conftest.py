"""A small workspace that several tests share."""

import pytest

from actup import datasets
from actup._experiments.workspace import Workspace


@pytest.fixture(scope="module")
def workspace():
    return Workspace(datasets.load("digits", n_samples=200), 2, 89)
