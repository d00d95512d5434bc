"""scanpy with ActUp's search, with maps by actup.sc, and unchanged under actup.accel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import actup


@pytest.fixture
def sc():
    return pytest.importorskip("scanpy")


def common_neighbors(first, second):
    """The share of the entries of one matrix that the other has too."""
    return first.astype(bool).multiply(second.astype(bool)).nnz / first.nnz


def test_neighbors_with_our_transformer(sc, adata):
    sc.pp.neighbors(adata, n_neighbors=15, key_added="scanpy")
    sc.pp.neighbors(adata, transformer=actup.KNeighborsTransformer(n_neighbors=15))
    assert adata.uns["neighbors"]["params"]["n_neighbors"] == 15
    weights, theirs = adata.obsp["connectivities"], adata.obsp["scanpy_connectivities"]
    assert abs(weights - theirs).max() < 1e-3
    assert_array_equal(np.diff(adata.obsp["distances"].indptr), 16)
    sc.tl.umap(adata, maxiter=20)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
    assert adata.obsm["X_umap"].shape == (adata.n_obs, 2)


def test_neighbors_of_actup_are_scanpys(sc, adata):
    sc.pp.neighbors(adata, n_neighbors=12, n_pcs=20, key_added="scanpy")
    actup.sc.neighbors(adata, n_neighbors=12, n_pcs=20, key_added="actup")
    for name in ("distances", "connectivities"):
        ours, theirs = adata.obsp[f"actup_{name}"], adata.obsp[f"scanpy_{name}"]
        assert common_neighbors(ours, theirs) > 0.999
        assert abs(ours - theirs).max() < 1e-3 * theirs.max()
    ours, theirs = dict(adata.uns["actup"]), dict(adata.uns["scanpy"])
    assert ours.pop("params") == theirs.pop("params")
    assert set(ours) == set(theirs)


def test_signatures_begin_as_scanpys():
    sc = pytest.importorskip("scanpy")
    from inspect import signature

    pairs = [
        (actup.sc.neighbors, sc.pp.neighbors, {"transformer"}),
        (actup.sc.umap, sc.tl.umap, set()),
        (actup.sc.tsne, sc.tl.tsne, set()),
    ]
    other_defaults = {"alpha", "learning_rate", "metric_kwds", "neighbors_key"}  # the steps are automatic
    for ours, theirs, left_out in pairs:
        mine, wanted = signature(ours).parameters, signature(theirs).parameters
        names = [name for name in wanted if name not in left_out]
        assert list(mine)[: len(names)] == names
        for name in set(names) - other_defaults:
            assert mine[name].default == wanted[name].default, name
            assert mine[name].kind == wanted[name].kind, name


def test_everything_after_actup_sc(sc, adata):
    actup.sc.neighbors(adata, n_neighbors=15)
    sc.tl.umap(adata)
    theirs = adata.obsm["X_umap"]
    params = adata.uns["umap"]["params"]
    actup.sc.umap(adata)
    assert_allclose(list(adata.uns["umap"]["params"].values()), list(params.values()), rtol=1e-3)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
    types, X = adata.obs["type"].to_numpy(), adata.obsm["X_pca"]
    assert adjusted_rand_score(types, adata.obs["leiden"]) > 0.3
    scores = [
        actup.quality_report(X, places, types)["knn_accuracy"] for places in (adata.obsm["X_umap"], theirs)
    ]
    assert scores[0] > scores[1] - 0.03
    sc.tl.tsne(adata)
    actup.sc.tsne(adata, key_added="X_actup")
    sc.tl.paga(adata, groups="type")
    sc.tl.diffmap(adata)
    sc.tl.embedding_density(adata, basis="umap")


def test_pictures(sc, adata):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    actup.sc.neighbors(adata)
    actup.sc.umap(adata, maxiter=20)
    actup.sc.tsne(adata)
    sc.pl.umap(adata, color="type", show=False)
    sc.pl.tsne(adata, color="type", show=False)
    sc.tl.paga(adata, groups="type")
    sc.pl.paga(adata, show=False)
    actup.sc.umap(adata, init_pos="paga", maxiter=20)
    pyplot.close("all")


@pytest.mark.parametrize("page", ["single-cell.md", "inputs.md"])
def test_examples_of_the_guide(sc, page, run_examples):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    run_examples(page, "import scanpy")
    pyplot.close("all")


def test_ingest_after_actup_sc(sc, adata):
    sc.pp.pca(adata, n_comps=30)
    reference, new = adata[:700].copy(), adata[700:].copy()
    sc.pp.pca(reference, n_comps=30)
    actup.sc.neighbors(reference)
    actup.sc.umap(reference)
    sc.tl.ingest(new, reference, obs="type")
    known = new.obs["type"].to_numpy()
    assert new.obsm["X_umap"].shape == (200, 2)
    assert np.isfinite(new.obsm["X_umap"]).all()
    assert (known == adata.obs["type"].to_numpy()[700:]).mean() > 0.6


def test_principal_components_are_computed_if_they_are_missing(sc, adata):
    del adata.obsm["X_pca"]
    with pytest.warns(UserWarning, match="computing principal components"):
        actup.sc.neighbors(adata)
    assert adata.obsm["X_pca"].shape == (adata.n_obs, 50)


PROGRAM = """
import numpy as np, scanpy as sc, anndata
from sklearn.datasets import make_blobs
X, y = make_blobs(300, 60, centers=3, random_state=0, shuffle=False)
mixed = np.arange(300).reshape(3, 100).T.ravel()  # ingest centres new cells by their own mean
X, y = X[mixed], y[mixed]
adata = anndata.AnnData(np.maximum(X + 12, 0).astype("float32"))
adata.obs["type"] = np.array(["a", "b", "c"])[y]
sc.pp.pca(adata, n_comps=20)
reference, new = adata[:250].copy(), adata[250:].copy()
sc.pp.pca(reference, n_comps=20)
sc.pp.neighbors(reference)
sc.tl.umap(reference)
sc.tl.tsne(reference)
sc.tl.ingest(new, reference, obs="type")
assert reference.obsm["X_umap"].shape == reference.obsm["X_tsne"].shape == (250, 2)
assert new.obsm["X_umap"].shape == (50, 2)
assert (new.obs["type"].to_numpy() == adata.obs["type"].to_numpy()[250:]).mean() > 0.9
import umap, sklearn.manifold
print(umap.UMAP.__module__, sklearn.manifold.TSNE.__module__)
"""


def test_unchanged_programs_under_the_shim(sc, run_accelerated):
    assert all(name.startswith("actup") for name in run_accelerated(PROGRAM).split()[-2:])
