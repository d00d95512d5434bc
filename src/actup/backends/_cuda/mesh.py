"""The mesh on the GPU: the choice of a grid, and the convolution of the points with the potential.

The device never waits for the choice of a grid, which follows from the points' bounding box some epochs
earlier, with a margin for their growth since. A point that is outside of the grid nevertheless is treated as
if it were at its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import get_ident
from typing import Any

import numpy as np

from actup._threads import BackgroundCall
from actup._typing import Array
from actup.backends._cuda.compile import cupy, request_kernels
from actup.backends._cuda.constants import BOX_AXES, POTENTIAL_KNOTS, SPREAD_POINTS, THREADS
from actup.backends._cuda.launch import WARP, blocks_for, launch
from actup.backends._cuda.state import (
    STATE,
    LayoutState,
    force_macros,
    from_ordered,
    kernel_shape,
    potential_kinds,
)
from actup.backends._layout_state import read_state
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Optimizer

_MARGIN_LINES = 6  # grid lines beyond the points, so that splines stay inside
_SIDES = (256, 512, 1024, 2048, 4096, 8192, 16384)  # powers of two, which are fast to transform
_ONE_AXIS_SIDE = 64  # the second side of the grid of a one-dimensional map
_FINER_FACTORS = (8, 4, 2)  # the spacing of a small map, which fits into the smallest grid, is divided by one
_SPACING_STEP = 1.2  # a map too wide for the largest grid gets a wider spacing, by powers of this ...
_MAX_SPACING_FACTOR = 2.0  # ... up to this factor
_MAX_OVERSAMPLED_CELLS = 2**20  # a larger grid is not oversampled: bounds the memory of its setup
_CUFFT_FORWARD, _CUFFT_INVERSE = -1, 1


class OutgrownMesh(Exception):
    """Raised when the points are too far apart for any grid that resolves the repulsion."""


class Mesh:
    """A grid over the points, and the potentials of all points on it: one, or two for some losses."""

    def __init__(self, state: LayoutState, recipe: Recipe, points: Array):
        n, dimensions = points.shape
        self._state, self.points = state, points
        self._one_axis = dimensions == 1
        self._default_spacing = recipe.spacing(n)
        self._max_side = 16384 if self._one_axis else 1024 if n <= 20_000 else 2048
        self._potentials = [_Potential(kind, state, recipe) for kind in potential_kinds(recipe)]
        self._kernels = self._potentials[0].kernels
        caps = None if recipe.optimizer is Optimizer.GAINS else recipe.schedule(n).step_cap
        self._new_boxes: Callable[[], _Boxes] = lambda: _Boxes(state, dimensions, caps)
        self._boxes = self._new_boxes()
        self._points_replaced = False
        self._spacing, self._rows, self._columns = 0.0, 0, 0

    def view(self) -> tuple[Any, ...]:
        """The arguments from which a kernel reads two potentials: MeshView of kernels/mesh_view.h."""
        first, second = self._potentials[0], self._potentials[-1]
        return (first.on_grid, first.of_self, second.on_grid, second.of_self, *self._grid_arguments())

    def prepare(self, epoch: int) -> bool:
        """Choose a grid for the points in this epoch; returns whether it has changed.

        Raises OutgrownMesh if no grid is large enough.
        """
        if epoch != _next_change(epoch - 1) and not self._points_replaced:
            return False
        self._points_replaced = False
        width, height = self._boxes.room_needed(epoch)
        if self._one_axis:
            width, height = 0.0, width
        spacing = self._choose_spacing(max(width, height))
        rows = self._choose_side(height / spacing, self._rows)
        columns = _ONE_AXIS_SIDE if self._one_axis else self._choose_side(width / spacing, self._columns)
        if (spacing, rows, columns) == (self._spacing, self._rows, self._columns):
            return False
        self._spacing, self._rows, self._columns = spacing, rows, columns
        self._set_up()
        return True

    def points_replaced(self) -> None:
        """Forget where the points were: the next epoch waits for their new box, and chooses a grid for it."""
        self._boxes, self._points_replaced = self._new_boxes(), True

    def state(self) -> dict[str, np.ndarray]:
        """The grid, and the boxes from which the next one is chosen."""
        grid = np.array([self._spacing, self._rows, self._columns, self._points_replaced], np.float64)
        return {"grid": grid, **self._boxes.state()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from a state."""
        grid = read_state(arrays, "grid", np.empty(4))
        spacing, sides = float(grid[0]), grid[1:3].tolist()
        known_sides = {0, _ONE_AXIS_SIDE if self._one_axis else 0, *_SIDES}
        if not (0 <= spacing < math.inf and set(sides) <= known_sides and max(sides) <= self._max_side):
            raise ValueError(f"state has a grid of {sides} lines {spacing} apart: it was damaged")
        self._boxes = self._new_boxes()
        self._boxes.restore(arrays)
        self._spacing, self._rows, self._columns = spacing, int(sides[0]), int(sides[1])
        self._points_replaced = bool(grid[3])
        if self._rows:
            self._set_up()

    def convolve(self) -> None:
        """Launch the kernels that compute the potentials of the current points."""
        spread, take_cells, multiply = self._steps
        n = len(self.points)
        spread(
            (blocks_for(n, SPREAD_POINTS),),
            (THREADS,),
            (self._state.state, self.points, np.int64(n), *self._grid_arguments(), self._cells),
        )
        take_cells(
            (blocks_for(self._columns), self._rows),
            (THREADS,),
            (self._cells, np.int32(self._rows), np.int32(self._columns), self._grid),
        )
        self._forward.fft(self._grid, self._spectrum, _CUFFT_FORWARD)
        size = self._spectrum.size
        for potential in self._potentials:
            launch(multiply, size, potential.influence, np.int64(size), self._spectrum, potential.spectrum)
            self._inverse.fft(potential.spectrum, potential.on_grid, _CUFFT_INVERSE)

    def _grid_arguments(self) -> tuple[np.float32, np.int32, np.int32]:
        return np.float32(self._spacing), np.int32(self._rows), np.int32(self._columns)

    # --- choice of the grid ---

    def _choose_spacing(self, span: float) -> float:
        """The recipe's spacing; a finer one for a small map, a wider one if the largest grid is too small."""
        needed, default = span / (self._max_side - _MARGIN_LINES), self._default_spacing
        if needed > default:
            if needed <= self._spacing <= _SPACING_STEP**2 * needed:
                return self._spacing
            steps = math.ceil(math.log(needed / default, _SPACING_STEP) + 1e-3)
            spacing = default * _SPACING_STEP**steps
            if spacing > _MAX_SPACING_FACTOR * default:
                raise OutgrownMesh
            return float(spacing)
        smallest, most_lines = _SIDES[0], _SIDES[0] - _MARGIN_LINES
        if 0 < self._spacing <= default and smallest / 4 <= span / self._spacing <= most_lines:
            return self._spacing
        finer = (default / factor for factor in _FINER_FACTORS)
        return next((s for s in finer if 1.25 * span / s <= most_lines), default)

    def _choose_side(self, lines: float, current: int) -> int:
        """A side with a reserve for growth; kept until the points outgrow it or leave most of it empty."""
        needed = int(lines) + _MARGIN_LINES
        if needed <= current and (current == _SIDES[0] or needed > 0.45 * current):
            return current
        sides = [side for side in _SIDES if side <= self._max_side]
        return next((side for side in sides if side >= 1.05 * needed), sides[-1])

    def _set_up(self) -> None:
        """Make the grid's arrays, transforms and influence functions."""
        cp = cupy()
        rows, columns = self._rows, self._columns
        self._cells = cp.zeros((rows, columns), np.uint64)
        self._grid = cp.zeros((2 * rows, 2 * columns), np.float32)
        self._spectrum = cp.empty((2 * rows, columns + 1), np.complex64)
        self._steps = [self._kernels.get_function(name) for name in ("spread", "take_cells", "multiply")]
        self._forward, self._inverse = _plans(2 * rows, 2 * columns)
        tables = self._frequencies(rows), self._frequencies(columns)
        for potential in self._potentials:  # the last one may overwrite the points' spectrum
            last = potential is self._potentials[-1]
            potential.spectrum = self._spectrum if last else cp.empty_like(self._spectrum)
            potential.set_up(self._spacing, rows, columns, self._one_axis, tables, self._inverse)

    def _frequencies(self, side: int) -> Array:
        """What the influence function needs of the frequencies along a side: (side + 1, 6) float32."""
        table = cupy().empty((side + 1, 6), np.float32)
        launch(self._kernels.get_function("tabulate_frequencies"), side + 1, np.int32(side), table)
        return table


