"""Write the pages of the API reference: one per public module, from the names in its ``__all__``."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.config import Config

FOLDER = "api"  # below docs/; nothing in it is kept by git
ONE_PAGE_PER_MODULE = "actup.compat"  # whose names others document: no page for each of them
SAME_AS = {"actup.metrics": "actup.quality"}  # modules that have another name

_HEAD = """API reference
=============

.. module:: actup

Every public name, with its parameters and an example. Names that most programs need are in ``actup`` itself;
the modules below it hold the rest. A name that is not listed here is private and may change.

"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages as soon as the settings are read, and leave inherited members of other packages out."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", _skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx, config: Config) -> None:
    """Write all pages of the reference; a page that has not changed keeps its time stamp."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    actup = import_module("actup")
    modules = [module for module in public_modules(actup) if module is not actup]
    below = [module for module in modules if module.__name__ not in SAME_AS and own_names(module)]
    table = "".join(f"   * - :doc:`{module.__name__}`\n     - {_summary(module)}\n" for module in below)
    listing = f"Modules\n-------\n\n.. list-table::\n   :widths: 35 65\n\n{table}\n"
    hidden = "".join(f"   {module.__name__}\n" for module in below)
    index = _HEAD + "".join(_sections(actup)) + listing + f".. toctree::\n   :hidden:\n\n{hidden}"
    seen: set[int] = set()
    return {"index": index} | {module.__name__: _module_page(module, seen) for module in below}


def public_modules(package: ModuleType) -> Iterator[ModuleType]:
    """A package and the modules below it whose names do not begin with an underscore."""
    if hasattr(package, "__all__"):
        yield package
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.rpartition(".")[2].startswith("_"):
            continue
        module = import_module(found.name)
        if found.ispkg:
            yield from public_modules(module)
        else:
            yield module


def own_names(module: ModuleType) -> list[str]:
    """The names that a module documents: without those that ``actup`` has, and without submodules."""
    actup = import_module("actup")
    shared = [getattr(actup, name) for name in actup.__all__] if module is not actup else []
    return [
        name
        for name in module.__all__
        if not name.startswith("__")
        and not inspect.ismodule(value := getattr(module, name))
        and not any(value is other for other in shared)
    ]


def _sections(module: ModuleType) -> Iterator[str]:
    """Tables of a module's estimators, other classes, functions and other names, each with a heading."""
    groups: dict[str, list[str]] = {"Estimators": [], "Classes": [], "Functions": [], "Other names": []}
    for name in own_names(module):
        value = getattr(module, name)
        if hasattr(value, "fit"):
            groups["Estimators"].append(name)
        elif inspect.isclass(value):
            groups["Classes"].append(name)
        else:
            groups["Functions" if callable(value) else "Other names"].append(name)
    for title, names in groups.items():
        if names and title != "Other names":
            listed = "".join(f"   {name}\n" for name in sorted(names, key=str.lower))
            yield f"{title}\n{'-' * len(title)}\n\n.. autosummary::\n   :toctree: names\n\n{listed}\n"
        elif names:
            listed = ", ".join(f"``{name}``" for name in names)
            yield f"{title}\n{'-' * len(title)}\n\n{listed}\n\n"


def _module_page(module: ModuleType, seen: set[int]) -> str:
    """The page of a module; ``seen`` has the ids of what is documented already, and gets this page's."""
    name = module.__name__
    head = f"{name}\n{'=' * len(name)}\n\n.. module:: {name}\n\n{inspect.getdoc(module)}\n\n"
    if name.startswith(ONE_PAGE_PER_MODULE):
        return head + "".join(_entries(module, seen))
    return head + "".join(_sections(module))


def _entries(module: ModuleType, seen: set[int]) -> Iterator[str]:
    """The documentation itself of a module's classes and functions."""
    others = [name for name in own_names(module) if not callable(getattr(module, name))]
    if others:
        yield f"Other names: {', '.join(f'``{name}``' for name in others)}.\n\n"
    for name in own_names(module):
        value = getattr(module, name)
        if not callable(value):
            continue
        kind = "class" if inspect.isclass(value) else "function"
        members = "   :members:\n" if kind == "class" else ""
        again = "   :no-index:\n" if id(value) in seen else ""
        seen.add(id(value))
        yield f".. auto{kind}:: {module.__name__}.{name}\n{members}{again}\n"


def _summary(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")


def _skip_member(app: Sphinx, what: str, name: str, value: object, skip: bool, options: dict) -> bool | None:
    """Skip methods that a class inherits from another package, such as scikit-learn's."""
    function = value.fget if isinstance(value, property) else value
    module = getattr(function, "__module__", None) or ("builtins" if callable(value) else "actup")
    return None if module.startswith("actup") else True
