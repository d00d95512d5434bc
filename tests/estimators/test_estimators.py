"""The estimators: scikit-learn's conventions, what parameters do, fitting in steps, threads and processes."""

import inspect
import multiprocessing
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from actup._pipeline import embed
from actup.backends import load_backend
from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.recipe._presets import preset, presets
from actup.recipe._recipe import Recipe

cpu = load_backend("cpu")

KINDS = [UMAP, TSNE, GDR]
SHORT = {UMAP: {"n_epochs": 25}, TSNE: {"max_iter": 25, "perplexity": 10}, GDR: {"epochs": 25}}


def short(kind, **parameters):
    return kind(**{**SHORT[kind], "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(center, 1, (40, 5)) for center in (-5, 0, 5)]).astype(np.float32)


# n_neighbors and perplexity are small because many checks use few samples
CHECKED = [
    UMAP(n_neighbors=2, n_epochs=20),
    TSNE(perplexity=1.5, max_iter=20),
    GDR(n_neighbors=2, epochs=20),
    GDR(normalized=True, n_neighbors=2, epochs=20),
]


def expected_failures(estimator):
    """The checks that an estimator fails on purpose, with the reason."""
    reason = "w copies have w places on the map and among neighbours, a sample of weight w has one"
    checks = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in checks}


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:.*of your vertices")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# parameters


def test_gdr_exposes_every_switch():
    parameters = inspect.signature(GDR).parameters
    for field in fields(Recipe):
        assert parameters[field.name].default is None
    extra = {"preset", "precomputed_knn", "init", "random_state", "n_jobs", "verbose", "callback", "backend"}
    extra |= {"max_memory"}
    assert set(parameters) == {field.name for field in fields(Recipe)} | extra


@pytest.mark.parametrize(("kind", "first"), [(TSNE, ["n_components"]), (GDR, ["normalized"])])
def test_signatures_start_as_users_know_them(kind, first):
    parameters = inspect.signature(kind).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == first
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters)[len(first) :])


def test_defaults_are_those_of_the_presets(X):
    assert UMAP()._recipe() == preset("umap")
    assert TSNE()._recipe() == preset("tsne")
    assert GDR()._recipe() == GDR(False)._recipe() == preset("gdr_umap")
    assert GDR(True)._recipe() == preset("gdr_tsne")
    for name in presets():
        assert GDR(preset=name)._recipe() == preset(name)


def test_parameters_reach_the_recipe():
    umap = UMAP(
        20, 3, metric="cosine", n_epochs=7, learning_rate=0.3, init="pca", min_dist=0.3, spread=2.0,
        repulsion_strength=2.0, negative_sample_rate=3,
    )  # fmt: skip
    assert umap._recipe() == preset("sampled_umap").but(
        n_neighbors=20, n_components=3, metric="cosine", epochs=7, learning_rate=0.3, initialization="pca",
        min_dist=0.3, spread=2.0, repulsion_rate=6.0,
    )  # fmt: skip
    umap = UMAP(20, n_epochs=7, repulsion_strength=2.0, negative_sample_rate=3)
    assert umap._recipe() == preset("umap").but(n_neighbors=20, epochs=7, repulsion_rate=6.0)
    assert UMAP(learning_rate=1.0)._recipe() == preset("sampled_umap")
    for dimensions in (1, 3, 5):
        wanted = preset("sampled_umap").but(n_components=dimensions)
        assert UMAP(n_components=dimensions)._recipe() == wanted
    assert UMAP(a=1.5, b=0.9)._recipe().kernel() == (1.5, 0.9)
    tsne = TSNE(3, perplexity=9, early_exaggeration=5, max_iter=7, init="random", exaggeration=2)
    assert tsne._recipe() == preset("tsne").but(
        n_components=3, perplexity=9, exaggeration=5, late_exaggeration=2, epochs=7, initialization="random"
    )
    assert TSNE(perplexity=[5, 20], dof=0.5)._recipe() == preset("tsne").but(
        affinity="multiscale", perplexities=(5, 20), dof=0.5
    )
    assert TSNE(learning_rate=100)._recipe() == preset("classic_tsne").but(learning_rate=100)
    assert TSNE(5)._recipe() == preset("sampled_tsne").but(n_components=5, exaggeration=12)
    assert GDR(negatives=7)._recipe() == preset("sampled_gdr_umap").but(negatives=7)
    gdr = GDR(preset="paper_gdr_tsne", loss="frobenius", epochs=9, init="pca")
    assert gdr._recipe() == preset("paper_gdr_tsne").but(loss="frobenius", epochs=9, initialization="pca")


