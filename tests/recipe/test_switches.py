"""The switches' enums: they agree with those of the engine, and document every member."""

from __future__ import annotations

import inspect
import re
from enum import StrEnum

import pytest

import actup.recipe
import variations
from actup._engine import engine
from actup.recipe import (
    Affinity,
    Distance,
    Loss,
    Optimizer,
    Repulsion,
    RepulsionMass,
    Role,
    Sampling,
    Symmetrization,
)

# Values that Python resolves before the engine sees them.
RESOLVED = {Repulsion.AUTO, Affinity.MULTISCALE}

PUBLIC_ENUMS = [
    kind
    for kind in (getattr(actup.recipe, name) for name in actup.recipe.__all__)
    if isinstance(kind, type) and issubclass(kind, StrEnum)
]


@pytest.mark.parametrize(
    "kind", [Affinity, Distance, Loss, Optimizer, Repulsion, RepulsionMass, Sampling, Symmetrization]
)
def test_values_are_the_members_of_the_compiled_enum(kind):
    compiled = getattr(engine, kind.__name__)
    assert {member.value for member in kind if member not in RESOLVED} == set(compiled.__members__)


@pytest.mark.parametrize("kind", PUBLIC_ENUMS)
def test_every_member_is_documented(kind):
    text = inspect.cleandoc(kind.__doc__)
    documented = re.findall(r'^(\w+) : "(\w+)"\n    \S', text, re.M)
    assert documented == [(member.name, member.value) for member in kind]


def test_the_enums_of_all_switches_are_public():
    assert set(variations.ENUMS.values()) == set(PUBLIC_ENUMS) - {Role}
