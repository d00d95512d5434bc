"""The table of parts: what is counted, and which share of the time each has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A module with ``run_case(draw, report)``.

    Attributes
    ----------
    name : str
        The module.
    counts : str
        "calls" or "files".
    share : float
        Of the time, and of a number of calls or files that is asked for.
    """

    name: str
    counts: str
    share: float


# To add a part: a module of this folder with run_case, and its row here.
PARTS = {
    part.name: part
    for part in [
        Part("estimators", "calls", 5),
        Part("functions", "calls", 3),
        Part("compat", "calls", 1),
        Part("commands", "calls", 0.1),
        Part("saved_models", "files", 3),
        Part("input_files", "files", 3),
        Part("csr_files", "files", 2),
        Part("requests", "files", 1),
        Part("work_folders", "files", 1),
    ]
}
