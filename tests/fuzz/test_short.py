"""A short form of ``make fuzz``: fixed seeds, watched; and hypothesis, which shrinks failing cases."""

import importlib
import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import actup
from fuzz import oracle, watch
from fuzz.parameters import TABLES
from fuzz.parts import PARTS

ESTIMATORS = [actup.UMAP, actup.TSNE, actup.GDR, actup.ParametricUMAP, actup.AlignedUMAP]
ESTIMATORS += [actup.KNeighborsTransformer]
CASES = {
    "commands": 40,
    "estimators": 150,
    "functions": 300,
    "compat": 150,
    "work_folders": 30,
    "requests": 1000,
}
# Of these parts, calls and files of which some must succeed, and the outcome that says so.
SUCCEEDING = {
    "commands": (["embed", "score", "view", "compare", "spectrum"], "status 0", 200),
    "input_files": (["csv", "jsonl", "npy", "npz", "mtx", "parquet", "arrow", "h5ad"], "read", 600),
}
_LEAST_SHARE = 0.02
CALLS = [name for name, part in PARTS.items() if part.counts == "calls"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_drawn(estimator):
    assert set(estimator().get_params()) == set(TABLES[estimator])


@pytest.mark.parametrize("part", PARTS)
def test_fixed_seeds(part):
    tally = watch.Tally()
    watch.run_cases(part, "ci", float("inf"), tally, count=CASES.get(part, 200))
    assert not tally.failures, "\n".join(tally.failures)
    assert tally.cases == CASES.get(part, 200)


@pytest.mark.parametrize("part", SUCCEEDING)
def test_some_of_every_kind_succeed(part):
    """Calls that are all rejected test nothing but the first check."""
    kinds, outcome, cases = SUCCEEDING[part]
    tally = watch.Tally()
    watch.run_cases(part, "ci", float("inf"), tally, count=cases)
    assert not tally.failures, "\n".join(tally.failures)
    for kind in kinds:
        total = sum(count for name, count in tally.counts.items() if name.startswith(f"{kind}: "))
        assert tally.counts[f"{kind}: {outcome}"] >= _LEAST_SHARE * total > 0, (kind, tally.counts)


@pytest.mark.parametrize("part", CALLS)
@settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(draw=st.randoms(use_true_random=False))
def test_cases_that_hypothesis_draws(part, draw):
    with warnings.catch_warnings():
        oracle.silence_advice()
        _, failure = watch.run_case(importlib.import_module(f"fuzz.{part}"), draw)
    assert not failure, failure
