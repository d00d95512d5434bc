"""The page: what it shows and what it keeps."""

import pytest

from actup import preset
from actup._experiments import experiments
from actup._experiments.experiment import QUICK, Experiment, Run
from actup._experiments.page.report import describe_runs, write_report
from actup._experiments.page.tables import fold_tables, table
from actup._experiments.results import Store
from actup._experiments.runner import DataSource, run_missing


def test_points_and_seeds_are_described_for_each_measure():
    recipe = preset("umap")
    assert describe_runs([]) == ""
    assert describe_runs([Run("mnist", recipe, seed) for seed in range(3)]) == (
        "Maps: all points of each data set, 3 seeds."
    )
    mixed = [Run("mnist", recipe), Run("mnist", recipe, measure="balance", points=20_000)]
    assert describe_runs(mixed) == (
        "Maps: all points of each data set, 1 seed. Forces: at most 20,000 points of each data set, 1 seed."
    )
    timed = [Run("mnist", recipe, measure="stages", points=points) for points in (50, 5_000, 70)]
    assert describe_runs(timed) == "Times: 50 to 5,000 points, 1 seed."


def one_map(draw):
    """An experiment with one run that draws its map."""
    run = Run("digits", preset("gdr_umap"), points=60)

    def render(findings):
        picture = findings.draw("one", lambda path: draw(path, findings.store.load_map(run)))
        return f"accuracy {findings.value(run, 'knn_accuracy'):.1f}\n\n{picture}"

    return Experiment("one", "One", "About one.", lambda scale: [run], render)


def test_page_keeps_results_and_pictures_that_the_store_lacks(tmp_path):
    def draw(path, Y):
        path.parent.mkdir(exist_ok=True)
        path.write_text("nothing" if Y is None else f"{len(Y)} points")

    experiment, page = one_map(draw), tmp_path / "docs"
    store = Store(tmp_path / "out")
    run_missing(experiment.runs(QUICK), store, DataSource(), 1)
    write_report([experiment], store, QUICK, page)
    text = (page / "reproduction.md").read_text()
    lines = (page / "reproduction.jsonl").read_text()
    assert "accuracy" in text and "Maps: at most 60 points of each data set, 1 seed." in text
    assert (page / "pictures" / "one.png").read_text() == "60 points"
    # Without results and maps in the store, the page keeps its own results and picture.
    write_report([experiment], Store(tmp_path / "nothing"), QUICK, page)
    assert (page / "reproduction.md").read_text() == text
    assert (page / "reproduction.jsonl").read_text() == lines
    assert [path.name for path in (page / "pictures").iterdir()] == ["one.png"]
    assert (page / "pictures" / "one.png").read_text() == "60 points"


def test_page_with_more_runs_is_not_overwritten(tmp_path):
    experiment = one_map(lambda path, Y: path.write_text("drawn"))
    (tmp_path / "pictures").mkdir()
    store = Store(tmp_path)
    run_missing(experiment.runs(QUICK), store, DataSource(), 1)
    page = write_report([experiment], store, QUICK, tmp_path)
    before = page.read_text()
    with pytest.raises(ValueError, match=r"shows 1 runs and would show 0.*--page"):
        write_report([experiments()["words"]], store, QUICK, tmp_path)
    assert page.read_text() == before


def test_page_without_results_says_how_to_run(tmp_path):
    page = write_report(list(experiments().values()), Store(tmp_path), QUICK, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.count("Not run yet: `actup reproduce") == len(experiments()) - 1  # gradient maps need no runs


def test_long_and_wide_tables_are_folded():
    short = table(["data", "s"], [["a", "1"]])
    long = table(["`data`", "s"], [[str(i), "1"] for i in range(9)])
    wide = table(["a", "b", "c", "d", "e"], [["x" * 40] * 5])
    page = fold_tables(f"# Page\n\n{short}\n\n## Times < 1 s\n\n{long}\n\ntext\n\n{wide}\n")
    assert page.startswith(f"# Page\n\n{short}\n\n## Times")
    assert f"<summary>Times &lt; 1 s: data, s (9 rows)</summary>\n\n{long}\n\n</details>\n" in page
    assert f"<summary>Times &lt; 1 s: a, b, c, d, … (1 row)</summary>\n\n{wide}\n\n</details>\n" in page
    assert page.count("<details>") == 2
