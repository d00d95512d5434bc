"""Quality measures of a map: plain functions, and one report of all of them.

Every measure is deterministic: ``random_state`` draws the sample, ``sample=None`` measures without sampling,
and ``n_jobs`` never changes a bit of the result.
"""

from actup.quality._distances import distance_correlation, triplet_accuracy
from actup.quality._inputs import NotMeasurable
from actup.quality._labels import knn_accuracy, v_measure, voters
from actup.quality._losses import cross_entropy, frobenius_loss, kl_divergence
from actup.quality._neighborhoods import continuity, neighbor_recall, trustworthiness
from actup.quality._report import QualityReport, quality_report
from actup.quality._stability import SeedStability, seed_stability

__all__ = [
    "NotMeasurable",
    "QualityReport",
    "SeedStability",
    "continuity",
    "cross_entropy",
    "distance_correlation",
    "frobenius_loss",
    "kl_divergence",
    "knn_accuracy",
    "neighbor_recall",
    "quality_report",
    "seed_stability",
    "triplet_accuracy",
    "trustworthiness",
    "v_measure",
    "voters",
]
