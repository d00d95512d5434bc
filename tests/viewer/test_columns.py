"""Columns and texts of the page: classes, values, dates, data frames, missing entries, very many classes."""

import datetime
import time
from types import SimpleNamespace

import numpy as np
import pytest

from page_file import page_of

pd = pytest.importorskip("pandas")

Y = np.random.default_rng(0).normal(size=(60_000, 2))
FOUR = np.eye(4)[:, :2]
DAYS = pd.Series(pd.date_range("2020-01-01", periods=40, freq="D"))


def test_classes_and_missing_labels(tmp_path):
    page = page_of(tmp_path, FOUR, np.array(["b", None, "a", "b"], dtype=object))
    assert page.class_names() == ["b", "missing", "a", "b"]
    assert len(page.column()["colors"]) == 3 and page.column()["unnamed"] == 2


def test_values(tmp_path):
    labels = np.array([0.25, np.nan, 3.5, -1.5])
    page = page_of(tmp_path, FOUR, labels)
    column = page.column()
    assert column["kind"] == "values" and column["clipped"] == [True, True]
    np.testing.assert_array_equal(page.array(column["values"][0]), labels)


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.dt.tz_localize("Europe/Berlin").dt.tz_convert("UTC").dt.tz_localize(None).dt.round("D"),
        DAYS.dt.tz_localize("UTC"),
        pd.DatetimeIndex(DAYS),
        DAYS.to_numpy(),
        [day.date() for day in DAYS],
        [datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC) for day in DAYS],
    ],
    ids=["series", "rounded", "zone", "index", "array", "list of dates", "list of moments"],
)
def test_dates_are_shown_on_a_scale(tmp_path, dates):
    page = page_of(tmp_path, Y[:40], dates)
    column = page.column()
    assert column["kind"] == "dates"
    milliseconds = DAYS.to_numpy().astype("M8[ms]").astype(np.int64)
    np.testing.assert_array_equal(page.array(column["values"][0]), milliseconds)


def test_few_dates_are_classes_and_missing_ones_grey(tmp_path):
    dates = pd.to_datetime(["2021-02-02", None, "2021-02-01", "2021-02-02"])
    assert page_of(tmp_path, FOUR, dates).class_names() == [
        "2021-02-02",
        "missing",
        "2021-02-01",
        "2021-02-02",
    ]
    page = page_of(tmp_path, FOUR, dates, label_kind="values")
    assert np.isnan(page.array(page.column()["values"][0])).tolist() == [False, True, False, False]


def test_columns_of_a_data_frame(tmp_path):
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", None, "b", "a"]),
            "size": pd.array([1.5, pd.NA, 2.5, 3.5], dtype="Float64"),
            "flag": pd.array([True, pd.NA, False, True], dtype="boolean"),
        }
    )
    page = page_of(tmp_path, FOUR, columns=frame)
    assert [column["name"] for column in page.data["columns"]] == ["kind", "size", "flag"]
    assert [column["kind"] for column in page.data["columns"]] == ["classes", "values", "classes"]
    assert page.class_names(0) == ["a", "missing", "b", "a"]
    assert page.class_names(2) == ["True", "missing", "False", "True"]
    named = page_of(tmp_path, FOUR, ["x"] * 4, columns={"label": [1, 2, 3, 4]})
    assert [column["name"] for column in named.data["columns"]] == ["label_", "label"]


