"""actup.sc: the keys it reads and writes in an AnnData. Needs anndata alone."""

import inspect
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

import actup

pytest.importorskip("anndata")


def write(adata, path):
    import anndata

    with anndata.settings.override(allow_write_nullable_strings=True):  # pandas 3 has them as names of cells
        adata.write_h5ad(path)


@pytest.fixture
def searched(adata):
    actup.sc.neighbors(adata)
    return adata


def test_neighbors_are_those_of_the_representation(searched):
    distances, weights = searched.obsp["distances"], searched.obsp["connectivities"]
    n = searched.n_obs
    wanted = NearestNeighbors(n_neighbors=14).fit(searched.obsm["X_pca"]).kneighbors()[0]
    assert sparse.isspmatrix_csr(distances) and sparse.isspmatrix_csr(weights)
    assert_array_equal(np.diff(distances.indptr), np.full(n, 14))
    assert_allclose(distances.data.reshape(n, 14), wanted, rtol=1e-4)
    assert not distances.diagonal().any() and not weights.diagonal().any()
    assert abs(weights - weights.T).max() == 0
    assert weights.data.min() > 0 and weights.data.max() <= 1
    model = actup.UMAP(n_neighbors=15, n_epochs=0, random_state=0).fit(searched.obsm["X_pca"])
    assert abs(weights - model.graph_).max() == 0
    assert searched.uns["neighbors"] == {
        "connectivities_key": "connectivities",
        "distances_key": "distances",
        "params": {"n_neighbors": 15, "method": "umap", "random_state": 0, "metric": "euclidean"},
    }


def test_key_added(adata):
    before = set(adata.obsp)
    actup.sc.neighbors(adata, 8, 10, metric="minkowski", metric_kwds={"p": 3}, key_added="fine")
    assert set(adata.obsp) - before == {"fine_distances", "fine_connectivities"}
    assert adata.uns["fine"]["connectivities_key"] == "fine_connectivities"
    assert adata.uns["fine"]["distances_key"] == "fine_distances"
    assert adata.uns["fine"]["params"] == {
        "n_neighbors": 8,
        "method": "umap",
        "random_state": 0,
        "metric": "minkowski",
        "metric_kwds": {"p": 3},
        "n_pcs": 10,
    }
    actup.sc.umap(adata, maxiter=10, neighbors_key="fine", key_added="fine_map", random_state=4)
    assert adata.obsm["fine_map"].shape == (adata.n_obs, 2)
    assert adata.uns["fine_map"]["params"]["random_state"] == 4
    actup.sc.tsne(adata, 10, key_added="fine_tsne")
    assert adata.obsm["fine_tsne"].shape == (adata.n_obs, 2)
    assert "X_umap" not in adata.obsm and "X_tsne" not in adata.obsm and "neighbors" not in adata.uns


def test_representations(adata):
    wanted = actup.nearest_neighbors(adata.X, 4).distances
    for parameters in ({"use_rep": "X"}, {"n_pcs": 0}):
        actup.sc.neighbors(adata, 5, **parameters)
        assert_allclose(adata.obsp["distances"].data.reshape(-1, 4), wanted, rtol=1e-5)
    adata.obsm["frame"] = adata.obs[[]].assign(a=adata.obsm["X_pca"][:, 0], b=adata.obsm["X_pca"][:, 1])
    actup.sc.neighbors(adata, 5, use_rep="frame")
    wanted = actup.nearest_neighbors(adata.obsm["X_pca"][:, :2], 4).distances
    assert_allclose(adata.obsp["distances"].data.reshape(-1, 4), wanted, rtol=1e-5)
    few = adata[:, :40].copy()  # up to 50 columns, X itself is compared
    actup.sc.neighbors(few, 5)
    wanted = actup.nearest_neighbors(few.X, 4).distances
    assert_allclose(few.obsp["distances"].data.reshape(-1, 4), wanted, rtol=1e-5)


def test_umap_is_the_map_of_the_graph(searched):
    actup.sc.umap(searched)
    recipe = actup.preset("umap").but(min_dist=0.5)
    wanted = actup.embed(
        searched.obsm["X_pca"], recipe, graph=searched.obsp["connectivities"], seed=0
    ).embedding
    assert_array_equal(searched.obsm["X_umap"], wanted)
    a, b = recipe.kernel()
    assert searched.uns["umap"] == {"params": {"a": a, "b": b}}


