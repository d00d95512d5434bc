"""What the tests with other packages share. Each test is skipped where its package is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from actup import datasets


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:  # the other packages' own warnings are theirs
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    """Nothing is downloaded, not even what packages look up when they are imported."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture
def run_accelerated():
    """A function that runs a program in a process of its own, with ``actup.accel`` installed."""
    if find_spec("actup.accel") is None:
        pytest.skip("actup.accel is not there yet")

    def run(program: str) -> str:
        folders = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", f"import actup.accel\nactup.accel.install()\n{program}"],
            env={**os.environ, "PYTHONPATH": folders},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def run_examples(tmp_path, monkeypatch):
    """A function that runs the examples of a page of the guide that contain a word."""
    monkeypatch.chdir(tmp_path)

    def run(page: str, word: str, **names: object) -> None:
        text = (Path(__file__).parents[2] / "docs" / "guide" / page).read_text(encoding="utf-8")
        blocks = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if word in block]
        assert blocks
        for block in blocks:
            exec(compile(block, page, "exec"), names)

    return run


@pytest.fixture(scope="session")
def counts():
    """Counts of genes in 900 cells and the cells' types: real ones if the folder of data has them."""
    path = Path(datasets.locate("single_cell"))
    if path.is_file():
        with np.load(path) as file:
            arrays = (file["counts_data"], file["counts_indices"].astype(np.int32), file["counts_indptr"])
            genes, types = file["genes"], file["classes"][file["y"]]
        cells = sparse.csr_matrix(arrays, shape=(len(types), len(genes)))
    else:
        rng = np.random.default_rng(0)
        rates = rng.lognormal(-1, 1.5, (6, 400))
        types = rng.integers(6, size=1000)
        cells, genes, types = sparse.csr_matrix(rng.poisson(rates[types])), np.arange(400), types.astype(str)
    chosen = np.random.default_rng(0).permutation(len(types))[:900]
    return cells[chosen].astype(np.float32), types[chosen], genes.astype(str)


@pytest.fixture
def adata(counts):
    """The cells as scanpy prepares them: normalised counts and their principal components."""
    anndata = pytest.importorskip("anndata")
    cells, types, genes = counts
    scaled = cells.multiply(1e4 / np.maximum(cells.sum(axis=1), 1)).tocsr().astype(np.float32)
    adata = anndata.AnnData(scaled.log1p())
    adata.var_names = [f"{gene}-{column}" for column, gene in enumerate(genes)]
    adata.obs["type"] = types
    adata.obs["type"] = adata.obs["type"].astype("category")
    adata.obsm["X_pca"] = PCA(30, random_state=0).fit_transform(adata.X.toarray())
    return adata
