"""The names of scikit-learn that every run needs, imported without scipy.stats.

scikit-learn imports scipy.stats for the sake of one function, which nothing here calls, and spends much of
its own import on it. A stand-in keeps the place of scipy.stats meanwhile, and is gone afterwards: whoever
imports scipy.stats later gets the real one, and the stand-in has what the real one has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def postponed(name: str) -> Iterator[None]:
    """Leave the module ``name`` unloaded where it is imported but not used; loaded already, it stays so."""
    if name in sys.modules:
        yield
        return

    def attribute_of_the_real_one(attribute: str):
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stand_in = ModuleType(name)
    stand_in.__spec__ = find_spec(name)
    stand_in.__getattr__ = attribute_of_the_real_one
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]


with postponed("scipy.stats"):
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import assert_all_finite, check_array, check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "TransformerMixin",
    "assert_all_finite",
    "check_array",
    "check_is_fitted",
    "check_random_state",
    "validate_data",
]