@pytest.mark.parametrize("estimator", [UMAP, TSNE])
@pytest.mark.parametrize(
    ("rate", "error", "message"),
    [("fast", TypeError, "'fast' must be 'auto' or a number"), (None, TypeError, "None must be 'auto'"),
     (0, ValueError, "0 must be greater than 0")],
)  # fmt: skip
def test_wrong_learning_rates(estimator, rate, error, message):
    with pytest.raises(error, match=f"learning_rate={message}"):
        estimator(learning_rate=rate).fit(np.eye(50))


def test_min_dist_replaces_the_kernel_of_a_preset():
    assert GDR(True)._recipe().kernel() == (1.0, 1.0)
    assert GDR(True, min_dist=0.1)._recipe().kernel() == preset("gdr_umap").kernel()


@pytest.mark.parametrize(
    "parameters",
    [
        {"perplexity": 5},
        {"preset": "tsne", "n_neighbors": 5},
        {"perplexities": (5, 9)},
        {"sigma": 2.0},
        {"affinity": "uniform", "distance": "plain"},
        {"preset": "tsne", "set_op_mix_ratio": 0.5},
        {"distance": "plain", "local_connectivity": 2},
        {"a": 1.0, "b": 1.0, "min_dist": 0.2},
        {"repulsion": "exact", "negatives": 5},
        {"normalized": True, "repulsion_rate": 2.0},
        {"normalized": True, "repulsion_epsilon": 0.1},
        {"gradient_clip": 2.0},
        {"preset": "paper_gdr_umap", "step_cap": 2.0},
        {"preset": "sampled_gdr_umap", "exaggeration": 4.0},
        {"exaggeration_share": 0.5},
    ],
)
def test_switch_without_effect_is_reported(X, parameters):
    with pytest.warns(UserWarning, match=f"{list(parameters)[-1]}=.* has no effect"):
        GDR(epochs=2, **parameters).fit(X)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (UMAP(n_epochs=-1), ValueError, "^n_epochs=-1"),
        (UMAP(init="nowhere"), ValueError, "^init='nowhere'"),
        (UMAP(init=None), ValueError, "^init=None"),
        (UMAP(repulsion_strength=-1), ValueError, "^repulsion_strength=-1"),
        (UMAP(negative_sample_rate="5"), TypeError, "^negative_sample_rate='5'"),
        (UMAP(n_neighbors=1), ValueError, "^n_neighbors=1"),
        (UMAP(a=1.0), ValueError, "give both"),
        (TSNE(early_exaggeration=0), ValueError, "^early_exaggeration=0"),
        (TSNE(early_exaggeration="much"), TypeError, "^early_exaggeration='much'"),
        (TSNE(max_iter=1.5), TypeError, "^max_iter=1.5"),
        (TSNE(learning_rate="slow"), TypeError, "^learning_rate='slow'"),
        (TSNE(perplexity=200), ValueError, r"^perplexity \(200(\.0)?\) must be less than n_samples"),
        (TSNE(perplexity=[5, 200]), ValueError, r"^perplexity \(200(\.0)?\) must be less than n_samples"),
        (TSNE(perplexity=[]), ValueError, r"^perplexity=\(\) is empty"),
        (TSNE(perplexity=[5, "9"]), TypeError, "^perplexity='9' must be a number"),
        (TSNE(dof=0), ValueError, "^dof=0"),
        (GDR(dof=0.5), ValueError, "^dof=0.5 needs normalized=True"),
        (GDR(partition=0.1), ValueError, "^partition=0.1 needs normalized=True"),
        (GDR(preset="nothing"), ValueError, "^preset='nothing'"),
        (GDR(True, update="in_place"), ValueError, "update='in_place'"),
        (GDR(init="pca", initialization="pca"), ValueError, "initialization='pca' and init"),
        (GDR(n_jobs=0), ValueError, "^n_jobs=0"),
        (GDR(backend="abacus"), ValueError, "^backend='abacus'"),
        (GDR(callback=3), TypeError, "^callback=3"),
        (GDR(random_state=-1), ValueError, r"^random_state=-1 must be .* 0 to 2\*\*32 - 1"),
        (UMAP(random_state=2**32), ValueError, "^random_state=4294967296 must be"),
        (TSNE(random_state="one"), ValueError, "^random_state='one' must be"),
        (UMAP(random_state=1.5), ValueError, "^random_state=1.5 must be"),
        (GDR(init="spectra"), ValueError, "^init='spectra' is not known: did you mean 'spectral'"),
        (
            GDR(initialization="spectra"),
            ValueError,
            "^initialization='spectra' is not known",
        ),
        (UMAP(transform_seed="a"), ValueError, "^transform_seed='a' must be"),
        (UMAP(init=np.zeros((3, 2))), ValueError, r"^init has shape \(3, 2\)"),
        (
            TSNE(init=np.ma.masked_array(np.zeros((120, 2)), np.eye(120, 2))),
            TypeError,
            "^init is a masked array",
        ),
        (GDR(init=np.zeros((120, 2)) + 1j), TypeError, "^init holds complex numbers"),
    ],
)
def test_wrong_parameters_are_rejected_by_fit_before_any_work(X, model, error, message, monkeypatch):
    def no_work(*settings):
        raise AssertionError

    monkeypatch.setattr(cpu, "nearest_neighbors", no_work)
    with pytest.raises(error, match=message):
        model.fit(X)


