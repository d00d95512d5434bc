"""Distances between two labels: categories, ranks, counts and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def categorical_distance(x: Any, y: Any) -> float:
    """0 if two labels are equal, else 1."""
    return float(x != y)


def hierarchical_categorical_distance(x: Any, y: Any, cat_hierarchy: Sequence[Mapping[Any, Any]]) -> float:
    """The first level of a hierarchy, as a share of its levels, on which two labels are equal."""
    for level, categories in enumerate(cat_hierarchy):
        if categories[x] == categories[y]:
            return level / len(cat_hierarchy)
    return 1.0


def ordinal_distance(x: Any, y: Any, support_size: float = 1.0) -> float:
    """The difference of two ranks over the number of ranks."""
    return float(abs(x - y) / support_size)


def count_distance(x: Any, y: Any, poisson_lambda: float = 1.0, normalisation: float = 1.0) -> float:
    """The sum of a Poisson distribution's log probabilities of the counts from one value to the other."""
    from scipy.special import gammaln

    counts = np.arange(int(min(x, y)), int(max(x, y)))
    return float(
        (counts * np.log(poisson_lambda) - poisson_lambda - gammaln(counts + 1)).sum() / normalisation
    )


def levenshtein(x: str, y: str, normalisation: float = 1.0, max_distance: int = 20) -> float:
    """The number of characters to insert, delete or replace to get from one text to the other."""
    if abs(len(x) - len(y)) > max_distance:
        return max_distance / normalisation
    costs = list(range(len(y) + 1))
    for row, letter in enumerate(x):
        before, costs[0] = costs[0], row + 1
        for column, other in enumerate(y):
            replaced, before = before + (letter != other), costs[column + 1]
            costs[column + 1] = min(replaced, before + 1, costs[column] + 1)
    return min(costs[-1], max_distance) / normalisation


levenshtein_myers_ascii = levenshtein


def get_discrete_params(data: Any, metric: str) -> dict[str, float]:
    """The parameters of a metric of labels that umap-learn takes from the labels."""
    values = np.asarray(data)
    if metric == "ordinal":
        return {"support_size": float(values.max() - values.min()) / 2}
    if metric == "count":
        rate = float(values.mean())
        return {"poisson_lambda": rate, "normalisation": count_distance(values.min(), values.max(), rate) / 2}
    if metric == "string":
        longest = max(len(text) for text in values)
        return {"normalisation": longest / 3, "max_dist": longest / 3}
    return {}
