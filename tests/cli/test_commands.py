"""actup view, score, compare and spectrum."""

import io
import json
import os
import re

import numpy as np
import pandas
import pytest

import actup
from small_files import SPECIES, X, write_kind

QUICK = ("--epochs", 10)


@pytest.fixture(scope="module")
def model():
    return actup.UMAP(n_epochs=20, random_state=0).fit(X)


@pytest.fixture
def launched(monkeypatch):
    """The pages that were opened in the browser."""
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    return opened


# ---- score ----


def test_scores_of_a_map(run, iris, model, tmp_path):
    np.save(tmp_path / "map.npy", model.embedding_)
    command = ("score", iris, "--label", "species", "--map", tmp_path / "map.npy")
    printed = run(*command).out
    assert "trustworthiness" in printed and "knn_accuracy" in printed
    measured = json.loads(run(*command, "--json").out)
    expected = actup.quality_report(X, model.embedding_, SPECIES.astype(str), verbose=False)
    assert {name: row["value"] for name, row in measured["measures"].items()} == dict(expected)
    assert "kl_divergence" in measured["left_out"]


def test_scores_of_a_saved_model_and_of_a_table(run, iris, model, tmp_path):
    model.save(tmp_path / "model.actup")
    printed = json.loads(run("score", tmp_path / "model.actup", "--json").out)
    measured = printed["measures"]
    assert "give a file of them as --label FILE" in printed["left_out"]["knn_accuracy"]
    np.save(tmp_path / "kinds.npy", SPECIES.astype(str))
    labelled = ("score", tmp_path / "model.actup", "--label", tmp_path / "kinds.npy")
    assert "knn_accuracy" in json.loads(run(*labelled, "--json").out)["measures"]
    assert measured["cross_entropy"]["value"] > 0  # from the model's own graph
    run("embed", iris, "-l", "species", *QUICK, "-o", tmp_path / "map.csv")
    assert run("score", iris, "-x", "species", "--map", tmp_path / "map.csv").status == 0


def test_rows_without_a_label_are_left_out_of_the_label_scores(run, model, tmp_path):
    labels = SPECIES.astype(object)
    labels[:20] = None
    lines = [",".join([*map(str, row), label or ""]) for row, label in zip(X, labels, strict=True)]
    path, places = tmp_path / "gaps.csv", tmp_path / "map.npy"
    path.write_text("a,b,c,d,kind\n" + "\n".join(lines) + "\n")
    np.save(places, model.embedding_)
    measured = json.loads(run("score", path, "--label", "kind", "--map", places, "--json").out)["measures"]
    expected = actup.quality_report(X[20:], model.embedding_[20:], SPECIES[20:].astype(str), verbose=False)
    assert measured["knn_accuracy"]["value"] == expected["knn_accuracy"]
    assert "130 rows with a label" in measured["knn_accuracy"]["note"]
    printed = run("score", path, "-x", "kind", "--map", places).out
    assert "needs labels: give --label COLUMN or FILE" in printed and "give y" not in printed
    assert "fractional numbers" in run("score", path, "-x", "kind", "-l", "a", "--map", places).out


def test_scores_are_of_the_metric_of_the_map_or_left_out(run, tmp_path):
    model = actup.UMAP(n_epochs=10, random_state=0, metric="gower").fit(X)
    model.save(tmp_path / "gower.actup")
    ran = run("score", tmp_path / "gower.actup")
    assert ran.status == 0, ran.err
    assert "cross_entropy" in ran.out and "the map's metric is gower" in ran.out


def test_maps_that_do_not_belong_to_the_data_are_rejected(rejected, iris, model, tmp_path):
    np.save(tmp_path / "short.npy", model.embedding_[:10])
    error = rejected("score", iris, "-l", "species", "--map", tmp_path / "short.npy")
    assert "has 10 points, but" in error and "has 150 rows" in error
    assert "--map is missing" in rejected("score", iris, "-l", "species")
    assert "is no map" in rejected("score", iris, "-l", "species", "--map", iris)
    model.save(tmp_path / "bare.actup", data=None)
    assert "saved without its rows" in rejected("score", tmp_path / "bare.actup")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("first", ["a", ""])  # a name is missing: the column identifies the rows
