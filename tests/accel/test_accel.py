"""actup.accel: programs that import umap and scikit-learn's TSNE run on ActUp, as Python runs them."""

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import actup
from actup import accel

SOURCE = str(Path(actup.__file__).parents[1])
WITHOUT_UMAP_LEARN = importlib.util.find_spec("umap") is None


@pytest.fixture
def installed():
    accel.install(quiet=True)
    yield
    accel.uninstall()


@pytest.fixture
def umap_learn(tmp_path, monkeypatch):
    """A package "umap" that stands for umap-learn, whether or not that is installed."""
    folder = tmp_path / "site" / "umap"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from umap.umap_ import UMAP\nspecialty = 'of umap-learn'\n")
    (folder / "umap_.py").write_text("class UMAP: pass\ndef rare_function(): return 'found'\n")
    (folder / "plot.py").write_text("import umap\nfrom umap.umap_ import UMAP\nreal_class = umap.UMAP\n")
    (folder / "extra").mkdir()
    (folder / "extra" / "__init__.py").write_text("")
    (folder / "extra" / "deep.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "umap"]:
        del sys.modules[name]


def run(*arguments, cwd=None, **environment):
    """Run Python with the package on its path; (exit code, output, errors)."""
    variables = {name: value for name, value in os.environ.items() if name != "ACTUP_ACCEL"}
    variables["PYTHONPATH"] = os.pathsep.join([SOURCE, variables.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    variables |= environment
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=variables
    )
    return done.returncode, done.stdout, done.stderr


def script(tmp_path, text, name="program.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return path


# what is served


def test_umap_is_served(installed):
    import umap
    import umap.umap_ as functions
    from umap.utils import disconnected_vertices

    assert issubclass(umap.UMAP, actup.UMAP)
    assert umap.__name__ == "umap"
    assert functions is umap.umap_ is sys.modules["umap.umap_"]
    assert functions.find_ab_params(1.0, 0.1) == pytest.approx((1.577, 0.895), abs=1e-3)
    assert disconnected_vertices.__module__.startswith("actup.")
    assert umap.__version__ == "0.5.12"
    assert "UMAP" in dir(umap)
    names = {}
    exec("from umap import *", names)
    assert names["UMAP"] is umap.UMAP


@pytest.mark.skipif(importlib.util.find_spec("actup.compat.opentsne") is None, reason="not in this release")
def test_open_tsne_is_served(installed):
    import openTSNE
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.sklearn import TSNE

    assert openTSNE.TSNE.__module__.startswith("actup.")
    assert PerplexityBasedNN.__module__.startswith("actup.")
    assert TSNE.__module__.startswith("actup.")


def test_scikit_learns_tsne_is_replaced_and_restored():
    import sklearn.manifold

    original = sklearn.manifold.TSNE
    assert original.__module__ == "sklearn.manifold._t_sne"
    accel.install(quiet=True)
    try:
        assert sklearn.manifold.TSNE is sklearn.manifold._t_sne.TSNE is actup.TSNE
        assert accel.real("sklearn.manifold.TSNE") is accel.real("sklearn.manifold._t_sne.TSNE") is original
        assert sklearn.manifold.MDS.__module__ == "sklearn.manifold._mds"
    finally:
        accel.uninstall()
    assert sklearn.manifold.TSNE is sklearn.manifold._t_sne.TSNE is original


def test_modules_imported_later_are_replaced_too(tmp_path):
    program = script(
        tmp_path,
        """
        import sys
        from actup import accel
        accel.install(quiet=True)
        assert "sklearn.manifold" not in sys.modules
        from sklearn.manifold import TSNE, trustworthiness
        from sklearn.manifold._t_sne import TSNE as same
        import actup, sklearn.manifold
        assert TSNE is same is actup.TSNE
        original = accel.real("sklearn.manifold.TSNE")
        accel.uninstall()
        assert sklearn.manifold.TSNE is sklearn.manifold._t_sne.TSNE is original is not TSNE
        """,
    )
    assert run(program) == (0, "", "")


def test_install_and_uninstall_may_be_repeated():
    finders = list(sys.meta_path)
    for _ in range(2):
        accel.install(quiet=True)
        accel.install(quiet=True)
        assert accel.is_installed()
        assert len(sys.meta_path) == len(finders) + 1
        accel.uninstall()
        accel.uninstall()
        assert not accel.is_installed()
        assert sys.meta_path == finders


def test_a_package_imported_before_is_set_aside_and_comes_back(umap_learn):
    import umap

    former, class_before = umap, umap.UMAP
    accel.install(quiet=True)
    try:
        import umap

        assert umap is not former
        assert issubclass(umap.UMAP, actup.UMAP)
        assert accel.real("umap") is former
        assert former.UMAP is class_before  # a name bound before stays what it is
    finally:
        accel.uninstall()
    assert importlib.import_module("umap") is former


# what falls through to the real package


@pytest.mark.parametrize("value", ["1", "quiet"])
def test_a_package_that_is_being_imported_stays_as_it_is(umap_learn, tmp_path, value):
    """numba imports ActUp while umap-learn is imported, if it compiles something there."""
    folder = tmp_path / "site"
    (folder / "umap" / "umap_.py").write_text("import actup\nimport umap.extra\nclass UMAP: pass\n")
    program = script(
        tmp_path,
        f"""
        import os
        os.environ["ACTUP_ACCEL"] = {value!r}  # not at the start, where actup_accel.pth would read it
        import umap, umap.extra.deep, umap.plot
        assert umap.plot.real_class is umap.UMAP
        import openTSNE
        print(umap.UMAP.__module__, umap.extra.deep.value, openTSNE.TSNE.__module__)
        """,
    )
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), SOURCE])}
    code, output, errors = run(program, **paths)
    assert (code, output) == (0, "umap.umap_ 7 actup.compat.opentsne.tsne\n"), errors
    assert ("umap was being imported" in errors and "python -m actup.accel" in errors) == (value == "1")


