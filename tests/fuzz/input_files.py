"""Input files of the command line that were changed: their bytes, or what is inside archives and gzip files.

Reading must give a table, or raise ``InputError`` with the name of the file.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from actup._cli.chosen import choose
from actup._cli.existing_maps import maps_of
from actup._cli.files import ReadingHints, read_tables
from actup._cli.options import ReadingOptions
from actup._cli.reporting import InputError

from .changed_bytes import change_bytes, truncate
from .oracle import Report, Wrong, check_error
from .promises import no_code_runs
from .scratch import scratch_folder

_FOLDER = scratch_folder()
_X = np.random.default_rng(0).normal(size=(12, 4)).round(3)
_NAMES = [f"name {i % 3}" for i in range(12)]
_TEXTS = [
    b"nan",
    b"1e999",
    b"",
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b",",
    b";",
    b"\t",
    b"\xff\xfe",
    b"-",
    b"null",
    b"{}",
]
_TEXTS += [
    b"0x10",
    b"1,5",
    b"[1,2]",
    b"[" * 5000,
    b"9" * 400,
    b"\xef\xbb\xbf",
    b"true",
    b"2020-01-01",
    b"\xe2\x80\xa8",
]
_H5_VALUES: list[Any] = [
    _X, _X.T, _X[:, 0], _X[:5], np.zeros((0, 4)), np.zeros((12, 4, 2)), np.arange(12), np.arange(12) > 5,
    np.full(12, np.nan), np.float64(1), np.array([b"a"] * 12), "csr_matrix", "array", "dataframe", "0.2.0",
    "", b"\xff",
]  # fmt: skip


# ---- good files ----


def _delimited(delimiter: str) -> bytes:
    lines = [delimiter.join(["a", "b", "c", "d", "kind"])]
    lines += [delimiter.join([*map(str, row), name]) for row, name in zip(_X.tolist(), _NAMES, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _arrow_table() -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {f"c{i}": _X[:, i] for i in range(4)}
    columns |= {"kind": pa.array(_NAMES).dictionary_encode(), "whole": np.arange(12), "flag": _X[:, 0] > 0}
    columns["vector"] = pa.FixedSizeListArray.from_arrays(_X.reshape(-1), 4)
    return pa.table(columns)


def _written(write: Callable[[Any], Any]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _stream(buffer: io.BytesIO) -> None:
    import pyarrow as pa

    table = _arrow_table()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)


def _h5ad(X: Any) -> bytes:
    import anndata
    import pandas as pd

    data = anndata.AnnData(X, obs=pd.DataFrame({"kind": _NAMES}, index=[f"cell{i}" for i in range(12)]))
    data.obsm["X_pca"], data.obsm["sparse"] = _X[:, :2], sparse.csr_matrix(_X)
    path = Path(_FOLDER.name, "good.h5ad")
    data.write_h5ad(path)
    return path.read_bytes()


@cache
def good_files() -> dict[str, list[bytes]]:
    """Files of every kind by suffix."""
    from pyarrow import feather, parquet

    lines = [
        {"x": row[0], "y": row[1], "vector": row, "kind": name}
        for row, name in zip(_X.tolist(), _NAMES, strict=True)
    ]
    csr = sparse.csr_matrix(np.where(_X > 0, _X, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h5ad = [_h5ad(_X.astype(np.float32)), _h5ad(csr)]
    return {
        "csv": [
            _delimited(","),
            _delimited(";"),
            b"\n".join(_delimited(",").split(b"\n")[1:]),
            _written(lambda file: np.savetxt(file, _X, delimiter=",")),
        ],
        "tsv": [_delimited("\t")],
        "jsonl": ["".join(json.dumps(line) + "\n" for line in lines).encode()],
        "npy": [
            _written(lambda file, a=array: np.save(file, a))
            for array in (_X, (_X * 50).astype("<i2"), _X.T, _X > 0)
        ],
        "npz": [
            _written(lambda file: np.savez(file, X=_X, y=np.arange(12))),
            _written(lambda file: np.savez_compressed(file, data=_X, names=np.array(_NAMES))),
            _written(lambda file: sparse.save_npz(file, csr)),
        ],
        "mtx": [
            _written(lambda file: scipy_io.mmwrite(file, csr)),
            _written(lambda file: scipy_io.mmwrite(file, _X)),
        ],
        "parquet": [_written(lambda file: parquet.write_table(_arrow_table(), file))],
        "arrow": [_written(_stream), _written(lambda file: feather.write_feather(_arrow_table(), file))],
        "h5ad": h5ad,
    }


# ---- changes that know the format ----


def change_text(data: bytes, draw: random.Random) -> bytes:
    """Fields and lines of a table."""
    lines = data.split(b"\n")
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(lines))
        fields = lines[at].split(b",")
        match draw.randrange(6):
            case 0:
                fields[draw.randrange(len(fields))] = draw.choice(_TEXTS)
            case 1:
                fields.insert(draw.randrange(len(fields) + 1), draw.choice(_TEXTS))
            case 2:
                del fields[draw.randrange(len(fields))]
            case 3:
                lines.insert(at, draw.choice([*_TEXTS, *lines]))
                continue
            case 4:
                lines[at] = lines[at].replace(
                    *draw.choice([(b".", b","), (b'"', b"'"), (b":", b""), (b"}", b"")])
                )
                continue
            case _:
                fields = fields * draw.choice([2, 100])
        lines[at] = b",".join(fields)
    return b"\n".join(lines)


def change_npy_header(data: bytes, draw: random.Random) -> bytes:
    """The text that says type and shape, with its right length."""
    shape = draw.choice(
        [
            "(12, 4)",
            "(2**40, 4)",
            "(1099511627776, 4)",
            "(0, 4)",
            "(12,)",
            "()",
            "(-1, 4)",
            "(4, 12)",
            "(12, 4, 1)",
            "[12, 4]",
        ]
    )
    kind = draw.choice(
        [
            "'<f8'",
            "'|O'",
            "'<f4'",
            "'>f8'",
            "'|S8'",
            "'<U2'",
            "'|b1'",
            "[('a', '<f8')]",
            "'<M8[ns]'",
            "'<f16'",
            "'|V8'",
            "'<c16'",
        ]
    )
    order = draw.choice(["False", "True", "0", "None"])
    text = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    if draw.random() < 0.1:
        text = draw.choice(
            [b"__import__('os').system('true')", b"(" * 2000, b"{" + b" " * 40_000 + b"}", text + b"x"]
        )
    body = text + b" " * (-(len(text) + 11) % 64) + b"\n"
    version = draw.choice([b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"])
    length = struct.pack("<H", len(body) % 2**16) if version == b"\x01\x00" else struct.pack("<I", len(body))
    return b"\x93NUMPY" + version + length + body + data[128:]


def change_archive(data: bytes, draw: random.Random) -> bytes:
    """Members of a zip archive, with right checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(draw.choice([1, 1, 2])):
        at = draw.randrange(len(members))
        name, content = members[at]
        match draw.randrange(5):
            case 0:
                members[at] = name, change_npy_header(content, draw)
            case 1:
                members[at] = name, change_bytes(content, draw)[1]
            case 2:
                members[at] = (
                    draw.choice(
                        ["../x.npy", "X", "format.npy", "shape.npy", "", "\u2603.npy", "indices.npy"]
                    ),
                    content,
                )
            case 3:
                members.append((draw.choice([name, "new.npy"]), draw.choice(members)[1]))
            case _:
                other = draw.choice(members)[1]
                members[at] = name, other
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members:
            archive.writestr(
                zipfile.ZipInfo(name), content, draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            )
    return output.getvalue()