def test_umap_needs_the_graph_alone(searched):
    del searched.obsm["X_pca"]
    actup.sc.umap(searched, maxiter=20)
    assert np.isfinite(searched.obsm["X_umap"]).all()


def test_umap_separates_the_types(searched):
    actup.sc.umap(searched)
    quality = actup.quality_report(
        searched.obsm["X_pca"], searched.obsm["X_umap"], searched.obs["type"].to_numpy()
    )
    assert quality["knn_accuracy"] > 0.75


@pytest.mark.parametrize("init_pos", ["spectral", "random", "pca", "X_start", "array", "paga"])
def test_starts(searched, init_pos):
    n = searched.n_obs
    searched.obsm["X_start"] = np.random.default_rng(0).normal(size=(n, 2))
    types = searched.obs["type"].cat.categories
    places = np.random.default_rng(1).normal(size=(len(types), 2)) * 5
    links = sparse.csr_matrix(np.roll(np.eye(len(types)), 1, axis=0)[: len(types)])
    searched.uns["paga"] = {"pos": places, "groups": "type", "connectivities": links}
    start = searched.obsm["X_start"] + 1 if init_pos == "array" else init_pos
    actup.sc.umap(searched, maxiter=0, init_pos=start)
    found = searched.obsm["X_umap"]
    assert found.shape == (n, 2)
    if init_pos == "X_start":
        assert_allclose(found, searched.obsm["X_start"], atol=0.1)
    if init_pos == "paga":
        groups = searched.obs["type"].cat.codes.to_numpy()
        reach = np.abs(places - places[links.indices]) / 2
        assert (np.abs(found - places[groups]) <= reach[groups] + 1e-4).all()


def test_alpha_is_umap_learns_descent(searched):
    actup.sc.umap(searched, maxiter=20, alpha=1.0)
    recipe = actup.preset("sampled_umap").but(min_dist=0.5, epochs=20)
    graph = searched.obsp["connectivities"]
    wanted = actup.embed(searched.obsm["X_pca"], recipe, graph=graph, seed=0).embedding
    assert_array_equal(searched.obsm["X_umap"], wanted)


def test_tsne(adata):
    actup.sc.tsne(adata, use_rep="X_pca", perplexity=20)
    wanted = actup.TSNE(perplexity=20, random_state=0).fit_transform(adata.obsm["X_pca"])
    assert_array_equal(adata.obsm["X_tsne"], wanted)
    assert adata.uns["tsne"] == {
        "params": {
            "perplexity": 20,
            "early_exaggeration": 12,
            "learning_rate": "auto",
            "metric": "euclidean",
            "use_rep": "X_pca",
        }
    }


def test_copies_and_views(adata):
    whole = actup.sc.neighbors(adata, copy=True)
    assert whole is not adata and not adata.obsp and "distances" in whole.obsp
    assert actup.sc.umap(whole, maxiter=5, copy=True).obsm["X_umap"].shape == (adata.n_obs, 2)
    assert actup.sc.tsne(whole, copy=True).obsm["X_tsne"].shape == (adata.n_obs, 2)
    assert "X_umap" not in whole.obsm and "X_tsne" not in whole.obsm
    view = adata[:300]
    assert actup.sc.neighbors(view) is None
    actup.sc.umap(view, maxiter=5)
    assert view.obsm["X_umap"].shape == (300, 2) and not view.is_view
    assert not adata.obsp  # the view's original stays as it is


def test_random_states_can_be_stored(adata, tmp_path):
    actup.sc.neighbors(adata, random_state=np.random.RandomState(0))
    for random_state in (np.random.default_rng(0), None):
        actup.sc.umap(adata, maxiter=5, random_state=random_state)
        write(adata, tmp_path / "cells.h5ad")
        seed = adata.uns["umap"]["params"]["random_state"]
        again = actup.sc.umap(adata, maxiter=5, random_state=seed, copy=True)
        assert_array_equal(again.obsm["X_umap"], adata.obsm["X_umap"])


