"""The public names and modules: they exist, are imported lazily, and are documented as they are."""

import inspect
import pkgutil
import re
import subprocess
import sys
from dataclasses import fields
from enum import Enum
from importlib import import_module, metadata

import pytest

import actup
from actup.estimators._base import Embedder
from actup.progress import Progress

NAMES = {
    "KNeighborsTransformer",
    "NeighborIndex",
    "AlignedUMAP",
    "GDR",
    "Graph",
    "MemoryEstimate",
    "Neighbors",
    "ParametricUMAP",
    "Recipe",
    "TSNE",
    "UMAP",
    "__version__",
    "embed",
    "embed_many",
    "find_clusters",
    "live",
    "load",
    "memory_estimate",
    "nearest_neighbors",
    "plot",
    "preset",
    "presets",
    "quality_report",
    "view",
    "write_atlas",
}


def public_modules(package=actup):
    """The dotted paths of a package and its modules in which no part begins with an underscore.

    A package without ``__all__`` holds private modules only.
    """
    if hasattr(package, "__all__"):
        yield package.__name__
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        if module.ispkg:
            yield from public_modules(import_module(module.name))
        else:
            yield module.name


MODULES = list(public_modules())


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


@pytest.mark.parametrize("path", MODULES)
def test_public_modules_list_their_names(path):
    module = import_module(path)
    assert all(hasattr(module, name) for name in module.__all__)
    assert set(module.__all__) <= set(dir(module))


def test_public_modules_are_attributes_without_an_import():
    below = [path for path in MODULES if path != "actup"]
    missing = [path for path in below if path.count(".") == 1 and path.partition(".")[2] not in dir(actup)]
    assert missing == []
    printed = run_python(f"import actup; print(*({', '.join(f'{path}.__name__' for path in below)}))")
    assert printed.split() == below


def test_public_names_have_examples():
    """Every public class and function has some, except enums and exceptions."""
    lacking = set()
    for path in MODULES:
        module = import_module(path)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not callable(value) or (isinstance(value, type) and issubclass(value, Enum | Exception)):
                continue
            if not re.search(r"^Examples\n-+\n", inspect.getdoc(value) or "", re.M):
                lacking.add(f"{value.__module__}.{name}")
    assert sorted(lacking) == []


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"no attribute 'parametric_umap': use actup\.ParametricUMAP$"):
        actup.parametric_umap  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'umap_': use actup\.compat\.umap\.umap_$"):
        actup.umap_  # noqa: B018
    with pytest.raises(AttributeError, match=r"'actup' has no attribute 'tsne': did you mean 'TSNE'\?$"):
        actup.tsne  # noqa: B018
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


def documented_names(text, title="Parameters"):
    """The names in a numpydoc section, in order."""
    section = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(text), re.M | re.S)
    if section is None:
        return []
    lines = re.findall(r"^(\w[\w, ]*) : ", section[1], re.M)
    return [name for line in lines for name in line.split(", ")]


FUNCTIONS = [
    "UMAP",
    "TSNE",
    "GDR",
    "KNeighborsTransformer",
    "embed",
    "embed_many",
    "find_clusters",
    "load",
    "memory_estimate",
    "nearest_neighbors",
    "plot",
    "quality_report",
    "write_atlas",
]
METHODS = [
    Embedder.fit,
    Embedder.fit_transform,
    Embedder.iter_fit,
    Embedder.transform,
    Embedder.save,
    Embedder.memory_estimate,
    Progress,
    Progress.report,
    actup.Recipe.n_epochs,
    actup.Recipe.schedule,
    actup.Recipe.first_learning_rate,
    actup.Recipe.repulsion_for,
    actup.Recipe.spacing,
    actup.Recipe.neighbors_searched,
    actup.preset,
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented_parameters_equal_the_signature(name):
    function = getattr(actup, name)
    assert documented_names(function.__doc__) == list(inspect.signature(function).parameters)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__qualname__)
def test_documented_parameters_of_methods_equal_the_signature(method):
    signature = [name for name in inspect.signature(method).parameters if name != "self"]
    assert documented_names(method.__doc__) == signature


def test_documented_fields_of_recipe_equal_the_dataclass():
    names = [field.name for field in fields(actup.Recipe)]
    assert documented_names(actup.Recipe.__doc__, "Attributes") == names


@pytest.mark.parametrize("name", ["UMAP", "TSNE", "GDR", "Recipe", "KNeighborsTransformer"])
def test_documented_defaults_equal_the_signature(name):
    function = getattr(actup, name)
    text = inspect.cleandoc(function.__doc__)
    for parameter in inspect.signature(function).parameters.values():
        line = re.search(rf"^(?:\w+, )*{parameter.name}(?:, \w+)* : .*default=(.*)$", text, re.M)
        assert line is not None, parameter.name
        default = parameter.default
        written = repr(str(default) if isinstance(default, Enum) else default)
        assert line[1].replace('"', "'") == written, parameter.name
