"""The repulsion field by mesh and by tree, against sums over all pairs in float64 and by its properties."""

from __future__ import annotations

import numpy as np
import pytest

from actup._engine import engine

KERNEL, SQUARED, UMAP = (
    engine.PotentialKind.kernel,
    engine.PotentialKind.kernel_squared,
    engine.PotentialKind.umap,
)
UMAP_A, UMAP_B = 1.5769434, 0.8950608
EPSILON = 0.01


def blobs(n, span, seed=0, dimensions=2):
    random = np.random.default_rng(seed)
    centres = (random.random((12, dimensions)) - 0.5) * 0.8 * span
    Y = centres[random.integers(12, size=n)] + random.normal(size=(n, dimensions)) * 0.03 * span
    return Y.astype(np.float32)


def disc(n, span, seed=0):
    random = np.random.default_rng(seed)
    radius, angle = 0.5 * span * np.sqrt(random.random(n)), 2 * np.pi * random.random(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32)


def all_pairs(Y, kind=KERNEL, a=1.0, b=1.0, dof=1.0):
    """Force and potential of every point by definition; UMAP's potential has no closed form, so it is 0."""
    Y = Y.astype(np.float64)
    difference = Y[:, None] - Y[None]
    d2 = (difference**2).sum(axis=2) + 1e-12
    base = 1 + a * d2**b / dof
    q, slope = base**-dof, d2 ** (b - 1) / base
    if kind == KERNEL:
        force, potential = slope * q, q
    elif kind == SQUARED:
        force, potential = slope * q**2, q**2
    else:
        force, potential = q / (EPSILON + d2), np.zeros_like(q)
    np.fill_diagonal(potential, 0)
    return (force[:, :, None] * difference).sum(axis=1), potential.sum(axis=1)


def mesh(spacing=0.5, kind=KERNEL, a=1.0, b=1.0, max_side=1024, dof=1.0):
    return engine.Mesh(kind, engine.Curve(a, b, dof), EPSILON, spacing, max_side)


def tree(Y, theta, kind=KERNEL, a=1.0, b=1.0, threads=2, dof=1.0):
    return engine.tree_repulsion(Y, kind, engine.Curve(a, b, dof), EPSILON, theta, threads)


def relative_error(found, true):
    return np.sqrt(((found - true) ** 2).sum() / (true**2).sum())


# Convolution


@pytest.mark.parametrize("shape", [(64, 64), (72, 100), (128, 60), (300, 64), (64, 324)])
def test_convolution_equals_numpy(shape):
    shape = tuple(engine.smooth_size(side) for side in shape)
    random = np.random.default_rng(1)
    grid = random.random(shape, dtype=np.float32)
    kernel = random.random((shape[0] + 1, shape[1] + 1), dtype=np.float32)
    even = np.pad(kernel, ((0, shape[0] - 1), (0, shape[1] - 1)), mode="reflect")
    padded = np.zeros(even.shape)
    padded[: shape[0], : shape[1]] = grid
    expected = np.fft.irfft2(np.fft.rfft2(padded) * np.fft.rfft2(even), s=even.shape)[: shape[0], : shape[1]]
    found = engine.convolve(grid, kernel, 2)
    np.testing.assert_allclose(found, expected, atol=2e-6 * expected.max())
    assert all(np.array_equal(found, engine.convolve(grid, kernel, threads)) for threads in (1, 3))


def test_smooth_sizes_are_smooth_and_close():
    for wanted in range(1, 3000, 7):
        size = engine.smooth_size(wanted)
        rest = size // 4
        assert size % 4 == 0
        assert max(64, wanted) <= size <= max(64, 1.13 * wanted + 4)
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        assert rest == 1


# Mesh


