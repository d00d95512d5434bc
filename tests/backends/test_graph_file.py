"""The temporary file of a graph lies where the environment says, or an error names that folder."""

import tempfile

import numpy as np
import pytest

import actup
from actup.backends._graph_file import GraphFile


@pytest.mark.parametrize("variable", ["TMPDIR", "TMP"])
def test_a_folder_that_the_environment_names_is_not_passed_over(tmp_path, monkeypatch, variable):
    neighbors = actup.nearest_neighbors(np.random.default_rng(0).normal(size=(50, 3)), 5)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(variable, str(tmp_path))
    assert len(GraphFile(neighbors, actup.preset("umap"), 1).mapped()) == 50
    monkeypatch.setenv(variable, str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"missing: .*set TMPDIR to a folder"):
        GraphFile(neighbors, actup.preset("umap"), 1)
