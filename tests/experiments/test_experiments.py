"""The experiments: all of them in a tiny form, resuming, and the figures they are made of."""

import json
import re

import numpy as np
import pytest

from actup import datasets, preset
from actup._cli import main
from actup._experiments import experiments
from actup._experiments.experiment import QUICK, Experiment, Run, Scale
from actup._experiments.page.notes import note
from actup._experiments.page.pictures import Chart, Curve, Key, Panel, draw_charts, draw_maps
from actup._experiments.page.report import describe_runs, write_report
from actup._experiments.paper.forces import (
    attraction,
    from_all_points,
    from_some_points,
    mean_forces,
    repulsion,
)
from actup._experiments.paper.frobenius import stray_share
from actup._experiments.paper.methods import COLUMNS, PAPER, switched
from actup._experiments.paper.published import COLUMN_MEANS, ROW_MEANS, SWITCHES
from actup._experiments.paper.runtimes import provenance, upsampled
from actup._experiments.paper.sampling_angles import compare
from actup._experiments.paper.switches import Cell, agreement, published_deviations
from actup._experiments.paper.theorems import over_draws
from actup._experiments.results import Store
from actup._experiments.runner import Sources, perform
from actup._experiments.workspace import Workspace
from actup.backends._reference import layout as reference


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small stand-ins for every data set that is not generated."""
    folder = tmp_path_factory.mktemp("data")
    digits = datasets.load("digits", n_samples=400)
    for name in ("mnist", "fashion_mnist", "coil100", "single_cell"):
        np.savez(folder / f"{name}.npz", X=digits.X, y=digits.y)
    np.savez(folder / "word_vectors.npz", X=digits.X[:200].astype(np.float16))
    return folder


@pytest.fixture(scope="module")
def workspace():
    return Workspace(datasets.load("digits", n_samples=200), 2, 89)


@pytest.mark.filterwarnings("ignore:.*expect other figures")
def test_all_experiments_in_a_tiny_form(folder, tmp_path, capfd):
    command = [
        "reproduce",
        "all",
        "--quick",
        "--points",
        "120",
        "--data",
        str(folder),
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    page = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    for experiment in experiments().values():
        assert f"## {experiment.title}" in page
    assert "Not run yet" not in page
    assert page.count("it was not run, or the data set was not at hand.") == 1  # CIFAR-10
    assert not re.search(r"\bnan\b", page)
    for picture in re.findall(r"\]\((pictures/\w+\.png)\)", page):
        assert (tmp_path / picture).stat().st_size > 3_000
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) > 100
    capfd.readouterr()
    runs = [run for experiment in experiments().values() for run in experiment.runs(Scale(120, 1))]
    assert perform(runs, Store(tmp_path), Sources(folder), 1) == ["cifar10"]  # all else is done
    assert (tmp_path / "results.jsonl").read_text().splitlines() == lines


def test_it_goes_on_after_a_torn_line(tmp_path):
    store = Store(tmp_path)
    runs = [Run("digits", preset("gdr_umap"), seed, points=60) for seed in range(3)]
    assert perform(runs[:2], store, Sources(), 1) == []
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"key": "abc", "resu')
    again = Store(tmp_path)
    assert runs[0] in again and runs[1] in again and runs[2] not in again
    assert again.results(runs[0]) == store.results(runs[0])
    assert again.map(runs[0]).shape == (60, 2) and again.map(runs[1]) is None  # maps are kept for seed 0
    perform(runs, again, Sources(), 1)
    assert runs[2] in Store(tmp_path)


def test_missing_data_is_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    runs = [Run("mnist", preset("umap"), points=50), Run("digits", preset("umap"), points=50)]
    store = Store(tmp_path)
    assert perform(runs, store, Sources(), 1) == ["mnist"]
    assert runs[0] not in store and runs[1] in store
    assert "mnist.npz" in capsys.readouterr().err


def test_a_run_is_its_data_recipe_seed_and_measure():
    run = Run("digits", preset("umap"), 0, label="one")
    assert run.key == Run("digits", preset("umap"), 0, label="other").key
    others = [
        Run("mnist", preset("umap")),
        Run("digits", preset("umap").but(epochs=7)),
        Run("digits", preset("umap"), 1),
        Run("digits", preset("umap"), measure="angles"),
        Run("digits", preset("umap"), points=9),
    ]
    assert len({run.key, *(other.key for other in others)}) == 6


def test_every_switch_is_turned_and_turned_back():
    for recipe in PAPER.values():
        variants = [switched(recipe, column) for column in COLUMNS]
        assert len(set(variants)) == len(COLUMNS)
        for column, variant in zip(COLUMNS, variants, strict=True):
            assert switched(variant, column) == recipe
    with pytest.raises(ValueError, match="'colour' is not one of default"):
        switched(PAPER["UMAP"], "colour")


def test_published_tables_are_complete():
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


@pytest.mark.parametrize("method", ["GDR_tsne", "GDR_umap"])
def test_forces_are_those_of_the_oracle(workspace, method):
    recipe = from_all_points(PAPER[method])
    graph = workspace.graph(recipe)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    oracle = reference.Layout(graph, Y, recipe.but(prune=False, exaggeration=1.0), 0)
    pull, push, _ = oracle._forces()
    back = np.argsort(oracle._order)
    ours = attraction(graph, Y, recipe, 2), repulsion(graph, Y, recipe, 0, 2)
    for found, expected in zip(ours, (pull[back], push[back]), strict=True):
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("sampling", ["exhaustive", "accelerated", "unbiased"])
@pytest.mark.parametrize("method", ["GDR_tsne", "GDR_umap"])
def test_mean_forces_are_those_of_many_epochs(workspace, method, sampling):
    recipe = PAPER[method].but(sampling=sampling, exaggeration=1.0, epochs=600)
    graph = workspace.graph(recipe).pruned(1 / 600)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    oracle = reference.Layout(graph, Y, recipe, 0)
    back = np.argsort(oracle._order)
    pull, push = np.zeros_like(Y, np.float64), np.zeros_like(Y, np.float64)
    for oracle.epoch in range(600):
        attracted, repelled, _ = oracle._forces()
        pull += attracted[back] / 600
        push += repelled[back] / 600
    expected = mean_forces(graph, Y, recipe, 2)
    for found, mean in zip((pull, push), expected, strict=True):
        lengths = [np.linalg.norm(forces, axis=1).mean() for forces in (found, mean)]
        assert lengths[0] == pytest.approx(lengths[1], rel=0.1)
        assert (found * mean).sum() / (mean**2).sum() == pytest.approx(1, abs=0.1)


def test_sampled_repulsion_is_right_in_the_mean(workspace):
    recipe = PAPER["GDR_tsne"]
    graph = workspace.graph(recipe)
    Y = np.random.default_rng(0).normal(0, 3, (len(graph), 2)).astype(np.float32)
    exact = repulsion(graph, Y, from_all_points(recipe), 0, 2)
    draws = [repulsion(graph, Y, from_some_points(recipe, 16), seed, 2) for seed in range(400)]
    compared = compare(np.mean(draws, axis=0), exact)
    assert compared["along"] == pytest.approx(1, abs=0.03)
    assert compared["angle"] < 6
    assert compare(draws[0], exact)["angle"] > compared["angle"]
    assert compare(exact, exact) == pytest.approx(
        {"angle": 0, "mean_cosine": 1, "median_ratio": 1, "mean_ratio": 1, "along": 1}, abs=1e-4
    )


def test_workspace_shares_graphs_and_gives_the_map_of_embed(workspace):
    from actup import embed

    recipe = preset("gdr_umap").but(epochs=20)
    assert workspace.graph(recipe) is workspace.graph(recipe.but(a=1.0, b=1.0))
    assert workspace.graph(recipe) is not workspace.graph(recipe.but(n_neighbors=9))
    made = workspace.embed(recipe, 3)
    assert (made.embedding == embed(workspace.X, recipe, seed=3).embedding).all()


def test_upsampled():
    X = np.random.default_rng(0).integers(0, 256, (50, 64)).astype(np.uint8)
    larger = upsampled(X, 130, 0)
    assert larger.shape == (130, 64) and larger.dtype == np.uint8
    assert (larger[:50] == X).all()
    moves = [(down, right) for down in range(-2, 3) for right in range(-2, 3)]
    images = X.reshape(50, 8, 8).astype(int)
    moved = np.concatenate([np.roll(images, move, (1, 2)).reshape(50, 64) for move in moves])
    nearest = np.abs(larger[50:, None].astype(int) - moved).max(axis=2).argmin(axis=1)
    assert np.abs(larger[50:].astype(int) - moved[nearest]).max() < 40  # noise of 2 %
    assert len(set(nearest // 50)) > 10 and len(set(nearest % 50)) > 25  # many moves, many images
    assert len(np.unique(upsampled(X, 20, 0), axis=0)) == 20


def test_ratios_are_averaged_over_the_draws():
    exact = np.tile([3.0, 0.0], (50, 1))
    random = np.random.default_rng(0)
    draws = [exact + random.normal(0, 1, exact.shape) for _ in range(200)]
    found = over_draws(iter(draws), exact, pulled=6.0)
    assert found["draws"] == 200
    assert abs(found["along"] - 2) < 4 * found["along_error"]
    assert found["along_error"] == pytest.approx(2 / 3 / np.sqrt(50 * 200), rel=0.2)
    assert found["length"] < found["along"]  # noise makes vectors longer


def test_stray_points():
    sheet = np.stack(np.meshgrid(np.arange(150.0), np.arange(150.0)), axis=-1).reshape(-1, 2)
    alone = [[300.0, 300.0], [-100.0, 0.0], [0.0, 160.0]]
    assert stray_share(sheet) == 0
    assert stray_share(np.concatenate([sheet, alone])) == pytest.approx(3 / (len(sheet) + 3))


def test_agreement_is_one_sided_for_the_accuracy_only():
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


def test_points_and_seeds_are_told_by_what_is_measured():
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
    """An experiment with one run, of which it draws the map."""
    run = Run("digits", preset("gdr_umap"), points=60)

    def render(found):
        picture = found.draw("one", lambda path: draw(path, found.store.map(run)))
        return f"accuracy {found.figure(run, 'knn_accuracy'):.1f}\n\n{picture}"

    return Experiment("one", "One", "About one.", lambda scale: [run], render)


def test_a_page_keeps_what_the_store_does_not_know(tmp_path):
    def draw(path, Y):
        path.parent.mkdir(exist_ok=True)
        path.write_text("nothing" if Y is None else f"{len(Y)} points")

    experiment, page = one_map(draw), tmp_path / "docs"
    store = Store(tmp_path / "out")
    perform(experiment.runs(QUICK), store, Sources(), 1)
    write_report([experiment], store, QUICK, page)
    text = (page / "reproduction.md").read_text()
    lines = (page / "reproduction.jsonl").read_text()
    assert "accuracy" in text and "Maps: at most 60 points of each data set, 1 seed." in text
    assert (page / "pictures" / "one.png").read_text() == "60 points"
    # Elsewhere, with neither results nor maps: figures come from the page, and its picture stays.
    write_report([experiment], Store(tmp_path / "nothing"), QUICK, page)
    assert (page / "reproduction.md").read_text() == text
    assert (page / "reproduction.jsonl").read_text() == lines
    assert [path.name for path in (page / "pictures").iterdir()] == ["one.png"]
    assert (page / "pictures" / "one.png").read_text() == "60 points"


def test_a_page_does_not_come_to_show_less(tmp_path):
    experiment = one_map(lambda path, Y: path.write_text("drawn"))
    (tmp_path / "pictures").mkdir()
    store = Store(tmp_path)
    perform(experiment.runs(QUICK), store, Sources(), 1)
    page = write_report([experiment], store, QUICK, tmp_path)
    before = page.read_text()
    with pytest.raises(ValueError, match=r"shows 1 runs and would show 0.*--page"):
        write_report([experiments()["words"]], store, QUICK, tmp_path)
    assert page.read_text() == before


def test_again_runs_what_is_there(tmp_path):
    run = Run("digits", preset("gdr_umap"), points=60)
    store = Store(tmp_path)
    perform([run], store, Sources(), 1)
    store.forget([run])
    assert run not in store and run in Store(tmp_path)
    perform([run], store, Sources(), 1)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    assert len(Store(tmp_path)) == 1


def test_runs_keep_machine_and_versions(tmp_path):
    run = Run("digits", preset("gdr_umap"), points=60)
    store = Store(tmp_path)
    perform([run], store, Sources(), 1)
    record = Store(tmp_path).record(run)
    assert record["machine"]["threads"] == 1 and record["machine"]["cores"] >= 1
    assert {"python", "actup", "numpy"} <= set(record["versions"])
    told = provenance([record, record, {"machine": "x86_64"}])  # the last as older files have it
    assert told.count("threads") == 1 and "numpy" in told
    assert Store(tmp_path).record(Run("digits", preset("umap"))) is None


def test_keys_and_rows_of_charts_are_drawn(tmp_path):
    from matplotlib.image import imread

    panel = Panel(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3, "1; 2")
    keys = [Key("Only words"), Key("Classes", ["a", "b", "c"]), Key("Values", ends=("low", "high"))]
    draw_maps(tmp_path / "plain.png", [[panel]], ["row"], ["column"])
    draw_maps(tmp_path / "keys.png", [[panel]], ["row"], ["column"], keys)
    plain, taller = (imread(tmp_path / name).shape for name in ("plain.png", "keys.png"))
    assert plain[1] == taller[1] and taller[0] > plain[0] + 60
    chart = Chart("", [Curve("line", [1, 2], [3, 4], marker="s")], "x", "y")
    draw_charts(tmp_path / "charts.png", [chart] * 4, height=5.0, rows=2)
    assert (tmp_path / "charts.png").stat().st_size > 3_000


def test_report_of_nothing_says_how_to_run(tmp_path):
    page = write_report(list(experiments().values()), Store(tmp_path), QUICK, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.count("Not run yet: `actup reproduce") == len(experiments()) - 1  # gradient maps need no runs


def test_every_note_is_used():
    from actup._experiments.page.notes import _notes

    assert all(note(name) for name in _notes())
    with pytest.raises(KeyError):
        note("nothing")
