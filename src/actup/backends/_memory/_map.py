"""Memory of graph, start and layout on the CPU.

Names of arrays are those of ``_native/graph/``, ``_native/start/`` and ``_native/layout/``.
"""

from __future__ import annotations

import math

from actup.backends._memory._search import kept_scratch
from actup.backends._memory._shape import GRAPH_FILE_PARTS, Lean, Moment, RunShape, graph_bytes
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Initialization, Loss, Optimizer, Repulsion, RepulsionMass, Update
from actup.start._landmarks import LANDMARKS, uses_landmarks

_EDGES_PER_RANGE, _MAX_RANGES = 2**20, 16  # of the symmetric graph, which is merged range by range
# Each part counts the edges of a range. There are more parts than usual for many threads, in so many values.
_ROWS_PER_PART, _USUAL_PARTS, _MAX_PARTS, _MOST_COUNTS = 2**11, 8, 32, 2**20
_LEAST_HUGE_BYTES = 2**22  # of a buffer in huge pages
_VECTORS_PER_PANEL = 8
_SPARE_VECTORS, _EXTRA_VECTORS = 5, 4
_CODE_COLUMNS, _LANDMARK_SAMPLE = 128, 64
_PCA_CHUNK_ROWS, _PCA_SUM_VALUES = 512, 2**24
_MAX_LINES = {1: 16384, 2: 2304}  # of a side of the mesh
_MAX_LINES_OF_FEW, _FEW_POINTS = 1024, 20_000
# A normalised map of n points with k neighbours is about _EXTENT n^0.2 k^-0.25 wide, as measured with groups
# and noise; large ones spread most if groups lie far apart: a line of the mesh for so many points.
_EXTENT, _POINTS_PER_LINE = 116.0, 130
_MESH_CELL_BYTES = 20.0  # the grid, its spectrum and the factors of the convolution
# While a mesh is made, a sharp potential is sampled twice as finely in both directions, up to so many cells.
_SAMPLED_CELL_BYTES, _MAX_SAMPLED_CELLS = 32.0, 2.0**20
_MESH_TABLE_BYTES = 1e6  # tables, scratch and code of its transforms, as measured with few points
# Sides are this much longer than points need, and have sizes that suit Fourier transforms.
_MESH_ROOM, _MESH_MARGIN_LINES = 1.1 * 1.02, 6.0
_MESH_SPACING_STEP = 1.2  # by which the spacing grows until the points fit into the most lines
_TREE_POINT_BYTES, _TREE_NODE_BYTES = 36.0, 32.0
_COLOUR_BYTES = 16.0  # of a point, while edges are divided into matchings
# What NumPy and SciPy take for every edge of a graph while they change it: measured.
_WEIGHTING_BYTES, _LABELING_BYTES, _TARGET_BYTES = 47.0, 65.0, 102.0
_LENGTH_BYTES = 62.0  # of an edge, while its length is looked up
_LENGTH_CHUNK_ROWS = 2**14  # whose edges are looked up at a time
_PLACED_BYTES, _PLACED_CHUNK_ROWS = 44.0, 2**12  # of an edge, while points without a place get one
_RADIUS_BYTES = 37.0  # of an edge, while the radii of its ends are computed
_SORTED_LIST_BYTES = 20.0  # of a neighbour, while lengths are looked up