def test_other_modules_and_names_come_from_the_real_package(umap_learn, installed):
    import umap
    import umap.plot
    from umap.extra.deep import value

    assert issubclass(umap.UMAP, actup.UMAP)
    assert umap.specialty == "of umap-learn"
    assert umap.umap_.rare_function() == "found"
    assert value == 7
    assert umap.plot.real_class.__module__ == "umap.umap_"  # it works among the modules of its own package
    assert umap.plot.__spec__.name == umap.plot.__name__ == "umap.plot"
    assert sys.modules["umap"] is umap
    assert accel.real("umap").UMAP is umap.plot.real_class
    with pytest.raises(AttributeError, match=r"neither ActUp nor umap-learn has umap\.umap_\.missing"):
        umap.umap_.missing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"umap\.missing"):
        import umap.missing


@pytest.mark.skipif(not WITHOUT_UMAP_LEARN, reason="umap-learn is installed")
def test_what_nobody_has_is_named(installed):
    import umap
    from umap import ParametricUMAP

    with pytest.raises(
        ImportError, match=r"no umap\.ParametricUMAP \(actup\.Para.*\), and umap-learn.* is not installed"
    ):
        ParametricUMAP(n_components=2)
    with pytest.raises(AttributeError, match=r"no umap\.missing, and umap-learn.* is not installed"):
        umap.missing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"umap\.parametric_umap is not part of ActUp"):
        import umap.parametric_umap
    with pytest.raises(ModuleNotFoundError, match="pip install umap-learn") as caught:
        import umap.plot
    assert caught.value.name == "umap.plot"
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'umap\.missing'"):
        import umap.missing
    with pytest.raises(ImportError):
        accel.real("umap")
    assert not hasattr(umap, "__wrapped__")


def test_private_modules_of_the_stand_in_are_not_served(installed):
    assert importlib.util.find_spec("umap._graphs") is None


# pickles


