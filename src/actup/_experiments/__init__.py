"""The experiments of the paper: what is run, how it is kept, and how it is shown.

An experiment is a list of runs and a function that renders what they found. A run is (data, recipe, seed);
two experiments that ask for the same run share it. To add one: a module with ``EXPERIMENT``, a row here, and
what is to be said about it in notes.md.
"""

from __future__ import annotations

from actup._experiments.experiment import Experiment
from actup._experiments.paper import (
    accelerated,
    embeddings,
    equal_neighbors,
    frobenius,
    gradient_maps,
    normalization,
    runtimes,
    sampling_angles,
    swiss_roll,
    switches,
    theorems,
    words,
)

_EXPERIMENTS = (
    embeddings.EXPERIMENT,
    switches.EXPERIMENT,
    equal_neighbors.EXPERIMENT,
    normalization.EXPERIMENT,
    normalization.NAIVE,
    swiss_roll.EXPERIMENT,
    frobenius.EXPERIMENT,
    accelerated.EXPERIMENT,
    gradient_maps.EXPERIMENT,
    sampling_angles.EXPERIMENT,
    theorems.EXPERIMENT,
    words.EXPERIMENT,
    runtimes.EXPERIMENT,
)


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the report."""
    return {experiment.name: experiment for experiment in _EXPERIMENTS}
