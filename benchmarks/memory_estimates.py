"""``memory_estimate`` beside measured peaks, and what runs with ``max_memory`` take.

    python benchmarks/memory_estimates.py                       # all combinations on the CPU
    python benchmarks/memory_estimates.py --only 3 4            # some of them, by number
    python benchmarks/memory_estimates.py --limits              # the second table: max_memory
    python benchmarks/memory_estimates.py --limits --shares 1   # with a limit of 1 x the estimate only
    python benchmarks/memory_estimates.py --backend cuda        # the device's memory

Every run is a fresh process (Linux only) that fits a few rows first, so that imports, threads and compiled
kernels do not count, then loads X. The peak of its resident memory (VmHWM, reset through
/proc/self/clear_refs when a stage begins) is compared with the estimate; both count X. Rows are groups that
vary in few directions, with noise. Results are saved in benchmarks/results/memory_estimates.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from actup.backends import load_backend
from actup.estimators._inputs import FitInputs

PACKAGES = ["actup", "numpy", "scipy", "cupy"]
LIMITS = (0.6, 0.8, 1.0, 1.2)  # of the estimate


@dataclass(frozen=True)
class Case:
    """One combination."""

    method: str
    rows: int
    columns: int
    dtype: str = "float32"
    parameters: dict = field(default_factory=dict)
    threads: int = 2
    sparse_values: int = 0  # per row; 0: dense
    form: str = "array"  # what X is: a key of FORMS
    given: str = ""  # what fit is given besides X: a key of INPUTS

    @property
    def name(self) -> str:
        kind = f"sparse {self.sparse_values}/row" if self.sparse_values else self.dtype
        kind += "" if self.form == "array" else f" {self.form}"
        extra = [f"{name}={value}" for name, value in self.parameters.items()]
        extra += [self.given] * bool(self.given) + [f"{self.threads} threads"] * (self.threads != 2)
        return ", ".join([f"{self.method} {self.rows:,} x {self.columns} {kind}", *extra])


CASES = (
    Case("UMAP", 2_000, 10),
    Case("UMAP", 10_000, 784),
    Case("UMAP", 20_000, 50, parameters={"n_neighbors": 50}),
    Case("UMAP", 70_000, 784, "uint8"),
    Case("UMAP", 70_000, 784),
    Case("UMAP", 70_000, 300, "float64"),
    Case("UMAP", 70_000, 300, "float16"),
    Case("UMAP", 100_000, 50, parameters={"n_neighbors": 100}),
    Case("UMAP", 150_000, 10),
    Case("UMAP", 250_000, 50, threads=1),
    Case("UMAP", 250_000, 50, parameters={"n_components": 3}),
    Case("UMAP", 1_000_000, 50),
    Case("UMAP", 60_000, 30_000, sparse_values=60, parameters={"metric": "cosine"}),
    Case("TSNE", 2_000, 50),
    Case("TSNE", 20_000, 784, "uint8"),
    Case("TSNE", 70_000, 50),
    Case("TSNE", 70_000, 100, parameters={"perplexity": 10, "n_components": 3}),
    Case("TSNE", 250_000, 50, parameters={"perplexity": 10}),
    Case("TSNE", 1_000_000, 20, parameters={"perplexity": 5}),
    Case("GDR", 5_000, 200, "float64"),
    Case("GDR", 100_000, 100, "int8", parameters={"normalized": True}),
    Case("GDR", 200_000, 50, parameters={"preset": "paper_umap"}),
    Case("GDR", 100_000, 50, parameters={"preset": "paper_tsne"}),
    # What X is
    Case("UMAP", 60_000, 200, "float64", form="pandas, half int64"),
    Case("UMAP", 60_000, 200, form="pandas"),
    Case("UMAP", 60_000, 200, form="pandas of columns"),
    Case("UMAP", 60_000, 200, "uint8", form="pandas, half int64"),
    Case("UMAP", 60_000, 100, form="polars"),
    Case("UMAP", 60_000, 100, form="polars, half int64"),
    Case("UMAP", 60_000, 100, form="pyarrow"),
    Case("UMAP", 60_000, 100, form="pyarrow in chunks"),
    Case("UMAP", 20_000, 50, "float64", form="lists"),
    Case("UMAP", 20_000, 50, form="list of arrays"),
    Case("UMAP", 20_000, 100, "float64", form="objects"),
    Case("UMAP", 20_000, 100, "uint8", form="objects"),
    Case("UMAP", 60_000, 200, form="Fortran order"),
    Case("UMAP", 60_000, 200, form="every second column"),
    Case("UMAP", 60_000, 200, form="big-endian"),
    Case("UMAP", 60_000, 200, form="memory-mapped"),
    Case("UMAP", 60_000, 30, form="lil"),
    Case("UMAP", 20_000, 30, form="dok"),
    Case("UMAP", 60_000, 3_000, sparse_values=60, form="csc"),
    Case("UMAP", 60_000, 3_000, sparse_values=60, form="coo"),
    # What the run does besides
    Case("UMAP", 60_000, 50, parameters={"densmap": True}),
    Case("UMAP", 60_000, 50, parameters={"output_dens": True}),
    Case("UMAP", 60_000, 50, given="labels"),
    Case("UMAP", 60_000, 50, given="target values"),
    Case("UMAP", 60_000, 50, given="weights"),
    Case("UMAP", 60_000, 50, given="labels and weights"),
    Case("UMAP", 60_000, 50, parameters={"densmap": True}, given="labels"),
    Case("TSNE", 60_000, 50, parameters={"perplexity": 10}, given="weights"),
    Case("UMAP", 60_000, 200, parameters={"metric": "mahalanobis"}),
    Case("UMAP", 20_000, 50, parameters={"metric": "mahalanobis"}),
    Case("UMAP", 5_000, 800, parameters={"metric": "mahalanobis"}),
    Case("UMAP", 20_000, 60, parameters={"metric": "seuclidean"}),
    Case("UMAP", 60_000, 200, parameters={"metric": "manhattan"}),
    Case("UMAP", 60_000, 200, parameters={"metric": "correlation"}),
    Case("UMAP", 10_000, 50, parameters={"metric": "gower"}),
    Case("UMAP", 4_000, 4_000, parameters={"metric": "precomputed"}, form="distances"),
    Case("UMAP", 60_000, 50, given="neighbours"),
    Case("UMAP", 60_000, 50, parameters={"output_metric": "haversine"}),
    Case("UMAP", 60_000, 50, parameters={"output_metric": "manhattan"}),
    Case("UMAP", 60_000, 50, parameters={"set_op_mix_ratio": 0.5}),
    Case("UMAP", 60_000, 200, parameters={"unique": True}),
    Case("UMAP", 60_000, 200, parameters={"unique": True}, form="some rows twice"),
    Case("UMAP", 60_000, 50, parameters={"disconnection_distance": 160.0}),
    Case("UMAP", 3_000, 20, parameters={"backend": "reference", "n_epochs": 3}),
    Case("UMAP", 2_000, 20, parameters={"backend": "reference", "densmap": True, "n_epochs": 3}),
    Case("TSNE", 2_000, 20, parameters={"backend": "reference", "max_iter": 250}),
    # Wide rows, and rows that stay at places
    Case("TSNE", 1_000, 100_000),
    Case("TSNE", 2_000, 20_000),
    Case("TSNE", 3_000, 10_000),
    Case("TSNE", 4_000, 20_000),
    Case("UMAP", 2_000, 20_000),
    Case("TSNE", 3_000, 10_000, "uint8"),
    Case("UMAP", 60_000, 50, given="fixed"),
    Case("UMAP", 40_000, 50, parameters={"metric": "gower"}),
    Case("UMAP", 60_000, 50, given="fixed, apart x 30"),
    Case("UMAP", 60_000, 50, given="fixed, apart x 100"),
    # Values of a small range, and rows that take no part
    Case("UMAP", 10_000, 784, form="whole numbers"),
    Case("UMAP", 10_000, 200, "int16"),
    Case("UMAP", 60_000, 200, parameters={"unique": True}, form="every row 4 times"),
    Case("UMAP", 60_000, 200, given="weights of half"),
    # Many threads, and fits of a few megabytes
    Case("UMAP", 300_000, 2, parameters={"n_neighbors": 6}, threads=16),
    Case("UMAP", 70_000, 50, threads=16),
    Case("UMAP", 70_000, 784, "uint8", threads=16),
    Case("TSNE", 70_000, 50, parameters={"perplexity": 10}, threads=16),
    Case("TSNE", 20_000, 50, threads=16),
    Case("UMAP", 20_000, 784, threads=16),
    Case("UMAP", 2_000, 50, threads=16),
    Case("UMAP", 1_000, 50),
    Case("UMAP", 2_000, 50),
    Case("TSNE", 1_000, 50),
    Case("UMAP", 500, 784),
)

DEVICE_CASES = (
    Case("UMAP", 10_000, 784),
    Case("UMAP", 70_000, 784),
    Case("UMAP", 250_000, 50),
    Case("UMAP", 1_000_000, 50),
    Case("TSNE", 20_000, 784),
    Case("TSNE", 70_000, 50),
    Case("TSNE", 250_000, 50, parameters={"perplexity": 10}),
    Case("GDR", 200_000, 50, parameters={"preset": "paper_umap"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, metavar="NUMBER", help="numbers of combinations")
    parser.add_argument("--limits", action="store_true", help="measure runs with max_memory instead")
    parser.add_argument("--shares", nargs="+", type=float, default=LIMITS, help="limits, of the estimate")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of rows here, for the next time")
    parser.add_argument("--child", nargs=3, metavar=("CASE", "FILE", "LIMIT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        case, source, limit = options.child
        print(json.dumps(measure(Case(**json.loads(case)), source, float(limit), options.backend)))
        return
    import report

    cases = CASES if options.backend == "cpu" else DEVICE_CASES
    chosen = range(len(cases)) if options.only is None else options.only
    results = report.saved("memory_estimates")
    table = results.setdefault("limits" if options.limits else options.backend, {})
    print("| run | " + ("limit | " if options.limits else "") + "estimate | measured | ratio | stage |")
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or folder
        for number in chosen:
            source = write_rows(cases[number], Path(folder))
            for share in options.shares if options.limits else (0.0,):
                found = run_child(cases[number], source, share, options.backend)
                name = f"{cases[number].name}, limit {share:g}" if share else cases[number].name
                table[name] = found
                print(line_of(number, name, found), flush=True)
                path = report.save("memory_estimates", results, PACKAGES)
    print(f"saved in {path}")


def run_child(case: Case, source: str, share: float, backend: str) -> dict:
    child = [sys.executable, "-W", "ignore", __file__, "--backend", backend]
    child += ["--child", json.dumps(asdict(case)), source, str(share)]
    done = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def line_of(number: int, name: str, found: dict) -> str:
    """A row of the table."""
    if "refused" in found:
        return f"| {number} {name} | {found['limit']} | refused |"
    peak = max(found["measured"].values())
    if "limit" in found:
        return (
            f"| {number} {name} | {found['limit']} | {peak} | {peak / found['limit']:.2f} | {found['lean']} |"
        )
    estimate = max(found["estimate"].values())
    stages = ", ".join(
        f"{stage} {found['estimate'].get(stage, 0)}/{size}" for stage, size in found["measured"].items()
    )
    return f"| {number} {name} | {estimate} | {peak} | {estimate / peak:.2f} | {stages} |"


def write_rows(case: Case, folder: Path) -> str:
    """Rows of a case as a file, which is written once per shape."""
    suffix = "npz" if case.sparse_values else "npy"
    path = folder / f"{case.rows}_{case.columns}_{case.dtype}_{case.sparse_values}.{suffix}"
    if not path.exists() and case.sparse_values:
        sparse.save_npz(path, sparse_rows(case), compressed=False)
    elif not path.exists():
        X = np.lib.format.open_memmap(path, "w+", np.dtype(case.dtype), (case.rows, case.columns))
        for begin, part in dense_rows(case.rows, case.columns):
            X[begin : begin + len(part)] = part / 2 if case.dtype == "int8" else part
        X.flush()
    return str(path)


def dense_rows(rows: int, columns: int):
    """Groups of rows that vary in 12 directions, with noise, from 0 to 255; chunk by chunk."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(50, columns)).astype(np.float32) * 40 + 128
    directions = random.normal(size=(12, columns)).astype(np.float32) * 8
    for begin in range(0, rows, 10_000):
        count = min(10_000, rows - begin)
        part = random.standard_normal((count, 12), np.float32) @ directions
        part += centres[random.integers(50, size=count)]
        yield begin, (part + random.standard_normal(part.shape, np.float32)).clip(0, 255)


