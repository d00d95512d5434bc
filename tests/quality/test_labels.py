"""Measures that need labels, against scikit-learn and in edge cases."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from actup import quality
from actup.quality._labels import _elect_by_counting, _elect_by_sorting
from plain_measures import N


@pytest.mark.parametrize("k", [1, 7, 40])
def test_knn_accuracy_equals_sklearns_classifier(Y, labels, k):
    expected = cross_val_score(KNeighborsClassifier(k), Y, labels, cv=LeaveOneOut()).mean()
    assert quality.knn_accuracy(Y, labels, k, shrink=False) == pytest.approx(expected, abs=1e-12)


def test_knn_accuracy_leaves_a_point_out_by_index(rng):
    Y = np.zeros((30, 2))
    labels = np.arange(30)
    assert quality.knn_accuracy(Y, labels, 1) == 0
    Y = np.repeat(rng.normal(size=(10, 2)), 3, axis=0)
    assert quality.knn_accuracy(Y, np.repeat(np.arange(10), 3), 2) == 1


def test_knn_accuracy_takes_the_smallest_label_of_a_tie():
    Y = [[0.0], [1.0], [2.0], [10.0]]
    # Votes: 1 and 0, 0 and 0, 1 and 0, 0 and 1: every point is predicted as 0.
    assert quality.knn_accuracy(Y, [0, 1, 0, 1], 2, shrink=False) == 0.5
    assert quality.knn_accuracy(Y, list("abab"), 2, shrink=False) == 0.5
    assert quality.knn_accuracy(Y, [0, 1, 1, 1], 2, shrink=False) == 0.25


def test_knn_accuracy_of_random_labels_is_chance(rng):
    labels = rng.integers(0, 4, 4000)
    assert quality.knn_accuracy(rng.normal(size=(4000, 2)), labels) == pytest.approx(0.25, abs=0.04)


def test_voters_shrink_with_the_classes():
    assert quality.voters(np.repeat(np.arange(10), 500)) == 100
    assert quality.voters(np.repeat(np.arange(100), 72)) == 71
    assert quality.voters([1, 2, 3]) == 1
    assert quality.voters(np.zeros(9), 4) == 4


def test_v_measure_equals_sklearns(Y, labels):
    expected = v_measure_score(labels, KMeans(3, n_init=20, random_state=1).fit_predict(Y))
    assert quality.v_measure(Y, labels) == pytest.approx(expected, abs=0.02)
    assert quality.v_measure(Y, np.full(N, "one")) == 1
    separate = np.repeat([[0.0, 0], [9, 0], [0, 9]], 5, axis=0)
    assert quality.v_measure(separate, np.repeat(list("xyz"), 5)) == pytest.approx(1)


def test_v_measure_with_fewer_places_than_classes():
    assert quality.v_measure(np.zeros((6, 2)), np.arange(6)) == 0


@pytest.mark.parametrize("classes", [1, 3, 400])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_votes_are_the_same_however_they_are_counted(rng, classes, k):
    """With many classes nearly all votes are ties."""
    votes = rng.integers(0, classes, (2000, k))
    expected = _elect_by_counting(votes, classes)
    np.testing.assert_array_equal(_elect_by_sorting(votes, classes), expected)


def test_a_class_for_every_point(rng):
    Y, labels = rng.normal(size=(60_000, 2)), np.arange(60_000)
    start = time.process_time()
    assert quality.knn_accuracy(Y, labels) == 0
    assert quality.knn_accuracy(Y, labels, 20, shrink=False) == 0
    with pytest.raises(quality.NotMeasurable, match="60000 clusters would take"):
        quality.v_measure(Y, labels)
    assert time.process_time() - start < 5
