"""What all tests share: whatever runs on backend "cuda" carries the marker of that name."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "callspec") and item.callspec.params.get("backend") == "cuda":
            item.add_marker(pytest.mark.cuda)
