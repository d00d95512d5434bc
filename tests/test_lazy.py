"""Names of a package that are imported when they are first used."""

import os
import signal
import sys
import types

import pytest

from actup._lazy import lazy_names


@pytest.fixture
def interrupted_import(tmp_path, monkeypatch):
    """A package with one lazy name, whose module receives a signal in the middle of its import."""
    (tmp_path / "interrupted_module.py").write_text(
        "import os\nos.kill(os.getpid(), int(os.environ['SENT_SIGNAL']))\n"
        "for _ in range(10_000): pass\nvalue = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = types.ModuleType("package_with_lazy_names")
    package.__getattr__, _ = lazy_names(package.__name__, {"value": "interrupted_module"})
    monkeypatch.setitem(sys.modules, package.__name__, package)
    yield package
    sys.modules.pop("interrupted_module", None)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no signals to a process itself")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_answered_when_an_import_is_complete(interrupted_import, monkeypatch, number):
    class Answered(BaseException):
        pass

    def answer(number, frame):
        raise Answered

    monkeypatch.setenv("SENT_SIGNAL", str(int(number)))
    before = signal.signal(number, answer)
    try:
        with pytest.raises(Answered):
            _ = interrupted_import.value
        assert signal.getsignal(number) is answer
        assert sys.modules["interrupted_module"].value == 7
        assert interrupted_import.value == 7
    finally:
        signal.signal(number, before)
