"""The life of an estimator: fits, failures, steps, pickles and assignments in any order.

What must hold is simple: after whatever has happened, the model equals a fresh estimator on which only the
last successful run was done, or it is not fitted.
"""

import pickle
import threading
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from actup.backends import load_backend
from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.graph._records import Graph
from actup.quality import kl_divergence

pandas = pytest.importorskip("pandas")
cpu = load_backend("cpu")

BASE = {
    UMAP: {"n_neighbors": 5, "n_epochs": 6, "n_jobs": 1},
    TSNE: {"perplexity": 3, "max_iter": 6, "n_jobs": 1},
    GDR: {"n_neighbors": 5, "epochs": 6, "n_jobs": 1},
}


def rows(n, columns, seed):
    return np.random.default_rng(seed).normal(size=(n, columns)).astype(np.float32)


# Data of several shapes and containers; the last three rows of each are new rows.
DATA = {
    "array": rows(23, 3, 0),
    "frame": pandas.DataFrame(rows(29, 5, 1), columns=list("abcde")),
    "other names": pandas.DataFrame(rows(21, 3, 2), columns=list("xyz")),
    "sparse": sparse.csr_matrix(np.abs(rows(25, 4, 3))),
}
TRAINING = {name: X[:-3] for name, X in DATA.items()}
NEW_ROWS = {name: X[-3:] for name, X in DATA.items()}

DATA_NAMES = st.sampled_from(list(DATA))
RUNS = st.sampled_from(["fit", "steps", "interrupted"])
STAGES = st.sampled_from(["neighbors", "graph", "start", "layout"])
STAGE_METHODS = st.sampled_from(["nearest_neighbors", "affinity_graph", "make_layout"])
ERRORS = st.sampled_from([RuntimeError, MemoryError, SystemExit, KeyboardInterrupt])
BAD_ROWS = {
    "nan": np.full((30, 7), np.nan),
    "one dimension": np.zeros(30),
    "words": np.full((30, 7), "word"),
    "empty": np.zeros((0, 7)),
}
BAD_PARAMETERS = st.sampled_from([{"n_jobs": 0}, {"random_state": -1}, {"n_components": 0}])
CHANGES = st.sampled_from(  # parameters that change the map, each with a value
    [
        ("random_state", 0),
        ("random_state", 5),
        ("n_components", 1),
        ("n_components", 2),
        ("metric", "manhattan"),
        ("metric", "euclidean"),
        ("init", "random"),
        ("init", "pca"),
    ]
)


def press_control_c(stage, fraction, embedding):
    if stage == "layout" and fraction > 0:
        raise KeyboardInterrupt


def assert_derived_from_the_map(model, n):
    """What is computed when first read belongs to the map that the model has now."""
    assert model.graph_.shape == (n, n) and len(model.embedding_) == n
    if isinstance(model, TSNE):
        graph = Graph.from_scipy(model.graph_)
        assert model.kl_divergence_ == pytest.approx(kl_divergence(graph, model.embedding_), rel=1e-6)


def next_step(model, steps, name):
    """The next map of ``iter_fit``; derived values are read, so that the step after it could keep them."""
    embedding = next(steps)
    assert model.embedding_ is embedding
    assert_derived_from_the_map(model, TRAINING[name].shape[0])


def do_run(model, run, name):
    """A run that succeeds: to its end, some steps of it, or until Ctrl-C after one epoch."""
    X = TRAINING[name]
    if run == "fit":
        model.fit(X)
    elif run == "steps":
        steps = model.iter_fit(X, every=2)
        for _ in range(3):
            next_step(model, steps, name)
        assert model.n_epochs_ == 4
    else:
        before = model.callback
        model.set_params(callback=press_control_c)
        with pytest.warns(UserWarning, match="interrupted at epoch 1"):
            model.fit(X)
        model.set_params(callback=before)


@cache
def only_run(kind, parameters, run, name):
    """A fresh estimator after this run alone, and the places of its new rows."""
    model = kind(**dict(parameters))
    do_run(model, run, name)
    return model, model.transform(NEW_ROWS[name])


