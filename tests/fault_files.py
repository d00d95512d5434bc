"""What a fault leaves in a folder: whole files, former files, and unfinished ones under hidden names."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

import actup
from actup.distributed._folder import WorkFolder
from page_file import PageFile

Snapshot = dict[str, bytes]  # the content of files by their relative paths

# What whole_file and its relatives call a file that is being written.
UNFINISHED = re.compile(r"\..*[0-9a-f]{12,}.*")
_TIMES = re.compile(r"\b[0-9.]+ s\b")


def snapshot(folder: Path) -> Snapshot:
    """Read all files of a folder; a worker of Dask may just rename one."""
    files: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with contextlib.suppress(FileNotFoundError):
                files[str(path.relative_to(folder))] = path.read_bytes()
    return files


def restore(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def is_unfinished(name: str) -> bool:
    """Whether a file has one of the hidden names under which files are written before they are whole."""
    return any(UNFINISHED.fullmatch(part) for part in PurePath(name).parts)


def under(name: str, folders: Iterable[str]) -> bool:
    """Whether a path is in one of the folders."""
    return PurePath(name).parts[0] in folders


def without_times(text: str) -> str:
    """Text without the times that a run took."""
    return _TIMES.sub("", text)


def content(path: Path) -> Any:
    """What a file holds, without the times of its run; an exception if it is not whole."""
    return _READERS.get(path.suffix, Path.read_bytes)(path)


def _read_model(path: Path) -> Any:
    model = actup.load(path)
    return np.asarray(model.embedding_).tobytes(), model.graph_.data.tobytes(), str(model.get_params())


def _read_page(path: Path) -> Any:
    page = PageFile(path.read_text(encoding="utf-8"))
    blobs = [data for (kind, name), data in page.parts.items() if (kind, name) != ("script", "data")]
    assert page.map().shape[1] == 2
    return blobs, {name: value for name, value in page.data.items() if name != "info"}


def _read_table(path: Path) -> Any:
    from pyarrow import parquet

    parquet.read_table(path)
    return path.read_bytes()


def _read_picture(path: Path) -> Any:
    from matplotlib import image

    assert image.imread(path).ndim == 3
    return path.read_bytes()


def _read_array(path: Path) -> Any:
    np.load(path, allow_pickle=False)
    return path.read_bytes()


def _read_arrays(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].tobytes() for name in file.files}


def _read_lines(path: Path) -> Any:
    """The results of ``actup reproduce``: the last record of each run, without its times."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        record["key"]: {name: v for name, v in record["results"].items() if not name.endswith("seconds")}
        for record in records
    }


def _read_record(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.name == "zarr.json":
        return json.loads(text)
    record = WorkFolder(path.parent.parent).record(path.stem)  # checks the digest
    assert record is not None
    return sorted(record)


def _read_work_array(path: Path) -> Any:
    data = path.read_bytes()
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little"), "the checksum differs"
    return data


def _read_page_text(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return without_times(text)


def _read_ending(ending: bytes) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        data = path.read_bytes()
        assert data.rstrip().endswith(ending), f"{path.name} has no end"
        return data

    return read


_READERS: dict[str, Callable[[Path], Any]] = {
    ".actup": _read_model, ".array": _read_work_array, ".html": _read_page, ".json": _read_record,
    ".jsonl": _read_lines, ".md": _read_page_text, ".npy": _read_array, ".npz": _read_arrays,
    ".parquet": _read_table,
    ".pdf": _read_ending(b"%%EOF"), ".png": _read_picture, ".svg": _read_ending(b"</svg>"),
}  # fmt: skip


def contents(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """What some files of a folder hold."""
    return {name: content(folder / name) for name in names}
