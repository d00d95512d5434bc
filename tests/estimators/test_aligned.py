"""AlignedUMAP: related samples lie at similar places of the maps of all slices."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from actup import UMAP, AlignedUMAP
from actup.quality import trustworthiness


@pytest.fixture(scope="module")
def slices():
    X, _ = load_digits(return_X_y=True)
    return [X[:300], X[75:375], X[150:450]]


RELATIONS = [{75 + i: i for i in range(225)}] * 2


def movement(maps):
    """The mean distance between related points of neighbouring maps, as a share of the maps' radius."""
    moved = [np.sqrt(((maps[i][75:] - maps[i + 1][:225]) ** 2).sum(axis=1)).mean() for i in range(2)]
    return np.mean(moved) / np.sqrt(maps[0].var(axis=0).sum())


@pytest.fixture(scope="module")
def aligned(slices):
    return AlignedUMAP(random_state=0, n_epochs=100).fit(slices, relations=RELATIONS)


def test_related_points_lie_together(slices, aligned):
    apart = [UMAP(random_state=0, n_epochs=100).fit_transform(X) for X in slices]
    assert movement(aligned.embeddings_) < 0.1 and movement(apart) > 0.3
    for X, Y, alone in zip(slices, aligned.embeddings_, apart, strict=True):
        assert trustworthiness(X, Y) > trustworthiness(X, alone) - 0.03


def test_attributes(slices, aligned):
    assert aligned.n_models_ == 3 and aligned.dict_relations_ == RELATIONS
    for X, Y, mapper in zip(slices, aligned.embeddings_, aligned.mappers_, strict=True):
        assert Y.dtype == np.float32 and Y is mapper.embedding_
        np.testing.assert_array_equal(mapper.transform(X), Y)


