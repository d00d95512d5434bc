"""The report of all measures, and the inputs they reject."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest
import scipy.sparse

from actup import metrics, quality
from actup.graph._records import Graph
from actup.quality import _measures
from actup.quality._measures import MEASURES
from plain_measures import N

NAMES = [measure.name for measure in MEASURES]


@pytest.fixture
def optional_inputs(Y, labels, graph):
    return {"y": labels, "graph": graph, "others": [Y[:, ::-1] ** 2], "verbose": False}


@pytest.mark.parametrize("measure", MEASURES, ids=NAMES)
def test_every_measure_of_the_table(measure, X, Y, optional_inputs):
    """A new row of the table is covered without new test code."""
    one, three = (quality.quality_report(X, Y, n_jobs=jobs, **optional_inputs) for jobs in (1, 3))
    assert np.isfinite(one[measure.name])
    assert one[measure.name] == three[measure.name]
    measured = one.measurements[measure.name]
    assert measured.better == measure.better in ("higher", "lower")
    assert measured.note and "{" not in measured.note
    for text in (str(one), unescape(one._repr_html_())):
        assert measure.name in text and measured.note in text
    bare = quality.quality_report(X, Y, verbose=False)
    assert measure.name in bare or bare.left_out[measure.name].startswith("needs ")


def test_report_has_the_value_of_every_function(X, Y, labels, graph, capsys):
    others = [Y[:, ::-1] ** 2]
    report = quality.quality_report(X, Y, labels, graph=graph, others=others, a=1.5, b=0.9, sample=150)
    given = {"sample": 150}
    pairs = {"sample": 7500}
    expected = {
        "knn_accuracy": quality.knn_accuracy(Y, labels),
        "v_measure": quality.v_measure(Y, labels),
        "neighbor_recall": quality.neighbor_recall(X, Y, **given),
        "trustworthiness": quality.trustworthiness(X, Y, **given),
        "continuity": quality.continuity(X, Y, **given),
        "triplet_accuracy": quality.triplet_accuracy(X, Y, **pairs),
        "distance_correlation": quality.distance_correlation(X, Y, **pairs),
        "kl_divergence": quality.kl_divergence(graph, Y, 1.5, 0.9),
        "cross_entropy": quality.cross_entropy(graph, Y, 1.5, 0.9),
        "frobenius_loss": quality.frobenius_loss(graph, Y, 1.5, 0.9),
        "seed_disparity": quality.seed_stability([Y, *others], **given).disparity,
        "seed_jaccard": quality.seed_stability([Y, *others], **given).jaccard,
    }
    assert list(report) == NAMES and expected.keys() <= report.keys()
    assert {name: report[name] for name in expected} == expected
    assert not report.left_out
    assert capsys.readouterr().out == f"{report}\n"


def test_metrics_is_the_former_name_of_quality():
    assert set(metrics.__all__) == set(quality.__all__)
    assert all(getattr(metrics, name) is getattr(quality, name) for name in quality.__all__)


REASONS = {
    "knn_accuracy": "needs labels: give y",
    "v_measure": "needs labels: give y",
    "kl_divergence": "needs the neighbour graph: give graph",
    "cross_entropy": "needs the neighbour graph: give graph",
    "frobenius_loss": "needs the neighbour graph: give graph",
    "seed_disparity": "needs maps of other seeds: give others",
    "seed_jaccard": "needs maps of other seeds: give others",
}


def test_report_says_what_it_left_out(X, Y, capsys):
    report = quality.quality_report(X, Y, verbose=False)
    assert capsys.readouterr().out == ""
    assert list(report) == [name for name in NAMES if name not in report.left_out]
    assert len(report) + len(report.left_out) == len(NAMES)
    for name in (
        "neighbor_recall",
        "trustworthiness",
        "continuity",
        "triplet_accuracy",
        "distance_correlation",
    ):
        assert name in report
    assert {name: report.left_out.get(name) for name in REASONS} == REASONS
    for text in (str(report), report._repr_html_()):
        for reason in set(REASONS.values()):
            group = [name for name, why in report.left_out.items() if why == reason]
            assert f"left out: {', '.join(group)} ({reason})" in text
        assert f"{report['trustworthiness']:.4f} ↑" in text
    assert "trustworthiness=" in repr(report)
    with pytest.raises(KeyError, match="left out: needs labels"):
        report["knn_accuracy"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_report_of_tiny_maps(rng, n):
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    graph = Graph.from_scipy(scipy.sparse.csr_matrix(1 - np.eye(n)))
    report = quality.quality_report(
        X, Y, np.arange(n) % 2, graph=graph, others=[Y], sample=None, verbose=False
    )
    assert len(report) + len(report.left_out) == len(NAMES)
    assert np.isfinite(list(report.values())).all()
    assert ("kl_divergence" in report) == (n > 1)
    assert ("triplet_accuracy" in report) == (n > 2)
    assert report.left_out["trustworthiness"] == f"k=15 is too large for {n} points"


def test_report_leaves_out_sums_that_take_long(X, Y, graph, monkeypatch):
    monkeypatch.setitem(_measures._MAX_POINTS, "pairs", N - 1)
    report = quality.quality_report(X, Y, graph=graph, verbose=False)
    assert "call the function itself" in report.left_out["kl_divergence"]
    assert "distance_correlation" in report


def with_nan(A):
    A = A.copy()
    A[3, 1] = np.nan
    return A


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: quality.neighbor_recall(with_nan(X), Y), "X holds NaN"),
        (lambda X, Y: quality.triplet_accuracy(scipy.sparse.csr_array(with_nan(X)), Y), "X holds NaN"),
        (lambda X, Y: quality.neighbor_recall(X, with_nan(Y)), "Y holds NaN"),
        (lambda X, Y: quality.neighbor_recall(X[:-1], Y), f"X has {N - 1} rows and Y has {N}"),
        (lambda X, Y: quality.neighbor_recall(X[:, 0], Y), "X must have two dimensions"),
        (lambda X, Y: quality.neighbor_recall(X.astype(str), Y), "X must hold real numbers"),
        (lambda X, Y: quality.neighbor_recall(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: quality.triplet_accuracy(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: quality.neighbor_recall(X, Y[:, 0]), "Y must have the shape"),
        (lambda X, Y: quality.neighbor_recall(X, Y, N), f"k={N} is too large for {N} points"),
        (lambda X, Y: quality.neighbor_recall(X, Y, 0), "k=0 must be at least 1"),
        (lambda X, Y: quality.trustworthiness(X, Y, N // 2), "too large"),
        (lambda X, Y: quality.continuity(X, Y, metric="hamming"), "metric='hamming' is not one of"),
        (lambda X, Y: quality.continuity(X, Y, sample=0), "sample=0 must be at least 1"),
        (lambda X, Y: quality.continuity(X, Y, n_jobs=0), "n_jobs=0"),
        (lambda X, Y: quality.triplet_accuracy(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: quality.distance_correlation(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: quality.knn_accuracy(Y, np.zeros(3)), rf"shape \({N},\)"),
        (lambda X, Y: quality.knn_accuracy(Y, X[:, 0]), "labels must be classes"),
        (lambda X, Y: quality.knn_accuracy(Y, np.zeros(N), N, shrink=False), "too large"),
        (lambda X, Y: quality.knn_accuracy(Y[:1], [0]), "at least 2"),
        (lambda X, Y: quality.seed_stability([Y]), "two maps or more"),
        (lambda X, Y: quality.seed_stability([Y, Y[:-1]]), "of one shape"),
    ],
)
def test_errors_name_what_is_wrong(X, Y, call, message):
    with pytest.raises(ValueError, match=message):
        call(X, Y)


def test_losses_reject_what_does_not_fit(Y, graph):
    with pytest.raises(ValueError, match=r"a=0 must be a finite number greater than 0"):
        quality.kl_divergence(graph, Y, a=0)
    with pytest.raises(ValueError, match=f"the graph has {N} points and Y has {N - 1} rows"):
        quality.cross_entropy(graph, Y[1:])
    with pytest.raises(ValueError, match="no edges"):
        quality.frobenius_loss(Graph(np.zeros(N + 1), [], []), Y)
    with pytest.raises(TypeError, match=r"k=1.5 must be an integer"):
        quality.neighbor_recall(Y, Y, 1.5)


def test_the_graph_of_an_estimator_is_accepted(X, Y, graph):
    from_record = quality.quality_report(X, Y, graph=graph, verbose=False)
    from_matrix = quality.quality_report(X, Y, graph=graph.to_scipy(), verbose=False)
    assert from_matrix["kl_divergence"] == from_record["kl_divergence"]


def test_a_fitted_model_stands_for_its_map():
    from actup import UMAP

    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    model = UMAP(n_epochs=5, n_neighbors=5, random_state=0).fit(X)
    assert quality.trustworthiness(X, model) == quality.trustworthiness(X, model.embedding_)


def test_containers_of_several_matrices_are_rejected_with_a_remedy():
    AnnData = type("AnnData", (), {"shape": (3, 2), "obs": None, "obsm": {}, "X": np.ones((3, 2))})
    with pytest.raises(TypeError, match=r"X is an AnnData, .* give one of them"):
        quality.trustworthiness(AnnData(), np.zeros((3, 2)))


def test_maps_without_data_have_the_measures_of_labels_only():
    Y = np.random.default_rng(0).normal(size=(60, 2))
    report = quality.quality_report(None, Y, np.repeat([0, 1], 30), verbose=False)
    assert list(report) == ["knn_accuracy", "v_measure"]
    assert report.left_out["trustworthiness"] == "needs distances between rows of the data: give X"
