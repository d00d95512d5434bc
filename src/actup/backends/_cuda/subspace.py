"""The leading eigenvectors of a symmetric operator on the GPU, as in ``_native/start/subspace.hpp``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from actup._typing import Array
from actup.backends._cuda.compile import cupy, load_kernels
from actup.backends._cuda.constants import PANEL, THREADS
from actup.backends._cuda.launch import launch

# apply(x, previous, out, alpha, beta, gamma) writes alpha A x + beta x + gamma previous to out.
Apply: TypeAlias = Callable[[Array, Array, Array, float, float, float], None]

_GUARD_VECTORS = 5  # at least; vectors beyond the wanted ones, which make those converge faster
_MAX_STATS_BLOCKS = 256  # thread blocks that add up columns
_CHOLESKY_THREADS = 128
_MAX_LOG_SPREAD = 14  # beyond a ratio of e^14, float32 loses the smaller of two vectors in the larger one


@dataclass(frozen=True)
class Spectrum:
    """What is known of the eigenvalues, and the solver's effort; the fields of the CPU's ``Spectrum``.

    Attributes
    ----------
    low, top : float
        Bounds of all eigenvalues.
    cut : float
        The first filter damps the eigenvalues between ``low`` and ``cut``.
    first_degree, last_degree : int
        Degrees of the first filter, and at most of the later ones.
    budget : int
        The largest number of products with the operator.
    tolerance : float
        The largest residual, relative to the gap between the wanted and the unwanted eigenvalues.
    """

    low: float
    top: float
    cut: float
    first_degree: int
    last_degree: int
    budget: int
    tolerance: float = 0.005


def block_width(vectors: int) -> int:
    """Columns of a block for these vectors and the guard vectors, in whole panels."""
    return PANEL * math.ceil((vectors + _GUARD_VECTORS) / PANEL)


def leading_eigenvectors(
    apply: Apply, n: int, spectrum: Spectrum, wanted: int, seed: int, known: Array | None = None
) -> Array:
    """The eigenvectors of the largest eigenvalues, without a known one at the top.

    Parameters
    ----------
    apply : callable
        ``apply(x, previous, out, alpha, beta, gamma)`` writes alpha A x + beta x + gamma previous to ``out``,
        which may be ``previous``; all of shape (n, width), float32.
    n : int
        More than twice the block's width.
    spectrum : Spectrum
    wanted : int
    seed : int
    known : cupy.ndarray of shape (n,), optional

    Returns
    -------
    cupy.ndarray of shape (n, wanted), float32
        Of unit length; the entry of largest magnitude is positive.
    """
    solver = SubspaceIteration(apply, n, spectrum, wanted, seed, known)
    solver.solve()
    return solver.vectors(wanted)


def column_stats(Y: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Least, largest, mean and mean square of every column of a C-contiguous array, as NumPy arrays."""
    cp = cupy()
    n, width = Y.shape
    if width > THREADS:  # the kernel needs a thread per column
        starts = range(0, width, THREADS)
        parts = [column_stats(cp.ascontiguousarray(Y[:, at : at + THREADS])) for at in starts]
        least, largest, mean, mean_square = (np.concatenate(part) for part in zip(*parts, strict=True))
        return least, largest, mean, mean_square
    partial = cp.empty((min(_MAX_STATS_BLOCKS, n), width, 4), cp.float64)
    kind = "float_stats" if Y.dtype == np.float32 else "double_stats"
    kernel = load_kernels("start").get_function(kind)
    kernel((len(partial),), (THREADS,), (Y, np.int64(n), np.int32(width), partial))
    of_blocks = partial.get()
    return (
        of_blocks[..., 0].min(axis=0),
        of_blocks[..., 1].max(axis=0),
        of_blocks[..., 2].sum(axis=0) / n,
        of_blocks[..., 3].sum(axis=0) / n,
    )


