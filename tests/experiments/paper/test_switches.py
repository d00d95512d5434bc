"""The paper's switches, its published tables, and the agreement with them."""

import numpy as np
import pytest

from actup._experiments.paper.methods import COLUMNS, PAPER, switched
from actup._experiments.paper.published import COLUMN_MEANS, ROW_MEANS, SWITCHES
from actup._experiments.paper.switches import Cell, agreement, published_deviations


def test_turning_a_switch_twice_restores_the_recipe():
    for recipe in PAPER.values():
        variants = [switched(recipe, column) for column in COLUMNS]
        assert len(set(variants)) == len(COLUMNS)
        for column, variant in zip(COLUMNS, variants, strict=True):
            assert switched(variant, column) == recipe
    with pytest.raises(ValueError, match="'colour' is not one of default"):
        switched(PAPER["UMAP"], "colour")


def test_published_tables_are_complete_and_consistent():
    for rows in (*SWITCHES.values(), *ROW_MEANS.values()):
        assert set(rows) == set(PAPER)
    for rows in SWITCHES.values():
        assert all(len(row) == len(COLUMNS) for row in rows.values())
    # The paper prints both for single cell: they must agree.
    for method, row in SWITCHES["single_cell"].items():
        for which in (0, 1):
            mean, deviation = ROW_MEANS["single_cell"][method][which]
            values = [cell[which] for cell in row]
            assert np.mean(values) == pytest.approx(mean, abs=0.06)
            assert np.std(values) == pytest.approx(deviation, abs=0.25)
    assert all(len(means) == len(COLUMNS) for pair in COLUMN_MEANS.values() for means in pair)
    for data in SWITCHES:  # deviations cancel in every row
        assert [abs(sum(means)) < 1e-9 for means in published_deviations(data)] == [True, True]
    first = [row[0][0] - sum(cell[0] for cell in row) / 6 for row in SWITCHES["mnist"].values()]
    assert abs(published_deviations("mnist")[0][0] - sum(first) / 4) < 1e-9


def test_agreement_bounds_accuracy_from_below_and_v_from_both_sides():
    def cells(accuracy, v):
        return {
            method: [Cell([own[0][0] + accuracy], [own[1][0] + v], [90.0])] * len(COLUMNS)
            for method, own in ROW_MEANS["fashion_mnist"].items()
        }

    assert agreement("fashion_mnist", cells(9, 3)).endswith(": all.")
    assert agreement("fashion_mnist", cells(-1, -3)).endswith(": all.")
    assert "all but accuracy of tSNE" in agreement("fashion_mnist", cells(-2, 0))
    for off in (-5, 5):
        assert "all but V of tSNE" in agreement("fashion_mnist", cells(0, off))
    assert agreement("single_cell", cells(-9, 9)) == ""
