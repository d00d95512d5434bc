"""The mesh on the GPU: which grid serves the points, and the convolution of the points with the potential.

The device never waits for the grid to be chosen: it is chosen from the points' box some epochs ago, with room
for what they may have grown since. A point that outran it all the same is taken to be at its edge.
"""

from __future__ import annotations

import math
from concurrent.futures import Future
from functools import lru_cache
from threading import get_ident

import numpy as np

from actup.backends._cuda.compile import cupy, request_kernels
from actup.backends._cuda.launch import THREADS, blocks_for, start
from actup.backends._cuda.state import STATE, LayoutState, force_macros, from_ordered
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Loss, Optimizer

_MARGIN = 6  # lines beyond the span, so that splines stay inside
_SIDES = (256, 512, 1024, 2048, 4096, 8192, 16384)  # quick to transform
_LINE_SIDE = 64  # the other side's of the grid for a line of points
_FINER = (8, 4, 2)  # a small map, which the smallest grid holds anyway, gets lines closer by these
_STEP = 1.2  # a map too wide for the largest grid gets wider spacings by powers of this ...
_COARSEST = 2.0  # ... up to this
_SPREAD_POINTS = 512  # per thread block
_KNOTS = 100 << 7  # PotentialTable::kKnots
_FORWARD, _INVERSE = -1, 1  # of cuFFT
_LARGEST_OVERSAMPLED = 2**20  # grid points: bounds the memory of a setup


class OutgrownMesh(Exception):
    """The points are too far apart for any grid that resolves the repulsion."""


class Mesh:
    """A grid over the points, and the potentials of all points on it: one, or two for some losses."""

    def __init__(self, state: LayoutState, recipe: Recipe, points):
        n, dimensions = points.shape
        self._state, self.points = state, points
        self._line = dimensions == 1
        self._usual = recipe.spacing(n)
        self._largest = 16384 if self._line else 1024 if n <= 20_000 else 2048
        self._potentials = [_Potential(kind, state, recipe) for kind in _kinds(recipe)]
        self._kernels = self._potentials[0].kernels
        caps = None if recipe.optimizer is Optimizer.GAINS else recipe.schedule(n).step_cap
        self._boxes = _Boxes(state, dimensions, caps)
        self._spacing, self._rows, self._columns = 0.0, 0, 0

    def view(self) -> tuple:
        """What a kernel needs to read two potentials: the parts of MeshView of kernels/mesh_view.h."""
        first, second = self._potentials[0], self._potentials[-1]
        return (first.cells, first.of_self, second.cells, second.of_self, *self._grid_arguments())

    def prepare(self, epoch: int) -> bool:
        """See to it that the grid serves the points in this epoch; whether it is another one.

        Raises OutgrownMesh if none does.
        """
        if epoch != _next_change(epoch - 1):
            return False
        width, height = self._boxes.room_needed(epoch)
        if self._line:
            width, height = 0.0, width
        spacing = self._choose_spacing(max(width, height))
        rows = self._choose_side(height / spacing, self._rows)
        columns = _LINE_SIDE if self._line else self._choose_side(width / spacing, self._columns)
        if (spacing, rows, columns) == (self._spacing, self._rows, self._columns):
            return False
        self._spacing, self._rows, self._columns = spacing, rows, columns
        self._set_up()
        return True

    def convolve(self) -> None:
        """Start the kernels that make the potentials of the points now."""
        spread, take_cells, multiply = self._steps
        n = len(self.points)
        spread(
            (blocks_for(n, _SPREAD_POINTS),),
            (THREADS,),
            (self._state.state, self.points, np.int64(n), *self._grid_arguments(), self._cells),
        )
        take_cells(
            (blocks_for(self._columns), self._rows),
            (THREADS,),
            (self._cells, np.int32(self._rows), np.int32(self._columns), self._grid),
        )
        self._forward.fft(self._grid, self._spectrum, _FORWARD)
        size = self._spectrum.size
        for potential in self._potentials:
            start(multiply, size, potential.influence, np.int64(size), self._spectrum, potential.spectrum)
            self._inverse.fft(potential.spectrum, potential.cells, _INVERSE)

    def _grid_arguments(self) -> tuple:
        return np.float32(self._spacing), np.int32(self._rows), np.int32(self._columns)

    # --- which grid ---

    def _choose_spacing(self, span: float) -> float:
        """The usual one; closer lines for a small map, wider ones for one the largest grid cannot hold."""
        needed = span / (self._largest - _MARGIN)
        if needed > self._usual:
            if needed <= self._spacing <= _STEP**2 * needed:
                return self._spacing
            spacing = self._usual * _STEP ** math.ceil(math.log(needed / self._usual, _STEP) + 1e-3)
            if spacing > _COARSEST * self._usual:
                raise OutgrownMesh
            return spacing
        if 0 < self._spacing <= self._usual and _SIDES[0] / 4 <= span / self._spacing <= _SIDES[0] - _MARGIN:
            return self._spacing
        finer = (self._usual / closer for closer in _FINER)
        return next((s for s in finer if 1.25 * span / s <= _SIDES[0] - _MARGIN), self._usual)

    def _choose_side(self, lines: float, current: int) -> int:
        """With some room to grow; kept until the points outgrow it or leave much of it empty."""
        needed = int(lines) + _MARGIN
        if needed <= current and (current == _SIDES[0] or needed > 0.45 * current):
            return current
        sides = [side for side in _SIDES if side <= self._largest]
        return next((side for side in sides if side >= 1.05 * needed), sides[-1])

    def _set_up(self) -> None:
        """Arrays, transforms and the influence functions of the grid."""
        cp = cupy()
        rows, columns = self._rows, self._columns
        self._cells = cp.zeros((rows, columns), np.uint64)
        self._grid = cp.zeros((2 * rows, 2 * columns), np.float32)
        self._spectrum = cp.empty((2 * rows, columns + 1), np.complex64)
        self._steps = [self._kernels.get_function(name) for name in ("spread", "take_cells", "multiply")]
        self._forward, self._inverse = _plans(2 * rows, 2 * columns)
        tables = self._frequencies(rows), self._frequencies(columns)
        for potential in self._potentials:  # the last one may spoil the points' spectrum
            last = potential is self._potentials[-1]
            potential.spectrum = self._spectrum if last else cp.empty_like(self._spectrum)
            potential.set_up(self._spacing, rows, columns, self._line, tables, self._inverse)

    def _frequencies(self, side: int):
        table = cupy().empty((side + 1, 6), np.float32)
        start(self._kernels.get_function("tabulate_frequencies"), side + 1, np.int32(side), table)
        return table


