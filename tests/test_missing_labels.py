"""Labels that are missing, in every type that has such values: grey in pictures, rejected by measures."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from actup import quality
from actup._labels import label_array, missing_labels
from actup.plotting import plot_embedding
from actup.plotting._scene import Classes, Values, read_labels
from page_file import page_of

matplotlib.use("Agg")
pd = pytest.importorskip("pandas")

NA = pd.NA
LARGE = 2**60  # float64 cannot tell it from its successor
# Six labels each; the second class comes first, and only these two are known.
LABELS = {
    "objects": (pd.Series(["b", NA, "a", None, float("nan"), pd.NaT], dtype=object), ["a", "b"]),
    "array of objects": (np.array(["b", NA, "a", None, np.nan, pd.NaT], object), ["a", "b"]),
    "list": (["b", NA, "a", None, float("nan"), pd.NaT], ["a", "b"]),
    "string": (pd.Series(["b", NA, "a", NA, NA, NA], dtype="string"), ["a", "b"]),
    "default text": (pd.Series(["b", None, "a", None, None, None]), ["a", "b"]),
    "category": (pd.Series(["b", None, "a", None, None, None], dtype="category"), ["a", "b"]),
    "Int64": (pd.Series([20, NA, 3, NA, NA, NA], dtype="Int64"), ["3", "20"]),
    "large": (np.array([LARGE + 1, NA, LARGE, NA, NA, NA], object), [str(LARGE), str(LARGE + 1)]),
    "Float64": (pd.Series([20, NA, 3, NA, NA, NA], dtype="Float64"), ["3", "20"]),
    "float": (np.array([2e6, np.nan, 3, np.nan, np.nan, np.nan]), ["3", "2000000"]),
    "boolean": (pd.Series([True, NA, False, NA, NA, NA], dtype="boolean"), ["False", "True"]),
    "days": (pd.to_datetime(["2021-02-02", None, "2021-02-01", *[None] * 3]), ["2021-02-01", "2021-02-02"]),
    "masked": (np.ma.array([20, 0, 3, 0, 0, 0], mask=[0, 1, 0, 1, 1, 1]), ["3", "20"]),
}  # fmt: skip
CODES = [1, -1, 0, -1, -1, -1]
Y = np.random.default_rng(0).normal(size=(6, 2))


@pytest.fixture(params=LABELS)
def labels(request):
    return LABELS[request.param]


def test_pictures_show_missing_labels_grey(labels):
    given, names = labels
    scene = read_labels(given, 6)
    assert isinstance(scene, Classes)
    assert scene.names == names and scene.codes.tolist() == CODES
    assert scene.point_colors()[1].tolist() == [154, 154, 154]
    ax = plot_embedding(Y, given, names="legend")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*names, "missing"]
    matplotlib.pyplot.close(ax.figure)


def test_page_lists_missing_labels_last(labels, tmp_path):
    given, names = labels
    page = page_of(tmp_path, {"map": Y}, given)
    assert page.column()["names"] == [*names, "missing"]
    assert page.array(page.column()["codes"]).tolist() == [2 if code < 0 else code for code in CODES]


@pytest.mark.parametrize("measure", [quality.knn_accuracy, quality.v_measure])
def test_measures_reject_missing_labels(labels, measure):
    with pytest.raises(ValueError, match=r"labels is missing .* for 4 of 6 points"):
        measure(Y, labels[0])


def test_report_and_voters_reject_missing_labels(labels):
    with pytest.raises(ValueError, match=r"y is missing .* for 4 of 6 points"):
        quality.quality_report(Y, Y, labels[0], verbose=False)
    with pytest.raises(ValueError, match=r"labels is missing .* for 4 of 6 points"):
        quality.voters(labels[0])


def test_measures_take_nullable_types_without_missing_values():
    classes = np.arange(60) % 3
    points = np.random.default_rng(1).normal(size=(60, 2))
    expected = quality.knn_accuracy(points, classes, 5)
    for dtype in ("Int64", "Float64", "string", "category", object):
        assert quality.knn_accuracy(points, pd.Series(classes).astype(dtype), 5) == expected


def test_measures_name_labels_without_an_order():
    with pytest.raises(TypeError, match="labels mixes types"):
        quality.knn_accuracy(Y, np.array([1, "a", 2, "b", 3, "c"], object))


def test_values_may_be_missing():
    given = pd.Series([0.5, NA, 3.25, NA, 1, 2], dtype="Float64")
    for labels in (given, given.astype(object), np.array([0.5, None, 3.25, NA, 1, 2], object)):
        scene = read_labels(labels, 6)
        assert isinstance(scene, Values)
        np.testing.assert_array_equal(scene.values, [0.5, np.nan, 3.25, np.nan, 1, 2])
    whole = pd.Series([7, NA, 9, 8, 7, 7], dtype="Int64")
    assert np.isnan(read_labels(whole, 6, "values").values[1])
    with pytest.raises(ValueError, match="are not numbers"):
        read_labels(np.array(["a", NA, 1, 2, 3, 4], object), 6, "values")


def test_only_missing_labels():
    scene = read_labels([None] * 6, 6)
    assert scene.names == [] and (scene.codes == -1).all()
    assert missing_labels(label_array([NA, 1, "a"])).tolist() == [True, False, False]
    assert not missing_labels(label_array(["nan", "NA", "None"])).any()