def fixed_signs(block: Array, first: int, count: int, known: Array | None = None) -> Array:
    """Columns of a C-contiguous block, with signs such that the entry of largest magnitude is positive.

    Rows in which ``known`` is 0 become 0: these points have no edges.
    """
    cp = cupy()
    n, width = block.shape
    least, largest, *_ = column_stats(block)
    signs = np.where(-least > largest, -1, 1)[first : first + count].astype(np.float32)
    out = cp.empty((n, count), cp.float32)
    kernel = load_kernels("start").get_function("signed_columns")
    size = (np.int64(out.size), np.int32(width), np.int32(count))
    arguments = (block.ravel()[first:], *size, cp.asarray(signs), 0 if known is None else known, out)
    launch(kernel, out.size, *arguments)
    return out


class SubspaceIteration:
    """A block of vectors that converges to the leading ones; parameters as of ``leading_eigenvectors``."""

    def __init__(
        self, apply: Apply, n: int, spectrum: Spectrum, wanted: int, seed: int, known: Array | None = None
    ):
        cp = cupy()
        self._apply, self._spectrum, self._wanted, self._known = apply, spectrum, wanted, known
        self._skip = 0 if known is None else 1
        width = block_width(wanted + self._skip)
        self._x = cp.empty((n, width), cp.float32)
        self._y = cp.empty_like(self._x)
        self._values = np.zeros(width)
        kernel = load_kernels("spectrum").get_function("random_block")
        launch(kernel, n * width, np.uint64(seed), np.int32(n), np.int32(width), self._x)
        self._restore_known()
        self._orthonormalize()

    @property
    def found(self) -> int:
        """The number of vectors, including less exact ones beyond those wanted."""
        return int(self._x.shape[1]) - self._skip

    def vectors(self, count: int) -> Array:
        """The first vectors: (n, count) float32."""
        return fixed_signs(self._x, self._skip, count, self._known)

    def solve(self) -> None:
        """Filter and rotate the block until the wanted vectors are exact enough or the budget is spent."""
        spectrum = self._spectrum
        degree, top, cut = spectrum.first_degree, spectrum.top, spectrum.cut
        last_wanted, used = top, 0
        while used + spectrum.first_degree <= spectrum.budget:
            now = min(self._bounded_degree(degree, top, cut, last_wanted), spectrum.budget - used)
            self._filter(now, top, cut)
            used += now + 1
            residual = self._rayleigh_ritz()
            if not math.isfinite(residual):
                break
            if self._known is None:
                top = max(self._values[0], 1e-30)
            last_wanted, unwanted = self._values[self._skip + self._wanted - 1], self._values[-1]
            enough = spectrum.tolerance * (last_wanted - unwanted)
            if residual <= enough:
                break
            width = top - spectrum.low
            cut = min(max(unwanted, spectrum.low + 1e-3 * width), top - 1e-7 * width)
            degree = min(degree + degree // 2, self._needed_degree(residual, enough, cut, last_wanted))

    def _needed_degree(self, residual: float, enough: float, cut: float, last_wanted: float) -> int:
        """An estimate, with some reserve, of the filter's degree that makes the residual small enough."""
        growth, most = self._growth(last_wanted, cut), self._spectrum.last_degree
        if not (growth > 0 and enough > 0):
            return most
        return int(min(most, 1.25 * math.log(residual / enough) / growth + 2))

    def _bounded_degree(self, degree: int, top: float, cut: float, last_wanted: float) -> int:
        """The degree, lowered if rounding errors of the first vector would drown the last wanted one."""
        spread = self._growth(top, cut) - self._growth(last_wanted, cut)
        return degree if spread * degree <= _MAX_LOG_SPREAD else max(2, int(_MAX_LOG_SPREAD / spread))

    def _growth(self, value: float, cut: float) -> float:
        """By how much each degree of a filter raises the logarithm of an eigenvalue's part."""
        low = self._spectrum.low
        return math.acosh(max(1.0, (2 * value - cut - low) / (cut - low)))

    def _filter(self, degree: int, top: float, cut: float) -> None:
        """X ← T(A) X with the Chebyshev polynomial T of [low, cut], scaled to 1 at ``top``."""
        low = self._spectrum.low
        centre, half = (cut + low) / 2, (cut - low) / 2
        first = half / (top - centre)
        scale = first
        self._apply(self._x, self._x, self._y, scale / half, -centre * scale / half, 0.0)
        for _ in range(2, degree + 1):
            following = 1 / (2 / first - scale)
            alpha, gamma = 2 * following / half, -scale * following
            self._apply(self._y, self._x, self._x, alpha, -centre * alpha, gamma)
            self._x, self._y = self._y, self._x
            scale = following
        self._x, self._y = self._y, self._x
        self._restore_known()

    def _rayleigh_ritz(self) -> float:
        """Rotate the block to its Ritz vectors, largest first; returns the wanted ones' largest residual.

        A block with NaN or infinite products becomes NaN, as on the CPU, where such a start ends as a random
        one.
        """
        cp, skip = cupy(), self._skip
        self._orthonormalize()
        self._apply(self._x, self._x, self._y, 1.0, 0.0, 0.0)
        xx, product, yy = _products(self._x, self._y)
        if not np.isfinite(product).all():
            self._x.fill(np.nan)
            return math.nan
        rotation = np.eye(len(product))
        values, vectors = np.linalg.eigh(product[skip:, skip:])
        rotation[skip:, skip:] = vectors[:, ::-1]
        self._values[:skip] = product[0, 0]
        self._values[skip:] = values[::-1]
        residual = self._largest_residual(xx, product, yy, rotation)
        on_device = cp.asarray(rotation.astype(np.float32))
        self._x, self._y = self._x @ on_device, self._y @ on_device
        return residual

    def _largest_residual(
        self, xx: np.ndarray, product: np.ndarray, yy: np.ndarray, rotation: np.ndarray
    ) -> float:
        """The largest |A x - value x| of the wanted vectors, from products in double precision."""
        wanted = rotation[:, self._skip : self._skip + self._wanted]
        values = self._values[self._skip : self._skip + self._wanted]

        def forms(matrix: np.ndarray) -> np.ndarray:
            """The quadratic form of each wanted vector."""
            diagonal: np.ndarray = np.einsum("ic,ij,jc->c", wanted, matrix, wanted)
            return diagonal

        squares = forms(yy) - 2 * values * forms(product) + values**2 * forms(xx)
        return float(np.sqrt(np.maximum(squares, 0)).max())

    def _orthonormalize(self) -> None:
        """Make the columns orthonormal, from the first on; the second pass removes rounding errors."""
        cp = cupy()
        width = self._x.shape[1]
        kernel = load_kernels("start").get_function("inverse_cholesky")
        inverse = cp.empty((width, width), np.float32)
        for _ in range(2):
            double = self._x.astype(np.float64)
            kernel((1,), (_CHOLESKY_THREADS,), (double.T @ double, np.int32(width), inverse))
            self._x = self._x @ inverse

    def _restore_known(self) -> None:
        """Write the known vector, if there is one, to the first column."""
        if self._known is not None:
            n, width = self._x.shape
            kernel = load_kernels("start").get_function("set_first_column")
            launch(kernel, n, self._known, np.int32(n), np.int32(width), self._x)


def _products(x: Array, y: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """xᵀx, xᵀy and yᵀy in double precision, made symmetric, on the host."""
    cp = cupy()
    n, width = x.shape
    both = cp.empty((n, 2 * width), np.float64)
    both[:, :width], both[:, width:] = x, y
    product: np.ndarray = cp.asnumpy(both.T @ both)
    xx, xy, yy = product[:width, :width], product[:width, width:], product[width:, width:]
    return (xx + xx.T) / 2, (xy + xy.T) / 2, (yy + yy.T) / 2