class Life(RuleBasedStateMachine):
    kind = UMAP

    @initialize()
    def begin(self):
        self.parameters = {**BASE[self.kind], "random_state": 0}
        self.model = self.kind(**self.parameters)
        self.last_run = None  # (parameters, run, name of the data) of the last run that succeeded
        self.shift = 0  # what the caller has added to embedding_ since

    def succeeded(self, run, name):
        self.last_run, self.shift = (tuple(sorted(self.parameters.items())), run, name), 0

    # What happens

    @rule(run=RUNS, name=DATA_NAMES)
    def run(self, run, name):
        do_run(self.model, run, name)
        self.succeeded(run, name)

    @rule(bad=st.sampled_from(list(BAD_ROWS)), in_steps=st.booleans())
    def fail_on_rows(self, bad, in_steps):
        with pytest.raises(ValueError):
            next(self.model.iter_fit(BAD_ROWS[bad])) if in_steps else self.model.fit(BAD_ROWS[bad])

    @rule(name=DATA_NAMES, wrong=BAD_PARAMETERS)
    def fail_on_a_parameter(self, name, wrong):
        before = {parameter: getattr(self.model, parameter) for parameter in wrong}
        with pytest.raises(ValueError):
            self.model.set_params(**wrong).fit(TRAINING[name])
        self.model.set_params(**before)

    @rule(name=DATA_NAMES, stage=STAGES, at_end=st.booleans(), error=ERRORS)
    def fail_in_a_callback(self, name, stage, at_end, error):
        if error is KeyboardInterrupt and stage == "layout":
            stage = "start"  # in the layout it would keep the points

        def fail(now, fraction, embedding):
            if now == stage and fraction == at_end:
                raise error

        self.model.set_params(callback=fail)
        with pytest.raises(error):
            self.model.fit(TRAINING[name])
        self.model.set_params(callback=None)

    @rule(name=DATA_NAMES, stage=STAGE_METHODS, error=ERRORS)
    def fail_in_a_stage(self, name, stage, error):
        def fail(*settings):
            raise error

        with pytest.MonkeyPatch.context() as patch, pytest.raises(error):
            patch.setattr(cpu, stage, fail)
            self.model.fit(TRAINING[name])

    @rule(outer=DATA_NAMES, inner=DATA_NAMES, run=RUNS, stage=STAGES, fails=st.booleans())
    def refit_in_a_callback(self, outer, inner, run, stage, fails):
        refits = []

        def refit(now, fraction, embedding):
            if now == stage and not refits:
                refits.append(stage)
                do_run(self.model, run, inner)
                self.succeeded(run, inner)
                self.is_the_last_run_and_nothing_else()
                if fails:
                    raise RuntimeError("after the refit")

        self.model.set_params(callback=refit)
        if fails:
            with pytest.raises(RuntimeError, match="after the refit"):
                self.model.fit(TRAINING[outer])
        else:
            self.model.fit(TRAINING[outer])
            self.succeeded("fit", outer)
        self.model.set_params(callback=None)

    @rule(outer=DATA_NAMES, between=DATA_NAMES, run=RUNS)
    def refit_between_steps(self, outer, between, run):
        steps = self.model.iter_fit(TRAINING[outer], every=2)
        next_step(self.model, steps, outer)
        do_run(self.model, run, between)
        self.succeeded(run, between)
        self.is_the_last_run_and_nothing_else()
        next_step(self.model, steps, outer)
        next_step(self.model, steps, outer)
        self.succeeded("steps", outer)

    @rule(first=DATA_NAMES, second=DATA_NAMES)
    def fit_in_two_threads(self, first, second):
        """Both threads are in ``fit`` at once; the second one finishes last."""
        first_done, second_began = threading.Event(), threading.Event()

        def wait(stage, fraction, embedding):
            if threading.current_thread() is thread:
                second_began.set()
                assert stage != "layout" or first_done.wait(60)

        self.model.set_params(callback=wait)
        thread = threading.Thread(target=self.model.fit, args=(TRAINING[second],))
        thread.start()
        assert second_began.wait(60)
        self.model.fit(TRAINING[first])
        self.succeeded("fit", first)
        self.is_the_last_run_and_nothing_else()
        first_done.set()
        thread.join(60)
        self.model.set_params(callback=None)
        self.succeeded("fit", second)

    @rule(change=CHANGES)
    def set_a_parameter(self, change):
        parameter, value = change
        self.parameters[parameter] = value
        self.model.set_params(**{parameter: value})

    @rule()
    def pickle_and_unpickle(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule()
    def continue_with_a_clone(self):
        self.model = clone(self.model)
        self.last_run, self.shift = None, 0

    @precondition(lambda self: self.last_run)
    @rule()
    def assign_the_map(self):
        self.model.embedding_ = self.model.embedding_ + 1
        self.shift += 1

    @precondition(lambda self: self.last_run)
    @rule()
    def place_rows_with_too_many_columns(self):
        with pytest.raises(ValueError, match="features"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # arrays have no column names
            self.model.transform(np.zeros((3, 9), np.float32))

    # What must hold

    @invariant()
    def is_the_last_run_and_nothing_else(self):
        model = self.model
        fitted = {name for name in vars(model) if name.endswith("_")}
        if self.last_run is None:
            assert fitted == set()
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
            with pytest.raises(NotFittedError):
                model.transform(NEW_ROWS["array"])
            return
        expected, places = only_run(self.kind, *self.last_run)
        data = self.last_run[2]
        assert fitted == {name for name in vars(expected) if name.endswith("_")}
        for name in ("seed_", "n_features_in_", "n_epochs_", "init_used_", "recall_", "recipe_"):
            assert getattr(model, name) == getattr(expected, name), name
        columns = [list(getattr(part, "feature_names_in_", [])) for part in (model, expected)]
        assert columns[0] == columns[1]
        assert list(model.get_feature_names_out()) == list(expected.get_feature_names_out())
        np.testing.assert_array_equal(model.graph_.toarray(), expected.graph_.toarray())
        moved = expected.embedding_
        for _ in range(self.shift):
            moved = moved + 1
        np.testing.assert_array_equal(model.embedding_, moved)
        np.testing.assert_array_equal(model.transform(TRAINING[data]), moved)
        if not self.shift:
            np.testing.assert_array_equal(model.transform(NEW_ROWS[data]), places)
            if isinstance(model, TSNE):
                assert model.kl_divergence_ == expected.kl_divergence_
        assert_derived_from_the_map(model, len(moved))


SETTINGS = settings(
    max_examples=40,
    stateful_step_count=20,
    derandomize=True,  # the same sequences in every run
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def life_of(kind):
    case = type(f"{kind.__name__}Life", (Life,), {"kind": kind}).TestCase
    case.settings = SETTINGS
    return case


TestUmapLife = life_of(UMAP)
TestTsneLife = life_of(TSNE)
TestGdrLife = life_of(GDR)