def test_models_travel_without_accel(installed):
    import umap

    pickled = pickle.dumps(umap.UMAP(n_neighbors=7))
    accel.uninstall()
    assert pickle.loads(pickled).n_neighbors == 7


# the message


def test_it_says_so_once(tmp_path):
    program = script(
        tmp_path, "import umap, umap.umap_\nfrom sklearn.manifold import TSNE\nprint('ran', umap.__name__)"
    )
    code, output, errors = run("-m", "actup.accel", program)
    assert (code, output) == (0, "ran umap\n")
    assert errors.splitlines() == [
        f"actup.accel: umap, openTSNE and sklearn.manifold.TSNE run on ActUp {actup.__version__}"
    ]
    assert run("-m", "actup.accel", "--quiet", "-c", "import umap") == (0, "", "")


def test_it_says_nothing_about_programs_that_do_not_need_it(tmp_path):
    assert run("-m", "actup.accel", script(tmp_path, "print('ran')")) == (0, "ran\n", "")


@pytest.mark.parametrize(
    ("value", "is_installed", "speaks"),
    [("1", True, True), ("quiet", True, False), ("0", False, False), ("", False, False)],
)
def test_environment_variable(value, is_installed, speaks):
    code = "import actup\nprint(actup.accel.is_installed())\nif actup.accel.is_installed(): import umap"
    _, output, errors = run("-c", code, ACTUP_ACCEL=value)
    assert output == f"{is_installed}\n"
    assert bool(errors) == speaks


# programs run as Python runs them

DESCRIBES_ITSELF = """
import os, sys
import __main__
print(__name__, sys.argv, __file__, __loader__.path, __spec__, __package__, __doc__)
print(__main__.__dict__ is globals(), sys.path[0] == os.path.dirname(os.path.realpath(__file__)))
import beside
print(beside.name)
"""


def test_a_script_sees_what_it_would_see_without_accel(tmp_path):
    (tmp_path / "folder").mkdir()
    script(tmp_path / "folder", "name = 'neighbour'", "beside.py")
    script(tmp_path / "folder", DESCRIBES_ITSELF)
    plain = run("folder/program.py", "a", "--quiet", "-m", cwd=tmp_path)
    assert plain[0] == 0
    assert run("-m", "actup.accel", "folder/program.py", "a", "--quiet", "-m", cwd=tmp_path) == plain


@pytest.mark.parametrize("path", ["folder/program.py", "./folder/../folder/program.py"])
def test_a_script_that_changes_folder_finds_its_own(path, tmp_path):
    (tmp_path / "folder").mkdir()
    script(tmp_path / "folder", "import os\nos.chdir('/')\nprint(__file__)\nraise ValueError('wrong')")
    plain = run(path, cwd=tmp_path)
    assert plain[1].startswith(str(tmp_path)) and plain[1].strip() in plain[2]
    assert run("-m", "actup.accel", "--quiet", path, cwd=tmp_path) == plain


def test_a_module_sees_what_it_would_see_without_accel(tmp_path):
    (tmp_path / "package").mkdir()
    script(tmp_path / "package", "")
    text = "import os, sys\nprint(__name__, sys.argv, __package__, __spec__.name, sys.path[0])"
    script(tmp_path / "package", text, "__main__.py")
    plain = run("-m", "package", "x", cwd=tmp_path)
    assert plain[0] == 0
    assert run("-m", "actup.accel", "-m", "package", "x", cwd=tmp_path) == plain


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    raise ValueError('wrong')\nf()",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('other') from error",
        "this is no Python",
        "import sys\nsys.exit(3)",
        "raise SystemExit('message')",
        "import atexit, sys\natexit.register(print, 'bye')\nsys.exit()",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[2].tb_lineno, a[2].tb_next)\nraise OSError",
    ],
    ids=["error", "chain", "syntax", "code", "exit message", "atexit", "own hook"],
)
def test_tracebacks_and_exit_codes_are_those_of_python(text, tmp_path):
    program = script(tmp_path, text)
    assert run("-m", "actup.accel", program) == run(program)


