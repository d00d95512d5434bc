"""The temporary file of a graph lies in the folder of the program or of the environment; errors name it."""

import tempfile

import numpy as np
import pytest

import actup
from actup.backends import _graph_file
from actup.backends._graph_file import GraphFile


@pytest.fixture
def neighbors(monkeypatch):
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    return actup.nearest_neighbors(np.random.default_rng(0).normal(size=(50, 3)), 5)


@pytest.fixture
def folders(monkeypatch):
    """The folders in which files of graphs are opened."""
    found = []
    opened = GraphFile._open
    monkeypatch.setattr(
        GraphFile, "_open", lambda self, folder: (found.append(folder), opened(self, folder))[1]
    )
    return found


def write(neighbors):
    assert len(GraphFile(neighbors, actup.preset("umap"), 1).mapped()) == 50


@pytest.mark.parametrize("variable", ["TMPDIR", "TMP"])
@pytest.mark.parametrize("usual", [None, "/tmp"])
def test_a_folder_that_the_environment_names_is_not_passed_over(
    tmp_path, monkeypatch, neighbors, variable, usual
):
    monkeypatch.setattr(_graph_file, "_USUAL_FOLDERS", ("/tmp",))
    monkeypatch.setattr(tempfile, "tempdir", usual)  # as tempfile keeps what it has found
    monkeypatch.setenv(variable, str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"missing: .*set TMPDIR to a folder"):
        write(neighbors)


def test_the_folder_of_the_environment_is_used(tmp_path, monkeypatch, neighbors, folders):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    write(neighbors)
    assert set(folders) == {str(tmp_path)}


@pytest.mark.parametrize("named", [".", "missing"])
def test_a_folder_that_the_program_has_set_goes_before_it(tmp_path, monkeypatch, neighbors, folders, named):
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    monkeypatch.setenv("TMPDIR", str(tmp_path / named))
    write(neighbors)
    assert set(folders) == {str(own)}


def test_an_unusable_folder_of_the_program_is_named(tmp_path, monkeypatch, neighbors):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"gone: .*set TMPDIR to a folder"):
        write(neighbors)


def test_without_either_it_is_the_folder_of_tempfile(neighbors, folders):
    write(neighbors)
    assert set(folders) == {tempfile.gettempdir()}
