"""The type stubs of the compiled modules, made by nanobind from the modules themselves.

``make stubs`` writes them into the package; test_engine_stub.py checks that they are up to date.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from nanobind.stubgen import StubGen

from actup import _engine, _processor

PACKAGE = Path(_engine.__file__).parent
MODULES = {PACKAGE / "_engine_generic.pyi": _engine.engine, PACKAGE / "_processor.pyi": _processor}


def make_stub(module: ModuleType) -> str:
    """Make the stub of a compiled module, in the style of the project."""
    generator = StubGen(module)
    generator.put(module)
    text = generator.get()
    # Shapes and memory order say nothing to a type checker and make lines of several hundred characters.
    text = re.sub(r"Annotated\[(NDArray(?:\[[\w.]+\])?), dict\(.*?\)\]", r"\1", text)
    text = re.sub(r"\bNDArray\b(?!\[)(?!$)", "NDArray[Any]", text, flags=re.MULTILINE)
    text = re.sub(r"\btuple\b(?!\[)", "tuple[Any, ...]", text)
    text = re.sub(r"\bdict\b(?!\[)", "dict[str, NDArray[Any]]", text)  # the states of layouts
    text = f'"""Written by `make stubs`."""\n\nfrom typing import Any\n{text}'
    text = _ruff("check", "--select=F401,I,E,W,UP", "--ignore=E501", "--fix", "--quiet", text=text)
    return _ruff("format", text=text)


def _ruff(*arguments: str, text: str) -> str:
    config = ["--config", str(Path(__file__).parents[1] / "pyproject.toml")]
    command = [sys.executable, "-m", "ruff", *arguments, *config, "--stdin-filename", "_stub.pyi", "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


if __name__ == "__main__":
    for path, module in MODULES.items():
        path.write_text(make_stub(module), encoding="utf-8")
        print(path)