def sparse_rows(case: Case) -> sparse.csr_matrix:
    """Rows like texts: most words belong to one of a hundred topics."""
    random = np.random.default_rng(0)
    topics = random.integers(case.columns, size=(100, 300))
    shape = (case.rows, case.sparse_values)
    topic = random.integers(100, size=case.rows)
    ids = topics[topic[:, None], random.geometric(0.02, size=shape) % 300]
    ids = np.where(random.random(shape) < 0.8, ids, random.integers(case.columns, size=shape))
    values = (random.random(ids.size) + 0.1).astype(np.float32)
    starts = np.arange(0, ids.size + 1, case.sparse_values)
    X = sparse.csr_matrix((values, ids.ravel(), starts), (case.rows, case.columns))
    X.sum_duplicates()
    return X


def half_whole_columns(X: np.ndarray) -> dict:
    """Columns by name, every second one of int64; of uint8, of both types of integers."""
    return {f"c{c}": X[:, c].astype(np.int64) if c % 2 else X[:, c].copy() for c in range(X.shape[1])}


def columns_of(X: np.ndarray) -> dict:
    return {f"c{c}": X[:, c].copy() for c in range(X.shape[1])}


def pandas_frame(data):
    import pandas

    return pandas.DataFrame(data)


def polars_frame(data):
    import polars

    return polars.DataFrame(data)


