"""Affinities: the similarities of rows that an embedding is made from."""

from __future__ import annotations

from actup.compat.opentsne._affinity_base import Affinities, get_knn_index, joint_probabilities_nn
from actup.compat.opentsne._affinity_base import log as log
from actup.compat.opentsne._perplexity_affinities import (
    Multiscale,
    MultiscaleMixture,
    PerplexityBasedNN,
)
from actup.compat.opentsne._simple_affinities import FixedSigmaNN, PrecomputedAffinities, Uniform

__all__ = [
    "Affinities",
    "FixedSigmaNN",
    "Multiscale",
    "MultiscaleMixture",
    "PerplexityBasedNN",
    "PrecomputedAffinities",
    "Uniform",
    "get_knn_index",
    "joint_probabilities_nn",
]