def test_commands():
    code = "import sys, umap; print(sys.argv, umap.__version__)"
    assert run("-m", "actup.accel", "-q", "-c", code, "x") == (0, "['-c', 'x'] 0.5.12\n", "")


def test_wrong_calls_exit_with_2(tmp_path):
    code, _, errors = run("-m", "actup.accel", tmp_path / "nothing.py")
    assert code == 2
    assert "can't open file" in errors
    assert "nothing.py" in errors
    for arguments in ([], ["-m"], ["--unknown"]):
        code, _, errors = run("-m", "actup.accel", *arguments)
        assert code == 2
        assert "usage: python -m actup.accel" in errors
    code, output, _ = run("-m", "actup.accel", "--help")
    assert code == 0
    assert "usage" in output


def test_an_unchanged_program_runs(tmp_path):
    """Neither the program nor scikit-learn is changed, and umap-learn need not be installed."""
    program = script(
        tmp_path,
        """
        import numpy as np
        import umap
        from sklearn.datasets import load_digits
        from sklearn.manifold import TSNE, trustworthiness

        X, y = load_digits(return_X_y=True)
        X, y = X[:300], y[:300]
        reducer = umap.UMAP(n_neighbors=10, min_dist=0.2, random_state=42)
        embedding = reducer.fit_transform(X)
        assert embedding.shape == (300, 2)
        assert trustworthiness(X, embedding, n_neighbors=10) > 0.9
        assert reducer.transform(X[:5]).shape == (5, 2)
        places = TSNE(n_components=2, perplexity=20, random_state=0).fit_transform(X)
        assert trustworthiness(X, places, n_neighbors=10) > 0.9
        print(type(reducer).__module__.split(".")[0], TSNE.__module__.split(".")[0])
        """,
    )
    code, output, errors = run("-W", "error", "-m", "actup.accel", "--quiet", program)
    assert (code, output, errors) == (0, "actup actup\n", "")


def test_ipython_and_pytest_hooks():
    accel.load_ipython_extension(None)
    assert accel.is_installed()
    accel.unload_ipython_extension(None)
    assert not accel.is_installed()


def test_pytest_plugin(tmp_path):
    script(tmp_path, "import umap\ndef test_it(): assert 'actup' in umap.__file__", "test_it.py")
    options = ["-q", "-p", "actup.accel", "-p", "no:cacheprovider"]
    code, output, _ = run("-m", "pytest", *options, "test_it.py", cwd=tmp_path)
    assert code == 0, output


# the file in site-packages


def start_with_site_folder(tmp_path, code, **environment):
    """Run code in a Python that has read ``actup_accel.pth``, as one that has ActUp installed does."""
    (tmp_path / "actup_accel.pth").write_text((Path(SOURCE) / "actup_accel.pth").read_text())
    return run("-c", f"import site; site.addsitedir({str(tmp_path)!r})\n{code}", **environment)


@pytest.mark.skipif(not (Path(SOURCE) / "actup_accel.pth").exists(), reason="not in the source tree")
def test_the_variable_acts_on_programs_that_do_not_import_actup(tmp_path):
    code = "import umap; print(umap.UMAP.__module__)"
    _, output, errors = start_with_site_folder(tmp_path, code, ACTUP_ACCEL="1")
    assert output.startswith("actup.") and "run on ActUp" in errors
    _, output, errors = start_with_site_folder(tmp_path, code, ACTUP_ACCEL="quiet")
    assert output.startswith("actup.") and not errors


@pytest.mark.skipif(not (Path(SOURCE) / "actup_accel.pth").exists(), reason="not in the source tree")
@pytest.mark.parametrize("environment", [{}, {"ACTUP_ACCEL": "0"}, {"ACTUP_ACCEL": ""}])
def test_nothing_is_imported_without_the_variable(tmp_path, environment):
    code = "import sys; print([name for name in sys.modules if name.startswith('actup')])"
    assert start_with_site_folder(tmp_path, code, **environment) == (0, "[]\n", "")
