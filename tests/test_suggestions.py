"""Errors for names that do not exist say which one was probably meant."""

import pickle
import re

import numpy as np
import pytest

import actup
from actup._suggestions import closest_name, not_one_of
from actup.compat import opentsne

X = np.random.default_rng(0).normal(size=(40, 4))


def test_names_are_compared_whatever_their_case():
    assert closest_name("Cosine", ["euclidean", "cosine"]) == "cosine"
    assert closest_name("hybrid_tsne", ["TSNE", "hybrid_TSNE"]) == "hybrid_TSNE"
    assert closest_name("nonsense", ["euclidean", "cosine"]) is None
    assert closest_name(5, ["5"]) is None


def test_other_names_count_only_where_the_name_exists():
    assert closest_name("k", ["n_neighbors"], {"k": "n_neighbors"}) == "n_neighbors"
    assert closest_name("k", ["perplexity"], {"k": "n_neighbors"}) is None


def test_all_names_are_listed_where_none_is_close():
    assert (
        not_one_of("init", "nonsense", ["pca", "random"]) == "init='nonsense' is not one of 'pca', 'random'"
    )


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda: actup.UMAP(metric="euclidian").fit(X), ValueError, "metric='euclidian'.*'euclidean'"),
        (lambda: actup.UMAP(metric="Cosine").fit(X), ValueError, "metric='Cosine'.*'cosine'"),
        (lambda: actup.UMAP(init="spectrall").fit(X), ValueError, "init='spectrall'.*'spectral'"),
        (lambda: actup.TSNE(init="PCA").fit(X), ValueError, "init='PCA'.*'pca'"),
        (lambda: actup.TSNE(method="barnes-hut").fit(X), ValueError, "method='barnes-hut'.*'barnes_hut'"),
        (lambda: actup.UMAP(backend="CPU").fit(X), ValueError, "backend='CPU'.*'cpu'"),
        (lambda: actup.UMAP(output_metric="Haversine").fit(X), ValueError, "output_metric=.*'haversine'"),
        (lambda: actup.UMAP(n_iter=5), TypeError, "UMAP has no parameter 'n_iter'.*'n_epochs'"),
        (lambda: actup.TSNE(n_epochs=5), TypeError, "TSNE has no parameter 'n_epochs'.*'max_iter'"),
        (lambda: actup.KNeighborsTransformer(n_neighbor=3), TypeError, "'n_neighbor'.*'n_neighbors'"),
        (lambda: actup.UMAP(target_metric="ordinals").fit(X), ValueError, "target_metric=.*'ordinal'"),
        (lambda: actup.preset("UMAP"), ValueError, "preset='UMAP'.*'umap'"),
        (lambda: actup.preset("umap").but(n_neighbor=5), TypeError, "'n_neighbor'.*'n_neighbors'"),
        (lambda: actup.preset("umap").but(n_epochs=5), TypeError, "'n_epochs'.*'epochs'"),
        (lambda: actup.embed(X, "Umap"), ValueError, "preset='Umap'.*'umap'"),
        (lambda: actup.embed(X, "umap", random_state=5), TypeError, "'random_state'.*'seed'"),
        (lambda: actup.embed_many(X, ["umap"], n_jobs=5), TypeError, "'n_jobs'.*'threads'"),
        (lambda: actup.nearest_neighbors(X, k=5), TypeError, "'k'.*'n_neighbors'"),
        (lambda: actup.nearest_neighbors(X, algorithm="Exact"), ValueError, "'Exact'.*'exact'"),
        (lambda: actup.datasets.load("MNIST"), ValueError, "name='MNIST'.*'mnist'"),
        (lambda: opentsne.TSNE(n_iters=50), TypeError, "TSNE has no parameter 'n_iters'.*'n_iter'"),
        (lambda: actup.sc.umap(None, n_epochs=5), TypeError, "umap has no parameter 'n_epochs'.*'maxiter'"),
        (lambda: actup.sc.tsne(None, perplexty=5), TypeError, "tsne has no parameter .*'perplexity'"),
        (lambda: actup.sc.neighbors(None, k=5), TypeError, "neighbors has no parameter 'k'.*'n_neighbors'"),
        (lambda: actup.plot(X, colour="red"), TypeError, "plot has no parameter 'colour'.*'labels'"),
        (lambda: actup.plot(X, tilte="map"), TypeError, "plot has no parameter 'tilte'.*'title'"),
        (lambda: actup.plotting.plot_gallery({}, fname="x"), TypeError, "'fname'.*'path'"),
        (lambda: actup.plotting.plot_embedding(X, c=[1]), TypeError, "'c'.*'labels'"),
        (lambda: actup.viewer.write_page("x", X, label=[1]), TypeError, "'label'.*'labels'"),
        (lambda: actup.view(X, color=[1]), TypeError, "view has no parameter 'color'.*'labels'"),
        (lambda: actup.UMAP().view(label=[1]), TypeError, "'label'.*'labels'"),
        (lambda: actup.live(X, label=[1]), TypeError, "live has no parameter 'label'.*'labels'"),
        (
            lambda: actup.find_clusters(X, min_clustersize=5),
            TypeError,
            "'min_clustersize'.*'min_cluster_size'",
        ),
        (lambda: actup.quality_report(X, X, metrics="l1"), TypeError, "'metrics'.*'metric'"),
        (
            lambda: actup.viewer.LiveView.steer(None, exageration=2),
            TypeError,
            "steer has no parameter 'exageration'.*'exaggeration'",
        ),
    ],
)
def test_a_close_name_is_suggested(work, error, message):
    with pytest.raises(error, match=message.replace(".*", ".*did you mean ") + r"\?$"):
        work()


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (
            lambda: actup.UMAP(perplexity=30),
            TypeError,
            "'perplexity': n_neighbors is the size of a neighbour",
        ),
        (lambda: actup.UMAP().set_params(perplexity=30), ValueError, "'perplexity': n_neighbors is the size"),
        (
            lambda: actup.TSNE(n_neighbors=15),
            TypeError,
            "'n_neighbors': perplexity is the size of a neighbour",
        ),
        (
            lambda: actup.TSNE(max_grad_norm=1),
            TypeError,
            "'max_grad_norm': actup.compat.opentsne.TSNE, which",
        ),
        (lambda: actup.ParametricUMAP(encoder=1), TypeError, "'encoder': .* hidden_layer_sizes"),
        (lambda: actup.ParametricUMAP(dims=(5,)), TypeError, "'dims': the number of columns is read from X"),
        (lambda: actup.ParametricUMAP(parametric_reconstruction=True), TypeError, "inverse_transform gives"),
        (lambda: actup.ParametricUMAP(autoencoder_loss=True), TypeError, "inverse_transform gives"),
        (lambda: actup.ParametricUMAP(keras_fit_kwargs={}), TypeError, "n_training_epochs and batch_size"),
        (lambda: actup.ParametricUMAP(perplexity=5), TypeError, "'perplexity': n_neighbors is the size"),
        (lambda: actup.ParametricUMAP().to_ONNX("x"), AttributeError, r"'to_ONNX': use to_onnx\(path\)"),
        (lambda: actup.ParametricUMAP().add_landmarks(X), AttributeError, "'add_landmarks': use partial_fit"),
        (lambda: actup.ParametricUMAP().nothing, AttributeError, "has no attribute 'nothing'$"),
        (
            lambda: actup.load_ParametricUMAP,
            AttributeError,
            "use actup.load, for files of ParametricUMAP.save",
        ),
        (lambda: actup.write_page, AttributeError, "'write_page': use actup.viewer.write_page$"),
        (lambda: actup.plot_gallery, AttributeError, "'plot_gallery': use actup.plotting.plot_gallery$"),
        (lambda: actup.UMAP().fit(X)._knn_indices, AttributeError, "actup.compat.umap.UMAP has it"),
        (lambda: actup.UMAP()._raw_data, AttributeError, "no attribute '_raw_data'"),
        (lambda: actup.UMAP(target_metric="foo").fit(X), ValueError, "labels are compared by 'categorical'"),
    ],
)
def test_errors_say_what_to_use_instead(work, error, message):
    with pytest.raises(error, match=message):
        work()


