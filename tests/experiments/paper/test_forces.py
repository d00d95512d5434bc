"""Forces against those of the reference backend."""

import numpy as np
import pytest

from actup._experiments.paper.forces import (
    attraction,
    mean_forces,
    repulsion,
    with_exact_repulsion,
)
from actup._experiments.paper.methods import PAPER
from actup.backends._reference import layout as reference


@pytest.mark.parametrize("method", ["GDR_tsne", "GDR_umap"])
def test_forces_equal_those_of_the_reference(workspace, method):
    recipe = with_exact_repulsion(PAPER[method])
    graph = workspace.graph(recipe)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    oracle = reference.Layout(graph, Y, recipe.but(prune=False, exaggeration=1.0), 0)
    pull, push, _ = oracle._forces()
    back = np.argsort(oracle._order)
    ours = attraction(graph, Y, recipe, 2), repulsion(graph, Y, recipe, 0, 2)
    for found, expected in zip(ours, (pull[back], push[back]), strict=True):
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("sampling", ["exhaustive", "accelerated", "unbiased"])
@pytest.mark.parametrize("method", ["GDR_tsne", "GDR_umap"])
def test_mean_forces_equal_the_average_over_many_epochs(workspace, method, sampling):
    recipe = PAPER[method].but(sampling=sampling, exaggeration=1.0, epochs=600)
    graph = workspace.graph(recipe).pruned(1 / 600)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    oracle = reference.Layout(graph, Y, recipe, 0)
    back = np.argsort(oracle._order)
    pull, push = np.zeros_like(Y, np.float64), np.zeros_like(Y, np.float64)
    for oracle.epoch in range(600):
        attracted, repelled, _ = oracle._forces()
        pull += attracted[back] / 600
        push += repelled[back] / 600
    expected = mean_forces(graph, Y, recipe, 2)
    for found, mean in zip((pull, push), expected, strict=True):
        lengths = [np.linalg.norm(forces, axis=1).mean() for forces in (found, mean)]
        assert lengths[0] == pytest.approx(lengths[1], rel=0.1)
        assert (found * mean).sum() / (mean**2).sum() == pytest.approx(1, abs=0.1)
