"""An estimator holds one whole model, also after fits that fail, are stopped, overlap or go in steps."""

import contextlib
import pickle
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import actup
from actup.backends import load_backend
from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.graph._records import Graph
from actup.quality import kl_divergence

PACKAGE = str(Path(actup.__file__).parent)
cpu = load_backend("cpu")

KINDS = [UMAP, TSNE, GDR]
SHORT = {
    UMAP: {"n_epochs": 12, "n_neighbors": 6},
    TSNE: {"max_iter": 12, "perplexity": 4},
    GDR: {"epochs": 12, "n_neighbors": 6},
}
STAGES = ["neighbors", "graph", "start", "layout"]


def short(kind, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


def rows(n, columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n, columns)).astype(np.float32)


SMALL, LARGE = rows(40, 4), rows(70, 6, seed=1)


def frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])


def fitted_attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_unfitted(model):
    assert fitted_attributes(model) == {}
    for name in ("embedding_", "graph_", "kl_divergence_", "n_features_in_", "feature_names_in_", "seed_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.transform(SMALL)


def assert_fitted_to(model, X, expected):
    """The model is, attribute by attribute, the one that was fitted to X by itself."""
    assert fitted_attributes(model).keys() == fitted_attributes(expected).keys()
    for name in ("seed_", "n_features_in_", "n_epochs_", "recall_", "init_used_", "recipe_"):
        assert getattr(model, name) == getattr(expected, name), name
    assert list(getattr(model, "feature_names_in_", [])) == list(getattr(expected, "feature_names_in_", []))
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    assert (model.graph_ != expected.graph_).nnz == 0
    if isinstance(model, TSNE):
        assert model.kl_divergence_ == expected.kl_divergence_
    np.testing.assert_array_equal(model.transform(X), expected.embedding_)
    np.testing.assert_array_equal(model.transform(X + 0.1), expected.transform(X + 0.1))


def raising(error, stage, fraction=0.0):
    def callback(now, done, embedding):
        if now == stage and done >= fraction:
            raise error

    return callback


# Every way in which a re-fit can fail, as a function of the model.


def bad_rows(model):
    model.fit(np.full((70, 6), np.nan))


def late_bad_start(model):
    model.set_params(init=np.zeros((3, 2))).fit(LARGE)


def out_of_memory(model):
    with pytest.MonkeyPatch.context() as patch:

        def fail(*settings):
            raise MemoryError

        patch.setattr(cpu, "make_layout", fail)
        model.fit(LARGE)


def failing_callback(stage, error):
    def fail(model):
        model.set_params(callback=raising(error, stage)).fit(frame(LARGE))

    return fail


def bad_parameter(model):
    model.set_params(n_components=0).fit(LARGE)


def warning_as_error(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(callback=raising(KeyboardInterrupt, "layout")).fit(LARGE)


FAILURES = {
    "rows": (bad_rows, ValueError),
    "start": (late_bad_start, ValueError),
    "memory": (out_of_memory, MemoryError),
    "parameter": (bad_parameter, ValueError),
    "warning": (warning_as_error, UserWarning),
    **{f"callback in {s}": (failing_callback(s, RuntimeError), RuntimeError) for s in STAGES},
    **{f"exit in {s}": (failing_callback(s, SystemExit), SystemExit) for s in STAGES},
    **{
        f"Ctrl-C in {s}": (failing_callback(s, KeyboardInterrupt), KeyboardInterrupt)
        for s in STAGES
        if s != "layout"
    },
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("kind", KINDS)
def test_failed_refit_leaves_the_old_model(kind, failure):
    fail, error = FAILURES[failure]
    model, expected = short(kind).fit(SMALL), short(kind).fit(SMALL)
    with pytest.raises(error):
        fail(model)
    assert_fitted_to(model, SMALL, expected)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("kind", KINDS)
def test_failed_first_fit_leaves_an_unfitted_model(kind, failure):
    fail, error = FAILURES[failure]
    model = short(kind)
    with pytest.raises(error):
        fail(model)
    assert_unfitted(model)


class Stop(BaseException):
    """What a signal handler may raise between any two lines."""


def traced(fit, reached):
    """Run ``fit`` and call ``reached`` before every line of the package that it executes."""

    def on_call(frame, event, argument):
        return on_line if PACKAGE in frame.f_code.co_filename else None

    def on_line(frame, event, argument):
        if event == "line":
            reached(frame)
        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        fit()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("kind", KINDS)
def test_exception_at_any_line_leaves_the_old_or_the_new_model(kind):
    """Every line of the estimators, and every fifteenth line of the other modules."""
    model, lines = short(kind).fit(SMALL), []
    traced(lambda: model.fit(LARGE), lambda frame: lines.append(frame.f_code.co_filename))
    for stop_at in [i for i, name in enumerate(lines) if "estimators" in name or i % 15 == 0]:
        model.fit(SMALL)
        old, countdown = dict(vars(model)), iter(range(stop_at))

        def stop(frame, countdown=countdown):
            if next(countdown, None) is None:
                raise Stop

        with contextlib.suppress(Stop):
            traced(lambda: model.fit(LARGE), stop)
        same = [old.get(name) is value for name, value in vars(model).items() if name.endswith("_")]
        if all(same):
            assert model._training is old["_training"]
        else:
            shapes = model.embedding_.shape, model.graph_.shape, len(model._training), model.n_features_in_
            assert shapes == ((70, 2), (70, 70), 70, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_refit_without_column_names_forgets_the_old_names(kind):
    model = short(kind).fit(frame(SMALL))
    assert list(model.feature_names_in_) == [f"column {i}" for i in range(4)]
    assert_fitted_to(model.fit(LARGE), LARGE, short(kind).fit(LARGE))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_callback_that_refits_the_same_estimator(kind, stage):
    seen = []

    def refit(now, fraction, embedding):
        if now == stage and not seen:
            seen.append(stage)
            model.fit(SMALL)
            assert_fitted_to(model, SMALL, short(kind).fit(SMALL))

    model = short(kind, callback=refit)
    model.fit(frame(LARGE))
    assert seen == [stage]
    assert list(model.feature_names_in_) == [f"column {i}" for i in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transform is given no names
        assert_fitted_to(model, LARGE, short(kind).fit(frame(LARGE)))


def test_callback_that_refits_and_then_fails_leaves_the_inner_model():
    def refit(stage, fraction, embedding):
        if stage == "layout":
            model.set_params(callback=None).fit(SMALL)
            raise RuntimeError("stop")

    model = short(UMAP, callback=refit)
    with pytest.raises(RuntimeError):
        model.fit(LARGE)
    assert_fitted_to(model, SMALL, short(UMAP).fit(SMALL))


@pytest.mark.parametrize("kind", KINDS)
def test_two_threads_that_fit_one_estimator_leave_one_of_the_two_models(kind):
    """Both threads are inside ``fit`` at the same time, and the one that finishes last wins wholly."""
    in_layout = {"small": threading.Event(), "large": threading.Event()}
    small_done = threading.Event()

    def wait(stage, fraction, embedding):
        name = threading.current_thread().name
        if stage == "layout" and fraction == 0:
            in_layout[name].set()
            assert all(event.wait(30) for event in in_layout.values())
            assert name == "small" or small_done.wait(30)

    model = short(kind, callback=wait)
    small, large = (
        threading.Thread(target=model.fit, args=(X,), name=name)
        for name, X in (("small", SMALL), ("large", LARGE))
    )
    small.start()
    large.start()
    small.join(30)
    assert_fitted_to(model, SMALL, short(kind).fit(SMALL))
    small_done.set()
    large.join(30)
    assert_fitted_to(model, LARGE, short(kind).fit(LARGE))


def test_transform_while_another_thread_refits():
    """Every answer is that of the old model or that of the new one."""
    model, columns = short(UMAP, n_epochs=2), LARGE[:40, :4]
    answers = [clone(model).fit(X).transform(SMALL[:3]) for X in (SMALL, columns)]
    model.fit(SMALL)
    stop, wrong = threading.Event(), []

    def ask():
        while not stop.is_set():
            found = model.transform(SMALL[:3])
            if not any(np.array_equal(found, answer) for answer in answers):
                wrong.append(found)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=ask)
    try:
        thread.start()
        for _ in range(15):
            model.fit(columns)
            model.fit(SMALL)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_steps_left_halfway_leave_a_whole_model(kind):
    model, expected = short(kind), short(kind)
    for reached in (model.fit(SMALL), expected):  # one was fitted to other data before
        for _ in reached.iter_fit(LARGE, every=5):
            if reached.n_epochs_ == 5:
                break
    assert_fitted_to(model, LARGE, expected)
    assert model.n_epochs_ == 5


@pytest.mark.parametrize("kind", KINDS)
def test_refit_between_steps_does_not_mix_two_models(kind):
    model = short(kind)
    steps = model.iter_fit(frame(LARGE), every=5)
    next(steps)
    model.fit(SMALL)
    assert_fitted_to(model, SMALL, short(kind).fit(SMALL))
    expected = short(kind)
    for _ in expected.iter_fit(frame(LARGE), every=5):
        if expected.n_epochs_ == 5:
            break
    np.testing.assert_array_equal(next(steps), expected.embedding_)
    assert list(model.feature_names_in_) == list(expected.feature_names_in_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transform is given no names
        assert_fitted_to(model, LARGE, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_exception_between_steps_leaves_the_last_step(kind):
    model = short(kind, callback=raising(RuntimeError, "layout", 0.8))
    expected = short(kind)
    with pytest.raises(RuntimeError):
        list(model.iter_fit(SMALL, every=5))
    for _ in expected.iter_fit(SMALL, every=5):
        if expected.n_epochs_ == 5:
            break
    assert_fitted_to(model, SMALL, expected)


def test_graph_read_during_a_refit_stays_out_of_the_new_model():
    """Attributes that are computed when first read belong to the run that was read."""
    model = short(TSNE).fit(SMALL)
    old = vars(model)  # what a thread that reads ``graph_`` holds while another thread finishes its fit
    reader = clone(model)
    vars(reader).update(old)
    model.fit(LARGE)
    assert reader.graph_.shape == (40, 40) and reader.kl_divergence_ > 0
    assert_fitted_to(model, LARGE, short(TSNE).fit(LARGE))


# Parameters and attributes that the caller sets after a fit.


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_set_after_fit_do_not_change_what_transform_gives(kind):
    model, expected = short(kind).fit(SMALL), short(kind).fit(SMALL)
    model.set_params(metric="cosine", n_components=3, random_state=7, init="random", n_jobs=1)
    model.set_params(**{UMAP: {"n_neighbors": 3}, TSNE: {"perplexity": 2}, GDR: {"normalized": True}}[kind])
    assert_fitted_to(model, SMALL, expected)
    assert list(model.get_feature_names_out()) == list(expected.get_feature_names_out())
    assert model.fit(SMALL).embedding_.shape == (40, 3)
    model.set_params(metric="precomputed")
    assert model.transform(SMALL[:2]).shape == (2, 3)


def test_transform_reads_its_own_parameters_when_it_is_called():
    model = short(UMAP).fit(SMALL)
    other = short(UMAP, transform_seed=7).fit(SMALL)
    np.testing.assert_array_equal(
        model.set_params(transform_seed=7).transform(SMALL + 0.1), other.transform(SMALL + 0.1)
    )
    with pytest.raises(ValueError, match="n_jobs=0"):
        model.set_params(n_jobs=0).transform(SMALL)


@pytest.mark.parametrize("kind", KINDS)
def test_embedding_assigned_by_the_caller_is_the_map_that_rows_are_placed_on(kind):
    model = short(kind).fit(SMALL)
    flipped = model.embedding_[:, ::-1].astype(np.float64)
    model.embedding_ = flipped
    found = pickle.loads(pickle.dumps(model)).transform(SMALL)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, flipped)
    assert np.isfinite(model.transform(SMALL + 0.1)).all()
    model.embedding_ = flipped[:-1]
    with pytest.raises(ValueError, match=r"embedding_ has shape \(39, 2\), but .* fitted to 40 rows"):
        model.transform(SMALL)
    assert_fitted_to(model.fit(SMALL), SMALL, short(kind).fit(SMALL))


# Maps that cannot be used: the map of a fit -> a wrong map, the error and its message
WRONG_MAPS = {
    "nan": (lambda Y: np.where(Y[3, 1] == Y, np.nan, Y), ValueError, "NaN or values too large .*row 3"),
    "infinite": (lambda Y: np.where(Y[3, 1] == Y, np.inf, Y), ValueError, "NaN or values too large .*row 3"),
    "too large": (lambda Y: Y.astype(float) + 1e300, ValueError, "NaN or values too large .*row 0"),
    "complex": (lambda Y: Y + 1j, TypeError, "complex64.* real numbers"),
    "words": (lambda Y: Y.astype(str), TypeError, "<U.* real numbers"),
    "objects": (lambda Y: np.where(Y[3, 1] == Y, None, Y), TypeError, "object.* real numbers"),
    "masked": (lambda Y: np.ma.masked_array(Y, Y > 0), TypeError, "masked"),
    "narrower": (lambda Y: Y[:, :1], ValueError, r"shape \(40, 1\).* 2 dimensions"),
    "wider": (lambda Y: np.hstack([Y, Y]), ValueError, r"shape \(40, 4\).* 2 dimensions"),
    "flat": (lambda Y: Y[:, 0], ValueError, r"shape \(40,\)"),
}


@pytest.mark.parametrize("wrong", WRONG_MAPS)
def test_assigned_maps_that_cannot_be_used_are_rejected_by_name(wrong):
    change, error, message = WRONG_MAPS[wrong]
    model = short(TSNE).fit(SMALL)
    model.embedding_ = change(model.embedding_)
    with pytest.raises(error, match=f"^embedding_ .*{message}"):
        model.transform(SMALL + 0.1)
    with pytest.raises(error, match=f"^embedding_ .*{message}"):
        _ = model.kl_divergence_


@pytest.mark.parametrize("in_place", [False, True])
def test_divergence_is_that_of_the_map_that_the_model_has(in_place):
    model = short(TSNE).fit(SMALL)
    first, wide = model.kl_divergence_, model.embedding_ * 3
    if in_place:
        model.embedding_ *= 3
    else:
        model.embedding_ = wide
    expected = kl_divergence(Graph.from_scipy(model.graph_), wide)
    assert model.kl_divergence_ == pytest.approx(expected, rel=1e-6) and abs(expected - first) > 0.1
    assert pickle.loads(pickle.dumps(model)).kl_divergence_ == model.kl_divergence_
    model.embedding_ = (wide / 3).tolist()
    assert model.kl_divergence_ == pytest.approx(first, rel=1e-6)


def test_divergence_is_computed_once(monkeypatch):
    model = short(TSNE).fit(SMALL)
    found = model.kl_divergence_, model.kl_divergence_method_
    monkeypatch.setattr(TSNE, "_measure_divergence", None)
    model = pickle.loads(pickle.dumps(model))
    assert (model.kl_divergence_, model.kl_divergence_method_) == found


def test_attributes_and_settings_of_the_caller_survive_a_refit():
    model = short(UMAP).set_output(transform="default")
    model.note, model.labels_ = "mine", [1, 2]
    model.fit(SMALL).fit(LARGE)
    assert model.note == "mine" and model.labels_ == [1, 2] and "_sklearn_output_config" in vars(model)