def test_private_attributes_of_umap_learn_are_read():
    model = actup.UMAP(n_neighbors=5, n_epochs=2, metric_kwds=None, random_state=0)
    assert model._n_neighbors == 5 and model._a == pytest.approx(1.577, abs=0.01)
    model.fit(X)
    np.testing.assert_array_equal(model._raw_data, X)
    assert model._small_data and not model._sparse_data and not model._supervised and model._metric_kwds == {}
    assert not {"_raw_data", "_a"} & set(vars(pickle.loads(pickle.dumps(model))))


@pytest.mark.parametrize(
    ("name", "value"),
    [("unique", "x"), ("densmap", "abc"), ("low_memory", "x"), ("verbose", "x"), ("output_dens", 0.5),
     ("angular_rp_forest", None), ("force_approximation_algorithm", "x"), ("tqdm_kwds", 4)],
)  # fmt: skip
def test_values_of_flags_are_checked(name, value):
    kind = "a dict or None" if name == "tqdm_kwds" else "True or False"
    with pytest.raises(ValueError, match=f"{name}={value!r} must be {kind}"):
        actup.UMAP(**{name: value}).fit(X)


@pytest.mark.parametrize("run", [actup.embed, actup.embed_many])
def test_switches_belong_to_the_recipe(run):
    with pytest.raises(TypeError, match=re.escape("actup.preset('umap').but(n_neighbors=5)")):
        run(X, "umap", n_neighbors=5)
