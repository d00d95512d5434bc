"""The committed stubs of the compiled modules are those of the modules that were built."""

import pytest

from engine_stub import MODULES, make_stub


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_stub_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == make_stub(MODULES[path]), "run `make stubs`"
