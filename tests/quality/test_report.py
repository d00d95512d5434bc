"""The report of all measures, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from actup import quality as metrics
from actup.graph._records import Graph
from plain_measures import N


def test_report_has_the_value_of_every_function(X, Y, labels, graph, capsys):
    others = [Y[:, ::-1] ** 2]
    report = metrics.quality_report(X, Y, labels, graph=graph, others=others, a=1.5, b=0.9, sample=150)
    given = {"sample": 150}
    pairs = {"sample": 7500}
    assert dict(report) == {
        "knn_accuracy": metrics.knn_accuracy(Y, labels),
        "v_measure": metrics.v_measure(Y, labels),
        "neighbor_recall": metrics.neighbor_recall(X, Y, **given),
        "trustworthiness": metrics.trustworthiness(X, Y, **given),
        "continuity": metrics.continuity(X, Y, **given),
        "triplet_accuracy": metrics.triplet_accuracy(X, Y, **pairs),
        "distance_correlation": metrics.distance_correlation(X, Y, **pairs),
        "kl_divergence": metrics.kl_divergence(graph, Y, 1.5, 0.9),
        "cross_entropy": metrics.cross_entropy(graph, Y, 1.5, 0.9),
        "frobenius_loss": metrics.frobenius_loss(graph, Y, 1.5, 0.9),
        "seed_disparity": metrics.seed_stability([Y, *others], **given).disparity,
        "seed_jaccard": metrics.seed_stability([Y, *others], **given).jaccard,
    }
    assert not report.left_out
    assert capsys.readouterr().out == f"{report}\n"


def test_report_does_not_depend_on_the_number_of_threads(X, Y, labels, graph):
    given = {"graph": graph, "others": [Y + 1], "verbose": False}
    one, three = (metrics.quality_report(X, Y, labels, n_jobs=jobs, **given) for jobs in (1, 3))
    assert dict(one) == dict(three)


def test_report_says_what_it_left_out(X, Y, capsys):
    report = metrics.quality_report(X, Y, verbose=False)
    assert capsys.readouterr().out == ""
    assert set(report) == {
        "neighbor_recall",
        "trustworthiness",
        "continuity",
        "triplet_accuracy",
        "distance_correlation",
    }
    for text in (str(report), report._repr_html_()):
        assert "left out: knn_accuracy, v_measure (needs labels: give y)" in text
        assert "kl_divergence, cross_entropy, frobenius_loss (needs the neighbour graph: give graph)" in text
        assert "seed_disparity, seed_jaccard (needs maps of other seeds: give others)" in text
        assert f"{report['trustworthiness']:.4f} ↑" in text
    assert "trustworthiness=" in repr(report)
    with pytest.raises(KeyError, match="left out: needs labels"):
        report["knn_accuracy"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_report_of_tiny_maps(rng, n):
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    graph = Graph.from_scipy(scipy.sparse.csr_matrix(1 - np.eye(n)))
    report = metrics.quality_report(
        X, Y, np.arange(n) % 2, graph=graph, others=[Y], sample=None, verbose=False
    )
    assert len(report) + len(report.left_out) == 12
    assert np.isfinite(list(report.values())).all()
    assert ("kl_divergence" in report) == (n > 1)
    assert ("triplet_accuracy" in report) == (n > 2)
    assert report.left_out["trustworthiness"] == f"k=15 is too large for {n} points"


def test_report_leaves_long_sums_out(X, Y, graph, monkeypatch):
    monkeypatch.setitem(metrics._MOST_POINTS, "pairs", N - 1)
    report = metrics.quality_report(X, Y, graph=graph, verbose=False)
    assert "call the function itself" in report.left_out["kl_divergence"]
    assert "distance_correlation" in report


def with_nan(A):
    A = A.copy()
    A[3, 1] = np.nan
    return A


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: metrics.neighbor_recall(with_nan(X), Y), "X holds NaN"),
        (lambda X, Y: metrics.triplet_accuracy(scipy.sparse.csr_array(with_nan(X)), Y), "X holds NaN"),
        (lambda X, Y: metrics.neighbor_recall(X, with_nan(Y)), "Y holds NaN"),
        (lambda X, Y: metrics.neighbor_recall(X[:-1], Y), f"X has {N - 1} rows and Y has {N}"),
        (lambda X, Y: metrics.neighbor_recall(X[:, 0], Y), "X must have two dimensions"),
        (lambda X, Y: metrics.neighbor_recall(X.astype(str), Y), "X must hold real numbers"),
        (lambda X, Y: metrics.neighbor_recall(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: metrics.triplet_accuracy(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: metrics.neighbor_recall(X, Y[:, 0]), "Y must have the shape"),
        (lambda X, Y: metrics.neighbor_recall(X, Y, N), f"k={N} is too large for {N} points"),
        (lambda X, Y: metrics.neighbor_recall(X, Y, 0), "k=0 must be at least 1"),
        (lambda X, Y: metrics.trustworthiness(X, Y, N // 2), "too large"),
        (lambda X, Y: metrics.continuity(X, Y, metric="hamming"), "metric='hamming' is not one of"),
        (lambda X, Y: metrics.continuity(X, Y, sample=0), "sample=0 must be at least 1"),
        (lambda X, Y: metrics.continuity(X, Y, n_jobs=0), "n_jobs=0"),
        (lambda X, Y: metrics.triplet_accuracy(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: metrics.distance_correlation(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: metrics.knn_accuracy(Y, np.zeros(3)), rf"shape \({N},\)"),
        (lambda X, Y: metrics.knn_accuracy(Y, X[:, 0]), "labels must be classes"),
        (lambda X, Y: metrics.knn_accuracy(Y, np.zeros(N), N, shrink=False), "too large"),
        (lambda X, Y: metrics.knn_accuracy(Y[:1], [0]), "at least 2"),
        (lambda X, Y: metrics.seed_stability([Y]), "two maps or more"),
        (lambda X, Y: metrics.seed_stability([Y, Y[:-1]]), "of one shape"),
    ],
)
def test_errors_name_what_is_wrong(X, Y, call, message):
    with pytest.raises(ValueError, match=message):
        call(X, Y)


def test_losses_refuse_what_does_not_fit(Y, graph):
    with pytest.raises(ValueError, match=r"a=0 must be a finite number greater than 0"):
        metrics.kl_divergence(graph, Y, a=0)
    with pytest.raises(ValueError, match=f"the graph has {N} points and Y has {N - 1} rows"):
        metrics.cross_entropy(graph, Y[1:])
    with pytest.raises(ValueError, match="no edges"):
        metrics.frobenius_loss(Graph(np.zeros(N + 1), [], []), Y)
    with pytest.raises(TypeError, match=r"k=1.5 must be an integer"):
        metrics.neighbor_recall(Y, Y, 1.5)