def test_same_bits_at_any_number_of_threads(slices, aligned):
    again = clone(aligned).set_params(n_jobs=1).fit_transform(slices, relations=RELATIONS)
    for one, other in zip(again, aligned.embeddings_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_interrupt_of_the_layout_keeps_the_maps(slices):
    def interrupt(stage, fraction, embedding):
        if stage == "layout" and fraction >= 0.25:
            raise KeyboardInterrupt

    model = AlignedUMAP(random_state=0, n_epochs=40, callback=interrupt)
    with pytest.warns(UserWarning, match="interrupted at epoch 10 of 40: the points stay where they are"):
        model.fit(slices, relations=RELATIONS)
    finished = AlignedUMAP(random_state=0, n_epochs=40).fit(slices, relations=RELATIONS)
    for X, Y, mapper, last in zip(
        slices, model.embeddings_, model.mappers_, finished.embeddings_, strict=True
    ):
        assert np.isfinite(Y).all() and not np.array_equal(Y, last)
        np.testing.assert_array_equal(mapper.transform(X), Y)


def test_an_interrupt_before_the_layout_keeps_the_former_model(slices):
    def interrupt(stage, fraction, embedding):
        if stage == "graph":
            raise KeyboardInterrupt

    model = AlignedUMAP(random_state=0, n_epochs=5).fit(slices[:2], relations=RELATIONS[:1])
    former = model.embeddings_
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(slices, relations=RELATIONS)
    assert model.embeddings_ is former


def test_strength_and_window_matter(slices, aligned):
    loose = clone(aligned).set_params(alignment_regularisation=0.0).fit(slices, relations=RELATIONS)
    assert movement(loose.embeddings_) > movement(aligned.embeddings_)
    narrow = clone(aligned).fit(slices, relations=RELATIONS, window_size=1)
    assert not np.array_equal(narrow.embeddings_[0], aligned.embeddings_[0])


@pytest.mark.parametrize("learning_rate", ["auto", 1.0])
def test_alignment_keeps_neighborhoods(slices, learning_rate):
    """Related points lie closer together than without alignment, at a small cost in neighbourhoods."""
    aligned, loose = (
        AlignedUMAP(learning_rate=learning_rate, alignment_regularisation=strength, random_state=0)
        .fit(slices, relations=RELATIONS)
        .embeddings_
        for strength in (0.01, 0.0)
    )
    assert movement(aligned) < 0.6 * movement(loose)
    kept, free = (
        np.mean([trustworthiness(X, Y) for X, Y in zip(slices, maps, strict=True)])
        for maps in (aligned, loose)
    )
    assert kept > free - 0.01


def test_update_keeps_former_maps(slices):
    model = AlignedUMAP(random_state=0, n_epochs=60).fit(slices[:2], relations=RELATIONS[:1])
    before = [Y.copy() for Y in model.embeddings_]
    model.update(slices[2], relations=RELATIONS[1])
    for kept, Y in zip(before, model.embeddings_, strict=False):
        np.testing.assert_array_equal(kept, Y)
    assert model.n_models_ == 3 and movement(model.embeddings_) < 0.35


def test_values_for_each_slice_and_labels(slices):
    labels = [load_digits().target[begin : begin + 300] for begin in (0, 75, 150)]
    model = AlignedUMAP(n_neighbors=[5, 10, 15], random_state=0, n_epochs=20)
    model.fit(slices, labels, relations=RELATIONS)
    assert [mapper.recipe_.n_neighbors for mapper in model.mappers_] == [5, 10, 15]


def test_slices_of_other_columns_and_pairs_as_arrays(slices):
    pairs = np.column_stack([np.arange(225) + 75, np.arange(225)])
    model = AlignedUMAP(random_state=0, n_epochs=20).fit([slices[0], slices[1][:, :40]], relations=[pairs])
    assert [Y.shape for Y in model.embeddings_] == [(300, 2)] * 2


@pytest.mark.parametrize(
    ("parameters", "relations", "error", "message"),
    [
        ({}, None, ValueError, "relations is missing"),
        ({}, RELATIONS[:1], ValueError, "list of 2 dicts for 3 slices"),
        ({}, [{0: 900}, {}], ValueError, r"relations\[0\] has samples 900 to 900 of slice 1"),
        ({}, [{0: 1, 2: 1}, {}], ValueError, r"relations\[0\] names a sample of slice 1 twice"),
        ({}, [[[0.5, 1.5]], {}], TypeError, r"relations\[0\] must be a dict"),
        ({"n_neighbors": [5, 6]}, RELATIONS, ValueError, "n_neighbors has 2 values"),
        ({"alignment_window_size": 0}, RELATIONS, ValueError, "alignment_window_size=0"),
        ({"alignment_regularisation": -1}, RELATIONS, ValueError, "alignment_regularisation=-1"),
        ({"min_dist": -1}, RELATIONS, ValueError, "min_dist=-1"),
        ({"n_epochs": [5, 6, 7]}, RELATIONS, TypeError, r"n_epochs=\[5, 6, 7\] must be one integer"),
    ],
)
def test_wrong_arguments(slices, parameters, relations, error, message):
    model = AlignedUMAP(**{"n_epochs": 5, **parameters})
    with pytest.raises(error, match=message):
        model.fit(slices, relations=relations)
    assert not hasattr(model, "embeddings_")


def test_update_needs_a_fitted_model(slices):
    with pytest.raises(NotFittedError):
        AlignedUMAP().update(slices[0], relations={})


def test_update_takes_parameters_of_the_new_slice(slices):
    model = AlignedUMAP(n_neighbors=[10, 10], random_state=0, n_epochs=10)
    model.fit(slices[:2], relations=RELATIONS[:1])
    with pytest.raises(ValueError, match="n_neighbors has 2 values"):
        model.update(slices[2], relations=RELATIONS[1])
    model.update(slices[2], relations=RELATIONS[1], n_neighbors=7)
    assert model.mappers_[2].recipe_.n_neighbors == 7 and model.n_neighbors == [10, 10]
    model.update(slices[2], relations={i: i for i in range(300)}, n_neighbors=7, n_epochs=3)
    assert [mapper.n_epochs_ for mapper in model.mappers_] == [10, 10, 10, 3]
    with pytest.raises(TypeError, match="'colour' is no parameter of a slice"):
        model.update(slices[2], relations=RELATIONS[1], colour=3)
