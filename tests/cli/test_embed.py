"""actup embed: outputs, preparation of rows, and files that are whole or absent."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import actup
from actup._cli import making
from actup._cli.outputs import OUTPUTS
from small_files import NAMES, SPECIES, X, delimited, write_kind

QUICK = ("--epochs", 10)


def test_every_output_is_written_and_equals_the_estimator(run, iris, tmp_path):
    paths = {suffix: tmp_path / f"map.{suffix}" for suffix in OUTPUTS}
    outputs = [part for path in paths.values() for part in ("-o", path)]
    assert run("embed", iris, "--label", "species", "--write-neighbors", 5, *QUICK, *outputs).status == 0
    expected = actup.UMAP(n_epochs=10, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(np.load(paths["npy"]), expected)
    np.testing.assert_array_equal(np.load(paths["npz"])["umap"], expected)
    np.testing.assert_array_equal(actup.load(paths["actup"]).embedding_, expected)
    with open(paths["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["species"] for row in rows] == SPECIES.tolist()
    assert np.array([[row["x"], row["y"]] for row in rows], np.float32).tolist() == expected.tolist()
    assert paths["tsv"].read_text() == paths["csv"].read_text().replace(",", "\t")
    assert b"setosa" in paths["html"].read_bytes()
    assert paths["png"].read_bytes().startswith(b"\x89PNG") and paths["pdf"].read_bytes().startswith(b"%PDF")
    assert b"<svg" in paths["svg"].read_bytes()


def test_parquet_has_the_columns_of_embedding_atlas(run, iris, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "map.parquet"
    assert run("embed", iris, "-l", "species", "--write-neighbors", 5, *QUICK, "-o", path).status == 0
    table = parquet.read_table(path)
    assert table.column_names == ["row", "species", "projection_x", "projection_y", "neighbors"]
    assert table.num_rows == 150 and len(table["neighbors"][0]["ids"]) == 6


@pytest.mark.parametrize("names", [["a", "b", "c"], ["", "b", "c"]])
def test_parquet_names_the_rows_as_csv_does(names, run, tmp_path):
    from pyarrow import parquet

    path, maps = tmp_path / "rows.csv", [tmp_path / "map.csv", tmp_path / "map.parquet"]
    path.write_text("\n".join([",".join(names), *(f"{i % 9},{i % 7},{i % 5}" for i in range(80))]) + "\n")
    assert run("embed", path, "--sample", 40, *QUICK, "-o", maps[0], "-o", maps[1]).status == 0
    rows = list(csv.reader(maps[0].read_text().splitlines()))[1:]
    table = parquet.read_table(maps[1])
    assert table.column_names == ["row" if names[0] else "id", "projection_x", "projection_y"]
    assert [str(value) for value in table[0].to_pylist()] == [row[0] for row in rows] and len(rows) == 40


def test_standard_output_is_csv(run, iris):
    ran = run("embed", iris, "-l", "species", *QUICK, "-o", "-")
    assert ran.out.startswith("row,x,y,species\n0,") and ran.out.count("\n") == 151 and ran.err == ""


def test_columns_named_like_coordinates(run, tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=np.arange(150))
    ran = run("embed", tmp_path / "data.npz", "-l", "y", *QUICK, "-o", "-")
    assert ran.out.startswith("row,projection_x,projection_y,y\n")


def test_an_existing_file_is_replaced_and_a_former_one_stays_after_an_error(run, rejected, iris, tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("former")
    assert "must be less than" in rejected("embed", iris, "-l", "species", "-m", "tsne",
                                           "--perplexity", 500, "-o", path)  # fmt: skip
    assert path.read_text() == "former"
    assert run("embed", iris, "-l", "species", *QUICK, "-o", path).status == 0
    assert path.read_text().startswith("row,x,y")


def test_no_output_is_left_if_a_later_one_fails(rejected, iris, tmp_path, monkeypatch):
    def fail(path, result):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setitem(OUTPUTS, "npz", OUTPUTS["npz"].__class__(fail, several=True))
    error = rejected(
        "embed", iris, "-l", "species", *QUICK, "-o", tmp_path / "map.npy", "-o", tmp_path / "b.npz"
    )
    assert "No space left on device" in error


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes as files, and no modes")
@pytest.mark.parametrize("options", [[], ["--work", "work"], ["--work", "work", "--dry-run"]])
def test_outputs_that_are_no_files_are_rejected_before_any_work(options, rejected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32))
    for name in ("pipe", "pipe.npy"):
        os.mkfifo(name)
    os.symlink("pipe.npy", "link.npy")
    for module in ("actup._cli.commands.embed.load_rows", "actup.distributed.embed"):
        monkeypatch.setattr(module, None)
    for name in ("pipe", "pipe.npy", "link.npy"):
        error = rejected("embed", "X.npy", *options, "-o", name)
        assert f"-o {name}: is no regular file but a named pipe" in error and "-o - for csv" in error
    assert Path("pipe.npy").is_fifo() and Path("link.npy").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "parquet", "html", "png", "actup"])
def test_replaced_files_keep_their_permissions(suffix, run, iris, tmp_path):
    path = tmp_path / f"map.{suffix}"
    path.touch(0o600)
    assert run("embed", iris, "-l", "species", *QUICK, "-o", path).status == 0
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_size > 0


_LIMITED = (
    "import resource, sys; from actup._cli import program; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); sys.exit(program())"
)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of the size of files")
@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "tsv", "parquet", "html", "png", "svg", "actup"])
def test_failed_writes_name_the_file(suffix, iris, tmp_path):
    path = tmp_path / f"map.{suffix}"
    command = [sys.executable, "-c", _LIMITED, "embed", iris, "-l", "species", *QUICK, "-o", path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"actup: {path}: cannot be written: ")
    assert done.stderr.endswith("File too large\n")
    assert os.listdir(tmp_path) == ["iris.csv"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of the size of files")
@pytest.mark.parametrize("others", [[], ["-o", "map.npz"]])
def test_failed_writes_to_standard_output_say_so(others, iris, tmp_path):
    command = [sys.executable, "-c", _LIMITED, "embed", iris, "-l", "species", *QUICK, *others, "-o", "-"]
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            list(map(str, command)), stdout=out, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
    where = tmp_path / "map.npz" if others else "standard output"
    assert done.returncode == 2
    assert done.stderr == f"actup: {where}: cannot be written: File too large\n".replace(f"{tmp_path}/", "")
    assert sorted(os.listdir(tmp_path)) == ["iris.csv", "out"]


@pytest.mark.parametrize("stage", ["neighbors", "layout"])
def test_ctrl_c_ends_with_130_and_leaves_no_file(stage, run, iris, tmp_path, monkeypatch):
    make = making.make_estimator

    def make_interrupted(*arguments, **options):
        def interrupt(reached, fraction, embedding):
            if reached == stage:
                os.kill(os.getpid(), signal.SIGINT)

        return make(*arguments, **options).set_params(callback=interrupt)

    monkeypatch.setattr(making, "make_estimator", make_interrupted)
    ran = run("embed", iris, "-l", "species", "-o", tmp_path / "map.csv")
    assert (ran.status, ran.err) == (130, "actup: stopped\n")
    assert os.listdir(tmp_path) == ["iris.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no output: give -o FILE"),
        (["-o", "map.html", "--write-neighbors", "5"], "--write-neighbors adds a column to parquet"),
        (["-o", "map.xls"], "the suffix must be one of"),
        (["-o", "nowhere/map.npy"], "there is no folder nowhere"),
        (["-o", "iris.csv"], "would replace the file that is read"),
        (["-o", "map.html", "--dimensions", "3"], "shows 1 or 2 dimensions, not 3"),
        (["-o", "map.npy", "--method", "som"], "--method 'som' is not one of umap, tsne, gdr"),
        (["-o", "map.npy", "--method", "tsen"], "--method 'tsen' is not known: did you mean 'tsne'?"),
        (["-o", "map.npy", "--metric", "euclid"], "euclid"),
        (["-o", "map.npy", "--loss", "l2"], "--loss"),
        (["-o", "map.npy", "--neighbors", "1"], "--neighbors 1 must be at least 2"),
        (["-o", "map.npy", "--horizon", "2"], "--horizon 2.0 belongs to --update 'in_place'"),
        (["-o", "map.npy", "--pca", "9"], "--pca 9 must be at most 4"),
        (["-o", "map.npy", "--jobs", "0"], "--jobs=0 has no meaning"),
        (["-o", "map.npy", "--values", "species"], "holds text: use --label species"),
        (["-o", "map.npy", "--unknown"], "No such option: --unknown"),
    ],
)
def test_wrong_options_are_rejected_in_one_line(arguments, message, rejected, iris, monkeypatch):
    monkeypatch.chdir(iris.parent)
    label = [] if "--values" in arguments else ["--label", "species"]
    assert message in rejected("embed", "iris.csv", *label, *arguments)


def test_missing_packages_of_outputs_are_named_before_any_work(rejected, iris, tmp_path, monkeypatch):
    monkeypatch.setattr("actup._cli.outputs.find_spec", lambda name: None)
    error = rejected("embed", iris, "-l", "species", "-o", tmp_path / "map.png")
    assert "needs the package matplotlib: pip install 'actup[plot]'" in error


# ---- rows ----


def embedded(run, path, *options, epochs=QUICK):
    """The map that ``actup embed`` writes with these options, and the table beside it."""
    ran = run("embed", path, *options, *epochs, "-o", "-")
    assert ran.status == 0, ran.err
    return list(csv.DictReader(ran.out.splitlines()))


def test_missing_values_are_dropped_filled_or_compared(run, tmp_path):
    path = tmp_path / "gaps.csv"
    holed = X.astype(object)
    holed[3, 1] = ""
    path.write_text("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in holed) + "\n")
    rows = embedded(run, path, "--missing", "drop")
    assert len(rows) == 149 and "3" not in [row["row"] for row in rows]
    for options in (["--missing", "mean"], ["--missing", "median"], ["--metric", "nan_euclidean"]):
        assert len(embedded(run, path, *options)) == 150


def test_infinite_values_are_dropped_or_filled(run, tmp_path):
    path = tmp_path / "infinite.csv"
    values = X.astype(str)
    values[3, 1] = "inf"
    path.write_text("a,b,c,d\n" + "\n".join(map(",".join, values)) + "\n")
    assert len(embedded(run, path, "--missing", "drop")) == 149
    assert len(embedded(run, path, "--missing", "mean")) == 150


def test_columns_that_would_hide_the_others_are_warned_of(run, tmp_path):
    def told(extra, *options):
        names = "extra column,a,b,c,d\n"
        lines = [",".join(map(str, [first, *row])) for first, row in zip(extra, X.tolist(), strict=True)]
        (tmp_path / "data.csv").write_text(names + "\n".join(lines) + "\n")
        ran = run("embed", tmp_path / "data.csv", *QUICK, *options, "-o", tmp_path / "map.npy")
        assert ran.status == 0
        return ran.err

    numbers = told(range(1, 151))
    assert "column 'extra column' numbers the rows" in numbers and "--exclude 'extra column'" in numbers
    prices = np.random.default_rng(0).integers(0, 10_000, 150).tolist()
    assert "'extra column' has 100 % of the total variance" in told(prices)
    assert "100 % of the total variance" in told([*prices[:140], *[""] * 10], "--metric", "nan_euclidean")
    assert told([""] * 150, "--metric", "nan_euclidean") == ""  # a column without any number
    assert told(prices, "--scale", "standard") == "" == told(prices, "--exclude", "extra column")


def test_filled_and_scaled_values(tmp_path):
    from actup._cli.chosen import Chosen
    from actup._cli.options import PreparingOptions
    from actup._cli.preparation import prepare_rows

    numbers = np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, 9.0]])
    given = Chosen("data", numbers, ["a", "b"], np.arange(3))

    def prepared(**options):
        return prepare_rows(given, PreparingOptions(**options), "euclidean", 0, 1).X

    assert prepared(missing="mean")[1, 0] == 3 and prepared(missing="median")[1, 0] == 3
    standard = prepared(missing="mean", scale="standard")
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), 1)
    np.testing.assert_allclose(np.median(prepared(missing="mean", scale="robust"), axis=0), 0, atol=1e-12)
    assert prepared(missing="mean", scale="minmax").max() == 1
    np.testing.assert_allclose(np.linalg.norm(prepared(missing="mean", scale="unit"), axis=1), 1)
    np.testing.assert_allclose(prepared(missing="drop", scale="log1p"), np.log1p(numbers[[0, 2]]))
    assert np.isnan(given.X[1, 0])  # the rows that were read stay as they are


def test_principal_components_first(run, tmp_path):
    path = write_kind("npy", tmp_path)
    assert run("embed", path, "--pca", 3, *QUICK, "-o", tmp_path / "map.npy").status == 0
    from sklearn.decomposition import PCA

    from actup._cli.chosen import Chosen
    from actup._cli.options import PreparingOptions
    from actup._cli.preparation import prepare_rows

    given = Chosen("data", X, ["a", "b", "c", "d"], np.arange(len(X)))
    scores = prepare_rows(given, PreparingOptions(pca=3), "euclidean", 0, 1).X
    np.testing.assert_allclose(np.abs(scores), np.abs(PCA(3).fit_transform(X)), atol=1e-4)


def test_a_sample_keeps_rows_and_labels_together(run, iris):
    rows = embedded(run, iris, "--label", "species", "--sample", 40)
    assert len(rows) == 40
    assert all(row["species"] == SPECIES[int(row["row"])] for row in rows)
    assert [int(row["row"]) for row in rows] == sorted(int(row["row"]) for row in rows)


def test_categories_by_one_hot_or_gower(run, iris):
    assert len(embedded(run, iris, "--one-hot", "species")) == 150
    assert len(embedded(run, iris, "--metric", "gower")) == 150


def test_points_are_coloured_by_a_one_hot_column(run, iris):
    rows = embedded(run, iris, "--one-hot", "species", "--label", "species")
    alone = embedded(run, iris, "--one-hot", "species")
    assert [row.pop("species") for row in rows] == SPECIES.tolist() and rows == alone


def test_one_hot_columns():
    from actup._cli.chosen import Chosen
    from actup._cli.options import PreparingOptions
    from actup._cli.preparation import prepare_rows

    rows = np.array([[1, "red"], [2, "blue"], [3, None]], object)
    given = Chosen("data", rows, ["size", "color"], np.arange(3))
    prepared = prepare_rows(given, PreparingOptions(one_hot=["color"]), "euclidean", 0, 1)
    assert prepared.names == ["size", "color=blue", "color=red"]
    assert prepared.X.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 0]]


# ---- methods and switches ----


def test_methods_are_the_estimators(run, tmp_path):
    path, out = write_kind("npy", tmp_path), tmp_path / "map.npy"
    cases = {
        ("-m", "tsne", "--perplexity", 20, *QUICK): actup.TSNE(perplexity=20, max_iter=10, random_state=3),
        ("-m", "gdr", "--normalized", "--loss", "frobenius", *QUICK): actup.GDR(
            normalized=True, loss="frobenius", epochs=10, random_state=3
        ),
        ("-m", "umap", "--symmetrization", "tsne", *QUICK): actup.GDR(
            preset="umap", symmetrization="tsne", epochs=10, random_state=3
        ),
        ("-m", "paper_umap", *QUICK): actup.GDR(preset="paper_umap", epochs=10, random_state=3),
        ("--metric", "minkowski", "--metric-kwds", "p=3", "--dimensions", 3, *QUICK): actup.UMAP(
            metric="minkowski", metric_kwds={"p": 3}, n_components=3, n_epochs=10, random_state=3
        ),
    }
    for options, model in cases.items():
        assert run("embed", path, *options, "--seed", 3, "-o", out).status == 0
        np.testing.assert_array_equal(np.load(out), model.fit_transform(X))


def test_a_dry_run_writes_nothing(run, iris, tmp_path):
    ran = run("embed", iris, "-l", "species", "--dry-run")
    assert ran.status == 0 and os.listdir(tmp_path) == ["iris.csv"]
    for word in ("rows", "columns", "neighbours", "epochs", "layout", "time", "memory", "150"):
        assert word in ran.out
    assert "of the map and its rows, in stage" in ran.out and "with Python and its libraries" in ran.out
    limited = run("embed", iris, "-l", "species", "--dry-run", "--max-memory", "60MB").out
    assert "of the map and its rows (limit 60 MB), in stage" in limited


def test_estimates_grow_with_the_work():
    from actup._cli.estimate import estimate_map

    def seconds(n, columns, name, **changes):
        X = np.broadcast_to(np.float32(0), (n, columns))
        return estimate_map(X, actup.preset(name).but(**changes), 2)

    assert seconds(10**6, 100, "umap").total_seconds > 20 * seconds(20_000, 100, "umap").total_seconds
    assert seconds(10**5, 100, "tsne").bytes > seconds(10**5, 100, "umap").bytes
    exact = seconds(10**5, 100, "tsne", repulsion="exact").seconds["layout"]
    assert exact > 10 * seconds(10**5, 100, "tsne").seconds["layout"]
    assert "this takes about" in seconds(10**7, 100, "tsne").announcement() or "memory" in (
        seconds(10**7, 100, "tsne").announcement()
    )
    assert seconds(1000, 10, "umap").announcement() is None


def test_a_terminal_sees_what_happens(run, iris, tmp_path, monkeypatch):
    monkeypatch.setattr("actup._cli.reporting.shows_progress", lambda quiet: not quiet)
    command = ("embed", iris, "-l", "species", *QUICK, "-o", tmp_path / "map.npy")
    told = run(*command).err
    assert "150 rows, 4 columns (sepal_length … petal_width); label species" in told
    assert "UMAP map of 150 rows" in told and "wrote" in told
    assert run(*command, "--quiet").err == ""


def test_warnings_are_one_line(run, iris, tmp_path):
    ran = run("embed", iris, "-l", "species", "--neighbors", 400, *QUICK, "-o", tmp_path / "map.npy")
    assert ran.status == 0
    assert ran.err.splitlines() == [
        "actup: warning: --neighbors 400 is larger than the number of samples; using 150"
    ]


# ---- clusters and what is shown ----


def test_clusters_are_written_and_named_by_labels_or_texts(run, tmp_path):
    random = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 60)
    places = random.normal(size=(180, 5)) + 20 * np.eye(5)[groups]
    words = np.array([["apple", "bread"], ["river", "stone"], ["north", "south"]], object)[groups]
    path = tmp_path / "groups.npz"
    texts = np.array([f"{first} {second} {i % 7}" for i, (first, second) in enumerate(words)])
    np.savez(path, X=places, group=groups, text=texts)
    by_label = embedded(run, path, "--label", "group", "--cluster", epochs=())  # clusters need a finished map
    named = [row for row in by_label if row["cluster"] != "-1"]
    assert len(named) > 150
    assert np.mean([row["cluster_name"] == row["group"] for row in named]) > 0.9
    by_text = embedded(run, path, "--text", "text", "--cluster")
    names = " ".join({row["cluster_name"] for row in by_text})
    assert all(word in names for word in ("apple", "river", "north"))


def test_a_page_is_coloured_by_the_columns_of_the_file(run, iris, tmp_path):
    page = tmp_path / "map.html"
    options = ("--label", "species", "--values", "petal_width", "--hover", "sepal_width", "--cluster")
    assert run("embed", iris, *options, *QUICK, "-o", page).status == 0
    text = page.read_text(encoding="utf-8")
    for name in ("species", "petal_width", "sepal_width", "setosa"):
        assert name in text


def test_panels_of_a_picture_have_the_names_of_columns(run, iris, tmp_path, monkeypatch):
    given = []

    def plot(Y, labels, values, path, **options):
        given.append((labels, values))
        path.write_text("<svg/>")

    monkeypatch.setattr("actup.plot", plot)
    picture = tmp_path / "map.svg"
    run("embed", iris, "--label", "species", "--values", "petal_width", *QUICK, "-o", picture)
    run("embed", iris, "--label", "species", *QUICK, "-o", picture)
    (labels, values), (label, nothing) = given
    assert list(labels) == ["species"] and list(values) == ["petal_width"]
    assert isinstance(label, np.ndarray) and nothing is None


def test_images_are_shown_at_the_pointer(run, rejected, tmp_path):
    np.save(tmp_path / "images.npy", np.random.default_rng(0).integers(0, 255, (60, 8, 8), np.uint8))
    common = ("embed", tmp_path / "images.npy", *QUICK, "-o", tmp_path / "map.html")
    assert "needs rows of 49 numbers, these have 64" in rejected(*common, "--images", "7x7")
    assert "must be HEIGHTxWIDTH" in rejected(*common, "--images", "8")
    assert run(*common, "--images", "8x8", "--sample", 40).status == 0
    assert "data:image/png" in (tmp_path / "map.html").read_text(encoding="utf-8")


def test_dates_are_values_or_shown(run, tmp_path):
    path = tmp_path / "days.csv"
    lines = [f"{a},{b},2024-01-{1 + i % 28:02}" for i, (a, b) in enumerate(X[:60, :2].tolist())]
    path.write_text("a,b,day\n" + "\n".join(lines) + "\n")
    assert run("embed", path, "--values", "day", *QUICK, "-o", tmp_path / "map.html").status == 0
    rows = embedded(run, path, "--hover", "day")
    assert rows[0]["day"].startswith("2024-01-01")


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_rows_of_several_files_say_where_they_are_from(kind, run, tmp_path):
    paths = []
    for name in "ab":
        (tmp_path / name).mkdir()
        paths.append(write_kind(kind, tmp_path / name))
    label = ["--label", "species"] if kind == "csv" else []
    outputs = [tmp_path / f"map.{suffix}" for suffix in ("csv", "parquet", "html")]
    ran = run("embed", *paths, *label, "--epochs", 5, *(f"-o{path}" for path in outputs))
    assert ran.status == 0, ran.err
    with open(outputs[0], encoding="utf-8", newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == [
            str(path) for path in paths for _ in range(150)
        ]
    from pyarrow import parquet

    assert "file" in parquet.read_table(outputs[1]).column_names
    assert run("embed", *paths, *label, "--label", "file", "--epochs", 5, f"-o{outputs[0]}").status == 0
    if kind == "csv":
        by_file = ("--one-hot", "file", "--epochs", 5, "-o", "-")
        assert "file" in run("embed", *paths, *label, *by_file).out.splitlines()[0]
        left_out = run("embed", *paths, *label, "--exclude", "file", "--epochs", 5, "-o", "-")
        assert "file" not in left_out.out.splitlines()[0]


def test_max_memory_keeps_the_map_or_refuses_it(run, rejected, iris, tmp_path):
    command = ("embed", iris, "-l", "species", *QUICK)
    assert run(*command, "-o", tmp_path / "usual.npy").status == 0
    assert run(*command, "-o", tmp_path / "kept.npy", "--max-memory", "1GB").status == 0
    np.testing.assert_array_equal(np.load(tmp_path / "usual.npy"), np.load(tmp_path / "kept.npy"))
    refusal = "--max-memory '1kB' is too little: stage"
    assert refusal in rejected(*command, "-o", tmp_path / "none.npy", "--max-memory", "1kB")
    assert not (tmp_path / "none.npy").exists()


# ---- saved models ----


def test_saved_models_keep_the_names_of_columns(run, iris, tmp_path):
    path = tmp_path / "map.actup"
    assert run("embed", iris, "--label", "species", *QUICK, "-o", path).err == ""
    model = actup.load(path)
    assert model.feature_names_in_.tolist() == NAMES
    frame = pandas.read_csv(iris)
    assert model.transform(frame[NAMES][:5]).shape == (5, 2)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[NAMES[::-1]][:5])
    np.save(tmp_path / "X.npy", X)
    assert run("embed", tmp_path / "X.npy", *QUICK, "-o", path).status == 0
    assert not hasattr(actup.load(path), "feature_names_in_")


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        (("--scale", "standard", "-x", "species"), "StandardScaler"),
        (
            ("--one-hot", "species", "--scale", "log1p", "--pca", 3),
            "OneHotEncoder, then FunctionTransformer(numpy.log1p), then PCA",
        ),
        (("--missing", "median", "-x", "species"), "SimpleImputer"),
    ],
)
def test_saved_models_of_prepared_rows_warn(options, tools, run, tmp_path):
    path = tmp_path / "iris.csv"
    lines = delimited(",").decode().replace("4.9,3.0,", "4.9,,", 1)
    path.write_text(lines if "--missing" in options else lines.replace("4.9,,", "4.9,3.0,"))
    ran = run("embed", path, *options, *QUICK, "-o", tmp_path / "map.actup", "-o", tmp_path / "map.npy")
    assert ran.status == 0
    written = " ".join(map(str, [part for part in options if part not in ("-x",)])).removesuffix(" species")
    (line,) = ran.err.splitlines()
    assert "map.actup holds the prepared rows, but not how they were prepared" in line
    assert f"({written})" in line and f"with {tools} of scikit-learn, fitted to" in line
    assert run("embed", path, *options, *QUICK, "-o", tmp_path / "map.npy").err == ""


def test_saved_models_of_rows_without_gaps_need_no_filling(run, iris, tmp_path):
    options = ("--label", "species", "--missing", "mean", "--sample", 100)
    assert run("embed", iris, *options, *QUICK, "-o", tmp_path / "map.actup").err == ""
