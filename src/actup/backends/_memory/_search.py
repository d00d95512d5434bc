"""Memory of reading X, and of the search for neighbours on the CPU.

Names of arrays are those of ``_native/neighbors/``: FewPoints, PackedPoints, CodeIndex, ReverseLists,
SparsePoints.
"""

from __future__ import annotations

import math

from actup._engine import engine
from actup.backends._memory._shape import Lean, Moment, RunShape
from actup.neighbors import _cluster_search
from actup.neighbors._metrics import METRICS, Metric, record_of

_BLOCK_ROWS = 16  # packed codes of a cluster are padded to whole blocks of this many
_CLUSTER_SAMPLE = 64  # rows per cluster by which clusters are found
_MAX_MEAN_CLUSTER = 256
_MAX_FOLLOWED = 16  # of a list, in a refinement round
_THREAD_SCRATCH_BYTES = 2 * 2**20  # of a search in clusters, per thread
# What the heap keeps of a thread's scratch, as measured: so much, or less of few rows.
_KEPT_THREAD_BYTES, _KEPT_THREAD_BYTES_PER_ROW = 1.1e6, 60.0
_MIN_PACKED_BYTES = 2**22  # of points that are packed at a time in an exact search
_CHUNK_BYTES = 2**24  # of what NumPy and scikit-learn compare at a time
_MIN_INDEXED_VALUES = 2**19  # of sparse points in an inverted index
_MAHALANOBIS_BYTES = 64.0  # of two columns, while their covariances are inverted: measured
_COLUMN_BYTES = 80.0  # of a column: its variance, factor and place in the order, as measured
_AXES_SAMPLE_ROWS = 48  # that are projected at a time while the axes of codes are found
_SAMPLE_QUERIES = 64.0  # rows whose true neighbours are searched at a time, to measure the recall of cells
_GOWER_BYTES = 24.0  # of a value, besides float32: measured
CODED_AS_GIVEN = ("euclidean", "sqeuclidean")  # other metrics transform rows before they have codes
_SPARSE_SUMMARY_BYTES = 40  # of a sparse row, and of its offsets


def read_moments(shape: RunShape) -> list[Moment]:
    """What is in memory while X is read, and once it is."""
    return [shape.read_data() | {"copies while X is read": float(shape.reading_bytes)}, shape.rows_data()]


def search_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    """What is in memory while neighbours are searched."""
    n, k = shape.rows, shape.k
    data, lists = shape.data(), shape.lists()
    if not shape.searches or k == 0:
        return [data | lists]
    metric = shape.recipe.metric
    record = record_of(metric)
    if metric == "precomputed":
        return [data | lists | {"distances in order": min(2.0 * shape.given_bytes, 2.0 * _CHUNK_BYTES)}]
    if record is None or not (record.is_compiled or record.name == "gower"):
        doubles = {"X in double precision": 0.0 if shape.dtype.itemsize == 8 else 8.0 * shape.stored}
        return [data | doubles | lists | {"compared at a time": float(_CHUNK_BYTES)}]
    if record.name == "gower":  # numbers in place of categories, scaled values, and both in float32
        data = data | {"X in double precision": _GOWER_BYTES * shape.stored}
        record = METRICS["manhattan"]
    prepared: list[Moment] = []
    if record.name == "mahalanobis":
        prepared = [data | {"matrices of columns": _MAHALANOBIS_BYTES * shape.columns**2}]
    record = METRICS.get(record.reduced_to, record)
    if not shape.is_engine_type or record.name == "gower":
        masks = record.presence and not shape.sparse
        data = data | {"X in float32": float(shape.stored if masks else 4 * shape.stored)}
    checked = {"checked distances": float(n * k)}
    if shape.sparse:
        return [data | moment for moment in (*_sparse_moments(shape, lean), lists | checked)]
    moments = _cluster_moments if record.cluster_search else _other_moments
    return [*prepared, *(data | moment for moment in (*moments(shape, record, lean), lists | checked))]


def kept_scratch(shape: RunShape, lean: Lean) -> Moment:
    """What the heap keeps of the threads' scratch after a search, unless all pairs are compared by codes."""
    record = record_of(shape.recipe.metric)
    if lean.gives_back or not shape.searches or record is None or not record.is_compiled:
        return {}
    record = METRICS.get(record.reduced_to, record)
    if record.cluster_search and not shape.sparse and _compares_codes(shape, lean):
        return {}
    kept = min(_KEPT_THREAD_BYTES, _KEPT_THREAD_BYTES_PER_ROW * shape.rows)
    return {"heap of threads": kept * shape.threads}


def _compares_codes(shape: RunShape, lean: Lean) -> bool:
    """Whether all pairs of few rows are compared by integer codes."""
    n, columns, k = shape.rows, shape.columns, shape.k
    return bool(_coded_moments(shape, lean)) and (
        _compares_all(shape) or _cluster_search.codes_are_cheaper(n, columns, k)
    )