def change_mtx(data: bytes, draw: random.Random) -> bytes:
    """Numbers of a Matrix Market file, which are separated by spaces."""
    words = data.split(b" ")
    for _ in range(draw.choice([1, 1, 3])):
        numbers = [
            b"0",
            b"-1",
            b"12",
            b"13",
            b"999999999",
            b"4294967297",
            b"99999999999999999999",
            b"nan",
            b"1e400",
            b"x",
        ]
        words[draw.randrange(len(words))] = draw.choice(
            [*numbers, b"pattern", b"complex", b"symmetric", b"array", b"%%"]
        )
    return b" ".join(words)


def change_h5ad(data: bytes, draw: random.Random) -> bytes:
    """Groups, arrays and attributes of an HDF5 file, which stays one."""
    import h5py

    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        for _ in range(draw.choice([1, 1, 2])):
            names: list[str] = []
            file.visit(names.append)
            name = draw.choice(names)
            attributes = file[name].attrs
            match draw.randrange(5):
                case 0:
                    del file[name]
                case 1 if attributes:
                    key = draw.choice(list(attributes))
                    if draw.random() < 0.5:
                        attributes[key] = draw.choice(_H5_VALUES)
                    else:
                        del attributes[key]
                case 2:
                    del file[name]
                    file[name] = draw.choice(_H5_VALUES)
                case 3:
                    file.copy(draw.choice(names), f"{name.rpartition('/')[0]}/{draw.randrange(10**6)}")
                case _ if isinstance(file[name], h5py.Dataset) and file[name].size:
                    array = np.array(file[name][()])
                    values = [-1, 0, 100] if array.dtype.kind in "iuf" else [b"", b"x", b"\xff"]
                    array = array.reshape(-1)
                    array[draw.randrange(array.size)] = draw.choice(values)
                    file[name][()] = array.reshape(file[name].shape)
    return buffer.getvalue()


