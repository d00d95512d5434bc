"""Data sets: files, checksums, generated sets, and the errors when a data set is missing."""

import os
from pathlib import Path

import numpy as np
import pytest

from actup import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    X = np.arange(60, dtype=np.uint8).reshape(20, 3)
    np.savez(tmp_path / "cifar10.npz", X=X, y=np.arange(20) % 4, classes=np.array(["a", "b", "c", "d"]))
    words = np.frombuffer("\n".join(f"wörd{i}" for i in range(20)).encode(), np.uint8)
    np.savez(tmp_path / "word_vectors.npz", X=X.astype(np.float16), words=words)
    return tmp_path


def test_from_a_folder(folder, monkeypatch):
    given = datasets.load("cifar10", folder=folder)
    assert given.X.shape == (20, 3) and given.X.dtype == np.uint8
    assert given.label_names == ("a", "b", "c", "d")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(folder))
    assert datasets.checksum(datasets.load("cifar10")) == datasets.checksum(given)


def test_words(folder):
    with pytest.warns(UserWarning, match="expect other figures"):
        words = datasets.load("word_vectors", folder=folder, n_samples=5)
    assert words.y is None and len(words.point_names) == len(words) == 5
    position = {f"wörd{i}": i for i in range(20)}
    assert [3 * position[word] for word in words.point_names] == words.X[:, 0].tolist()


def test_missing(folder):
    with pytest.raises(datasets.MissingDataset, match=r"usps\.npz.*download=True"):
        datasets.load("usps", folder=folder)
    with pytest.raises(datasets.MissingDataset, match=r"coil100\.npz.*ACTUP_DATA"):
        datasets.load("coil100")
    with pytest.raises(datasets.MissingDataset, match="OpenML does not have it"):
        datasets.load("coil100", folder=folder, download=True)
    assert "usps.npz" in datasets.locate("usps", folder)
    assert datasets.locate("cifar10", folder).endswith("cifar10.npz")
    assert datasets.locate("digits") == "generated"
    with pytest.raises(ValueError, match="'imagenet' is not one of 'mnist'"):
        datasets.load("imagenet")


def test_downloaded_only_on_request(folder, monkeypatch):
    calls = []

    def fetch_openml(data_id, as_frame):
        calls.append(data_id)
        record = type("Bunch", (), {})()
        record.data = np.float64([[0, 255], [3, 4], [7, 8]])
        record.target = np.array(["10", "2", "10"], object)
        return record

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.warns(UserWarning, match="expect other figures"):
        fetched = datasets.load("usps", folder=folder, download=True)
    assert fetched.X.dtype == np.uint8
    assert fetched.label_names == ("2", "10")
    assert fetched.y.tolist() == [1, 0, 1]
    with pytest.warns(UserWarning, match="expect other figures"):
        again = datasets.load("usps", folder=folder)
    assert calls == [41082]
    assert datasets.checksum(again) == datasets.checksum(fetched)
    assert again.label_names == fetched.label_names
    assert not list(folder.glob("*unfinished*"))


def test_a_file_that_was_not_finished_is_not_read(folder, monkeypatch):
    def killed(file, **arrays):
        Path(file).write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", killed)
    with pytest.raises(KeyboardInterrupt):
        datasets._save(folder / "usps.npz", np.zeros((3, 1)), np.zeros(3), np.array(["0"]))
    with pytest.raises(datasets.MissingDataset):
        datasets.load("usps", folder=folder)


def test_no_network(folder, monkeypatch):
    def fetch_openml(data_id, as_frame):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(datasets.MissingDataset, match=r"no route to host.*put usps\.npz with [^,]*$"):
        datasets.load("usps", folder=folder, download=True)


def test_chosen_rows_keep_their_order(folder):
    some = datasets.load("cifar10", folder=folder, n_samples=7)
    other = datasets.load("cifar10", folder=folder, n_samples=7, random_state=1)
    assert (np.diff(some.X[:, 0].astype(int)) > 0).all()
    assert (some.X != other.X).any()
    assert (some.y == some.X[:, 0] // 3 % 4).all()


def test_broken_files(tmp_path):
    np.savez(tmp_path / "mnist.npz", Y=np.zeros(3))
    np.savez(tmp_path / "usps.npz", X=np.zeros((3, 2)), y=np.zeros(4))
    with pytest.raises(ValueError, match="no array X"):
        datasets.load("mnist", folder=tmp_path)
    with pytest.raises(ValueError, match="3 rows of X but 4 of y"):
        datasets.load("usps", folder=tmp_path)
    whole = (tmp_path / "usps.npz").read_bytes()
    (tmp_path / "usps.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"usps\.npz cannot be read .* complete npz file"):
        datasets.load("usps", folder=tmp_path)


def test_generated():
    assert datasets.load("digits").X.shape == (1797, 64)
    roll = datasets.load("swiss_roll", n_samples=400)
    sheet = datasets.unrolled(roll)
    # Next to each other along the spiral, distances on the sheet are those in space.
    order = np.argsort(roll.y)
    steps = np.linalg.norm(np.diff(roll.X[order][:, [0, 2]], axis=0), axis=1)
    assert np.abs(np.diff(sheet[order, 0]) - steps).max() < 0.2
    with pytest.raises(ValueError, match="not the Swiss roll"):
        datasets.unrolled(datasets.load("digits"))


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "coil100", "usps", "single_cell", "word_vectors"])
def test_files_have_their_published_checksums(name):
    if not os.environ.get(datasets.FOLDER_VARIABLE):
        pytest.skip("ACTUP_DATA is not set")
    try:
        assert len(datasets.load(name)) > 3000  # a mismatch would warn, and warnings are errors
    except datasets.MissingDataset as reason:
        pytest.skip(str(reason))
