"""The benchmarks: a tiny race, and the page that is written from saved results."""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from actup import Graph, embed, preset

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def results(monkeypatch, tmp_path):
    """An empty folder for the results of a test."""
    import report

    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def run_race(monkeypatch, *arguments):
    import race

    monkeypatch.setattr(sys, "argv", ["race.py", "--data", "digits", "--points", "200", *arguments])
    race.main()


def saved_rows(results):
    return json.loads((results / "race.json").read_text())["results"]["rows"]


def test_race_saves_every_row_and_skips_saved_rows(results, monkeypatch, capsys):
    run_race(monkeypatch, "--only", "actup UMAP", "actup GDR")
    rows = saved_rows(results)
    assert [row["contestant"] for row in rows] == ["actup UMAP", "actup GDR"]
    for row in rows:
        assert len(row["seconds"]) == 3 and min(row["seconds"]) > 0
        assert 0 < row["stages"]["layout"] < min(row["seconds"])
        assert row["n_epochs"] > 10
        assert row["quality"]["recall_at_10"] > 0.3
        assert row["megabytes"] > 1 and row["machine"]["cores"] >= 1
        assert {"python", "actup", "numpy"} <= set(row["versions"])
    capsys.readouterr()
    run_race(monkeypatch, "--only", "actup UMAP")
    printed = capsys.readouterr().out
    assert "digits 200 actup" not in printed  # it was saved already
    assert "| actup GDR |" in printed
    assert saved_rows(results) == rows


def test_quick_race_ignores_saved_rows(results, monkeypatch, capsys):
    import race

    monkeypatch.setattr(race, "sizes", lambda options: [("digits", 200)])
    for _ in range(2):
        run_race(monkeypatch, "--quick", "--only", "actup GDR")
        assert "digits 200 actup GDR: import" in capsys.readouterr().out


def test_a_crash_is_saved_with_its_reason_and_tried_again(results, monkeypatch, capsys, tmp_path):
    import race_page
    from contestants import CONTESTANTS

    monkeypatch.setitem(CONTESTANTS, "nobody", (["numpy"], None))  # unknown to the process that runs it
    for _ in range(2):
        run_race(monkeypatch, "--only", "nobody")
        assert "nobody: did not run: KeyError: 'nobody'" in capsys.readouterr().out
    (row,) = saved_rows(results)
    assert row["failed"] == "KeyError: 'nobody'"
    assert "- nobody did not run: KeyError: 'nobody'" in race_page.markdown({"rows": [row]})
    assert race_page.pictures({"rows": [row]}, tmp_path) == []


def test_missing_package_does_not_replace_a_saved_row(results, monkeypatch, capsys):
    import race

    run_race(monkeypatch, "--only", "actup GDR")
    measured = saved_rows(results)
    monkeypatch.setattr(race, "run", lambda wanted, python, runs: {"absent": "actup is not installed"})
    run_race(monkeypatch, "--only", "actup GDR", "actup UMAP", "--again")
    assert "actup GDR: did not run: actup is not installed" in capsys.readouterr().out
    umap, gdr = saved_rows(results)  # in the order of the contestants
    assert [gdr] == measured and umap["absent"] == "actup is not installed"


def test_missing_package_is_reported_by_name(monkeypatch, capsys):
    import contestants

    monkeypatch.setitem(contestants.CONTESTANTS, "nobody", (["no-such-package"], None))
    monkeypatch.setattr(sys, "argv", ["contestants.py", "nobody", "X.npy", "Y.npy", "1"])
    contestants.main()
    assert json.loads(capsys.readouterr().out) == {"absent": "no-such-package is not installed"}


def test_nested_stages_count_once():
    from contestants import Stopwatch

    class Work:
        def inner(self):
            time.sleep(0.02)

        def outer(self):
            time.sleep(0.01)
            self.inner()

    stopwatch = Stopwatch()
    stopwatch.watch(Work, "inner", "neighbors")
    stopwatch.watch(Work, "outer", "graph")
    Work().outer()
    assert stopwatch.stages["neighbors"] >= 0.02
    assert 0.01 <= stopwatch.stages["graph"] < 0.02
    stopwatch.clear()
    Work().inner()
    assert set(stopwatch.stages) == {"neighbors"} and stopwatch.stages["neighbors"] < 0.035


