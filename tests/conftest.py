"""Mark tests that are parametrized with backend "cuda" as cuda tests; leave out what Windows cannot run."""

from __future__ import annotations

import importlib.util

import pytest

# They limit what a process may take, with a module of Unix.
_LIMITS = ["allocation_failures.py", "faults.py", "fuzz", "test_faults.py", "test_memory_failures.py"]
collect_ignore = [] if importlib.util.find_spec("resource") else _LIMITS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "callspec") and item.callspec.params.get("backend") == "cuda":
            item.add_marker(pytest.mark.cuda)