def request_mesh(recipe: Recipe) -> list[BackgroundCall[Any]]:
    """Start to compile the kernels of a recipe's potentials."""
    return [_request(kind, recipe) for kind in potential_kinds(recipe)]


def _request(kind: str, recipe: Recipe) -> BackgroundCall[Any]:
    macros = {"POTENTIAL": f"PotentialKind::{kind}", **force_macros(recipe)}
    return request_kernels("layout_mesh", **macros)


class _Potential:
    """One potential of all points on the grid.

    Attributes
    ----------
    spectrum : cupy.ndarray of shape (2 rows, columns + 1), complex64
        The buffer of its spectrum, set by the mesh.
    influence : cupy.ndarray of the same shape, float32
        The factors of the points' spectrum.
    on_grid : cupy.ndarray of shape (2 rows, 2 columns), float32
        The potential at the grid points.
    of_self : cupy.ndarray of shape (9,), float32
        A point's contribution to the potential around itself.
    """

    spectrum: Array

    def __init__(self, kind: str, state: LayoutState, recipe: Recipe):
        self.kernels = _request(kind, recipe).result()
        self._constants = state.constants
        tabulated = kind == "umap"
        # Whether its spectrum vanishes within the grid's frequencies, so that it needs no oversampling.
        self._smooth = not tabulated and kernel_shape(recipe) == "unit"
        self._table = cupy().empty(POTENTIAL_KNOTS + 1 if tabulated else 1, np.float32)
        if tabulated:
            self.kernels.get_function("tabulate")((1,), (1024,), (state.constants, self._table))

    def set_up(
        self,
        spacing: float,
        rows: int,
        columns: int,
        one_axis: bool,
        tables: tuple[Array, Array],
        inverse: Any,
    ) -> None:
        """Make the arrays and the influence function of a grid, from ``Mesh._frequencies`` of both sides."""
        cp = cupy()
        self.on_grid = cp.empty((2 * rows, 2 * columns), np.float32)
        self.influence = cp.empty(self.spectrum.shape, np.float32)
        self.of_self = cp.empty(9, np.float32)
        oversampling = 1 if self._smooth or rows * columns > _MAX_OVERSAMPLED_CELLS else 2
        fine_rows, fine_columns = 2 * oversampling * rows, 2 * oversampling * columns
        sampled = cp.empty((fine_rows, fine_columns), np.float32)
        self.kernels.get_function("sample_potential")(
            (blocks_for(fine_columns), fine_rows),
            (THREADS,),
            (
                self._constants,
                self._table,
                np.float32(spacing / oversampling),
                np.int32(one_axis),
                np.int32(fine_rows),
                np.int32(fine_columns),
                sampled,
            ),
        )
        spectrum = cp.empty((fine_rows, fine_columns // 2 + 1), np.complex64)
        _plans(fine_rows, fine_columns)[0].fft(sampled, spectrum, _CUFFT_FORWARD)
        size = (np.int32(oversampling), np.int32(rows), np.int32(columns))
        self.kernels.get_function("influence")(
            (blocks_for(columns + 1), 2 * rows),
            (THREADS,),
            (spectrum, *tables, *size, self.influence, self.spectrum),
        )
        inverse.fft(self.spectrum, self.on_grid, _CUFFT_INVERSE)  # the potential of a point at grid point 0
        self.kernels.get_function("self_potential")(
            (1,), (WARP,), (self.on_grid, np.int32(2 * columns), self.of_self)
        )


class _Boxes:
    """Predicts the points' bounding box from those of earlier epochs, which are read without waiting."""

    def __init__(self, state: LayoutState, axes: int, caps: np.ndarray | None):
        cp = cupy()
        self._state, self._axes, self._caps = state, axes, caps
        memory = cp.cuda.alloc_pinned_memory(2 * STATE.itemsize)
        self._copies = np.frombuffer(memory, STATE, 2)
        self._copied = [cp.cuda.Event(disable_timing=True) for _ in range(2)]
        self._requested: list[int] = []  # epochs
        self._known: list[tuple[int, np.ndarray]] = []  # the last two epochs and sides

    def room_needed(self, epoch: int) -> tuple[float, float]:
        """The sides of a box that contains the points until the grid may change again."""
        self._request(epoch)
        self._receive()
        known, sides = self._known[-1]
        ahead = _next_change(epoch) - known
        room = np.full(2, np.inf)
        if self._caps is not None:  # each side of the box moves by a step at most
            room = sides + 2 * float(self._caps[known : known + ahead].sum())
        if len(self._known) > 1:
            earlier, smaller = self._known[-2]
            growth = np.maximum(0, sides - smaller) / (known - earlier)
            room = np.minimum(room, 1.02 * sides + 1.5 * growth * ahead)
        elif known == epoch and ahead == 1:
            room = sides  # those of this epoch
        width, height = np.where(np.isfinite(room), room, 2 * sides)
        return float(width), float(height)

    def state(self) -> dict[str, np.ndarray]:
        """The boxes that are known, and those that were requested and have not been read yet."""
        for event in self._copied:
            event.synchronize()
        return {
            "boxes.requested": np.array(self._requested, np.int64),
            "boxes.copies": np.frombuffer(self._copies.tobytes(), np.uint8),
            "boxes.known_at": np.array([epoch for epoch, _ in self._known], np.int64),
            "boxes.known": np.array([sides for _, sides in self._known], np.float64).reshape(-1, 2),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from a state."""
        copies = read_state(arrays, "boxes.copies", np.empty(self._copies.nbytes, np.uint8))
        try:
            requested, known_at, known = (
                arrays[f"boxes.{name}"] for name in ("requested", "known_at", "known")
            )
        except KeyError as missing:
            raise ValueError(f"state has no {missing}: it was damaged") from None
        self._copies[...] = np.frombuffer(copies.tobytes(), STATE)
        self._requested = [int(epoch) for epoch in requested]
        self._known = [(int(epoch), sides) for epoch, sides in zip(known_at, known, strict=True)]

    def _request(self, epoch: int) -> None:
        """Start to copy the box before this epoch to the host."""
        slot = len(self._requested) % 2
        self._requested.append(epoch)
        stream = cupy().cuda.get_current_stream()
        cupy().cuda.runtime.memcpyAsync(
            self._copies[slot : slot + 1].ctypes.data,
            self._state.state.data.ptr,
            STATE.itemsize,
            cupy().cuda.runtime.memcpyDeviceToHost,
            stream.ptr,
        )
        self._copied[slot].record(stream)

    def _receive(self) -> None:
        """Read the box of the last but one request, or of the first one."""
        request = max(0, len(self._requested) - 2)
        if len(self._known) > request:
            return
        self._copied[request % 2].synchronize()
        epoch = self._requested[request]
        corners = from_ordered(self._copies[request % 2]["box"][epoch % 3]).reshape(2, BOX_AXES)
        sides = np.zeros(2)
        sides[: self._axes] = (corners[1] - corners[0])[: self._axes]
        if not np.isfinite(sides).all():
            raise ValueError("the mesh needs finite positions: the layout has diverged")
        self._known = [*self._known[-1:], (epoch, sides)]


def _next_change(epoch: int) -> int:
    """The next epoch before which the grid may change: often at first, when the map grows fastest."""
    every = 1 if epoch < 16 else 4 if epoch < 64 else 8
    return (epoch // every + 1) * every


def _plans(rows: int, columns: int) -> tuple[Any, Any]:
    """Plans of the transform of a real grid and of its inverse; not shared, because they own work memory."""
    cuda = cupy().cuda
    return _cached_plans(rows, columns, cuda.runtime.getDevice(), cuda.get_current_stream().ptr, get_ident())


@lru_cache(maxsize=12)  # making a plan takes longer than using it
def _cached_plans(rows: int, columns: int, *_device_stream_thread: int) -> tuple[Any, Any]:
    return new_fourier_plans(rows, columns)


def new_fourier_plans(rows: int, columns: int) -> tuple[Any, Any]:
    """New plans of the transform of a real grid and of its inverse."""
    from cupyx.scipy.fft import get_fft_plan

    cp = cupy()
    real = cp.empty((rows, columns), np.float32)
    spectrum = cp.empty((rows, columns // 2 + 1), np.complex64)
    return (
        get_fft_plan(real, axes=(0, 1), value_type="R2C"),
        get_fft_plan(spectrum, shape=(rows, columns), axes=(0, 1), value_type="C2R"),
    )