def arrow_table(data, chunks: int = 1):
    import pyarrow

    parts = [
        pyarrow.table({name: np.array_split(v, chunks)[i] for name, v in data.items()}) for i in range(chunks)
    ]
    return pyarrow.concat_tables(parts)


def distances_of(X: np.ndarray) -> np.ndarray:
    """Distances of rows of some columns, in place of X."""
    from scipy.spatial.distance import cdist

    return cdist(X[:, :5], X[:, :5]).astype(np.float32)


FORMS = {
    "array": lambda X: X,
    "pandas": pandas_frame,
    "pandas of columns": lambda X: pandas_frame(columns_of(X)),
    "pandas, half int64": lambda X: pandas_frame(half_whole_columns(X)),
    "polars": lambda X: polars_frame(columns_of(X)),
    "polars, half int64": lambda X: polars_frame(half_whole_columns(X)),
    "pyarrow": lambda X: arrow_table(columns_of(X)),
    "pyarrow in chunks": lambda X: arrow_table(columns_of(X), 3),
    "lists": lambda X: X.tolist(),
    "list of arrays": lambda X: [row.copy() for row in X],
    "objects": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "memory-mapped": lambda X: X,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_matrix,
    "csc": lambda X: X.tocsc(),
    "coo": lambda X: X.tocoo(),
    "distances": distances_of,
    "whole numbers": np.rint,
    "every row 4 times": lambda X: X[np.arange(len(X)) // 4],
    "some rows twice": lambda X: X[np.maximum(np.arange(len(X)) - len(X) // 4, 0)],
}


def inputs_of(case: Case, X) -> dict:
    """What fit is given besides X."""
    random, n = np.random.default_rng(1), X.shape[0] if hasattr(X, "shape") else len(X)
    given: dict = {}
    if "labels" in case.given:
        given["y"] = random.integers(10, size=n)
    if "target values" in case.given:
        given["y"] = random.random(n)
    if "weights" in case.given:
        given["sample_weight"] = random.random(n) + 0.5
    if "of half" in case.given:
        given["sample_weight"][::2] = 0
    if "fixed" in case.given:
        given["fixed"] = np.arange(n) % 2 == 0
    return given


def places_of(case: Case, X) -> dict:
    """Where half of the points stay, as a parameter of the estimator."""
    if "fixed" not in case.given:
        return {}
    spread = float(case.given.partition("apart x ")[2] or 1)
    places = spread * np.random.default_rng(2).normal(size=(len(X), 2))
    places[1::2] = np.nan
    return {"init": places}


def uncounted_bytes(case: Case, X) -> int:
    """What is resident because of X, but not counted: the rest of an array that X shows a part of, files."""
    return X.nbytes if case.form in ("every second column", "memory-mapped") else 0


def loaded(case: Case, source: str):
    """X in the form of the case."""
    if case.sparse_values:
        X = sparse.load_npz(source)
    else:
        X = np.load(source, mmap_mode="r" if case.form == "memory-mapped" else None)
    return FORMS[case.form](X)


def estimator_of(case: Case, **more):
    import actup

    parameters = {"random_state": 0, "n_jobs": case.threads, **more, **case.parameters}
    return getattr(actup, case.method)(**parameters)


def measure(case: Case, source: str, share: float, backend: str) -> dict:
    """Run one fit in this process: megabytes of every stage, estimated and measured."""
    few = np.random.default_rng(0).random((300, 300 if case.form == "distances" else 20), np.float32)
    few = sparse.csr_matrix(few) if case.sparse_values else few.astype(case.dtype)
    few = FORMS[case.form](few)
    estimator_of(case, backend=backend, **places_of(case, few)).fit(few, **inputs_of(case, few))
    known = None
    if case.given == "neighbours":
        import actup

        lists = actup.nearest_neighbors(np.load(source), 15)
        known = lists.indices.copy(), lists.distances.copy()
        del lists
    watch = DeviceWatch() if backend == "cuda" else Watch()
    X = loaded(case, source)
    inputs = inputs_of(case, X)
    model = estimator_of(case, backend=backend, callback=watch.note, **places_of(case, X))
    if known is not None:
        model.set_params(precomputed_knn=known)
    estimate = model.memory_estimate(X, **inputs)
    found: dict = {}
    if share:
        limit = int(share * estimate.limited_bytes)
        found["limit"] = megabytes(limit)
        model.set_params(max_memory=limit)
        try:
            computing = load_backend(model.backend)
            found["lean"] = str(model._lean(X, model._recipe(), FitInputs(**inputs), computing))
        except MemoryError as error:
            return {**found, "refused": str(error)}
    with watch:
        model.fit(X, **inputs)
    edges = model.graph_.nnz / (len(model.embedding_) * estimate.neighbors)
    return {
        **found,
        "estimate": rounded(estimate.device_stages or estimate.stages),
        "measured": rounded({stage: size - uncounted_bytes(case, X) for stage, size in watch.peaks.items()}),
        "edges_per_neighbor": round(edges, 2),
    }


def rounded(sizes: dict[str, int]) -> dict[str, float]:
    return {name: megabytes(size) for name, size in sizes.items()}


def megabytes(size: float) -> float:
    return round(size / 1e6, 1)


class Watch:
    """The peak of the resident memory of every stage of a fit, over what there was before X was loaded."""

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self.stage = "read"
        self.base = status_bytes("VmRSS")

    def __enter__(self) -> Watch:
        reset_peak()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def note(self, stage: str, fraction: float, embedding: object) -> None:
        if stage != self.stage:
            self._close()
            self.stage = stage

    def _close(self) -> None:
        self.peaks[self.stage] = status_bytes("VmHWM") - self.base
        reset_peak()


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def status_bytes(name: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(f"{name}:")) * 1024


class DeviceWatch:
    """The peak of what CuPy's pool has handed out on the GPU, in every stage of a fit."""

    def __init__(self) -> None:
        import cupy

        self.peaks: dict[str, int] = {}
        self.stage = "read"
        self._hook = _pool_hook(cupy)
        self._pool = cupy.get_default_memory_pool()
        self._pool.free_all_blocks()

    def __enter__(self) -> DeviceWatch:
        self._hook.__enter__()
        self._hook.used = self._hook.peak = self._pool.used_bytes()
        return self

    def __exit__(self, *error: object) -> None:
        self._close()
        self._hook.__exit__(*error)

    def note(self, stage: str, fraction: float, embedding: object) -> None:
        if stage != self.stage:
            self._close()
            self.stage = stage

    def _close(self) -> None:
        self.peaks[self.stage] = self._hook.peak
        self._hook.peak = self._hook.used


def _pool_hook(cupy):
    """A hook of CuPy's memory pool that keeps the most bytes that were in use at a time."""

    class Hook(cupy.cuda.MemoryHook):
        name = "peak"
        used = peak = 0

        def malloc_postprocess(self, **given):
            self.used += given["mem_size"]
            self.peak = max(self.peak, self.used)

        def free_postprocess(self, **given):
            self.used -= given["mem_size"]

    return Hook()


if __name__ == "__main__":
    main()