def request_mesh(recipe: Recipe) -> list[Future]:
    """The kernels of the potentials of a recipe."""
    return [_request(kind, recipe) for kind in _kinds(recipe)]


def _request(kind: int, recipe: Recipe) -> Future:
    return request_kernels("layout_mesh", POTENTIAL=kind, **force_macros(recipe))


def _kinds(recipe: Recipe) -> tuple[int, ...]:
    """The potentials of a recipe's repulsion, as PotentialKind of mesh.h numbers them."""
    if recipe.loss is Loss.KL:
        return (0,) if recipe.normalized else (2,)
    return (1, 0) if recipe.normalized else (1,)


class _Potential:
    """One potential of all points on the grid.

    Attributes
    ----------
    spectrum : cupy.ndarray of shape (2 rows, columns + 1), complex64
        Room for its spectrum, given by the mesh.
    influence : cupy.ndarray of the same shape, float32
        What the points' spectrum is multiplied by.
    cells : cupy.ndarray of shape (2 rows, 2 columns), float32
    of_self : cupy.ndarray of shape (9,), float32
        What a point feels of itself.
    """

    def __init__(self, kind: int, state: LayoutState, recipe: Recipe):
        self.kernels = _request(kind, recipe).result()
        self._constants = state.constants
        # Whether its spectrum ends before the grid's does.
        self._smooth = kind != 2 and force_macros(recipe)["SHAPE"] == 0
        self._table = cupy().empty(_KNOTS + 1 if kind == 2 else 1, np.float32)
        if kind == 2:
            self.kernels.get_function("tabulate")((1,), (1024,), (state.constants, self._table))

    def set_up(self, spacing: float, rows: int, columns: int, line: bool, tables: tuple, inverse) -> None:
        """Arrays and the influence function of a grid, by tables of its frequencies along both sides."""
        cp = cupy()
        self.cells = cp.empty((2 * rows, 2 * columns), np.float32)
        self.influence = cp.empty(self.spectrum.shape, np.float32)
        self.of_self = cp.empty(9, np.float32)
        finer = 1 if self._smooth or rows * columns > _LARGEST_OVERSAMPLED else 2
        fine_rows, fine_columns = 2 * finer * rows, 2 * finer * columns
        sampled = cp.empty((fine_rows, fine_columns), np.float32)
        self.kernels.get_function("sample_potential")(
            (blocks_for(fine_columns), fine_rows),
            (THREADS,),
            (
                self._constants,
                self._table,
                np.float32(spacing / finer),
                np.int32(line),
                np.int32(fine_rows),
                np.int32(fine_columns),
                sampled,
            ),
        )
        spectrum = cp.empty((fine_rows, fine_columns // 2 + 1), np.complex64)
        _plans(fine_rows, fine_columns)[0].fft(sampled, spectrum, _FORWARD)
        size = (np.int32(finer), np.int32(rows), np.int32(columns))
        self.kernels.get_function("influence")(
            (blocks_for(columns + 1), 2 * rows),
            (THREADS,),
            (spectrum, *tables, *size, self.influence, self.spectrum),
        )
        inverse.fft(self.spectrum, self.cells, _INVERSE)  # of a point in cell 0
        self.kernels.get_function("self_potential")(
            (1,), (9,), (self.cells, np.int32(2 * columns), self.of_self)
        )


class _Boxes:
    """How much room the points need, from their boxes at earlier epochs, which are read without waiting."""

    def __init__(self, state: LayoutState, axes: int, caps: np.ndarray | None):
        cp = cupy()
        self._state, self._axes, self._caps = state, axes, caps
        memory = cp.cuda.alloc_pinned_memory(2 * STATE.itemsize)
        self._copies = np.frombuffer(memory, STATE, 2)
        self._copied = [cp.cuda.Event(disable_timing=True) for _ in range(2)]
        self._asked: list[int] = []
        self._known: list[tuple[int, np.ndarray]] = []

    def room_needed(self, epoch: int) -> tuple[float, float]:
        """The box's sides that are enough until the grid may change again."""
        self._ask(epoch)
        self._learn()
        known, sides = self._known[-1]
        ahead = _next_change(epoch) - known
        room = np.full(2, np.inf)
        if self._caps is not None:  # each end moves by a step at most
            room = sides + 2 * float(self._caps[known : known + ahead].sum())
        if len(self._known) > 1:
            earlier, smaller = self._known[-2]
            growth = np.maximum(0, sides - smaller) / (known - earlier)
            room = np.minimum(room, 1.02 * sides + 1.5 * growth * ahead)
        elif known == epoch:
            room = sides  # seen just now
        width, height = np.where(np.isfinite(room), room, 2 * sides)
        return float(width), float(height)

    def _ask(self, epoch: int) -> None:
        """Copy the box as it is before this epoch."""
        slot = len(self._asked) % 2
        self._asked.append(epoch)
        stream = cupy().cuda.get_current_stream()
        cupy().cuda.runtime.memcpyAsync(
            self._copies[slot : slot + 1].ctypes.data,
            self._state.state.data.ptr,
            STATE.itemsize,
            cupy().cuda.runtime.memcpyDeviceToHost,
            stream.ptr,
        )
        self._copied[slot].record(stream)

    def _learn(self) -> None:
        """The box that was asked for before the last one; of the first epoch, that one."""
        place = max(0, len(self._asked) - 2)
        if len(self._known) > place:
            return
        self._copied[place % 2].synchronize()
        epoch = self._asked[place]
        corners = from_ordered(self._copies[place % 2]["box"][epoch % 3]).reshape(2, 2)
        sides = np.zeros(2)
        sides[: self._axes] = (corners[1] - corners[0])[: self._axes]
        if not np.isfinite(sides).all():
            raise ValueError("the mesh needs finite positions: the layout has diverged")
        self._known = [*self._known[-1:], (epoch, sides)]


def _next_change(epoch: int) -> int:
    """The next epoch before which the grid may change: often at first, when the map grows fastest."""
    every = 1 if epoch < 16 else 4 if epoch < 64 else 8
    return (epoch // every + 1) * every


def _plans(rows: int, columns: int) -> tuple:
    """Plans of the transform of a real grid and of its inverse, which have memory of their own to work in."""
    cuda = cupy().cuda
    return _made_plans(rows, columns, cuda.runtime.getDevice(), cuda.get_current_stream().ptr, get_ident())


@lru_cache(maxsize=12)  # making a plan takes longer than using it
def _made_plans(rows: int, columns: int, *used_by: int) -> tuple:
    return make_transforms(rows, columns)


def make_transforms(rows: int, columns: int) -> tuple:
    """New plans of the transform of a real grid and of its inverse."""
    from cupyx.scipy.fft import get_fft_plan

    cp = cupy()
    real = cp.empty((rows, columns), np.float32)
    spectrum = cp.empty((rows, columns // 2 + 1), np.complex64)
    return (
        get_fft_plan(real, axes=(0, 1), value_type="R2C"),
        get_fft_plan(spectrum, shape=(rows, columns), axes=(0, 1), value_type="C2R"),
    )