def _compares_all(shape: RunShape) -> bool:
    """Whether all pairs are compared, by codes if there are few rows."""
    n, columns, k = shape.rows, shape.columns, shape.k
    return shape.recipe.recall >= 1 or _cluster_search.exact_is_cheaper(n, columns, k)


def _cluster_moments(shape: RunShape, record: Metric, lean: Lean) -> list[Moment]:
    """Searches of dense rows that clusters of codes may search."""
    if _compares_codes(shape, lean):
        return _coded_moments(shape, lean)
    if _compares_all(shape):
        return [_exact_moment(shape)]
    # The exact search takes over where codes tell too little; whether cells do is measured by it.
    index = _index_moments(shape, shape.columns, lean)
    sampled = min(_SAMPLE_QUERIES, float(shape.rows))
    queries = {"queries of a sample": sampled * shape.columns * shape.dtype.itemsize}
    return [*index, _exact_moment(shape), index[1] | queries | _exact_moment(shape)]


def _other_moments(shape: RunShape, record: Metric, lean: Lean) -> list[Moment]:
    """Searches of dense rows in other compiled metrics: by a proxy, or exact."""
    moments = [_exact_moment(shape)]
    if record.presence:
        moments[0] |= {"bits": shape.rows * math.ceil(shape.columns / 64) * 8.0}
    if shape.recipe.recall < 1:
        moments += _index_moments(shape, shape.columns, lean)
    return moments


def _sparse_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    prepared = {"summaries of rows": float(_SPARSE_SUMMARY_BYTES * shape.rows)}
    indexed = max(shape.stored / 6, min(_MIN_INDEXED_VALUES, shape.stored))
    points = indexed / max(1.0, shape.stored / max(1, shape.rows))
    exact = {"inverted index": 8 * indexed + 8.0 * shape.columns, "sums": 8 * points * shape.threads}
    moments = [prepared | exact | shape.lists()]
    if shape.recipe.recall < 1:
        moments += [prepared | moment for moment in _index_moments(shape, engine.SKETCH_COLUMNS, lean)]
    return moments


def _coded_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    """The comparison of all pairs of few points by codes of all columns; empty if it is not used."""
    if lean.search:
        return []
    coded = engine.coded_search_bytes(shape.rows, shape.columns, shape.k)
    if not coded:
        return []
    # Counted are codes of 16 bits and float32 rows. Exact codes of 8 bits need no rows beside them.
    values = shape.rows * _padded(shape.columns)
    is_exact = shape.has_byte_codes and shape.recipe.metric in CODED_AS_GIVEN
    return [shape.lists() | {"codes, lists and rows": coded - (5.0 * values if is_exact else 0.0)}]


def _exact_moment(shape: RunShape) -> Moment:
    """The comparison of all pairs in float32."""
    n, columns = shape.rows, max(1, shape.columns)
    packed = min(max(shape.engine_bytes / 6, _MIN_PACKED_BYTES), 4.0 * n * columns)
    at_a_time = min(64.0, max(16.0, shape.engine_bytes / (128 * columns)))
    queries = 4.0 * at_a_time * columns * shape.threads
    return shape.lists() | {
        "packed points": packed,
        "queries": queries,
        "order of columns": _COLUMN_BYTES * columns,
    }


def _index_moments(shape: RunShape, width: int, lean: Lean) -> list[Moment]:
    """An index of clusters: while it is made, while it is searched, and in a refinement round."""
    n, k = shape.rows, shape.k
    most = _cluster_search.max_code_columns(n, width, shape.engine_bytes, k)
    columns = math.ceil(max(1, min(width, engine.DEFAULT_MAX_COLUMNS, most)) / 8) * 8
    twice = lean.search or _cluster_search.must_save_memory(n, width, shape.engine_bytes, k)
    clusters = max(2 * math.sqrt(n), n / _MAX_MEAN_CLUSTER)
    padded = n + clusters * _BLOCK_ROWS / 2
    codes = {"codes": 0.0 if twice else float(n * columns)}
    sample = {"codes of the clusters' sample": min(n, clusters * _CLUSTER_SAMPLE) * (columns + 4)}
    index = {"packed codes": padded * (columns + 4 + 4.25), "order of points": 4.0 * n}
    scratch = {
        "scratch of threads": min(float(_THREAD_SCRATCH_BYTES), 1.0 * shape.engine_bytes) * shape.threads
    }
    projection = float(columns * width if 2 * columns < width else 0)
    codes |= {"axes of codes": 4.0 * projection}
    index |= {"axes of codes": 4.0 * projection}
    sample |= {"axes while they are found": 4.0 * projection + _AXES_SAMPLE_ROWS * 4.0 * width}
    followed = min(k, _MAX_FOLLOWED)
    refined = {"refined lists": 8.0 * n * k, "reverse lists": 4.0 * n * (followed + 1)}
    return [
        codes | sample | {"labels": 4.0 * n},
        codes | index,
        index | shape.lists() | scratch,
        index | shape.lists() | refined,
    ]


def _padded(columns: int) -> int:
    """Columns of a row of floats in whole vectors."""
    return math.ceil(columns / 16) * 16
