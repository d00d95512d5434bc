"""Mark every test that is parametrized with backend "cuda" as a cuda test."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "callspec") and item.callspec.params.get("backend") == "cuda":
            item.add_marker(pytest.mark.cuda)
