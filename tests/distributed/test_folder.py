"""WorkFolder: arrays that are read as they were written, or rejected."""

import numpy as np
import pytest

import actup
from actup.distributed import embed
from actup.distributed._folder import WorkFolder

ROWS = np.arange(60, dtype=np.float32).reshape(20, 3)
QUICK = actup.preset("umap").but(epochs=3, n_neighbors=5)


@pytest.fixture
def folder(tmp_path):
    folder = WorkFolder(tmp_path)
    folder.write("rows/0", ROWS)
    return folder


def test_arrays_are_read_as_they_were_written(folder):
    assert np.array_equal(folder.read("rows/0"), ROWS)
    assert np.array_equal(folder.read("rows/0", 5, 9), ROWS[5:9])
    folder.write_parts("rows/1", (ROWS[begin : begin + 7] for begin in range(0, 20, 7)), 20)
    assert np.array_equal(folder.read("rows/1"), ROWS)
    folder.write("none", ROWS[:0])
    assert folder.read("none").shape == (0, 3)
    folder.reject_damaged_arrays()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.99])
def test_one_changed_bit_is_found(folder, share):
    path = folder.path / "rows" / "0.array"
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"0\.array is damaged .*remove the folder .*, and call again"):
        folder.reject_damaged_arrays()


def test_a_shorter_file_is_found_when_it_is_read(folder):
    path = folder.path / "rows" / "0.array"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"0\.array is damaged .232 bytes follow where"):
        folder.read("rows/0")


def test_a_run_does_not_go_on_from_damaged_arrays(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    embed(rows, QUICK, work=tmp_path, backend="cpu", threads=1)
    (path,) = tmp_path.rglob("points.array")
    data = bytearray(path.read_bytes())
    data[-9] ^= 64
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"points\.array is damaged"):
        embed(rows, QUICK, work=tmp_path, backend="cpu", threads=1)