def test_backed(adata, tmp_path):
    import anndata

    write(adata, tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    actup.sc.neighbors(backed)
    actup.sc.umap(backed, maxiter=5)
    actup.sc.tsne(backed)
    actup.sc.neighbors(adata)
    assert abs(backed.obsp["connectivities"] - adata.obsp["connectivities"]).max() == 0
    for function in (actup.sc.neighbors, actup.sc.tsne):
        with pytest.raises(ValueError, match=r"X lies in the file.*use_rep='X_pca'.*to_memory"):
            function(backed, use_rep="X")
    with pytest.raises(ValueError, match=r"copy=True.*to_memory"):
        actup.sc.neighbors(backed, copy=True)


def test_few_cells(adata):
    few = adata[:10].copy()
    with pytest.warns(UserWarning, match="n_neighbors=15 is larger than the number of cells; using 6"):
        actup.sc.neighbors(few)
    assert few.uns["neighbors"]["params"]["n_neighbors"] == 6


def test_errors_name_the_remedy(adata):
    sc = actup.sc
    with pytest.raises(TypeError, match="adata is a ndarray, not an AnnData"):
        sc.umap(np.zeros((5, 2)))
    with pytest.raises(ValueError, match=r"uns has no 'neighbors': run actup\.sc\.neighbors"):
        sc.umap(adata)
    with pytest.raises(ValueError, match=r"use_rep='X_scvi' is not in obsm, which has 'X_pca'"):
        sc.neighbors(adata, use_rep="X_scvi")
    with pytest.raises(ValueError, match=r"n_pcs=31, but obsm\['X_pca'\] has 30 columns"):
        sc.neighbors(adata, n_pcs=31)
    with pytest.raises(ValueError, match=r"method='gauss'.*KNeighborsTransformer"):
        sc.neighbors(adata, method="gauss")
    sc.neighbors(adata)
    with pytest.raises(ValueError, match="backend='cuda'"):
        sc.umap(adata, method="rapids")
    with pytest.raises(ValueError, match="init_pos='X_foo' is not one of 'X_pca', 'paga', 'spectral'"):
        sc.umap(adata, init_pos="X_foo")
    with pytest.raises(ValueError, match=r"uns\['paga'\]\['pos'\]: run scanpy.pl.paga"):
        sc.umap(adata, init_pos="paga")
    with pytest.raises(ValueError, match="maxiter=-1"):
        sc.umap(adata, maxiter=-1)
    with pytest.raises(TypeError, match="alpha='fast' must be 'auto' or a number"):
        sc.umap(adata, alpha="fast")
    assert "umap" not in adata.uns and "X_umap" not in adata.obsm
    adata.uns["neighbors"]["params"]["method"] = "gauss"
    with pytest.warns(UserWarning, match=r"was not computed with method='umap'"):
        sc.umap(adata, maxiter=2)
    del adata.obsp["connectivities"]
    with pytest.raises(ValueError, match=r"obsp has no 'connectivities', which uns\['neighbors'\] names"):
        sc.umap(adata)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_principal_components_are_computed_without_scanpy(monkeypatch, form):
    monkeypatch.setitem(sys.modules, "scanpy", None)  # as if it were not installed
    import anndata

    X = np.random.default_rng(0).normal(size=(90, 70)).astype(np.float32)
    adata = anndata.AnnData(form(X))
    with pytest.warns(UserWarning, match=r"X has 70 columns and obsm has no 'X_pca': computing principal"):
        actup.sc.neighbors(adata, n_neighbors=5)
    assert adata.obsm["X_pca"].shape == (90, 50) and "connectivities" in adata.obsp
    expected = PCA(50, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(adata.obsm["X_pca"]), np.abs(expected), atol=1e-3)
    genes = anndata.AnnData(form(X), var={"highly_variable": np.arange(70) < 20})
    with pytest.warns(UserWarning, match="computing principal"):
        actup.sc.tsne(genes, perplexity=5)
    assert genes.obsm["X_pca"].shape == (90, 19) and genes.obsm["X_tsne"].shape == (90, 2)
    with pytest.raises(ValueError, match="n_pcs=80, but X has at most 69 principal components"):
        actup.sc.neighbors(anndata.AnnData(form(X)), n_pcs=80)


def test_documented_parameters_equal_the_signatures():
    for name in actup.sc.__all__:
        function = getattr(actup.sc, name)
        text = inspect.getdoc(function)
        section = text[text.index("Parameters\n") : text.index("Returns\n")]
        lines = [
            line.partition(" : ")[0] for line in section.splitlines() if line[:1].isalpha() and " : " in line
        ]
        written = [name for line in lines for name in line.split(", ")]
        assert written == list(inspect.signature(function).parameters)
