"""What is not loaded with scikit-learn: its place is kept while scikit-learn is imported, and given back."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

from actup._scikit_learn import postponed


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that can be imported and is not."""
    (tmp_path / "rarely_used.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "rarely_used"
    sys.modules.pop("rarely_used", None)


def test_a_module_that_is_only_imported_is_not_loaded(module):
    with postponed(module):
        stand_in = importlib.import_module(module)
        assert importlib.util.find_spec(module).name == module
    assert module not in sys.modules
    assert importlib.import_module(module) is not stand_in
    assert importlib.import_module(module).answer == 42


def test_a_module_that_is_used_is_loaded(module):
    with postponed(module):
        stand_in = importlib.import_module(module)
        assert stand_in.answer == 42
        assert importlib.import_module(module) is not stand_in
    assert sys.modules[module].answer == 42
    assert stand_in.answer == 42  # for whoever kept it


def test_a_loaded_module_stays(module):
    loaded = importlib.import_module(module)
    with postponed(module):
        assert importlib.import_module(module) is loaded
    assert sys.modules[module] is loaded


def test_the_place_is_given_back_after_an_error(module):
    with pytest.raises(OSError, match="no such disk"), postponed(module):
        raise OSError("no such disk")
    assert module not in sys.modules


def test_a_first_map_loads_neither_statistics_nor_optimizers():
    code = """
import sys
import numpy as np
from actup import UMAP
UMAP(n_neighbors=5).fit(np.random.default_rng(0).random((200, 4), np.float32))
print([name for name in ("scipy.stats", "scipy.optimize") if name in sys.modules])
import scipy.stats
print(scipy.stats.norm.cdf(0))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[]", "0.5"]