def test_slowest_contestant_runs_last(monkeypatch):
    import race

    options = argparse.Namespace(only=None, quick=False, data=["mnist", "usps"], points=[5, 7])
    order = [entry["contestant"] for entry in race.entries(options)]
    assert len(order) == 3 * len(race.CONTESTANTS)
    assert order[-3:] == [race.LAST] * 3 and order.count(race.LAST) == 3


MACHINE = {"processor": "Abacus", "cores": 2}


def race_row(contestant, points, seconds, **changed):
    quality = {"knn_accuracy": 0.96, "v_measure": 0.8, "recall_at_10": 0.1, "trustworthiness": 0.95}
    row = {
        "contestant": contestant, "data": "mnist", "points": points, "import": 0.5, "megabytes": 100.0,
        "seconds": seconds, "stages": {"layout": seconds[-1] / 2}, "n_epochs": 100, "quality": quality,
        "versions": {"numpy": "2.0"}, "machine": MACHINE,
    }  # fmt: skip
    return row | changed


def test_speedups_compare_with_the_rival(tmp_path):
    import race_page

    rows = [
        race_row("actup UMAP", 1000, [2.0, 1.0]),
        race_row("actup TSNE", 1000, [2.0, 1.0]),
        race_row("actup GDR", 1000, [2.0, 0.5], n_epochs=50),
        race_row("actup GDR, accelerated", 1000, [2.0, 0.25], n_epochs=50),
        race_row("umap-learn", 1000, [20.0, 8.0]),
        race_row("openTSNE", 1000, [40.0, 16.0]),
        race_row("actup UMAP", 3000, [2.0, 2.0]),
    ]
    text = race_page.markdown({"rows": rows}).replace("\N{EN DASH}", "-")
    assert "| actup UMAP | 0.50 | 2.50 | 1.00 | 0.50 | 8.2 | 8.0 | 8.0 | 100 |" in text
    assert "| actup TSNE | 0.50 | 2.50 | 1.00 | 0.50 | 16.2 | 16.0 | 16.0 | 100 |" in text
    assert "| actup GDR | - | - | - | 0.250 | 50 | 5.00 | 8.0 |" in text
    assert "umap-learn's. Here: actup GDR 16.0 times (8.0 an epoch)." in text
    assert "fast again. Here: actup GDR 2.0 times (2.0 an epoch)." in text
    assert text.index("3,000 points") < text.index("1,000 points")
    for file in race_page.pictures({"rows": rows}, tmp_path):
        assert (tmp_path / file).stat().st_size > 3_000


def test_contestant_that_compiled_in_its_only_run_has_no_warm_time(tmp_path):
    import race_page

    compiling = {"versions": {"numba": "0.60"}}
    rows = [
        race_row("umap-learn", 1000, [120.0], **compiling),
        race_row("openTSNE", 1000, [120.0]),
        race_row("actup GDR", 1000, [2.0, 0.5]),
    ]
    text = race_page.markdown({"rows": rows}).replace("\N{EN DASH}", "-")
    assert "| umap-learn | 0.50 | 120.50 | - | - | 1.0 | - | - | 100 |" in text
    assert "| openTSNE | 0.50 | 120.50 | 120.00 | 60.00 | 1.0 | 1.0 | 1.0 | 100 |" in text
    assert "Here:" not in text
    assert race_page.pictures({"rows": rows}, tmp_path) == ["race.png"]


