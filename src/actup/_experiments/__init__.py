"""The experiments of the paper: how they are run, stored and shown. ``actup reproduce`` is their command.

An experiment is a list of runs and a function that renders their results. A run is a data set, a recipe, a
seed and what to measure; experiments that ask for the same run share it. To add an experiment, write a module
in ``paper/`` that defines ``EXPERIMENT``, add a row here, and explain its tables in ``page/notes.md``.
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
    """All experiments by name, in the order of the page."""
    return {experiment.name: experiment for experiment in _EXPERIMENTS}
