"""Values that callers give: numbers beyond floats, masks and parameters of metrics."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import actup
from actup import quality
from actup.clusters import find_clusters
from actup.recipe import preset
from actup.viewer import align_maps, write_page

BIG = 10**400
TOO_LONG = 10**5000  # Python refuses to print it
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = X[:, :2].copy()
BEYOND = np.full((40, 3), BIG, object)
RELATIONS = [{i: i for i in range(40)}]


def umap(**parameters):
    return actup.UMAP(**{"n_epochs": 2, "n_neighbors": 5, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def model():
    return umap().fit(X)


NUMBERS = {
    "X": lambda _: umap().fit(BEYOND),
    "X of a list": lambda _: umap().fit([[Fraction(BIG, 3)] * 3] * 40),
    "X of gower": lambda _: umap(metric="gower").fit(BEYOND),
    "X of embed": lambda _: actup.embed(BEYOND, "umap"),
    "X of nearest_neighbors": lambda _: actup.nearest_neighbors(BEYOND, 5),
    "X of transform": lambda model: model.transform(BEYOND),
    "X of inverse_transform": lambda model: model.inverse_transform(BEYOND[:, :2]),
    "y": lambda _: umap(target_metric="l2").fit(X, [BIG, 1] * 20),
    "Y of plot": lambda _: actup.plot(BEYOND[:, :2]),
    "maps['a']": lambda _: align_maps({"a": BEYOND[:, :2]}),
    "labels": lambda _: actup.plot(Y, [BIG, 1] * 20, label_kind="values"),
    "sample_weight": lambda _: umap().fit(X, sample_weight=[TOO_LONG] * 40),
    "init": lambda _: umap(init=BEYOND[:, :2]).fit(X),
    "perplexity": lambda _: actup.TSNE(perplexity=TOO_LONG).fit(X),
    "min_grad_norm": lambda _: actup.TSNE(min_grad_norm=BIG).fit(X),
    "n_neighbors": lambda _: umap(n_neighbors=TOO_LONG).fit(X),
    "n_epochs": lambda _: umap(n_epochs=TOO_LONG).fit(X),
    "local_connectivity": lambda _: umap(local_connectivity=BIG).fit(X),
    "disconnection_distance": lambda _: umap(disconnection_distance=BIG).fit(X),
    "target_weight": lambda _: umap(target_weight=BIG).fit(X, [1, 2] * 20),
    "target_metric_kwds": lambda _: umap(
        target_metric="count", target_metric_kwds={"normalisation": BIG}
    ).fit(X, [1, 2] * 20),
    "metric_kwds p": lambda _: umap(metric="minkowski", metric_kwds={"p": BIG}).fit(X),
    "metric_kwds w": lambda _: umap(metric="minkowski", metric_kwds={"p": 3, "w": [BIG] * 3}).fit(X),
    "metric_kwds V": lambda _: umap(metric="seuclidean", metric_kwds={"V": [BIG] * 3}).fit(X),
    "metric_kwds weights": lambda _: umap(metric="gower", metric_kwds={"weights": [BIG] * 3}).fit(X),
    "output_metric_kwds": lambda _: umap(output_metric="minkowski", output_metric_kwds={"p": BIG}).fit(X),
    "alignment_regularisation": lambda _: actup.AlignedUMAP(alignment_regularisation=BIG).fit(
        [X, X], relations=RELATIONS
    ),
    "dpi": lambda _: actup.plot(Y, path="map.png", dpi=BIG),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_beyond_floats_are_named(case, model):
    with pytest.raises(ValueError, match="which is beyond floats") as caught:
        NUMBERS[case](model)
    assert str(caught.value).startswith(case.split(" of ")[0])


def test_labels_beyond_floats_are_classes(model):
    np.testing.assert_array_equal(
        umap().fit_transform(X, [BIG, 1] * 20), umap().fit_transform(X, ["a", "b"] * 20)
    )
    assert quality.knn_accuracy(Y, [BIG, 1] * 20) == quality.knn_accuracy(Y, ["b", "a"] * 20)


MASKED = np.ma.masked_array(Y, Y > 1)
WEIGHTS = np.ma.masked_array(np.ones(40), np.arange(40) < 3)
MASKS = {
    "Y": lambda path: find_clusters(MASKED),
    "Y of trustworthiness": lambda path: quality.trustworthiness(X, MASKED),
    "X": lambda path: quality.trustworthiness(np.ma.masked_array(X, X > 1), Y),
    "sample_weight": lambda path: umap().fit(X, sample_weight=WEIGHTS),
    "fixed": lambda path: umap(init=Y).fit(X, fixed=WEIGHTS),
    "fixed of some": lambda path: umap(init=Y).fit(X, fixed=WEIGHTS, sample_weight=np.arange(40)),
    "maps['a']": lambda path: align_maps({"a": MASKED}),
    "Y of plot": lambda path: actup.plot(MASKED),
    "maps['a'] of write_page": lambda path: write_page(path, {"a": MASKED}),
}


@pytest.mark.parametrize("case", MASKS)
def test_masks_are_rejected(case, tmp_path):
    with pytest.raises(TypeError, match=f"^{re.escape(case.split(' of ')[0])} is a masked array"):
        MASKS[case](tmp_path / "page.html")


@pytest.mark.parametrize("kind", [actup.UMAP, actup.TSNE, actup.GDR])
@pytest.mark.parametrize("wrong", [np.array([1, 2]), (1, 2), (), [], False, "", (("p", 3),)])
def test_parameters_of_metrics_must_be_a_dict(kind, wrong):
    for name in ("metric_kwds", "output_metric_kwds"):
        if hasattr(kind(), name):
            with pytest.raises(ValueError, match=r"=.* must be a dict of the metric's parameters"):
                kind(**{name: wrong}).fit(X)
    with pytest.raises(TypeError, match=r"metric_params=.* must be a dict of the metric's parameters"):
        actup.neighbors.KNeighborsTransformer(metric_params=wrong).fit(X)


def test_small_types_are_compared_as_floats():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert preset("umap").but(a=np.float16(1.5), b=np.float16(0.5)).b == 0.5
