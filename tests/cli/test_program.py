"""The program: help, generated options, exit statuses, and what it says without typer."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import field, make_dataclass
from enum import StrEnum

import pytest

import actup
from actup._cli import main, switches
from actup._cli.app import COMMANDS, make_app
from actup.recipe import Loss, Phase, Role
from actup.recipe._recipe import switches as switch_names


def test_version_and_help(run):
    assert run("--version").out == f"actup {actup.__version__}\n"
    listed = run("--help").out
    for name, about in COMMANDS.items():
        assert name in listed and about.split()[0] in listed


def test_every_command_has_help(run):
    for name, about in COMMANDS.items():
        ran = run(name, "--help")
        assert ran.status == 0 and ran.out.startswith(f"Usage: actup {name}")
        assert about.rstrip(".").split(":")[0] in " ".join(ran.out.split())
    assert run("embed", "-h").out == run("embed", "--help").out


def test_all_commands_together_can_be_made():
    """As shells ask for it, to complete options."""
    assert len(make_app(None).registered_commands) == len(COMMANDS)


def test_python_dash_m_and_the_list_of_commands_import_no_numpy():
    code = (
        "import sys; from actup._cli import main; main(['--help']); "
        "print([name for name in ('numpy', 'sklearn', 'rich') if name in sys.modules], file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == "[]"
    ran = subprocess.run([sys.executable, "-m", "actup"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and ran.stderr == "actup: Missing command. (see actup --help)\n"


def test_without_typer_one_line_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("actup._cli.find_spec", lambda name: None)
    assert main(["embed", "x.csv"]) == 2
    assert capsys.readouterr().err == (
        "actup: the command line needs the package typer: pip install 'actup[cli]'\n"
    )


def test_mistakes_of_actup_are_told_from_wrong_input(run, monkeypatch):
    def fail():
        raise KeyError("oops")

    monkeypatch.setattr("actup._cli.commands.info._facts", fail)
    ran = run("info")
    assert ran.status == 1 and "a mistake of ActUp (KeyError: 'oops')" in ran.err and ran.err.count("\n") == 1
    monkeypatch.setenv("ACTUP_TRACEBACK", "1")
    assert "Traceback" in run("info").err


def test_type_errors_of_python_are_mistakes_of_actup(run, monkeypatch):
    from actup import recipe

    monkeypatch.setattr("actup._cli.commands.info._facts", lambda: {{}})
    ran = run("info")
    assert ran.status == 1 and "a mistake of ActUp (TypeError: unhashable type" in ran.err
    monkeypatch.setattr("actup._cli.commands.info._facts", lambda: recipe.preset(5))
    ran = run("info")
    assert ran.status == 2 and "preset=5 must be the name of a preset" in ran.err


def test_info(run):
    printed = run("info").out
    for word in ("actup", "python", "numpy", "processor", "engine", "threads", "memory", "gpu", "cache"):
        assert word in printed


# ---- options made from the recipe ----


def test_every_switch_is_an_option_with_help(run):
    text = " ".join(run("embed", "--help").out.split())
    for name in switch_names():
        assert f"--{name.replace('_', '-')}" in text
    for member in Loss:
        assert str(member) in text
    assert all(parameter.annotation.__metadata__[0].help for parameter in switches.switch_parameters())


def test_a_new_switch_is_an_option(monkeypatch):
    class Toy(StrEnum):
        RED = "red"
        BLUE = "blue"

    longer = make_dataclass(
        "Longer", [("toy", Toy, field(default=Toy.RED)), ("bend", float | None, field(default=None))]
    )
    monkeypatch.setattr(switches, "Recipe", longer)
    switches._kinds.cache_clear()
    try:
        assert [parameter.name for parameter in switches.switch_parameters()] == ["toy", "bend"]
        assert switches.given_switches({"toy": "blue", "bend": None}) == {"toy": Toy.BLUE}
    finally:
        switches._kinds.cache_clear()


def test_switches_of_several_values():
    values = dict.fromkeys(switch_names())
    values |= {
        "perplexities": "30,300",
        "metric_kwds": 'p=3,w=[1,2],name="x"',
        "phases": "expand:50:0.9,settle:20:0.8:1.5:0.2",
    }
    assert switches.given_switches(values) == {
        "perplexities": (30.0, 300.0),
        "metric_kwds": {"p": 3, "w": [1, 2], "name": "x"},
        "phases": (Phase(Role.EXPAND, 50, 0.9), Phase(Role.SETTLE, 20, 0.8, 1.5, 0.2)),
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("phases", "rest:20:0.9"), ("phases", "settle"), ("metric_kwds", "3"), ("perplexities", "a,b"),
     ("normalized", "maybe"), ("n_neighbors", "2.5"), ("colour", "red")],
)  # fmt: skip
def test_wrong_values_of_switches_are_rejected(name, text):
    with pytest.raises(ValueError, match=r"give|is no switch"):
        switches.read_switch(name, text)


# ---- Ctrl-C and too little memory ----


@pytest.mark.parametrize("place", ["actup._cli.app.run", "actup._cli.app.make_app"])
def test_ctrl_c_outside_of_the_command_is_answered_in_one_line(place, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    ran = run("info")
    assert ran.status == 130 and ran.err == "actup: stopped\n"


def test_ctrl_c_that_python_drops_is_raised_again(run, monkeypatch):
    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def facts():
        Interrupted()
        for _ in range(6000):
            time.sleep(0.01)
        return []

    monkeypatch.setattr("actup._cli.commands.info._facts", facts)
    ran = run("info")
    assert ran.status == 130 and ran.err == "actup: stopped\n"


def test_ctrl_c_that_became_another_error_is_still_ctrl_c(run, monkeypatch):
    def facts():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError("as NumPy's comparisons do") from None

    monkeypatch.setattr("actup._cli.commands.info._facts", facts)
    ran = run("info")
    assert ran.status == 130 and ran.err == "actup: stopped\n"


@pytest.mark.parametrize("text", ["", "std::bad_alloc"])
def test_too_little_memory_has_a_remedy(text, run, monkeypatch):
    def fail():
        raise MemoryError(text)

    monkeypatch.setattr("actup._cli.commands.info._facts", fail)
    ran = run("info")
    assert ran.status == 2
    assert ran.err == "actup: not enough memory: use --sample, --pca or fewer columns\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_that_cannot_be_written_is_named(unbuffered, tmp_path):
    code = (
        "import resource, sys; from actup._cli import program; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); sys.exit(program())"
    )
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", code, "datasets"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert done.stderr == "actup: standard output: cannot be written: File too large\n"


def test_options_are_named_in_the_words_of_the_command_line(rejected, tmp_path, iris):
    out = ("-o", tmp_path / "map.npy")
    assert "'--seed': Input should be less than" in rejected("embed", iris, "--seed", 2**32, *out)
    assert "actup: --min-dist -1.0 must" in rejected("embed", iris, "--min-dist", "-1", *out)
    assert "actup: --learning-rate nan " in rejected("embed", iris, "--learning-rate", "nan", *out)
    assert "actup: --metric 'foo' " in rejected("embed", iris, "--metric", "foo", *out)
    assert "actup: --neighbors 1 must" in rejected("compare", iris, "-r", "umap", "--neighbors", "1", *out)
    ran = rejected("compare", iris, "-r", "umap:neighbors=1", *out)
    assert "actup: --recipe umap:neighbors=1: neighbors=1 must be at least 2" in ran
    assert "--epochs -1 must be at least 0" in rejected("embed", iris, "--epochs", "-1", *out)
    refusal = rejected("embed", iris, "--exclude", "species", "--max-memory", "1B", *out)
    assert "or use actup embed --work FOLDER" in refusal and "actup.distributed" not in refusal
    command = ("compare", iris, "-r", "umap", "-r", "tsne", "-r", "umap", "-o", tmp_path / "maps.html")
    assert rejected(*command) == "actup: --recipe umap is given more than once: give each recipe once\n"


@pytest.mark.parametrize(
    "detail",
    [
        "Unable to allocate 8. GiB for an array",
        "Can't allocate memory for compression object",
        "std::bad_alloc",
    ],
)
def test_too_little_memory_says_what_to_do(run, monkeypatch, detail):
    def fail():
        raise MemoryError(detail)

    monkeypatch.setattr("actup._cli.commands.info.command", fail)
    kept = "" if detail.startswith("std") else f" ({detail})"
    assert run("info").err == f"actup: not enough memory{kept}: use --sample, --pca or fewer columns\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed, iris, tmp_path):
    """As where cron or a daemon runs: files get no descriptor that a stream would have."""
    out = tmp_path / "map.csv"
    command = f'"{sys.executable}" -m actup embed "{iris}" --epochs 2 --exclude species -o "{out}" {closed}'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert len(out.read_text().splitlines()) == 151


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("arguments", "what"),
    [('"{}" -o - >&-', "-o -: standard output is closed"), ("- -o - <&-", "standard input (-) is closed")],
)
def test_a_closed_stream_that_is_needed(arguments, what, iris):
    command = f'"{sys.executable}" -m actup embed {arguments.format(iris)}'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and ran.stderr == f"actup: {what}: give the name of a file\n"
