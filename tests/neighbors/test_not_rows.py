"""What is no matrix of rows is rejected with a short error that names what was given and the remedy."""

import io
from pathlib import Path

import numpy as np
import pytest

import actup

X = np.random.default_rng(0).normal(size=(40, 4))
STRUCTURED = np.zeros(40, dtype=[("a", float), ("b", int)])

OTHERS = {
    "a file's name": (lambda: "data.csv", r"^X is 'data.csv': if that is a file, read it .*pandas\.read_csv"),
    "a path": (lambda: Path("data.csv"), "read it first"),
    "an open file": (lambda: io.BytesIO(b"1,2"), r"^X is an open file: read it first, .*pandas\.read_csv"),
    "None": (lambda: None, "^X is None: give an array"),
    "a dict of columns": (lambda: {"a": list(X[:, 0])}, r"^X is a dict: give pandas\.DataFrame\(X\)"),
    "a generator": (lambda: (row for row in X), r"^X is a generator.*: give np\.array\(list\(X\)\)"),
    "a map": (lambda: map(list, X), r"^X is a map.*: give np\.array\(list\(X\)\)"),
    "values of a dict": (lambda: {"a": X[0]}.values(), r"give np\.array\(list\(X\)\)"),
    "a set": (lambda: {1.0, 2.0}, "^X is a set, whose elements have no order"),
    "a number": (lambda: 5, "^X is a single number, 5: give an array"),
    "a function": (lambda: len, "not a class or function"),
    "a structured array": (lambda: STRUCTURED, r"fields 'a', 'b': give .*structured_to_unstructured\(X\)"),
    "a list of dicts": (lambda: [{"a": 1.0}] * 40, r"^X is a list of dicts: give pandas\.DataFrame\(X\)"),
    "one row": (lambda: X[0], r"shape \(4,\).* Reshape your data: X\.reshape\(-1, 1\) for one column"),
    "a list of numbers": (lambda: list(X[0]), r"^X has one dimension, shape \(4,\).*Reshape your data"),
    "a range": (lambda: range(10), r"^X has one dimension, shape \(10,\)"),
    "an array without dimensions": (lambda: np.array(3.0), "^X is an array without dimensions"),
    "images": (lambda: X.reshape(10, 4, 4), r"shape \(10, 4, 4\), .*X\.reshape\(len\(X\), -1\)"),
    "ragged lists": (lambda: [[1.0, 2.0], [3.0]], "row 0 has length 2, row 1 has length 1. Give rows of one"),
    "a number among rows": (lambda: [[1.0, 2.0], 3.0], "row 0 has length 2, row 1 is no row"),
    "an empty list": (list, "^X is empty: give at least one row"),
}


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
@pytest.mark.parametrize("kind", OTHERS)
def test_other_kinds_are_rejected_by_name(kind, metric):
    make, message = OTHERS[kind]
    for work in (actup.UMAP(metric=metric).fit, lambda rows: actup.nearest_neighbors(rows, 3, metric=metric)):
        with pytest.raises(ValueError, match=message) as raised:
            work(make())
        assert len(str(raised.value)) < 200


@pytest.mark.parametrize("text", [X.astype(str), X.astype(str).tolist(), X.astype("S")])
def test_text_that_holds_numbers_is_rejected_with_its_place(text):
    message = r"^X holds text that reads as numbers, .* in column 0, row 0: convert it, .*dtype=float\)$"
    with pytest.raises(ValueError, match=message):
        actup.UMAP().fit(text)


def test_new_rows_are_rejected_alike():
    model = actup.UMAP(n_neighbors=5, n_epochs=2, random_state=0).fit(X)
    for work in (model.transform, actup.NeighborIndex(X).query):
        with pytest.raises(TypeError, match=r"^X(_new)? is a dict: give pandas\.DataFrame\(X"):
            work({"a": [1.0]})
