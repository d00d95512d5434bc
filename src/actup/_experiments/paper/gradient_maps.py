"""Experiment: the force between two points as a function of their distances in the data and in the map."""

from __future__ import annotations

import numpy as np

from actup._experiments.experiment import Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Field, draw_fields
from actup._experiments.results import Findings

_EPSILON = 0.001  # of UMAP's repulsion


def _render(findings: Findings) -> str:
    high = np.linspace(0.01, 5, 180)
    low = np.linspace(0.01, 5, 180)[:, None]
    p, q = np.exp(-(high**2)), 1 / (1 + low**2)
    fields = [
        Field("tSNE", 4 * (p - q) * q * low),
        Field("UMAP", 2 * p * q * low - 2 * (1 - p) * q * low / (_EPSILON + low**2)),
        Field("Frobenius", 4 * (p - q) * q**2 * low),
    ]
    names = ("distance in the data", "distance in the map")
    picture = findings.draw(
        "gradient_maps",
        lambda path: draw_fields(path, fields, high, low[:, 0], names, "repulsion ← force → attraction"),
    )
    return picture + "\n\n" + note("gradient_maps")


def _no_runs(scale: Scale) -> list[Run]:
    return []


EXPERIMENT = Experiment(
    "gradient_maps",
    "Gradient maps",
    "The force as a function of both distances for tSNE, UMAP and the Frobenius norm (figure 3): UMAP's "
    "repulsion is orders of magnitude larger near zero; the zero lines nearly coincide.",
    _no_runs,
    _render,
)
