"""What programs for umap-learn rely on: labels, combined models, densMAP, aligned maps."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

from actup.compat.umap import UMAP
from umap_models import DIGITS, NUMBERS, aligned, short

RNG = np.random.default_rng(1)


# supervision


def accuracy(embedding, y):
    return KNeighborsClassifier(5).fit(embedding[::2], y[::2]).score(embedding[1::2], y[1::2])


def test_labels_separate_classes_that_overlap():
    X = np.concatenate([RNG.normal(0, 1, (150, 6)), RNG.normal(0.8, 1, (150, 6))])
    y = np.repeat([0, 1], 150)
    plain, supervised = UMAP(random_state=0).fit_transform(X), UMAP(random_state=0).fit_transform(X, y)
    assert accuracy(supervised, y) > accuracy(plain, y) + 0.05
    assert accuracy(supervised, y) > 0.95


@pytest.mark.parametrize(
    "labels", [["a", "b", "c"], [0.0, 1.0, 2.0], [True, False, True], [10, 20, 30]], ids=str
)
def test_kinds_of_labels(labels):
    y = np.array(labels)[np.arange(120) % 3]
    assert short().fit_transform(NUMBERS, y).shape == (120, 2)
    assert short().fit_transform(NUMBERS, y.tolist()).shape == (120, 2)


def test_unlabelled_rows():
    X, y = DIGITS.data[:500], DIGITS.target[:500].copy()
    known = y.copy()
    known[::3] = -1
    embedding = UMAP(random_state=0).fit_transform(X, known)
    model = KNeighborsClassifier(5).fit(embedding[known >= 0], y[known >= 0])
    assert model.score(embedding[known < 0], y[known < 0]) > 0.9


@pytest.mark.parametrize("target_metric", ["l2", "euclidean", "manhattan", "ordinal", "count"])
def test_target_metrics(target_metric):
    y = np.arange(120) // 12
    model = short(target_metric=target_metric, target_n_neighbors=8).fit(NUMBERS, y)
    assert np.isfinite(model.embedding_).all()
    assert abs(model.graph_ - short().fit(NUMBERS).graph_).max() > 0


def test_a_supervised_model_transforms():
    model = UMAP(random_state=0).fit(DIGITS.data[:1000], DIGITS.target[:1000])
    places = model.transform(DIGITS.data[1000:1400])
    classifier = KNeighborsClassifier(5).fit(model.embedding_, DIGITS.target[:1000])
    assert classifier.score(places, DIGITS.target[1000:1400]) > 0.93  # umap-learn: 0.95


def test_y_of_another_length_is_rejected():
    with pytest.raises(ValueError):
        short().fit(NUMBERS, np.zeros(7))


# composite models


@pytest.fixture(scope="module")
def two_models():
    X = DIGITS.data[:200]
    return [UMAP(random_state=0, n_epochs=40).fit(part) for part in (X[:, :32], X[:, 32:])]


@pytest.mark.parametrize("operator", ["__mul__", "__add__", "__sub__"])
def test_models_are_combined(two_models, operator):
    one, other = two_models
    before = one.graph_.copy(), one.embedding_.copy()
    combined = getattr(one, operator)(other)
    assert isinstance(combined, UMAP)
    assert combined.embedding_.shape == (200, 2)
    assert np.isfinite(combined.embedding_).all()
    assert abs(combined.graph_ - combined.graph_.T).max() < 1e-6
    assert abs(one.graph_ - before[0]).max() == 0
    assert np.array_equal(one.embedding_, before[1])


def test_combined_models_combine(two_models):
    one, other = two_models
    assert ((one * other) + one).embedding_.shape == (200, 2)


def test_a_union_has_the_edges_of_both(two_models):
    one, other = two_models
    both = (one + other).graph_
    assert both.nnz >= max(one.graph_.nnz, other.graph_.nnz)
    X = DIGITS.data[:200]
    assert trustworthiness(X, (one + other).embedding_, n_neighbors=10) > 0.85


def test_models_of_other_rows_cannot_be_combined(two_models):
    with pytest.raises(ValueError):
        two_models[0] * short().fit(NUMBERS)
    with pytest.raises((NotFittedError, ValueError)):
        two_models[0] + UMAP()


# densMAP


@pytest.fixture(scope="module")
def uneven():
    """Two groups of rows, one of them ten times as wide."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(0, 0.3, (150, 6)), rng.normal(10, 3.0, (150, 6))]).astype(np.float32)