def test_scores_put_the_points_of_a_table_in_the_order_of_the_rows(kind, first, run, rejected, tmp_path):
    path, places, moved = tmp_path / "rows.csv", tmp_path / f"map.{kind}", tmp_path / f"moved.{kind}"
    lines = [",".join(map(str, [1000 - i, *row])) for i, row in enumerate(X)]
    path.write_text("\n".join([f"{first},b,c,d,e", *lines]) + "\n")
    options = ("-x", "a") if first else ()
    assert run("embed", path, *options, "--epochs", 50, "-o", places).status == 0
    scored = ("score", path, *options, "--json", "--map")
    expected = run(*scored, places).out
    read = pandas.read_csv if kind == "csv" else pandas.read_parquet
    frame = read(places).sample(frac=1, random_state=0)

    def write(frame):
        frame.to_csv(moved, index=False) if kind == "csv" else frame.to_parquet(moved, index=False)

    write(frame)
    assert json.loads(expected)["measures"]["trustworthiness"]["value"] > 0.9
    assert run(*scored, moved).out == expected
    name = "row" if first else "id"
    write(frame.assign(**{name: 7}))
    assert f"is no map of these rows: column '{name}' has 7 where" in rejected(*scored, moved)
    if first:
        run("embed", path, *options, "--epochs", 5, "--sample", 40, "-o", places)
        assert "has 40 points, but" in rejected(*scored, places)
        assert run(*scored, places, "--sample", 40).status == 0
        assert "give the --sample, --seed" in rejected(*scored, places, "--sample", 40, "--seed", 1)


# ---- compare and spectrum ----


def test_recipes_side_by_side(run, iris, tmp_path):
    page, picture, arrays = (tmp_path / f"maps.{suffix}" for suffix in ("html", "png", "npz"))
    recipes = ("-r", "umap", "-r", "tsne:perplexity=20", "-r", "gdr:normalized=true,loss=frobenius")
    outputs = ("-o", page, "-o", picture, "-o", arrays)
    ran = run("compare", iris, "-l", "species", *recipes, *QUICK, *outputs)
    assert ran.status == 0, ran.err
    names = [line.split()[0] for line in ran.out.splitlines()[1:]]
    assert names == ["umap", "tsne:perplexity=20", "gdr:normalized=true,loss=frobenius"]
    assert "trustworthiness" in ran.out.splitlines()[0]
    assert set(np.load(arrays).files) == set(names)
    text = page.read_text(encoding="utf-8")
    assert all(name in text for name in names) and "neighbour recall" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_comparisons_are_measured_in_the_metric_of_the_maps(run, iris, tmp_path):
    arrays = tmp_path / "maps.npz"
    common = ("compare", iris, *QUICK, "-o", arrays, "-r", "umap")
    ran = run(*common, "-l", "species", "--metric", "cosine")
    names, figures = (line.split() for line in ran.out.splitlines())
    expected = actup.quality_report(X, np.load(arrays)["umap"], metric="cosine", verbose=False)
    assert figures[1 + names.index("neighbor_recall")] == f"{expected['neighbor_recall']:.4f}"
    for metric in ("nan_euclidean", "manhattan"):
        ran = run(*common, "-l", "species", "--metric", metric)
        assert ran.status == 0 and f"--metric {metric}: scores" in ran.err
        assert "knn_accuracy" in ran.out and "trustworthiness" not in ran.out
    arrays.unlink()
    assert run(*common, "--metric", "gower").status == 0 and arrays.exists()


def test_wrong_recipes_are_rejected(rejected, iris, tmp_path):
    common = ("compare", iris, "-l", "species", "-o", tmp_path / "maps.html")
    assert "'som'" in rejected(*common, "-r", "som")
    assert "did you mean 'tsne'?" in rejected(*common, "-r", "tnse")
    assert "did you mean 'perplexity'?" in rejected(*common, "-r", "tsne:perplexty=20")
    assert "must be SWITCH=VALUE" in rejected(*common, "-r", "tsne:perplexity")
    assert "is no switch" in rejected(*common, "-r", "tsne:colour=red")
    assert "holds one map only" in rejected("compare", iris, "-l", "species", "-o", tmp_path / "maps.csv")


def test_slider_from_tsne_to_umap(run, rejected, iris, tmp_path):
    page, arrays = tmp_path / "spectrum.html", tmp_path / "spectrum.npz"
    outputs = ("-o", page, "-o", arrays)
    ran = run("spectrum", iris, "-l", "species", "--steps", "1,2,4", *QUICK, *outputs)
    assert ran.status == 0, ran.err
    assert np.load(arrays).files == ["exaggeration 1", "exaggeration 2", "exaggeration 4"]
    assert "resembles UMAP" in page.read_text(encoding="utf-8")
    common = ("spectrum", iris, "-l", "species", "-o", page)
    assert "at least two" in rejected(*common, "--steps", "1")
    assert "give numbers" in rejected(*common, "--steps", "a,b")
    assert "leave it out" in rejected(*common, "--late-exaggeration", "2")


