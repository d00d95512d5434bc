"""Iris in files of every kind that the command line reads."""

import gzip
import json

import numpy as np
import pytest
from scipy import io, sparse
from sklearn.datasets import load_iris

NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
SPECIES = load_iris().target_names[load_iris().target].astype(object)
X = load_iris().data


def delimited(delimiter):
    lines = [delimiter.join([*NAMES, "species"])]
    lines += [delimiter.join([*map(str, row), name]) for row, name in zip(X.tolist(), SPECIES, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def write_kind(kind, folder):
    """Iris in a file of some kind; returns its path."""
    path = folder / f"iris.{kind}"
    WRITERS[kind](path)
    return path


def _arrow_table():
    import pyarrow as pa

    return pa.table({**{name: X[:, i] for i, name in enumerate(NAMES)}, "species": SPECIES.astype(str)})


def _write_parquet(path):
    from pyarrow import parquet

    parquet.write_table(_arrow_table(), path)


def _write_feather(path):
    from pyarrow import feather

    feather.write_feather(_arrow_table(), path)


def _write_stream(path):
    import pyarrow as pa

    table = _arrow_table()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def _write_jsonl(path):
    rows = zip(X.tolist(), SPECIES, strict=True)
    path.write_text("".join(json.dumps({"vector": row, "species": name}) + "\n" for row, name in rows))


def _write_h5ad(path):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    names = [f"flower{i}" for i in range(len(X))]
    data = anndata.AnnData(X, obs=pd.DataFrame({"species": SPECIES}, index=names))
    data.obsm["X_pca"] = X[:, 2:]
    data.write_h5ad(path)


WRITERS = {
    "npy": lambda path: np.save(path, X),
    "npz": lambda path: np.savez(path, X=X, species=SPECIES.astype(str)),
    "csv": lambda path: path.write_bytes(delimited(",")),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(delimited(","))),
    "tsv": lambda path: path.write_bytes(delimited("\t")),
    "tsv.gz": lambda path: path.write_bytes(gzip.compress(delimited("\t"))),
    "parquet": _write_parquet,
    "feather": _write_feather,
    "arrow": _write_stream,
    "jsonl": _write_jsonl,
    "h5ad": _write_h5ad,
    "mtx": lambda path: io.mmwrite(path, sparse.coo_matrix(X)),
}