@pytest.mark.parametrize(
    "Y",
    [blobs(2500, 30), blobs(2500, 100), blobs(2000, 60, seed=2), disc(2500, 50)],
    ids=["blobs_30", "blobs_100", "blobs_60", "disc_50"],
)
def test_mesh_is_close_to_all_pairs(Y):
    force, potential, total = mesh().repel(Y, 2)
    true_force, true_potential = all_pairs(Y)
    assert relative_error(force, true_force) < 0.03
    assert relative_error(potential, true_potential) < 0.003
    assert total == pytest.approx(true_potential.sum(), rel=2e-4)
    assert total == pytest.approx(potential.sum(dtype=np.float64), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "a", "b", "spacing", "tolerance"),
    [
        (KERNEL, UMAP_A, UMAP_B, 0.25, 0.01),
        (KERNEL, 0.5, 1.3, 0.25, 0.01),
        (KERNEL, 5.0, 0.8, 0.25, 0.05),
        (SQUARED, 1.0, 1.0, 0.3, 0.02),
        (SQUARED, UMAP_A, UMAP_B, 0.25, 0.03),
        (UMAP, 1.0, 1.0, 0.1, 0.03),
        (UMAP, UMAP_A, UMAP_B, 0.1, 0.03),
    ],
)
def test_mesh_is_close_to_all_pairs_for_every_potential(kind, a, b, spacing, tolerance):
    Y = blobs(2500, 20)
    force, potential, total = mesh(spacing, kind, a, b).repel(Y, 2)
    true_force, true_potential = all_pairs(Y, kind, a, b)
    assert relative_error(force, true_force) < tolerance
    if kind != UMAP:
        assert relative_error(potential, true_potential) < 0.005
        assert total == pytest.approx(true_potential.sum(), rel=5e-4)


@pytest.mark.parametrize("dof", [0.3, 0.5, 2.0, 10.0])
def test_mesh_and_tree_are_close_to_all_pairs_for_every_dof(dof):
    Y = blobs(2500, 60)
    true_force, true_potential = all_pairs(Y, dof=dof)
    for (force, potential, total), tolerance in (
        (mesh(dof=dof).repel(Y, 2), 0.02),
        (tree(Y, 0, dof=dof), 1e-4),
    ):
        assert relative_error(force, true_force) < tolerance
        assert relative_error(potential, true_potential) < 0.003
        assert total == pytest.approx(true_potential.sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("kind", "a", "b", "factor"),
    [(KERNEL, 1, 1, 0.5), (KERNEL, UMAP_A, UMAP_B, 0.5 / (UMAP_A * UMAP_B)), (UMAP, UMAP_A, UMAP_B, 0.5)],
)
def test_mesh_force_is_the_gradient_of_its_potential(kind, a, b, factor):
    Y = blobs(500, 30)
    field = mesh(0.5, kind, a, b)
    force = field.repel(Y, 1)[0]
    step = 0.02
    inner = np.argsort(((Y - Y.mean(axis=0)) ** 2).sum(axis=1))[:20]  # moving these does not move the grid
    for c in range(2):
        slopes = []
        for i in inner:
            ends = []
            for sign in (1, -1):
                moved = Y.copy()
                moved[i, c] += sign * step
                ends.append(field.repel(moved, 1)[1][i])
            slopes.append((ends[0] - ends[1]) / (2 * step))
        found = -factor * np.array(slopes)
        np.testing.assert_allclose(found, force[inner, c], atol=0.02 * np.abs(force).max())


def test_mesh_in_one_dimension():
    Y = blobs(2000, 60, dimensions=1)
    force, potential, total = mesh().repel(Y, 2)
    true_force, true_potential = all_pairs(Y)
    assert force.shape == (2000, 1)
    assert relative_error(force, true_force) < 0.03
    assert total == pytest.approx(true_potential.sum(), rel=2e-4)
    assert relative_error(potential, true_potential) < 0.003


@pytest.mark.parametrize("threads", [2, 3, 16, 100])  # many share the rows of the mesh, not its bands
def test_threads_change_no_bit(threads):
    Y = blobs(30000, 80)
    one, many = mesh().repel(Y, 1), mesh().repel(Y, threads)
    assert all(np.array_equal(first, second) for first, second in zip(one, many, strict=True))
    one, many = tree(Y[:5000], 0.5, threads=1), tree(Y[:5000], 0.5, threads=threads)
    assert all(np.array_equal(first, second) for first, second in zip(one, many, strict=True))


def test_mesh_force_is_translation_invariant():
    Y = np.round(blobs(2000, 50) * 256) / 256  # so that the shift below is exact
    here = mesh().repel(Y, 1)
    there = mesh().repel(Y + np.float32([1024, -512]), 1)
    np.testing.assert_allclose(there[0], here[0], atol=1e-4 * np.abs(here[0]).max())
    assert there[2] == pytest.approx(here[2], rel=1e-6)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e30])
def test_outlier_widens_the_spacing_not_the_grid(far):
    Y = blobs(2000, 50)
    Y[0] = far
    field = mesh(max_side=1024)
    force, potential, total = field.repel(Y, 2)
    assert max(field.shape) <= 1024
    assert field.spacing >= far / 1024
    assert np.isfinite(force).all()
    assert np.isfinite(potential).all()
    assert np.isfinite(total)