STRUCTURED: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "csv": change_text,
    "tsv": change_text,
    "jsonl": change_text,
    "npy": change_npy_header,
    "npz": change_archive,
    "mtx": change_mtx,
    "h5ad": change_h5ad,
}


# ---- one case ----


def run_case(draw: random.Random, report: Report) -> None:
    """Read one changed file."""
    kind = draw.choice(list(good_files()))
    data, name = draw.choice(good_files()[kind]), kind
    if draw.random() < 0.05:
        pass  # as it is
    elif kind in STRUCTURED and draw.random() < 0.6:
        data = STRUCTURED[kind](data, draw)
    elif kind == "h5ad":  # HDF5's own library, which reads these, may hang or crash on changed bytes
        data = truncate(data, draw)
    else:
        data = change_bytes(data, draw)[1]
    if draw.random() < 0.1:
        data, name = gzip.compress(data, 1), f"{kind}.gz"
        data = change_bytes(data, draw)[1] if draw.random() < 0.3 else data
    if draw.random() < 0.02:
        name = draw.choice(list(good_files()))  # of another kind than its name says
    path = Path(_FOLDER.name, f"input.{name}")
    path.write_bytes(data)
    with no_code_runs(_FOLDER.name):
        report.count(kind, use_file(path, draw))


def use_file(path: Path, draw: random.Random) -> str:
    """What becomes of a file."""
    hints = ReadingHints(
        header=draw.choice([None, None, True, False]), delimiter=draw.choice([None, None, None, ";"])
    )
    try:
        table = read_tables([str(path)], hints)
    except InputError as error:
        if path.name not in str(error) or len(str(error)) > 2000:
            raise Wrong(f"message {str(error)[:300]!r}") from error
        return "rejected"
    except MemoryError as error:  # of a file that says that it is larger than it is
        if path.name not in str(error) or len(str(error)) > 2000:
            raise Wrong(f"message {str(error)[:300]!r}") from error
        return "rejected: too large"
    for values in [*table.columns.values(), *(matrix.rows for matrix in table.matrices.values())]:
        if values.shape[0] != len(table):
            raise Wrong(f"{len(table)} rows, but a column of shape {values.shape}")
    try:
        maps_of(table)
        choose(table, ReadingOptions())
    except InputError:  # its message quotes columns of the file, which may be long
        return "read, nothing to choose"
    except (ValueError, TypeError) as error:
        check_error(error, "choose")
        return "read, nothing to choose"
    return "read"
