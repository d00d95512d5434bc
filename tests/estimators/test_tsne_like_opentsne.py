"""What actup.TSNE takes from openTSNE: affinities, starts, callbacks, exaggeration, points of new rows."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from actup import TSNE
from actup.compat.opentsne import affinity
from actup.estimators._tsne import InvalidParameterError

ROWS = np.unique(load_iris().data, axis=0)[:120]


def test_automatic_early_exaggeration_and_no_exaggeration():
    recipe = TSNE(early_exaggeration="auto", exaggeration=None)._recipe()
    assert (recipe.exaggeration, recipe.late_exaggeration) == (12, 1)
    assert TSNE(early_exaggeration="auto", exaggeration=20)._recipe().exaggeration == 20


@pytest.mark.parametrize("value", [0.5, "automatic", None])
def test_early_exaggeration_is_at_least_one(value):
    with pytest.raises(InvalidParameterError, match=f"early_exaggeration={value!r} must be a number"):
        TSNE(early_exaggeration=value).fit(ROWS)


def test_affinities_and_initialization_of_opentsne():
    own = TSNE(perplexity=10, random_state=0).fit(ROWS)
    P = own.graph_ / own.graph_.sum()
    given = affinity.PrecomputedAffinities(P)
    for affinities in (P, given):
        model = TSNE(perplexity=10, random_state=0).fit(ROWS, affinities=affinities)
        np.testing.assert_allclose(model.graph_.sum(), len(ROWS), rtol=1e-6)
        assert model.kl_divergence_ == pytest.approx(own.kl_divergence_, abs=0.05)
        assert model.transform(ROWS[:3]).shape == (3, 2)
    start = np.random.default_rng(0).normal(size=(len(ROWS), 2)) / 10
    alone = TSNE(max_iter=0).fit(affinities=given, initialization=start)
    np.testing.assert_allclose(alone.embedding_, start - start.mean(axis=0), atol=0.1)
    assert TSNE(max_iter=2).fit(ROWS, initialization="random").init_used_ == "random"
    assert TSNE(max_iter=2).fit(affinities=given).init_used_.startswith("spectral")
    with pytest.raises(ValueError, match="fitted to affinities alone"):
        alone.transform(ROWS)


def test_wrong_affinities_are_rejected():
    for affinities, message in (
        ("P", "affinities='P' must be affinities of actup.compat.opentsne.affinity"),
        (np.triu(np.ones((30, 30))), "affinities differ by 1 between i, j and j, i"),
        (np.zeros((30, 30)), "affinities must hold numbers of at least 0 that are not all 0"),
    ):
        with pytest.raises(ValueError, match=message):
            TSNE().fit(affinities=affinities)
    with pytest.raises(ValueError, match="X and affinities are both None"):
        TSNE().fit()
    with pytest.raises(ValueError, match="graph has 30 points"):
        TSNE(perplexity=5).fit(ROWS, affinities=np.ones((30, 30)))


def test_callbacks_of_opentsne():
    calls, begun = [], []

    class Callback:
        def optimization_about_to_start(self):
            begun.append(True)

        def __call__(self, iteration, error, embedding):
            calls.append((iteration, error, embedding.shape))
            return iteration == 60

    options = {"perplexity": 10, "max_iter": 100, "random_state": 0}
    stopped = TSNE(**options, callbacks=[Callback()], callbacks_every_iters=20).fit(ROWS)
    assert begun == [True] and stopped.n_iter_ == 60
    assert [call[0] for call in calls] == [20, 40, 60] and calls[0][2] == (len(ROWS), 2)
    called = TSNE(**options, callbacks=lambda *_: None, callbacks_every_iters=7).fit(ROWS)
    np.testing.assert_array_equal(called.embedding_, TSNE(**options).fit(ROWS).embedding_)
    finished = []
    model = TSNE(**options, callbacks=lambda *call: finished.append(call), callbacks_every_iters=100).fit(
        ROWS
    )
    assert finished[0][1] == pytest.approx(model.kl_divergence_, abs=1e-3)


@pytest.mark.parametrize(
    "parameters", [{"callbacks": 5}, {"callbacks": ["x"]}, {"callbacks_every_iters": 0}, {"verbose": "x"}]
)
def test_wrong_callbacks_and_verbose_are_rejected(parameters):
    (name, value), *_ = parameters.items()
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} must be")):
        TSNE(**parameters).fit(ROWS)


def test_new_points_are_prepared_as_in_opentsne():
    model = TSNE(perplexity=10, random_state=0).fit(ROWS[:80])
    partial = model.prepare_partial(ROWS[80:], perplexity=5)
    moved = partial.optimize(20, learning_rate=0.1, exaggeration=1.5)
    assert moved.shape == (len(ROWS) - 80, 2) and np.isfinite(moved).all() and (moved != partial).any()
