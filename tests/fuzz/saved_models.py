"""Saved models that were changed: their bytes, or their header, arrays and members with right checksums.

Loading must raise ``SavedModelError``, or give a model that places rows at finite places.
"""

from __future__ import annotations

import copy
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
from scipy import sparse

import actup
from actup._array_files import ARRAY_FILE_ERRORS
from actup.saving import SavedModelError
from actup.saving._container import _npy_header

from .changed_bytes import NUMBERS, change_bytes, flip_bits, move_blocks, some_whole_number, truncate
from .oracle import Report, Wrong, check_error
from .promises import no_code_runs
from .scratch import scratch_folder

Members = dict[str, bytes]
_FOLDER = scratch_folder()

VALUES = [
    None, True, False, "", "x", "nan", "euclidean", "precomputed", "cosine", "haversine", "hellinger",
    "jaccard", "mahalanobis", "minkowski", "nan_euclidean", "cuda", "auto", "reference", "UMAP", "GDR",
    "TSNE", "../../x", "\ud800", "a" * 5000, [], {}, [[]], [1], {"float": "nan"}, {"float": "inf"},
    {"float": "-inf"}, {"array": "embedding_"}, {"tuple": []}, {"list": [1, 2]}, {"dict": {}},
    {"bytes": "00"}, {"bytes": "zz"}, {"names": ["a"]}, {"names": [1]}, {"scalar": "embedding_"},
    {"csr": {}}, {"Recipe": {}}, {"TrainingRows": {"count": 3, "rows": None}}, {"Graph": {}},
    {"Phase": {"role": "settle", "epochs": 1, "momentum": 0.5}}, {"RandomState": {}},
    {"Generator": {"state": 1, "inc": 2, "has_uint32": 0, "uinteger": 0}},
    {"__class__": "os.system"}, {"py/object": "os.system"},
]  # fmt: skip


