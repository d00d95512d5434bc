"""The commands of the guide and of the README run as they stand."""

import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy import io as matrix_market
from scipy import sparse

ROOT = Path(__file__).parents[2]
N = 120
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page):
    """The commands of a page, each as its arguments and the file that it reads as standard input."""
    for block in _SHELL.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["actup"] and words[1] not in ("reproduce", "datasets"):
                redirected = words.index("<") if "<" in words else len(words)
                yield words[1:redirected], "".join(words[redirected + 1 :])


def write_csv(path, names, *columns):
    rows = zip(*columns, strict=True)
    Path(path).write_text("".join(",".join(map(str, row)) + "\n" for row in [names, *rows]))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the guide speaks of, small."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 12)) + 4 * random.integers(0, 3, (N, 1))
    monkeypatch.chdir(tmp_path)
    genes, kinds = [f"gene_{i}" for i in range(12)], ["B cell", "T cell"] * (N // 2)
    ages, patients = 20 + np.arange(N) % 50, [f"patient {i % 7}" for i in range(N)]
    write_csv("cells.csv", [*genes, "type"], *X.T, kinds)
    write_csv("samples.csv", [*genes, "age", "type", "patient"], *X.T, ages, kinds, patients)
    np.save("X.npy", X)
    np.save("y.npy", np.arange(N) % 3)
    vectors = (f'{{"word": "w{i}", "vector": {row.tolist()}}}' for i, row in enumerate(X))
    Path("words.jsonl").write_text("\n".join(vectors) + "\n")
    counts = sparse.coo_matrix(random.poisson(0.5, (N, 60)))
    matrix_market.mmwrite("counts.mtx", counts)
    return tmp_path


@pytest.mark.parametrize("page", ["docs/guide/command-line.md", "README.md"])
def test_every_command_runs(page, run, files, monkeypatch):
    ran = list(commands(page))
    assert len(ran) >= 3
    monkeypatch.setattr("typer.launch", lambda url: None)
    monkeypatch.setattr("tempfile.tempdir", str(files))
    for arguments, standard_input in ran:
        data = Path(standard_input).read_bytes() if standard_input else b""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        if "--pca" in arguments:
            arguments[arguments.index("--pca") + 1] = "10"  # the file is small
        result = run(*arguments)
        assert (result.status, result.err) == (0, ""), arguments