def test_densmap_preserves_densities_better(uneven):
    correlations = {}
    for densmap in (False, True):
        model = UMAP(densmap=densmap, output_dens=True, random_state=0, n_neighbors=20)
        embedding, of_data, of_map = model.fit_transform(uneven)
        assert embedding.shape == (300, 2)
        assert of_data.shape == of_map.shape == (300,)
        assert np.array_equal(model.rad_orig_, of_data)
        assert np.array_equal(model.rad_emb_, of_map)
        correlations[densmap] = np.corrcoef(of_data, of_map)[0, 1]
    assert correlations[True] > max(0.6, correlations[False])


def test_densmap_with_labels_stays_trustworthy(uneven):
    y = np.repeat([0, 1], 150)
    embedding = UMAP(densmap=True, random_state=0).fit_transform(uneven, y)
    assert trustworthiness(uneven, embedding, n_neighbors=10) > 0.85


def test_densmap_has_no_transform_and_no_inverse(uneven):
    model = UMAP(densmap=True, n_epochs=30, random_state=0).fit(uneven)
    with pytest.raises(NotImplementedError):
        model.transform(uneven[:3])
    with pytest.raises(ValueError):
        model.inverse_transform(model.embedding_[:3])


def test_one_sample_places_no_rows():
    with pytest.raises(ValueError):
        UMAP().fit([[1, 1, 1, 1]]).transform([[0, 0, 0, 0]])


def test_dense_and_sparse_rows_on_one_map():
    X = NUMBERS[:50]
    dense, sparse_model = short().fit(X), short().fit(sparse.csr_matrix(X))
    new = X[:3] + 0.01
    np.testing.assert_array_equal(dense.transform(sparse.csr_matrix(new)), dense.transform(new))
    np.testing.assert_array_equal(sparse_model.transform(new), sparse_model.transform(sparse.csr_matrix(new)))


def test_neighborhoods_of_few_distinct_rows():
    X = [[5, 6, 7, 8]] * 6 + [[1, 1, 1, 1], [1, 2, 3, 4], [1, 1, 2, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert UMAP(n_neighbors=5, unique=True).fit(X)._n_neighbors == 3


def test_densities_without_densmap(uneven):
    model = UMAP(output_dens=True, n_epochs=30, random_state=0).fit(uneven)
    assert model.rad_orig_.shape == model.rad_emb_.shape == (300,)
    assert model.rad_orig_[150:].mean() > model.rad_orig_[:150].mean()


# series of data sets


@pytest.fixture(scope="module")
def slices():
    X = DIGITS.data[np.argsort(DIGITS.target, kind="stable")][::2]
    return [X[60 * i : 60 * i + 200] for i in range(4)], [{i + 60: i for i in range(140)} for _ in range(3)]


def test_aligned_maps(slices):
    data, relations = slices
    model = aligned().fit(data, relations=relations)
    assert len(model.embeddings_) == len(model.mappers_) == model.n_models_ == 4
    for X, embedding in zip(data, model.embeddings_, strict=True):
        assert embedding.shape == (200, 2)
        assert trustworthiness(X, embedding, n_neighbors=10) > 0.85
    for before, after in zip(model.embeddings_[:-1], model.embeddings_[1:], strict=True):
        moved = np.linalg.norm(before[60:] - after[:140], axis=1).mean()
        assert moved < 0.3 * np.linalg.norm(after - after.mean(axis=0), axis=1).mean() + 1


def test_more_regularisation_moves_less(slices):
    data, relations = slices
    moved = []
    for strength in (1e-4, 0.1):
        maps = aligned(alignment_regularisation=strength).fit(data, relations=relations).embeddings_
        moved.append(
            np.mean([np.linalg.norm(a[60:] - b[:140], axis=1).mean() for a, b in itertools.pairwise(maps)])
        )
    assert moved[1] < moved[0]


def test_aligned_maps_with_parameters_for_each(slices):
    data, relations = slices
    model = aligned(n_neighbors=[5, 10, 15, 20]).fit(data, relations=relations)
    assert [each.shape for each in model.embeddings_] == [(200, 2)] * 4


def test_aligned_maps_need_relations(slices):
    with pytest.raises((TypeError, ValueError)):
        aligned().fit(slices[0])
    with pytest.raises(ValueError):
        aligned().fit(slices[0], relations=slices[1][:1])


def test_aligned_update(slices):
    data, relations = slices
    model = aligned().fit(data[:3], relations=relations[:2])
    model.update(data[3], relations=relations[2])
    assert len(model.embeddings_) == 4
    assert trustworthiness(data[3], model.embeddings_[3], n_neighbors=10) > 0.8