def test_numpy_numbers_are_accepted(X):
    model = UMAP(np.int64(5), np.int32(2), n_epochs=np.int64(3), min_dist=np.float32(0.5)).fit(X)
    assert model.recipe_.n_neighbors == 5


@pytest.mark.parametrize("kind", KINDS)
def test_fit_changes_no_parameter(X, kind):
    model = short(kind, random_state=np.random.RandomState(0))
    before = dict(model.get_params())
    model.fit(X)
    assert model.get_params() == before


# fitted attributes


@pytest.mark.parametrize("kind", KINDS)
def test_learned_attributes(X, kind):
    model = short(kind).fit(X)
    assert model.embedding_.shape == (120, 2) and model.embedding_.dtype == np.float32
    assert model.graph_.shape == (120, 120) and model.graph_.format == "csr"
    assert abs(model.graph_ - model.graph_.T).max() == 0
    assert model.n_epochs_ == 25
    assert model.n_features_in_ == 5
    assert model.seed_ == 0
    assert isinstance(model.init_used_, str)
    assert set(model.stage_seconds_) == {"neighbors", "graph", "start", "layout"}
    np.testing.assert_array_equal(model.embedding_, embed(X, model.recipe_, seed=0).embedding)
    prefix = kind.__name__.lower()
    assert list(model.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]


def test_kl_divergence(X):
    model = short(TSNE, max_iter=300)
    assert not hasattr(model, "kl_divergence_")
    with pytest.raises(NotFittedError):
        model.kl_divergence_  # noqa: B018
    model.fit(X)
    assert model.n_iter_ == 300
    P = model.graph_.toarray().astype(float)
    P /= P.sum()
    Y = model.embedding_.astype(float)
    Q = 1 / (1 + ((Y[:, None] - Y[None]) ** 2).sum(axis=2))
    np.fill_diagonal(Q, 0)
    Q /= Q.sum()
    pairs = P > 0
    assert model.kl_divergence_ == pytest.approx((P[pairs] * np.log(P[pairs] / Q[pairs])).sum(), rel=1e-4)
    assert pickle.loads(pickle.dumps(model)).kl_divergence_ == model.kl_divergence_
    before = model.kl_divergence_
    assert model.set_params(max_iter=3).fit(X).kl_divergence_ > before