def test_provenance_separates_environments():
    import race_page

    rows = [
        race_row("actup GDR", 1000, [1.0, 1.0], versions={"actup": "0.1", "numpy": "2.0"}),
        race_row("actup GDR", 3000, [1.0, 1.0], versions={"actup": "0.1", "numpy": "2.0"}),
        race_row("umap-learn", 1000, [1.0, 1.0], versions={"umap-learn": "0.5", "numpy": "2.0"}),
    ]
    assert race_page.provenance({"rows": rows}) == "*Abacus, 2 cores; actup 0.1, numpy 2.0, umap-learn 0.5.*"
    rows[1]["machine"] = MACHINE | {"cores": 8}
    rows[2]["versions"]["numpy"] = "1.26"
    assert race_page.provenance({"rows": rows}).split("\n\n") == [
        "*actup GDR (mnist 1,000): Abacus, 2 cores; actup 0.1, numpy 2.0.*",
        "*actup GDR (mnist 3,000): Abacus, 8 cores; actup 0.1, numpy 2.0.*",
        "*umap-learn: Abacus, 2 cores; umap-learn 0.5, numpy 1.26.*",
    ]


def test_page_of_the_saved_results(tmp_path):
    import figures

    text = figures.write_page(tmp_path).read_text(encoding="utf-8")
    assert "## Layouts" in text and "ActUp `umap`" in text
    assert "## Beside a busy process" in text


def test_transform_saves_and_prints_results(results, monkeypatch, capsys):
    import transform

    options = {"--data": "digits", "--points": "400", "--new": "100", "--repeats": "1", "--only": "actup GDR"}
    arguments = [text for option in options.items() for text in option]
    monkeypatch.setattr(sys, "argv", ["transform.py", *arguments])
    transform.main()
    row = json.loads((results / "transform.json").read_text())["results"]["digits 300+100"]["actup GDR"]
    assert row["moved_alone"] == row["training_moved"] == 0
    assert 0.8 < row["held_out"] <= 1 and 0.8 < row["training"] <= 1
    assert "| actup GDR |" in capsys.readouterr().out


def test_contestants_with_a_role_exist():
    import race
    import race_page
    from contestants import CONTESTANTS

    assert {race.LAST, *race.QUICK, *race_page.RIVALS.values(), *race_page.CLAIMED} <= set(CONTESTANTS)
    assert {f"{name}, accelerated" for name in race_page.CLAIMED} <= set(CONTESTANTS)


def test_the_package_is_small_and_quick_to_import():
    from layout import import_seconds, installed_megabytes

    compiled, others = installed_megabytes()  # three levels; Python, pages and kernels
    assert compiled <= 9
    assert compiled + others <= 11.5
    assert import_seconds() <= 0.3


def test_umap_reaches_a_lower_loss_than_sampled_umap():
    """After the same number of epochs, in the loss that umap-learn minimises."""
    from layout import umap_loss

    X = load_digits().data
    made = [embed(X, preset(name).but(epochs=500), seed=0) for name in ("umap", "sampled_umap")]
    all_points, sampled = (umap_loss(map_.graph, map_.embedding) for map_ in made)
    assert all_points < sampled


def test_umap_loss_of_two_points():
    """Two points at distance 1 with an edge of weight 1, stored in both directions."""
    from layout import umap_loss

    a, b = preset("umap").kernel()
    edge, rest = math.log1p(a), math.log1p(1 / (a * 1.001**b))
    found = umap_loss(Graph([0, 1, 2], [1, 0], [1.0, 1.0]), np.float32([[0, 0], [1, 0]]))
    assert found == pytest.approx(edge + 5 / 2 * rest / 2)


def test_fits_have_medians_stages_and_quality(results, monkeypatch, capsys):
    import fits

    monkeypatch.setattr(fits, "RUNS", 3)
    monkeypatch.setattr(sys, "argv", ["fits.py", "--data", "digits", "--methods", "umap", "--threads", "1"])
    fits.main()
    rows = json.loads((results / "fits.json").read_text())["results"]
    assert list(rows) == ["digits, actup.UMAP(), 1"]
    row = rows["digits, actup.UMAP(), 1"]
    assert row["runs"] == 2 and sum(row["stages"].values()) > 0.001
    assert row["quality"]["knn_accuracy"] > 0.9
    assert "| digits | 1,797 x 64 | actup.UMAP() | 1 |" in fits.markdown(rows)
