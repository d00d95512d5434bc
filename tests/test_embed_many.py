"""embed_many: the same maps as embed, with the stages that recipes share computed once."""

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup import embed, embed_many
from actup.backends import load_backend
from actup.progress import Progress
from actup.recipe._presets import preset

cpu = load_backend("cpu")

TSNE = preset("tsne").but(epochs=15)
SPECTRUM = [TSNE.but(late_exaggeration=value) for value in (1, 2, 4)]
UMAP = preset("gdr_umap").but(epochs=15)


@pytest.fixture(scope="module")
def X():
    return np.float32(load_digits().data[:300])


@pytest.fixture
def stage_counts(monkeypatch):
    """Count how often each stage of the CPU backend runs."""
    counts = Counter()

    def counting(name, stage):
        def run(*settings):
            counts[name] += 1
            return stage(*settings)

        return run

    for name in ("nearest_neighbors", "affinity_graph", "spectral_coordinates", "make_layout"):
        monkeypatch.setattr(cpu, name, counting(name, getattr(cpu, name)))
    return counts


def test_maps_equal_those_of_embed(X):
    recipes = [UMAP, TSNE, UMAP.but(n_neighbors=10), TSNE.but(initialization="spectral"), "gdr_tsne"]
    maps = embed_many(X, recipes, seed=3)
    for recipe, found in zip(recipes, maps.results.values(), strict=True):
        alone = embed(X, recipe, seed=3)
        np.testing.assert_array_equal(found.embedding, alone.embedding)
        np.testing.assert_array_equal(found.neighbors.indices, alone.neighbors.indices)
        np.testing.assert_array_equal(found.graph.weights, alone.graph.weights)
        assert (found.recipe, found.init_used) == (alone.recipe, alone.init_used)


def test_shared_stages_are_computed_once(X, stage_counts):
    uniform = UMAP.but(affinity="uniform")
    embed_many(X, [UMAP, *SPECTRUM, UMAP.but(repulsion_rate=1), uniform, uniform.but(spread=2)])
    assert stage_counts == {
        "nearest_neighbors": 1,
        "affinity_graph": 3,
        "spectral_coordinates": 2,
        "make_layout": 7,
    }


def test_alignment_keeps_distances_and_is_optimal(X):
    maps = embed_many(X, SPECTRUM)
    assert list(maps.aligned) == list(maps.results)
    first = next(iter(maps.aligned.values()))
    for name, aligned in maps.aligned.items():
        Y = maps.results[name].embedding
        np.testing.assert_allclose(
            np.linalg.norm(aligned - aligned[0], axis=1),
            np.linalg.norm(Y - Y[0], axis=1),
            rtol=1e-4,
            atol=1e-4,
        )
        np.testing.assert_allclose(aligned.mean(axis=0), 0, atol=1e-6)
        left, _, right = np.linalg.svd(aligned.T @ first)
        np.testing.assert_allclose(left @ right, np.eye(2), atol=1e-6)  # no rotation would bring it closer


@pytest.mark.parametrize("value", [0.3, 0.02])
def test_a_larger_partition_gives_a_more_compact_map(X, value):
    recipe = preset("tsne").but(perplexity=10)
    sizes = [
        found.embedding.std()
        for found in embed_many(X, [recipe, recipe.but(partition=value)], seed=1).results.values()
    ]
    own_partition = partition_of(embed(X, recipe, seed=1).embedding)
    assert (sizes[1] < sizes[0]) == (value > own_partition)


def partition_of(Y):
    d2 = ((Y[:, None] - Y) ** 2).sum(axis=2)
    return ((1 / (1 + d2)).sum() - len(Y)) / len(Y) ** 2


def test_default_and_given_names(X):
    assert list(embed_many(X, ["tsne", "gdr_umap"]).results) == ["tsne", "gdr_umap"]
    spectrum = ["late_exaggeration=1.0", "late_exaggeration=2.0", "late_exaggeration=4.0"]
    assert list(embed_many(X, SPECTRUM).results) == spectrum
    assert list(embed_many(X, [TSNE, UMAP]).results) == ["map 1", "map 2"]
    assert list(embed_many(X, iter(SPECTRUM), names=["a", "b", "c"]).aligned) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("recipes", "settings", "message"),
    [
        ([], {}, r"recipes=\[\] is empty"),
        (SPECTRUM, {"names": ["a", "b"]}, "must be 3 different names"),
        (SPECTRUM, {"names": ["a", "b", "a"]}, "must be 3 different names"),
        (["tsne", "tsne"], {}, "must be 2 different names"),
        ([TSNE, TSNE.but(metric="cosine")], {}, "recipes have metric of cosine, euclidean"),
        ([TSNE, TSNE.but(n_components=3)], {}, "recipes have n_components of 2, 3"),
        ([TSNE, TSNE.but(perplexity=400)], {}, "perplexity=400.0 must be less"),
        ([TSNE], {"seed": -1}, "seed=-1"),
        ([TSNE], {"threads": 0}, "threads=0"),
        ([TSNE], {"backend": "abacus"}, "backend='abacus'"),
    ],
)
def test_invalid_arguments_are_rejected_by_name(X, recipes, settings, message):
    with pytest.raises(ValueError, match=message):
        embed_many(X, recipes, **settings)


def test_stopping_keeps_the_maps_up_to_the_stopped_one(X):
    layouts = []

    def stop_in_second_layout(stage, fraction, embedding):
        if stage == "layout" and fraction == 0:
            layouts.append(stage)
        return len(layouts) == 2 and stage == "layout"

    maps = embed_many(X, SPECTRUM, names=["a", "b", "c"], progress=Progress(callback=stop_in_second_layout))
    assert [found.interrupted for found in maps.results.values()] == [False, True]
    assert list(maps.aligned) == ["a", "b"]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.filterwarnings("ignore:n_neighbors=15")
def test_few_points_give_finite_aligned_maps(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    maps = embed_many(X, [UMAP, UMAP.but(spread=2)])
    assert all(aligned.shape == (n, 2) for aligned in maps.aligned.values())
    assert all(np.isfinite(aligned).all() for aligned in maps.aligned.values())


def test_too_large_n_neighbors_is_lowered_with_a_warning():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.warns(UserWarning, match="n_neighbors=15 is larger"):
        maps = embed_many(X, [UMAP])
    assert maps.results["map 1"].recipe.n_neighbors == 10


@pytest.mark.parametrize("recipe", ["umap", preset("umap")])
def test_a_single_recipe_makes_one_map(X, recipe):
    maps = embed_many(X[:100], recipe, names="mine")
    np.testing.assert_array_equal(maps.results["mine"].embedding, embed(X[:100], "umap").embedding)
    assert list(embed_many(X[:100], "umap").results) == ["umap"]


@pytest.mark.parametrize(
    ("recipes", "message"),
    [
        (5, r"^recipes=5 must be"),
        ({"a": "umap"}, r"^recipes is a mapping.* names=list\(recipes\)"),
        (["umap", 5], r"^recipes\[1\]=5 must be a Recipe or the name of a preset"),
    ],
)
def test_what_is_no_recipe_is_rejected(X, recipes, message):
    with pytest.raises(TypeError, match=message):
        embed_many(X, recipes)
