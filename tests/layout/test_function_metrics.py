"""Maps under an output metric that is a function of two points."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

from actup import UMAP
from actup.backends import load_backend
from actup.compat.umap.umap_ import find_ab_params, fuzzy_simplicial_set, simplicial_set_embedding
from actup.recipe._presets import preset
from variations import graph_of, start_of

X = load_digits().data[:150].astype(np.float32)
N = 61
RECIPE = preset("sampled_umap").but(horizon=None, epochs=12)
cpu = load_backend("cpu")


def manhattan(x, y):
    return np.sum(np.abs(x - y)), np.sign(x - y)


def scaled_manhattan(x, y, first=1.0, second=1.0):
    scale = np.array([first, second])
    return np.sum(scale * np.abs(x - y)), scale * np.sign(x - y)


def overwriting_manhattan(x, y):
    x -= y
    y[:] = np.nan
    return np.sum(np.abs(x)), np.sign(x)


def layout(metric, seed=0, **parameters):
    recipe = RECIPE.but(output_metric=metric, output_metric_kwds=parameters)
    return cpu.make_layout(graph_of(N, recipe), start_of(N, 2), recipe, seed, 1)


def test_a_map_is_as_good_as_that_of_the_named_metric():
    options = {"n_epochs": 60, "random_state": 0}
    by_name = UMAP(output_metric="manhattan", **options).fit_transform(X)
    model = UMAP(output_metric=manhattan, **options).fit(X)
    scores = [trustworthiness(X, Y, n_neighbors=10) for Y in (by_name, model.embedding_)]
    assert scores[1] > scores[0] - 0.02 > 0.9
    places = model.transform(X[:20] + 0.01)
    assert (np.abs(places - model.embedding_[:20]).sum(axis=1) < 0.1 * np.ptp(model.embedding_)).mean() > 0.8
    np.testing.assert_array_equal(places[3], model.transform(X[3:4] + 0.01)[0])
    assert model.inverse_transform(model.embedding_[:3]).shape == (3, 64)


def test_the_loss_is_that_of_the_named_metric_and_falls():
    by_name, by_function = layout("manhattan"), layout(manhattan)
    before = by_function.loss()
    assert before == pytest.approx(by_name.loss(), rel=1e-5)
    by_function.run(12)
    assert by_function.loss() < before


def test_steps_seeds_and_writes_do_not_matter_where_they_must_not():
    whole, stepwise, overwriting, other = (
        layout(manhattan), layout(manhattan), layout(overwriting_manhattan), layout(manhattan, seed=1),
    )  # fmt: skip
    for run in (whole, overwriting, other):
        run.run(12)
    for epoch in (5, 5, 12):
        stepwise.run(epoch)
    np.testing.assert_array_equal(whole.embedding(), stepwise.embedding())
    np.testing.assert_array_equal(whole.embedding(), overwriting.embedding())
    assert (whole.embedding() != other.embedding()).any()


def test_parameters_are_passed_in_the_order_of_the_function():
    plain, scaled = layout(manhattan), layout(scaled_manhattan, second=3.0, first=1.0)
    equal = layout(scaled_manhattan, second=1.0)
    for run in (plain, scaled, equal):
        run.run(3)
    np.testing.assert_array_equal(plain.embedding(), equal.embedding())
    assert (plain.embedding() != scaled.embedding()).any()
    with pytest.raises(ValueError, match="output_metric_kwds="):
        layout(manhattan, p=3)


def test_a_function_that_numba_compiles_gives_the_same_map():
    numba = pytest.importorskip("numba")
    plain, compiled = layout(manhattan), layout(numba.njit(manhattan))
    for run in (plain, compiled):
        run.run(4)
    np.testing.assert_allclose(plain.embedding(), compiled.embedding(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [lambda x, y: 1.0, lambda x, y: (1.0, x[:1]), lambda x, y: (x, x), lambda x, y: (1.0, x, y)],
    ids=["no gradient", "short gradient", "no number", "three parts"],
)
def test_functions_without_a_distance_and_a_gradient_are_rejected(wrong):
    with pytest.raises(
        ValueError, match="must return a tuple of the distance of two points and its gradient"
    ):
        UMAP(output_metric=wrong).fit(X)


def test_steps_that_are_not_finite_are_rejected():
    with pytest.raises(ValueError, match="infinite or undefined step"):
        UMAP(output_metric=lambda x, y: (1.0, x + np.nan), n_epochs=2).fit(X)


def test_other_backends_and_files_reject_functions(tmp_path):
    with pytest.raises(ValueError, match="backend='cpu'"):
        UMAP(output_metric=manhattan, backend="reference", n_epochs=2).fit(X)
    with pytest.raises(TypeError, match="output_metric"):
        UMAP(output_metric=manhattan, n_epochs=2).fit(X).save(tmp_path / "model.actup")


def test_graphs_are_laid_out_under_functions():
    graph, *_ = fuzzy_simplicial_set(X, 15, 0, "euclidean")
    a, b = find_ab_params(1.0, 0.1)
    places, _ = simplicial_set_embedding(
        X, graph, 2, 1.0, a, b, 1.0, 5, 30, "spectral", np.random.RandomState(0), "euclidean", {}, False, {},
        False, output_metric=manhattan, euclidean_output=False,
    )  # fmt: skip
    assert places.shape == (150, 2) and np.isfinite(places).all()