def test_dates_in_texts_read_alike(tmp_path):
    moments = pd.Series(pd.to_datetime(["2020-01-01 12:30", None, "2020-01-03 00:00", "2020-01-04 00:00"]))
    zoned = moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    hover = {
        "naive": moments,
        "zoned": zoned,
        "list": [None if pd.isna(moment) else moment.to_pydatetime() for moment in zoned],
        "BC": np.array(["-0043-03-15", "NaT", "2020-01-03", "2020-01-04"], "M8[D]"),
    }
    page = page_of(tmp_path, FOUR, hover=hover)
    texts = {name: page.texts(k) for k, name in enumerate(hover)}
    assert texts["naive"] == ["2020-01-01 12:30:00", "", "2020-01-03 00:00:00", "2020-01-04 00:00:00"]
    assert texts["zoned"] == texts["list"] == texts["naive"]
    assert texts["BC"] == [str(np.datetime64("-0043-03-15")), "", "2020-01-03", "2020-01-04"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_are_called_by_the_name_of_their_series(tmp_path, library):
    series = pytest.importorskip(library).Series
    for name, columns, wanted in (("species", {}, "species"), ("size", {"size": range(4)}, "label")):
        page = page_of(tmp_path, FOUR, series(name=name, **{key(library): list("abba")}), columns=columns)
        assert page.data["columns"][0]["name"] == wanted
    assert page_of(tmp_path, FOUR, series(list("abba"))).column()["name"] == "label"


def key(library: str) -> str:
    """What the constructor of a series calls its values."""
    return {"pandas": "data", "polars": "values"}[library]


def test_hover_of_a_data_frame_has_its_rows(tmp_path):
    frame = pd.DataFrame(
        {
            "word": ["one", pd.NA, "three", "four"],
            "born": pd.to_datetime(["2020-01-01", None, "2020-01-03", None]),
        }
    )
    page = page_of(tmp_path, FOUR, hover=frame)
    assert [packed["name"] for packed in page.data["texts"]] == ["word", "born"]
    assert page.texts(0) == ["one", "", "three", "four"]
    assert page.texts(1) == ["2020-01-01", "", "2020-01-03", ""]
    assert page_of(tmp_path, FOUR, hover=frame["word"]).texts() == ["one", "", "three", "four"]


def many_labels(n, classes):
    """Labels of which the first half names this number of classes; all others are unique."""
    return np.array([f"class {i % classes}" if i < n // 2 else f"id {i}" for i in range(n)])


def test_many_classes_become_one_that_tooltips_name(tmp_path):
    labels = many_labels(60_000, 50)
    start = time.process_time()
    with pytest.warns(UserWarning, match="30,050 classes: the 50 largest .* '30,000 other classes'"):
        page = page_of(tmp_path, Y, labels, hover=["text"] * 60_000)
    assert time.process_time() - start < 4
    column = page.column()
    assert len(column["names"]) == 51 and column["names"][-1] == "30,000 other classes"
    assert column["unnamed"] == 50
    assert page.class_names()[:30_000] == labels[:30_000].tolist()
    assert set(page.class_names()[30_000:]) == {"30,000 other classes"}
    texts = page.texts()
    assert texts[0] == "text" and texts[-1] == "id 59999\ntext"


def test_at_most_a_thousand_classes_have_names(tmp_path):
    labels = np.array([f"class {i % 3000:04d}" for i in range(9000)], object)
    labels[:20] = "class 2999"
    labels[20] = None
    with pytest.warns(UserWarning, match="3,000 classes: the 1,000 largest"):
        page = page_of(tmp_path, Y[:9000], labels)
    assert len(page.column()["names"]) == 1002
    assert page.column()["names"][-3:] == ["class 2999", "2,000 other classes", "missing"]
    assert page.texts()[20] == "" and "class 1999" in page.texts()
    exactly = page_of(tmp_path, Y[:9000], np.arange(9000) % 1000, label_kind="classes")
    assert len(exactly.column()["names"]) == 1000 and exactly.data["texts"] == []


def test_labels_that_all_differ_are_texts(tmp_path):
    labels = [f"id {i}" for i in range(60_000)]
    with pytest.warns(UserWarning, match="60,000 classes of one point each"):
        page = page_of(tmp_path, {"a": Y, "b": -Y}, labels)
    assert page.data["columns"] == [] and page.texts() == labels


def test_the_largest_of_many_classes_have_the_clearest_colors(tmp_path):
    labels = np.repeat(np.arange(20), np.arange(1, 21))
    page = page_of(tmp_path, Y[: len(labels)], labels)
    assert page.column()["colors"][19] == "#0072b2"
    few = page_of(tmp_path, Y[: len(labels)], labels % 3)
    assert few.column()["colors"][0] == "#0072b2"


def test_layers_of_clusters_are_names_and_columns(tmp_path):
    layers = [
        SimpleNamespace(codes=np.array([0, 0, -1, 0]), names=["all"]),
        SimpleNamespace(codes=np.array([0, 1, -1, 1]), names=["left", "right"]),
    ]
    page = page_of(tmp_path, FOUR, clusters=SimpleNamespace(layers=layers))
    assert [layer["names"] for layer in page.data["layers"]] == [["all"], ["left", "right"]]
    assert page.array(page.data["layers"][1]["codes"]).tolist() == [0, 1, -1, 1]
    assert [column["name"] for column in page.data["columns"]] == ["clusters, layer 1", "clusters, layer 2"]
    assert page.class_names(1) == ["left", "right", "no cluster", "right"]
    layers[0].codes = np.array([0, 0, 5, 0])
    with pytest.raises(ValueError, match="codes beyond its 1 names in layer 0"):
        page_of(tmp_path, FOUR, clusters=SimpleNamespace(layers=layers))


def test_the_main_layer_of_clusters_colours_points_without_labels(tmp_path):
    codes = np.array([0, 1, -1, 1])
    layers = [
        SimpleNamespace(codes=np.full(4, -1), names=[]),
        SimpleNamespace(codes=np.zeros(4, int), names=["all"]),
        SimpleNamespace(codes=codes, names=["left", "right"]),
    ]
    clusters = SimpleNamespace(layers=layers, main=2)
    assert page_of(tmp_path, FOUR, clusters=clusters).data["firstColumn"] == 1
    assert page_of(tmp_path, FOUR, [1, 2, 3, 4], clusters=clusters).data["firstColumn"] == 0
