"""The benchmarks: the race in its smallest form, and the page that is written from the results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def results(monkeypatch, tmp_path):
    """A folder of results of the test's own."""
    import report

    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def run_race(monkeypatch, *arguments):
    import race

    monkeypatch.setattr(sys, "argv", ["race.py", "--data", "digits", "--points", "200", *arguments])
    race.main()


def test_race_keeps_every_row_and_goes_on(results, monkeypatch, capsys):
    run_race(monkeypatch, "--only", "actup UMAP", "actup GDR")
    rows = json.loads((results / "race.json").read_text())["results"]["rows"]
    assert [row["contestant"] for row in rows] == ["actup UMAP", "actup GDR"]
    for row in rows:
        assert len(row["seconds"]) == 3 and min(row["seconds"]) > 0
        assert 0 < row["stages"]["layout"] < sum(row["seconds"])
        assert row["quality"]["recall_at_10"] > 0.3
        assert row["megabytes"] > 1 and "actup" in row["versions"]
    capsys.readouterr()
    run_race(monkeypatch, "--only", "actup UMAP")
    assert capsys.readouterr().out == ""  # it was there


def test_absent_contestants_are_left_out(results, monkeypatch, capsys):
    import contestants

    monkeypatch.setitem(contestants.CONTESTANTS, "nobody", (["no-such-package"], None))
    run_race(monkeypatch, "--only", "nobody")
    assert "left out" in capsys.readouterr().out
    assert not (results / "race.json").exists()


def race_row(contestant, points, seconds):
    quality = {"knn_accuracy": 0.96, "v_measure": 0.8, "recall_at_10": 0.1, "trustworthiness": 0.95}
    return {
        "contestant": contestant, "data": "mnist", "points": points, "import": 0.5, "megabytes": 100.0,
        "seconds": seconds, "stages": {"layout": seconds[-1] / 2}, "quality": quality, "versions": {},
    }  # fmt: skip


def test_ratios_are_to_the_rival(tmp_path):
    import race

    rows = [
        race_row("actup UMAP", 1000, [2.0, 1.0]),
        race_row("actup TSNE", 1000, [2.0, 1.0]),
        race_row("actup GDR", 1000, [2.0, 0.5]),
        race_row("umap-learn", 1000, [20.0, 8.0]),
        race_row("openTSNE", 1000, [40.0, 16.0]),
        race_row("actup UMAP", 3000, [2.0, 2.0]),
    ]
    text = race.markdown({"rows": rows})
    assert "| actup UMAP | 0.50 | 2.50 | 1.00 | 0.50 | 8.2 | 8.0 | 8.0 | 100 |" in text
    assert "| actup TSNE | 0.50 | 2.50 | 1.00 | 0.50 | 16.2 | 16.0 | 16.0 | 100 |" in text
    assert "Here: actup GDR 16.0 times." in text
    assert text.index("3,000 points") < text.index("1,000 points")
    for file in race.pictures({"rows": rows}, tmp_path):
        assert (tmp_path / file).stat().st_size > 3_000


def test_page_of_the_kept_results(tmp_path):
    import figures

    text = figures.write_page(tmp_path).read_text(encoding="utf-8")
    assert "## Layouts" in text and "ActUp `umap`" in text
    assert "## Beside a busy process" in text


def test_new_rows(results, monkeypatch, capsys):
    import transform

    arguments = [
        "--data",
        "digits",
        "--points",
        "400",
        "--new",
        "100",
        "--repeats",
        "1",
        "--only",
        "actup GDR",
    ]
    monkeypatch.setattr(sys, "argv", ["transform.py", *arguments])
    transform.main()
    row = json.loads((results / "transform.json").read_text())["results"]["digits 300+100"]["actup GDR"]
    assert row["moved_alone"] == row["training_moved"] == 0
    assert 0.8 < row["held_out"] <= 1 and 0.8 < row["training"] <= 1
    assert "| actup GDR |" in capsys.readouterr().out


def test_upper_bounds_name_contestants():
    import race
    from contestants import CONTESTANTS

    assert set(race.MOST_POINTS) | set(race.QUICK) | set(race.RIVALS.values()) <= set(CONTESTANTS)
    assert np.isfinite(list(race.MOST_POINTS.values())).all()