@pytest.mark.parametrize("command", ["embed", "compare", "spectrum"])
def test_dry_runs_reject_outputs(command, rejected, iris):
    assert "the suffix must be one of" in rejected(command, iris, "-l", "species", "--dry-run", "-o", "a.xyz")


@pytest.mark.parametrize("command", ["compare", "spectrum"])
def test_commands_of_several_maps_name_the_outputs_that_hold_them(command, run, rejected, iris):
    kinds = "npz, html, png, pdf, svg"
    assert f"give -o FILE ({kinds})" in rejected(command, iris, "-l", "species")
    assert f"must be one of {kinds}" in rejected(command, iris, "-l", "species", "-o", "maps.xls")
    help_page = " ".join(run(command, "--help").out.split())
    assert "parquet (for" not in help_page and "the fitted model" not in help_page


def test_unknown_recipes_name_the_option(rejected, iris, tmp_path):
    error = rejected("compare", iris, "-l", "species", "-r", "tnse", "-o", tmp_path / "maps.npz")
    assert error == "actup: --recipe 'tnse' is not known: did you mean 'tsne'?\n"


def test_dry_runs_count_all_maps(run, iris):
    assert "epochs" in run("compare", iris, "-l", "species", "--dry-run").out
    assert "epochs" in run("spectrum", iris, "-l", "species", "--dry-run").out


@pytest.mark.parametrize(
    "command", [("embed",), ("compare",), ("compare", "-r", "umap"), ("spectrum",), ("view",)], ids=" ".join
)
def test_dry_runs_refuse_what_the_run_refuses(command, rejected, iris):
    name, *options = command
    command = (name, iris, "-l", "species", *options, "--dry-run", "--max-memory")
    assert "--max-memory '1kB' is too little: stage" in rejected(*command, "1kB")
    assert "--max-memory 'foo' must be a number of bytes" in rejected(*command, "foo")


def test_a_dry_run_names_the_leaner_way_and_the_backend(run, rejected, tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(8000, 10)).astype(np.float32))
    needed = actup.UMAP(n_jobs=1).memory_estimate(np.load(tmp_path / "X.npy")).bytes
    command = ("embed", tmp_path / "X.npy", "--jobs", 1, "--backend", "cpu", "--dry-run")
    assert "leaner by" not in run(*command, "--max-memory", "1GB").out
    assert "leaner by" in run(*command, "--max-memory", int(0.65 * needed)).out
    sizes = {"neighbors": 3_000_000_000}
    monkeypatch.setattr("actup.backends._cpu.CpuBackend.device_memory", lambda *_: sizes)
    assert "on the GPU       3.0 GB, in stage neighbors" in run(*command).out


@pytest.mark.parametrize("of_model", [False, True])
def test_max_memory_is_rejected_where_no_map_is_made(of_model, rejected, iris, model, tmp_path):
    np.save(tmp_path / "map.npy", model.embedding_)
    model.save(tmp_path / "model.actup")
    limit = ("--max-memory", "1GB")
    scored = (tmp_path / "model.actup",) if of_model else (iris, "--map", tmp_path / "map.npy")
    assert "--max-memory 1GB: limits the memory of making a map" in rejected("score", *scored, *limit)
    viewed = tmp_path / ("model.actup" if of_model else "map.npy")
    assert "the map is there already" in rejected("view", viewed, *limit, "-o", tmp_path / "page.html")


# ---- view ----


def test_data_are_mapped_and_shown(run, iris, launched, tmp_path):
    page = tmp_path / "page.html"
    assert run("view", iris, "--label", "species", *QUICK, "-o", page).status == 0
    assert launched == [page.as_uri()]
    assert "setosa" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "actup"])
def test_maps_are_shown_as_they_are(kind, run, iris, launched, tmp_path, monkeypatch):
    path, page = tmp_path / f"map.{kind}", tmp_path / "page.html"
    run("embed", iris, "--label", "species", *QUICK, "-o", path)
    monkeypatch.setattr("actup._cli.commands.view._make_map", None)  # no map must be made
    label = ["--label", "species"] if kind in ("csv", "parquet") else []
    ran = run("view", path, *label, "--no-open", "-o", page)
    assert ran.status == 0, ran.err
    assert launched == [] and page.stat().st_size > 10_000
    assert ran.out == f"{page}\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--method", "tsne"), "--method"),
        (("--scale", "standard", "--neighbors", 5), "--scale, --neighbors"),
        (("--dry-run",), "--dry-run"),
    ],
)
def test_maps_reject_options_that_would_make_them(options, named, run, rejected, iris, model, tmp_path):
    run("embed", iris, "--label", "species", *QUICK, "-o", tmp_path / "map.csv")
    model.save(tmp_path / "model.actup")
    page = tmp_path / "page.html"
    error = rejected("view", tmp_path / "map.csv", *options, "-o", page)
    assert f"{named}: " in error and "holds a map, which is shown as it is: leave it out" in error
    assert f"{named}: " in rejected("view", tmp_path / "model.actup", *options, "-o", page)