def test_kl_divergence_of_one_point():
    assert TSNE().fit(np.ones((1, 3))).kl_divergence_ == 0


# randomness


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_for_any_number_of_threads_repeats_and_clones(X, kind):
    model = short(kind, random_state=7)
    first = model.fit_transform(X)
    for other in (
        model,
        clone(model),
        clone(model).set_params(n_jobs=1),
        short(kind, random_state=7, n_jobs=2),
    ):
        np.testing.assert_array_equal(first, other.fit_transform(X))


@pytest.mark.parametrize(
    "model",
    [
        TSNE(perplexity=[4, 12], dof=0.5, max_iter=20),
        GDR(affinity="uniform", epochs=20),
        GDR(True, affinity="fixed_sigma", distance="plain", sigma=9, symmetrization="tsne", epochs=20),
        GDR(True, affinity="multiscale", distance="plain", perplexities=[4, 12], epochs=20),
        GDR(True, partition=0.1, epochs=20),
    ],
)
def test_every_affinity_tail_and_partition_makes_a_map(X, model):
    Y = model.fit_transform(X)
    assert np.isfinite(Y).all()
    assert np.ptp(Y, axis=0).min() > 0


def test_sources_of_randomness(X):
    def seeds(random_state):
        model = short(UMAP, random_state=random_state)
        return model.fit(X).seed_, model.fit(X).seed_

    assert seeds(5) == (5, 5) == seeds(np.int64(5))
    for make in (np.random.RandomState, np.random.default_rng):
        first, second = seeds(make(1))
        assert first != second and seeds(make(1)) == (first, second)
    first, second = seeds(None)
    assert first != second


# data frames, pipelines, pickles


