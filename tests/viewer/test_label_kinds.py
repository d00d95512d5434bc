"""Columns of a page whose kind the caller gives by name."""

import json
import re

import numpy as np
import pytest

from actup.viewer import write_page


def columns_of(path):
    """The columns that a page can be coloured by, by name: whether each has classes."""
    text = path.read_text(encoding="utf-8")
    data = next(
        json.loads(found)
        for found in re.findall(r"<script[^>]*type=\"application/json\"[^>]*>(.*?)</script>", text, re.S)
        if "columns" in json.loads(found)
    )
    return {column["name"]: column.get("kind", "names" in column) for column in data["columns"]}


def test_whole_numbers_are_classes_unless_the_caller_says_values(tmp_path):
    Y = np.random.default_rng(0).normal(size=(50, 2))
    columns = {"group": np.arange(50) % 4, "age": np.arange(50) % 4}
    path = write_page(tmp_path / "page.html", Y, columns=columns, label_kind={"age": "values"})
    kinds = columns_of(path)
    assert kinds["group"] != kinds["age"]


def test_unknown_kinds_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="label_kind='colour'"):
        write_page(tmp_path / "page.html", np.zeros((3, 2)), label_kind={"age": "colour"})
