"""Sampled against exact repulsion."""

import numpy as np
import pytest

from actup._experiments.paper.forces import (
    repulsion,
    with_exact_repulsion,
    with_sampled_repulsion,
)
from actup._experiments.paper.methods import PAPER
from actup._experiments.paper.sampling_angles import compare


def test_sampled_repulsion_is_unbiased(workspace):
    recipe = PAPER["GDR_tsne"]
    graph = workspace.graph(recipe)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    exact = repulsion(graph, Y, with_exact_repulsion(recipe), 0, 2)
    draws = [repulsion(graph, Y, with_sampled_repulsion(recipe, 16), seed, 2) for seed in range(400)]
    compared = compare(np.mean(draws, axis=0), exact)
    assert compared["along"] == pytest.approx(1, abs=0.03)
    assert compared["angle"] < 6
    assert compare(draws[0], exact)["angle"] > compared["angle"]
    assert compare(exact, exact) == pytest.approx(
        {"angle": 0, "mean_cosine": 1, "median_ratio": 1, "mean_ratio": 1, "along": 1}, abs=1e-4
    )