@pytest.mark.parametrize("kind", KINDS)
def test_data_frames(X, kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"), index=[f"row {i}" for i in range(len(X))])
    kept = frame.copy()
    model = short(kind).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert list(out.index) == list(frame.index)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(out.to_numpy(), short(kind).fit_transform(X))
    pandas.testing.assert_frame_equal(frame, kept)


@pytest.mark.parametrize("kind", KINDS)
def test_pipelines_and_pickles(X, kind):
    model = make_pipeline(StandardScaler(), short(kind))
    Y = model.fit_transform(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again[-1].embedding_, Y)
    assert again[-1].recipe_ == model[-1].recipe_


@pytest.mark.parametrize("kind", KINDS)
def test_series_are_rejected_with_a_remedy(X, kind):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(X[:, 0])
    with pytest.raises(ValueError, match=r"X is a Series.* use X\.to_frame\(\)"):
        short(kind).fit(series)
    with pytest.raises(ValueError, match=r"X is a Series.* use X\.to_frame\(\)"):
        short(kind).fit(X[:, :1]).transform(series)
    assert short(kind).fit_transform(pandas.DataFrame(X)[[0]]).shape == (120, 2)


def test_few_samples_for_a_perplexity():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(
        ValueError, match=r"^perplexity \(30.0\) must be less than n_samples \(2\): .* perplexity=1 at most"
    ):
        TSNE().fit(X[:2])
    assert np.isfinite(TSNE(perplexity=1).fit_transform(X[:2])).all()


def test_array_as_start(X):
    start = np.random.default_rng(0).normal(size=(120, 2))
    for kind in KINDS:
        one, other = (short(kind, init=init).fit_transform(X) for init in (start, start[::-1].copy()))
        assert not np.array_equal(one, other)
        assert clone(short(kind, init=start)).fit(X).embedding_.shape == (120, 2)


# stopping and stepping


@pytest.mark.parametrize("kind", KINDS)
def test_callback_stops_fit(X, kind):
    def stop(stage, fraction, embedding):
        return stage == "layout" and fraction > 0

    model = short(kind, callback=stop).fit(X)
    assert 0 < model.n_epochs_ < 25


def test_keyboard_interrupt_in_the_layout_returns_a_fitted_model(X):
    def press_control_c(stage, fraction, embedding):
        if stage == "layout" and fraction > 0:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted at epoch 1 of 25"):
        model = short(UMAP, callback=press_control_c).fit(X)
    assert model.n_epochs_ == 1 and np.isfinite(model.embedding_).all()


def test_keyboard_interrupt_before_the_layout_propagates(X):
    def press_control_c(stage, fraction, embedding):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        short(UMAP, callback=press_control_c).fit(X)


@pytest.mark.parametrize("stage", ["neighbors", "graph", "start"])
@pytest.mark.parametrize("kind", KINDS)
def test_stop_before_the_layout_warns(X, kind, stage):
    model = short(kind, callback=lambda now, fraction, embedding: now == stage)
    for run in (model.fit, lambda X: list(model.iter_fit(X))):
        with pytest.warns(UserWarning, match=f"the callback stopped the run in stage '{stage}': no epoch"):
            run(X)
        assert model.n_epochs_ == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert short(kind, callback=lambda now, *_: now == "layout").fit(X).n_epochs_ == 0


@pytest.mark.parametrize("kind", KINDS)
def test_fit_in_steps_equals_fit(X, kind):
    model = short(kind)
    epochs, frames = [], []
    for embedding in model.iter_fit(X, every=10):
        epochs.append(model.n_epochs_)
        frames.append(embedding)
        assert embedding is model.embedding_
    assert epochs == [0, 10, 20, 25]
    assert not np.array_equal(frames[1], frames[2])
    np.testing.assert_array_equal(frames[-1], short(kind).fit_transform(X))


def test_steps_may_be_left_early(X):
    model = short(GDR)
    for _ in model.iter_fit(X, every=5):
        if model.n_epochs_ == 10:
            break
    assert model.n_epochs_ == 10
    assert model.get_feature_names_out().tolist() == ["gdr0", "gdr1"]


def test_steps_stop_with_the_callback(X):
    model = short(GDR, callback=lambda stage, fraction, embedding: fraction >= 0.4 and stage == "layout")
    assert len(list(model.iter_fit(X, every=5))) == 3
    assert model.n_epochs_ == 10


def test_steps_of_one_point():
    assert len(list(GDR().iter_fit(np.ones((1, 2))))) == 1


@pytest.mark.parametrize("every", [0, 1.5, True, -3])
def test_steps_need_a_positive_number(X, every):
    with pytest.raises(ValueError, match="every="):
        GDR().iter_fit(X, every=every)


def test_verbose_shows_one_bar(X, capfd):
    short(GDR, verbose=True).fit(X)
    assert "layout" in capfd.readouterr().err


# threads and processes


def fit_shortly(seed, X):
    return short(UMAP, random_state=seed, n_jobs=2).fit_transform(X)


def test_in_threads(X):
    expected = [fit_shortly(seed, X) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for got, wanted in zip(pool.map(fit_shortly, range(4), [X] * 4), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_in_joblib(X, backend):
    jobs = [joblib.delayed(fit_shortly)(seed, X) for seed in range(3)]
    for seed, got in enumerate(joblib.Parallel(n_jobs=2, backend=backend)(jobs)):
        np.testing.assert_array_equal(got, fit_shortly(seed, X))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_fork(X):
    expected = fit_shortly(0, X)  # the parent's threads exist before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for got in pool.starmap_async(fit_shortly, [(0, X)] * 2).get(timeout=60):
            np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(fit_shortly(0, X), expected)


@pytest.mark.parametrize("kind", [TSNE, GDR])
def test_labels_are_not_used(X, kind):
    y = np.repeat([0, 1, 2], 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(short(kind).fit_transform(X, y), short(kind).fit_transform(X))