def test_spacing_recovers_after_an_outlier():
    Y = blobs(2000, 50)
    field = mesh()
    field.repel(np.vstack([Y, [[1e6, 0]]]).astype(np.float32), 1)
    force = field.repel(Y, 1)[0]
    assert field.spacing == pytest.approx(0.5)
    assert np.array_equal(force, mesh().repel(Y, 1)[0])


@pytest.mark.parametrize("spacing", [0.38, 0.5, 0.19245082])
def test_map_that_grows_fits_into_the_largest_grid(spacing):
    """Of 0.38, the next finer spacing times the step is a little more than 0.38 in float32."""
    field = mesh(spacing, max_side=128)
    Y = disc(1500, 1)
    for span in np.geomspace(10, 121.5, 40) * spacing:
        force, _, _ = field.repel(np.float32(span) * Y, 1)
        assert np.isfinite(force).all()
        assert span / field.spacing <= 122


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_positions_that_are_not_finite_are_rejected(value):
    Y = blobs(100, 50)
    Y[50, 1] = value
    with pytest.raises(ValueError, match="finite"):
        mesh().repel(Y, 1)
    with pytest.raises(ValueError, match="finite"):
        tree(Y, 0.5)


@pytest.mark.parametrize("span", [0.01, 0.3, 3.0])
def test_mesh_adds_no_spurious_force_to_compact_maps(span):
    Y = blobs(1000, span)
    force, _, total = mesh().repel(Y, 1)
    true_force, true_potential = all_pairs(Y)
    assert np.abs(force - true_force).max() < 2e-4 * len(Y)
    assert total == pytest.approx(true_potential.sum(), rel=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 15, 16, 17])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_few_points_equal_all_pairs(n, dimensions):
    Y = 4 * np.random.default_rng(n).normal(size=(n, dimensions)).astype(np.float32)
    true_force, true_potential = all_pairs(Y)
    for method in ("mesh", 0.0):
        found = mesh().repel(Y, 2) if method == "mesh" else tree(Y, method)
        np.testing.assert_allclose(found[0], true_force, atol=0.01)
        np.testing.assert_allclose(found[1], true_potential, atol=0.01)


def test_equal_points_have_no_force():
    Y = np.full((300, 2), 7.5, dtype=np.float32)
    for force, _, total in (mesh().repel(Y, 1), tree(Y, 0.5), tree(Y, 0.0)):
        assert np.abs(force).max() < 0.02
        assert total == pytest.approx(300 * 299, rel=1e-4)


def test_no_points():
    empty = np.empty((0, 2), dtype=np.float32)
    assert mesh().repel(empty, 1)[2] == 0
    assert tree(empty, 0.5)[2] == 0


def test_grid_of_a_growing_map_changes_rarely():
    field, grids = mesh(), set()
    for scale in np.geomspace(0.1, 3, 120):
        Y = disc(1500, 60) * np.float32(scale)
        force, _, _ = field.repel(Y, 1)
        assert np.isfinite(force).all()
        grids.add((field.spacing, field.shape))
    assert len(grids) < 40  # the kernel is not recomputed every epoch


# Tree


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [(KERNEL, 1, 1), (KERNEL, UMAP_A, UMAP_B), (SQUARED, UMAP_A, UMAP_B), (UMAP, UMAP_A, UMAP_B)],
)
def test_tree_with_theta_zero_is_exact(dimensions, kind, a, b):
    Y = blobs(1200, 20, dimensions=dimensions)
    Y[100:150] = Y[0]  # duplicates of one point
    force, potential, total = tree(Y, 0.0, kind, a, b)
    true_force, true_potential = all_pairs(Y, kind, a, b)
    assert relative_error(force, true_force) < 1e-5
    np.testing.assert_allclose(potential, true_potential, rtol=1e-4, atol=1e-4)
    assert total == pytest.approx(true_potential.sum(), rel=1e-5)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_tree_with_theta_half_is_close(dimensions):
    Y = blobs(2500, 60, dimensions=dimensions)
    force, _, total = tree(Y, 0.5)
    true_force, true_potential = all_pairs(Y)
    assert relative_error(force, true_force) < 0.01
    assert total == pytest.approx(true_potential.sum(), rel=1e-2)


def test_tree_rejects_more_than_three_dimensions():
    with pytest.raises(ValueError, match="three dimensions"):
        tree(np.zeros((10, 4), dtype=np.float32), 0.5)