@cache
def make_files() -> list[tuple[bytes, Any]]:
    """Good files of several kinds, each with rows to place."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(24, 4)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    thin = sparse.random(27, 20, 0.3, "csr", dtype=np.float64, random_state=np.random.RandomState(0))
    names = [f"column {i}" for i in range(4)]
    short = {"n_epochs": 2, "n_neighbors": 4, "random_state": 0, "n_jobs": 1}
    umap, knn = actup.UMAP(**short), actup.nearest_neighbors(X, 6)
    tsne = actup.TSNE(perplexity=[2, 4], max_iter=2, n_jobs=1, random_state=np.random.RandomState(0))
    gdr = actup.GDR(
        preset="gdr_tsne", epochs=2, n_neighbors=5, n_components=3, metric="mahalanobis", n_jobs=1
    )
    inverse = np.cov(X.T) + np.eye(4)
    gdr.set_params(metric_kwds={"VI": inverse}, random_state=np.random.default_rng(1))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    models: list[tuple[Any, Any, Any, dict[str, Any]]] = [
        (umap, X, new, {}),
        (actup.UMAP(**short, init=X[:, :2], precomputed_knn=knn), X.astype(float), new, {"compress": True}),
        (tsne, thin[:24], thin[24:], {}),
        (gdr, X, new, {}),
        (actup.UMAP(**short, metric="precomputed"), distances, distances[:3] + 0.1, {}),
        (actup.UMAP(**short, metric="jaccard"), X > 0, new > 0, {"compress": True}),
        (actup.TSNE(perplexity=3, max_iter=2, n_jobs=1, random_state=0), X, new, {"data": "half"}),
        (umap, (X * 50).astype(np.int64), (new * 50).astype(np.int64), {"data": None}),
        (umap, X[:1], new, {}),
        (umap, X, new, {"sample_weight": np.arange(24) % 3}),
    ]  # fmt: skip
    files = []
    with scratch_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, rows, others, options in models:
            model.fit(rows, sample_weight=options.pop("sample_weight", None))
            model.stage_seconds_ = dict.fromkeys(model.stage_seconds_, 0.5)  # the same files in every run
            if isinstance(model, actup.TSNE):
                model.kl_divergence_  # noqa: B018
            if model is gdr:
                model.feature_names_in_ = np.array(names, dtype=object)
            path = Path(folder, "model")
            model.save(path, **options)
            files.append((path.read_bytes(), others))
    return files


def overwrite_zip_number(data: bytes, draw: random.Random) -> bytes:
    """A number of 2, 4 or 8 bytes in the records of the archive, most of which stand at its end."""
    size, code = draw.choice([(2, "<H"), (4, "<I"), (8, "<Q")])
    signatures = [i for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6") for i in _positions(data, mark)]
    at = min(draw.choice(signatures) + draw.randrange(4, 46), len(data) - size) if signatures else 0
    value = some_whole_number(draw, size)
    return data[:at] + struct.pack(code, value) + data[at + size :]


def _positions(data: bytes, mark: bytes) -> list[int]:
    return [i for i in range(len(data)) if data.startswith(mark, i)] if len(data) < 200_000 else []


# ---- changes of the header ----


def places(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [prefix, *(place for key, part in items for place in places(part, (*prefix, key)))]


def change_header(members: Members, draw: random.Random) -> None:
    members["header.json"] = change_json(members["header.json"], draw)


def change_json(text: bytes, draw: random.Random) -> bytes:
    """Some values of a JSON text, which must be an object with one inside."""
    header = json.loads(text)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        *path, last = draw.choice([place for place in places(header) if place])
        parent = header
        for key in path:
            parent = parent[key]
        old = parent[last]
        kind = draw.randrange(7)
        if kind <= 2:
            parent[last] = copy.deepcopy(draw.choice(NUMBERS if kind else VALUES))
        elif kind == 3 and type(old) in (int, float) and abs(old) < 2**100:
            parent[last] = draw.choice([old + 1, old - 1, -old, old * 2, old * 10**6, float(old), str(old)])
        elif kind == 4:
            del parent[last]
        elif kind == 5:
            source: Any = header
            for key in draw.choice(places(header)):
                source = source[key]
            parent[last] = copy.deepcopy(source)
        elif isinstance(parent, dict):
            parent[draw.choice(["x", "version", "rows", str(last) + "_", "array"])] = parent.pop(last)
    return json.dumps(header).encode()


def change_header_text(members: Members, draw: random.Random) -> None:
    text = members["header.json"]
    kind = draw.randrange(5)
    if kind == 0:
        depth = draw.choice([10, 1000, 50_000])
        text = text.replace(b'"parameters":', b'"parameters":' + b"[" * depth, 1)
    elif kind == 1:
        text = text[:1] + b'"version": 1,' + text[1:]
    elif kind == 2:
        text = text.replace(
            draw.choice([b"0", b"1", b"2", b"null"]), draw.choice([b"NaN", b"1" * 5000, b"-", b"1e999"]), 1
        )
    elif kind == 3:
        depth = draw.choice([100, 10_000])
        text = text.replace(b"null", b'{"list": [' * depth + b"1" + b"]}" * depth, 1)
    else:
        text = draw.choice([flip_bits, truncate, move_blocks])(text, draw)
    members["header.json"] = text


# ---- changes of arrays, with a header that agrees ----


def change_values(members: Members, draw: random.Random) -> None:
    name, array = _pick_array(members, draw)
    flat = array.reshape(-1)
    if not flat.size:
        return
    if array.dtype.kind == "f":
        extremes = [np.nan, np.inf, -np.inf, 0, -1, 1e4, 1e10, 1e38, -1e38, 1e-38, 1e-45, 1e200, 1e308]
    else:
        extremes = [-1, 0, 1, 2, 100, 127, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63)]
    kind, at = draw.randrange(6), [draw.randrange(flat.size) for _ in range(draw.choice([1, 1, 3, 50]))]
    with np.errstate(all="ignore"):
        if kind <= 1:
            flat[at] = np.array(draw.choice(extremes)).astype(array.dtype)
        elif kind == 2:
            flat[:] = flat[::-1].copy()
        elif kind == 3:
            flat[:] = draw.choice([0, flat.max(), flat.min()])
        elif kind == 4:
            flat[:] = (flat.astype(np.float64) * draw.choice([1e6, 1e30, 1e-30, -1])).astype(array.dtype)
        else:
            flat[:] = np.frombuffer(flip_bits(flat.tobytes(), draw), array.dtype)
    _put_array(members, name, array)


def change_shape(members: Members, draw: random.Random) -> None:
    """Another shape or type of the same bytes, or fewer and more rows."""
    name, array = _pick_array(members, draw)
    kind = draw.randrange(4)
    if kind == 0:
        array = array.T.copy() if draw.random() < 0.5 else array.reshape(-1)
    elif kind == 1 and array.size:
        types = [
            t
            for t in ("i1", "i4", "i8", "f2", "f4", "f8", "u8", "b1")
            if array.nbytes % np.dtype(t).itemsize == 0
        ]
        array = np.frombuffer(array.tobytes(), draw.choice(types))
    elif kind == 2:
        array = array[: draw.randrange(len(array) + 1)] if array.ndim else array
    else:
        array = np.concatenate([array, array]) if array.ndim else array[None]
    _put_array(members, name, array)


def lie_about_shape(members: Members, draw: random.Random) -> None:
    header = json.loads(members["header.json"])
    name = draw.choice(sorted(header["arrays"]))
    shape = header["arrays"][name][1]
    lies = [2**62, 2**40, -1, 0, 1, 10**30, 2**31, "4", None, 4.0]
    if shape and draw.random() < 0.7:
        shape[draw.randrange(len(shape))] = draw.choice(lies)
    else:
        header["arrays"][name][1] = draw.choice([[], [0, 2**62], [2**32, 2**32], [1] * 100, [[4]], "4"])
    members["header.json"] = json.dumps(header).encode()
    if draw.random() < 0.3:
        dtype, body = header["arrays"][name][0], members[f"{name}.npy"][128:]
        claimed = tuple(n for n in header["arrays"][name][1] if isinstance(n, int))
        members[f"{name}.npy"] = _npy_header(dtype, claimed) + body


def _pick_array(members: Members, draw: random.Random) -> tuple[str, np.ndarray]:
    name = draw.choice(sorted(name for name in members if name.endswith(".npy")))
    return name.removesuffix(".npy"), np.load(io.BytesIO(members[name]), allow_pickle=False)


def _put_array(members: Members, name: str, array: np.ndarray) -> None:
    header = json.loads(members["header.json"])
    header["arrays"][name] = [array.dtype.str, list(array.shape)]
    members["header.json"] = json.dumps(header).encode()
    members[f"{name}.npy"] = _npy_header(array.dtype.str, array.shape) + array.tobytes()


# ---- changes of members ----


def change_members(members: Members, draw: random.Random) -> None:
    a, b = (draw.choice(sorted(members)) for _ in range(2))
    kind = draw.randrange(5)
    if kind == 0:
        members[a], members[b] = members[b], members[a]
    elif kind == 1:
        del members[a]
    elif kind == 2:
        members[
            draw.choice(["../../x.npy", "/etc/x", "x/", "new.npy", "con.npy", "\u2603.npy", "a" * 3000])
        ] = members[a]
    elif kind == 3:
        members[a] = draw.choice([flip_bits, truncate, move_blocks])(members[a], draw)
    else:
        members[a] = (
            b"\x93NUMPY\x01\x00"
            + struct.pack("<H", 60)
            + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"
            + b" " * 9
        )


OF_MEMBERS: list[Callable[[Members, random.Random], None]] = [
    change_header, change_header, change_header, change_header_text, change_values, change_values,
    change_shape, lie_about_shape, change_members,
]  # fmt: skip


def mutate(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """A changed file, and the name of its first change."""
    if draw.random() < 0.25:
        return change_bytes(data, draw, overwrite_zip_number)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    first = draw.choice(OF_MEMBERS)
    first(members, draw)
    while draw.random() < 0.2:
        try:
            draw.choice(OF_MEMBERS)(members, draw)
        except (*ARRAY_FILE_ERRORS, LookupError, ArithmeticError, MemoryError):
            break  # no model any more, or an array whose header lies
    output, method = (
        io.BytesIO(),
        draw.choice([zipfile.ZIP_STORED] * 6 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
    )
    with zipfile.ZipFile(output, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members.items():
            kind = zipfile.ZIP_STORED if name == "header.json" and draw.random() < 0.9 else method
            archive.writestr(zipfile.ZipInfo(name), content, kind)
            if draw.random() < 0.01:
                archive.writestr(zipfile.ZipInfo(name), content, kind)
    return first.__name__, output.getvalue()


# ---- one case ----


def run_case(draw: random.Random, report: Report) -> None:
    """Load one changed file and use what comes of it."""
    files = make_files()
    data, new = files[draw.randrange(len(files))]
    name, data = mutate(data, draw)
    report.steps.append(name)
    path = Path(_FOLDER.name, "changed.actup")
    path.write_bytes(data)
    with no_code_runs(_FOLDER.name):
        report.count(name, use_file(path, new))


def use_file(path: Path, new: Any) -> str:
    """What becomes of a file."""
    try:
        model = actup.load(path)
    except SavedModelError as error:
        text = str(error)
        if not text.startswith(str(path)) or len(text) > 2000:
            raise Wrong(f"message {text[:300]}") from error
        return "rejected"
    if model.backend in ("cuda", "auto"):
        model.set_params(backend="cpu")
    columns = model.n_features_in_
    if columns != new.shape[1]:
        new = sparse.csr_matrix((3, columns)) if sparse.issparse(new) else np.ones((3, min(columns, 10**6)))
    model.graph_.sum()
    try:
        placed = model.transform(new)
        if isinstance(model, actup.TSNE):
            model.kl_divergence_  # noqa: B018
    except (TypeError, ValueError) as error:
        check_error(error, "transform")
        return "loaded, transform rejects rows by name"
    if not np.isfinite(np.asarray(placed)).all():
        raise Wrong("places that are not finite")
    return "loaded, rows placed"