def test_models_reject_options_of_data(rejected, model, tmp_path):
    path, page = tmp_path / "model.actup", tmp_path / "page.html"
    model.save(path)
    assert "--columns: " in rejected("view", path, "--columns", "gene_1", "-o", page)
    assert "no columns with names: give a file of labels" in rejected("score", path, "--label", "kind")
    assert "--exclude, --scale: " in rejected("score", path, "--scale", "standard", "-x", "0")
    assert "has its rows and its map with it: leave it out" in rejected("score", path, "--map", path)


def test_arrays_of_three_columns_are_data(run, tmp_path):
    path, page = tmp_path / "three.npy", tmp_path / "page.html"
    np.save(path, np.random.default_rng(0).normal(size=(60, 3)))
    ran = run("view", path, "--no-open", *QUICK, "-o", page)
    assert ran.status == 0, ran.err
    assert '"name": "umap"' in page.read_text(encoding="utf-8").replace('":"', '": "')


def test_a_third_coordinate_of_a_table_is_warned_of(run, iris, tmp_path):
    path, page = tmp_path / "map.csv", tmp_path / "page.html"
    run("embed", iris, "--label", "species", "--dimensions", 3, *QUICK, "-o", path)
    ran = run("view", path, "--label", "species", "--no-open", "-o", page)
    assert ran.status == 0 and "columns 'x' and 'y', without 'z'" in ran.err


def test_all_maps_of_an_archive_are_on_one_page(run, iris, tmp_path):
    path, page = tmp_path / "maps.npz", tmp_path / "page.html"
    recipes = ("-r", "umap", "-r", "tsne:perplexity=20")
    ran = run("compare", iris, "-l", "species", *recipes, "--no-score", "--epochs", 5, "-o", path)
    assert ran.status == 0, ran.err
    ran = run("view", path, "--no-open", "-o", page)
    assert ran.status == 0, ran.err
    text = page.read_text(encoding="utf-8")
    assert "tsne:perplexity=20" in text and re.search(r'"sideBySide": ?true', text)


def test_maps_have_no_layout_to_watch(rejected, model, tmp_path):
    np.save(tmp_path / "map.npy", model.embedding_)
    model.save(tmp_path / "model.actup")
    for name in ("map.npy", "model.actup"):
        assert "holds a map, whose layout cannot be watched" in rejected("view", tmp_path / name, "--live")


def test_the_page_of_a_view_is_temporary_by_default(run, launched, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write_kind("npy", tmp_path)
    assert run("view", path, *QUICK).status == 0
    assert sorted(tmp_path.glob("actup-*/*")) == sorted(tmp_path.glob("actup-*/iris.html"))
    assert launched == [page.as_uri() for page in tmp_path.glob("actup-*/iris.html")]


def test_standard_input_can_be_viewed(run, iris, launched, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(iris.read_bytes())))
    page = tmp_path / "page.html"
    assert run("view", "-", "--label", "species", *QUICK, "-o", page).status == 0
    assert "setosa" in page.read_text(encoding="utf-8")


def test_views_are_pages(rejected, iris, tmp_path):
    assert "is an html file" in rejected("view", iris, "-l", "species", "-o", tmp_path / "map.png")


def test_live_layouts_are_served_until_the_session_ends(run, rejected, iris, tmp_path, monkeypatch):
    from urllib.request import urlopen

    from actup.viewer import LiveView

    sessions = []

    def wait(session):
        with urlopen(session.url) as answer:
            sessions.append((session, answer.status, answer.read()))

    monkeypatch.setattr(LiveView, "wait", wait)
    ran = run("view", iris, "--label", "species", "--live", "--no-open", "--title", "Flowers", *QUICK)
    assert ran.status == 0, ran.err
    (session, status, text), *_ = sessions
    assert ran.out.strip() == session.url and status == 200 and b"Flowers" in text
    assert session.closed and os.listdir(tmp_path) == ["iris.csv"]
    error = rejected("view", iris, "-l", "species", "--live", "-o", tmp_path / "page.html")
    assert "a live page is not a file" in error
