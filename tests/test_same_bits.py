"""One seed gives one map: at every level of the engine, with old libraries and new, and as recorded."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from actup import _elementary as elementary
from actup._engine import level as usual_level
from actup._engine import offered_levels

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "same_bits.py"
GOLDEN = Path(__file__).parent / "golden_hashes.txt"


def old_libraries() -> dict[str, str]:
    """Environment variables with which NumPy, OpenBLAS and glibc act as on an old x86-64 processor."""
    from numpy._core import _multiarray_umath as umath

    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(features),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX2_Usable,-FMA_Usable",
    }


def hashes(option: str, level: str, variables: dict[str, str] | None = None) -> list[str]:
    """The lines of the script at a level."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), option],
        env={**os.environ, **(variables or {}), "ACTUP_CPU": level},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_level_gives_the_same_bits():
    """All presets, compiled metrics, transforms and a start from landmarks, on three data sets."""
    levels = offered_levels()
    runs = [(level, {}) for level in levels] + [(levels[0], old_libraries())]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda run: hashes("--quick", *run), runs))
    usual = found[levels.index(usual_level)]
    assert len(usual) > 100
    for (level, variables), lines in zip(runs, found, strict=True):
        assert lines == usual, f"level {level}{' with old libraries' if variables else ''}"


def test_maps_are_those_that_were_recorded():
    assert hashes("--golden", usual_level) == GOLDEN.read_text(encoding="utf-8").splitlines(), (
        "Maps changed. If that is intended, say so in CHANGELOG.md and run `make golden`. If only the "
        "machine, the compiler or a library changed, a result depends on it: see 'Why the same bits on "
        "every processor' in docs/architecture.md"
    )


# Elementary functions, against NumPy in extended precision

CASES = {
    "exp": (-700, 700),
    "log": (1e-9, 50),
    "cos": (-1000, 1000),
    "sin": (-1000, 1000),
    "arcsin": (-1, 1),
}


def check_units(found: np.ndarray, expected: np.ndarray, units: float) -> None:
    """Compare with extended precision, in units of the last place."""
    assert found.dtype == np.float64
    error = np.abs(found - expected) / np.spacing(np.abs(expected.astype(np.float64)))
    assert float(error.max()) <= units


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs extended precision")
@pytest.mark.parametrize("name", CASES)
def test_elementary_functions_are_accurate(name):
    x = np.random.default_rng(0).uniform(*CASES[name], 100_000)
    check_units(getattr(elementary, name)(x), getattr(np, name)(x.astype(np.longdouble)), 2.5)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs extended precision")
@pytest.mark.parametrize("exponent", [-1.7, 1 / 3, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_powers_are_accurate(exponent):
    x = np.random.default_rng(0).uniform(0, 30, 100_000)
    check_units(elementary.power(x, exponent), x.astype(np.longdouble) ** np.longdouble(exponent), 1.5)


def test_elementary_functions_at_their_limits():
    assert elementary.exp([-800, 0, 800]).tolist() == [0, 1, np.inf]
    assert elementary.log([0, 1, np.inf]).tolist() == [-np.inf, 0, np.inf]
    assert np.isnan(elementary.log(-1)) and np.isnan(elementary.exp(np.nan))
    assert elementary.power([0, 1, 2], 0).tolist() == [1, 1, 1]
    assert elementary.power([0, 1], 2.5).tolist() == [0, 1]
    assert elementary.power(0, -1) == np.inf
    assert elementary.arcsin([-1, 0, 1]).tolist() == [-np.pi / 2, 0, np.pi / 2]
    assert elementary.cos(np.zeros((2, 3))).tolist() == np.ones((2, 3)).tolist()
    assert np.abs(elementary.sin([1e6, 1e12]) - np.sin([1e6, 1e12])).max() < 1e-3
    assert elementary.power(np.float64(4), 0.5).shape == ()


def test_an_empty_level_means_the_best_one():
    done = subprocess.run(
        [sys.executable, "-c", "from actup._engine import level; print(level)"],
        env={**os.environ, "ACTUP_CPU": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == offered_levels()[-1], done.stderr
