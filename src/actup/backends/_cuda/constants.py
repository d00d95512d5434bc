"""Numbers that Python and the kernels must agree on, written here alone.

Each constant is a macro of the same name in every kernel file: ``compile.source_of`` puts them first.
"""

THREADS = 256  # per thread block, unless a kernel asks for another number

# affinities.cu
PARTIAL_SUMS = 1024  # parts in which all distances are added up
DISTANCE_FAULT, ID_FAULT, DUPLICATE_FAULT = 1, 2, 4  # bits that report what is wrong with given neighbours

# candidates.cu
TILE = 128  # queries, and keys, that a thread block compares at a time
SLAB = 64  # coordinates of a row that are stored side by side
NARROW_STAGES, WIDE_STAGES = 4, 3  # tiles in shared memory: one is compared while the others are copied
NARROW_BLOCKS, WIDE_BLOCKS = 3, 2  # thread blocks that a multiprocessor works on at a time
CANDIDATE_THREADS = 128  # per thread block

# candidates_hopper.cu
HOPPER_STAGES = 4  # slabs in shared memory: one is compared while the others are copied
HOPPER_PARTS = 4  # into which a launch divides the keys, each with its own lists
HOPPER_THREADS = 288  # per thread block: two warpgroups and a warp

# cells.cu and rows.cu: the threads of a block that adds up rows are (coordinates, rows)
GROUP_COLUMNS, GROUP_RUNS = 64, 16
MEAN_COLUMNS, MEAN_RUNS = 32, 16

# layout*.cu
POINT_LANES = 8  # threads that work on one point
BOX_AXES = 3  # whose bounding box is known, at most
BATCH_SUMS = 15  # sums over all points in an epoch of layout_batch.cu
IN_PLACE_THREADS = 1024  # per thread block that applies small groups of edges or measures the map
TREE_LEAF = 8  # consecutive points of a leaf
TREE_CHILDREN = 4  # of a node
TREE_WARPS = 4  # per thread block of layout_tree.cu, each with 32 points
TREE_LEVELS = 14  # at most: enough for 2^31 points
SPREAD_POINTS = 512  # points that a thread block of layout_mesh.cu adds to the grid
POTENTIAL_KNOTS = 100 << 7  # of the tabulated potential

# matchings.cu
COLOURS = 128  # edges that find no colour act one by one

# refine.cu
REFINE_WARPS = 2  # per thread block, one for each row

# scan.cu
SCAN_ROWS = 8  # rows that a thread block searches for, one per warp
SCAN_BATCH = 512  # points that a thread block compares before it cuts its lists

# spectrum.cu
PANEL = 8  # vectors that are multiplied by the graph at a time

MACROS: dict[str, int] = {name: value for name, value in dict(vars()).items() if name.isupper()}
