"""Leaves the GPU's modules out of the doctests where CuPy, which they import, is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("cupy") else ["src/actup/backends/_cuda"]
