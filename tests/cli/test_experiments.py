"""The commands of the paper's experiments: their lists and error messages."""

from types import SimpleNamespace

import numpy as np
import pytest

from actup._cli import main


def test_lists(capsys):
    assert main(["reproduce"]) == 0
    assert "switches" in capsys.readouterr().out
    assert main(["reproduce", "list"]) == 0
    assert "needs an idle machine" in capsys.readouterr().out
    assert main(["datasets"]) == 0
    assert "swiss_roll" in capsys.readouterr().out


def test_datasets_are_downloaded_on_request(tmp_path, monkeypatch, capsys):
    fetched = []

    def fetch_openml(data_id, as_frame):
        fetched.append(data_id)
        return SimpleNamespace(data=np.float64([[0, 255], [3, 4]]), target=np.array(["1", "2"], object))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    monkeypatch.delenv("ACTUP_DATA", raising=False)
    assert main(["datasets", "cifar10", "--data", str(tmp_path)]) == 0
    assert "missing" in capsys.readouterr().out and not fetched
    assert main(["datasets", "cifar10", "coil100", "digits", "--download", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[0].endswith("cifar10.npz")
    assert "missing; put coil100.npz" in lines[1] and lines[2].endswith("generated")
    assert main(["datasets", "cifar10", "--download", "--data", str(tmp_path)]) == 0
    assert fetched == [40927]
    assert main(["datasets", "--download"]) == 2
    assert "--download needs a folder" in capsys.readouterr().err
    assert main(["datasets", "imagenet"]) == 2
    assert "'imagenet' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "everything"], "'everything' is not one of embeddings"),
        (["reproduce", "all", "--seeds", "0"], "--seeds 0 must be at least 1"),
        (["reproduce", "all", "--points", "-3"], "--points -3 must be at least 1"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_page_has_a_section_for_every_experiment(tmp_path, capsys):
    assert main(["reproduce", "gradient_maps", "--quick", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "## The switches, one at a time" in page and "Not run yet" in page
    assert "page" in capsys.readouterr().out


def test_missing_data_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ACTUP_DATA", raising=False)
    assert main(["reproduce", "words", "--quick", "--out", str(tmp_path)]) == 2
    assert "no run was possible" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.md"))
    missing = str(tmp_path / "missing")
    assert main(["reproduce", "words", "--quick", "--out", str(tmp_path), "--data", missing]) == 2
    assert f"--data {missing}: there is no such folder" in capsys.readouterr().err