def graph_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    """What is in memory while lists of neighbours become a graph."""
    n, k, edges = shape.rows, shape.k, shape.made_edges
    if shape.has_graph:
        return [shape.data() | shape.graph() | change for change in _change_moments(shape) or [{}]]
    data = shape.data() | kept_scratch(shape, lean)
    before = data | shape.lists() | {"weights of lists": 4.0 * n * k}
    ranges = graph_ranges(n, k, lean)
    rows = n / ranges
    most = max(_USUAL_PARTS, min(2 * shape.threads, _MAX_PARTS, int(_MOST_COUNTS / rows)))
    parts = min(max(1, n // _ROWS_PER_PART), most)
    # Of large buffers, which lie in huge pages, all is touched; of small ones, what is used. Ids and weights
    # of merged rows have a buffer each.
    merged = 8.0 * k * rows
    merging = {
        "incoming edges": 8.0 * k * rows + (4.0 * parts + 8.0) * rows,
        "merged rows": 2 * merged if merged >= _LEAST_HUGE_BYTES else 8.0 * edges / ranges,
    }
    if lean.graph_on_disc:
        of_range = {"a range of the graph": 8.0 * edges / ranges, "edges of a range": 24.0 * k * rows}
        return [before | merging | of_range | {"offsets of the graph": 8.0 * n}]
    replaced = {"incoming edges of the range before": 8.0 * k * rows if ranges > 1 else 0.0}
    moments = [before | {"sums of distances": 16.0 * n}, before | merging | replaced | shape.made_graph()]
    made = data | shape.lists()
    moments += [made | moment for moment in _change_moments(shape)]
    if shape.keeps_radii:
        lengths = {
            "lists in order of ids": _SORTED_LIST_BYTES * n * k,
            "lengths of edges": 8.0 * shape.edges
            + _LENGTH_BYTES * shape.edges * min(1.0, _LENGTH_CHUNK_ROWS / n),
        }
        moments.append(made | shape.graph() | lengths)
    return moments


def _change_moments(shape: RunShape) -> list[Moment]:
    """What is in memory while weights of samples, and then labels or target values, change the graph."""
    changes, graph, edges = shape.changes, shape.made_graph(), shape.made_edges
    moments = []
    if changes.weighted:
        moments.append(graph | {"weighted edges": _WEIGHTING_BYTES * edges})
        graph |= {"weighted graph": graph_bytes(shape.rows, edges)}
    if changes.labeled:
        moments.append(graph | {"edges weakened by labels": _LABELING_BYTES * edges})
    if changes.target_neighbors:
        moments.append(graph | {"edges of X and of target values": _TARGET_BYTES * shape.edges})
    return moments


def graph_ranges(n: int, k: int, lean: Lean) -> int:
    """How many ranges of rows the symmetric graph is merged in."""
    if lean.graph_on_disc:
        return GRAPH_FILE_PARTS
    return int(min(max(1, n * k // _EDGES_PER_RANGE), _MAX_RANGES))


def start_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    """What is in memory while the points get their first places."""
    n, d, recipe = shape.rows, shape.recipe.n_components, shape.recipe
    before = _after_graph(shape, lean) | shape.graph()
    scaled = {"start": 8.0 * d * n, "axes, random places and sums": 24.0 * d * n}
    moments = [before | scaled]
    if shape.has_fixed:  # places of some points spread along the edges, rows by rows
        part = min(1.0, _PLACED_CHUNK_ROWS / n)
        moments = [before | scaled | {"edges of points to place": _PLACED_BYTES * shape.edges * part}]
    if shape.has_start:
        return moments
    kind = recipe.initialization
    if kind is Initialization.SPECTRAL and not shape.sparse and uses_landmarks(recipe, n):
        codes = {
            "codes": float(n * min(_padded_to(shape.columns, 8), _CODE_COLUMNS)),
            "codes of the landmarks' sample": min(n, _LANDMARK_SAMPLE * LANDMARKS) * float(_CODE_COLUMNS),
            "landmarks of points": 12.0 * n,
        }
        moments.append(before | codes | _converted(shape))
    elif kind is Initialization.SPECTRAL:
        moments += [before | moment for moment in _spectral_moments(shape)]
    elif kind is Initialization.PCA:
        chunks = math.ceil(n / _PCA_CHUNK_ROWS)
        sums = {"sums of columns": 4.0 * min(chunks * 8.0 * shape.columns, _PCA_SUM_VALUES)}
        moments.append(before | _converted(shape) | sums | {"start": 8.0 * d * n})
    return moments


def _spectral_moments(shape: RunShape) -> list[Moment]:
    """Eigenvectors of the graph, or of its components one by one."""
    n, d, edges = shape.rows, shape.recipe.n_components, shape.edges
    panels = (d + 1 + _EXTRA_VECTORS + _SPARE_VECTORS + _VECTORS_PER_PANEL - 1) // _VECTORS_PER_PANEL
    blocks = 3 * 4.0 * _VECTORS_PER_PANEL * panels * n
    solver = {"normalised weights": 4.0 * edges, "blocks of vectors": blocks, "degrees": 24.0 * n}
    vectors = {"eigenvectors": 8.0 * (d + _EXTRA_VECTORS) * n}
    components = {"components": 60.0 * n}
    if shape.sparse:  # means of the rows of each component
        components |= {"X in double precision": 8.0 * shape.stored}
    sorted_edges = {"edges by component": 8.0 * edges, "shapes of components": 8.0 * d * n}
    largest = 0.5 * (solver["normalised weights"] + blocks)  # of components, if there are several
    return [solver | vectors, components, sorted_edges | {"solver": largest, "components": 20.0 * n}]


def layout_moments(shape: RunShape, lean: Lean) -> list[Moment]:
    """What is in memory while the layout is made, and while it runs."""
    n, d, recipe = shape.rows, shape.recipe.n_components, shape.recipe
    held = _after_graph(shape, lean) | {"start": 4.0 * d * n, "mobility": 8.0 * n if shape.has_fixed else 0.0}
    if shape.keeps_radii:
        held |= {"lengths of edges": 4.0 * shape.edges}
    ranges = graph_ranges(n, shape.k, lean)
    graph = {"a range of the graph": shape.graph()["graph"] / ranges} if lean.graph_on_disc else shape.graph()
    order = {"order of points": 4.0 * n}
    moments = [held | graph | {"keys of points": 16.0 * n} | order]
    if shape.keeps_radii:
        moments.append(held | graph | {"radii of the ends of edges": _RADIUS_BYTES * shape.edges})
    copied = layout_edges(shape)
    relabelled = order | {"labels, strengths and degrees": 12.0 * n}
    strongest = {"strongest edges of points": 16.0 * n, "depth-first search": 16.0 * n}
    moments.append(held | graph | relabelled | strongest)
    if recipe.update is Update.IN_PLACE:
        colours = {"colours": _COLOUR_BYTES * n + 0.5 * shape.edges}
        moments.append(held | graph | relabelled | copied | colours)
    else:
        moments.append(held | graph | relabelled | copied | point_arrays(recipe, n))
    running = held | ({} if lean.graph_on_disc else graph) | order | copied
    running |= point_arrays(recipe, n) | repulsion_arrays(recipe, n, shape.extents)
    if recipe.density_weight > 0:
        running |= {"density": 20.0 * n}
    moments.append(running | {"map": 4.0 * d * n})
    if shape.changes.weighted and shape.left_out:
        moments.append(_placing_moment(shape))
    return moments


def _placing_moment(shape: RunShape) -> Moment:
    """Samples of weight 0 get places like new rows, beside the others, which are copied to be searched."""
    placed = shape.copied_bytes * shape.left_out / shape.rows
    searched = {"rows to be searched": float(shape.copied_bytes), "rows to be placed": placed}
    return shape.data() | shape.graph() | searched


def layout_edges(shape: RunShape) -> Moment:
    """The layout's own copy of the edges."""
    if shape.recipe.update is Update.IN_PLACE and shape.recipe.output_metric == "euclidean":
        return {"edges of the layout": 6.0 * shape.edges}  # every undirected edge once, by matching
    return {"edges of the layout": graph_bytes(shape.rows, shape.edges)}


def point_arrays(recipe: Recipe, n: int) -> Moment:
    """What the layout knows of every point."""
    d = recipe.n_components
    arrays = {"points": 8.0 * d * n, "masses of points": 4.0 * n}
    if recipe.update is Update.IN_PLACE:
        return arrays | {"forces": 4.0 * d * n}
    arrays |= {"steps": 4.0 * d * n, "forces": 8.0 * d * n}
    if recipe.optimizer is Optimizer.GAINS:
        arrays |= {"gains": 4.0 * d * n}
    if recipe.optimizer is Optimizer.STIFFNESS:
        arrays |= {"stiffness": 8.0 * n}
    if recipe.normalized and recipe.loss is not Loss.KL:
        arrays |= {"second forces": 4.0 * d * n}
    if recipe.repulsion_mass is RepulsionMass.PER_EDGE:
        arrays |= {"negatives of points": 4.0 * n}
    return arrays


def repulsion_arrays(recipe: Recipe, n: int, extents: tuple[float, ...] = ()) -> Moment:
    """What the repulsion needs besides the points."""
    if recipe.update is Update.IN_PLACE:
        return {}
    match recipe.repulsion_for(n):
        case Repulsion.MESH:
            return {"points by row of the mesh": 12.0 * n, "mesh": mesh_bytes(recipe, n, extents)}
        case Repulsion.BARNES_HUT:
            tree = (_TREE_POINT_BYTES + 4.0 * recipe.n_components) * n + 0.75 * _TREE_NODE_BYTES * n
            return {"tree": tree}
    return {}


def mesh_bytes(recipe: Recipe, n: int, extents: tuple[float, ...] = ()) -> float:
    """The mesh, as large as maps of n points usually need it, or maps of some extents."""
    sides = [mesh_lines(recipe, n)] * recipe.n_components
    if extents:
        most, spacing = _max_mesh_lines(recipe, n), recipe.spacing(n)
        while max(extents) / spacing > most - _MESH_MARGIN_LINES:
            spacing *= _MESH_SPACING_STEP
        wanted = [_roomy_lines(extent / spacing) for extent in extents]
        sides = [max(side, min(most, lines)) for side, lines in zip(sides, wanted, strict=False)]
    cells = math.prod(sides) if recipe.n_components == 2 else 64.0 * sides[0]
    is_smooth = recipe.normalized and recipe.kernel() == (1.0, 1.0) and recipe.dof == 1
    sampled = 0.0 if is_smooth else _SAMPLED_CELL_BYTES * min(cells, _MAX_SAMPLED_CELLS)
    return max(_MESH_CELL_BYTES * cells, sampled) + _MESH_TABLE_BYTES


def mesh_lines(recipe: Recipe, n: int) -> float:
    """How many lines a side of the mesh has at the end, roughly: how wide maps become depends on the data."""
    if recipe.normalized:
        extent = _EXTENT * math.pow(n, 0.2) * math.pow(max(1, recipe.neighbors_searched(n)), -0.25)
        lines = 12.0 + max(_MESH_ROOM * extent / recipe.spacing(n), n / _POINTS_PER_LINE)
    else:  # measured with data of one to fifty groups, which spread most
        lines = _roomy_lines((10.0 + math.log2(max(2, n))) / recipe.spacing(n))
    return min(_max_mesh_lines(recipe, n), lines)


def _roomy_lines(span: float) -> float:
    """The lines of a side of the mesh for points that span some of them."""
    return _MESH_ROOM * (span + _MESH_MARGIN_LINES)


def _max_mesh_lines(recipe: Recipe, n: int) -> float:
    d = recipe.n_components
    return float(_MAX_LINES[d] if d == 1 or n > _FEW_POINTS else _MAX_LINES_OF_FEW)


def _after_graph(shape: RunShape, lean: Lean) -> Moment:
    lists = shape.lists() if shape.keeps_neighbors else {}
    return shape.data() | kept_scratch(shape, lean) | lists


def _converted(shape: RunShape) -> Moment:
    """The rows in float32, where the engine does not read them as they are."""
    return {} if shape.is_engine_type else {"X in float32": float(shape.engine_bytes)}


def _padded_to(count: int, multiple: int) -> int:
    return math.ceil(count / multiple) * multiple
