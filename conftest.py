"""Leaves modules out of the doctests where the optional package that they need is not installed."""

from importlib.util import find_spec

_NEEDS = {"src/actup/backends/_cuda": "cupy", "src/actup/sc": "anndata", "src/actup/_atlas.py": "pyarrow"}

collect_ignore = [path for path, package in _NEEDS.items() if find_spec(package) is None]
