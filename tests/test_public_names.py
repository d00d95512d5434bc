"""The public names: they are there, they are lazy, and their documentation tells the truth."""

import inspect
import re
import subprocess
import sys
from importlib import metadata

import pytest

import actup
from actup.estimators._base import Embedder
from actup.progress import Progress

NAMES = {
    "NeighborIndex",
    "GDR",
    "Graph",
    "Neighbors",
    "Recipe",
    "TSNE",
    "UMAP",
    "__version__",
    "embed",
    "embed_many",
    "nearest_neighbors",
    "preset",
    "presets",
    "quality_report",
}


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_public_names():
    assert set(actup.__all__) == NAMES
    assert set(dir(actup)) >= NAMES
    for name in NAMES:
        assert getattr(actup, name) is not None


def test_no_name_is_replaced_by_a_module():
    """Importing a submodule of the same name, on behalf of another, would take its place."""
    used = f"import actup; names = {sorted(NAMES)}; [getattr(actup, name) for name in names]"
    modules = "print([name for name in names if type(getattr(actup, name)) is type(actup)])"
    assert run_python(f"{used}; {modules}").strip() == "[]"


@pytest.mark.parametrize("name", ["backends", "datasets", "metrics", "neighbors", "plotting", "viewer"])
def test_public_modules_need_no_import_of_their_own(name):
    assert name in dir(actup)
    assert run_python(f"import actup; print(actup.{name}.__name__)").strip() == f"actup.{name}"


def test_unknown_name():
    with pytest.raises(AttributeError, match="'actup' has no attribute 'PCA'"):
        actup.PCA  # noqa: B018


def test_version_is_that_of_the_distribution():
    assert actup.__version__ == metadata.version("actup")


def test_import_is_light():
    heavy = ["numpy", "scipy", "sklearn", "matplotlib", "pandas", "tqdm", "joblib"]
    loaded = run_python(f"import sys, actup; print([name for name in {heavy} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_import_is_fast():
    code = "import time; begin = time.perf_counter(); import actup; print(time.perf_counter() - begin)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.3


def test_star_import_gives_the_public_names():
    names = run_python("from actup import *; print(sorted(set(dir()) & set(__import__('actup').__all__)))")
    assert set(re.findall(r"'(\w+)'", names)) == NAMES


def documented_parameters(text):
    """The names in a numpydoc "Parameters" section, in order."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(text), re.M | re.S)
    if section is None:
        return []
    lines = re.findall(r"^(\w[\w, ]*) : ", section[1], re.M)
    return [name for line in lines for name in line.split(", ")]


FUNCTIONS = ["UMAP", "TSNE", "GDR", "embed", "embed_many", "nearest_neighbors", "quality_report"]
METHODS = [Embedder.fit, Embedder.fit_transform, Embedder.iter_fit, Progress]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented_parameters_equal_the_signature(name):
    function = getattr(actup, name)
    assert documented_parameters(function.__doc__) == list(inspect.signature(function).parameters)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__qualname__)
def test_documented_parameters_of_methods_equal_the_signature(method):
    signature = [name for name in inspect.signature(method).parameters if name != "self"]
    assert documented_parameters(method.__doc__) == signature


@pytest.mark.parametrize("function", [actup.UMAP, actup.TSNE, actup.GDR])
def test_documented_defaults_equal_the_signature(function):
    text = inspect.cleandoc(function.__doc__)
    for name, parameter in inspect.signature(function).parameters.items():
        line = re.search(rf"^(?:\w+, )*{name}(?:, \w+)* : .*default=(.*)$", text, re.M)
        assert line is not None, name
        assert line[1].replace('"', "'") == repr(parameter.default), name
