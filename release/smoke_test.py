"""Test an installed wheel: ``python release/smoke_test.py``, in an environment that has the wheel.

It imports ActUp, fits, compares ten maps with their recorded hashes, saves and loads, draws, and runs the
command line. Extras that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

import actup
from actup._engine import level, offered_levels
from actup.viewer import write_page

ROOT = Path(__file__).resolve().parents[1]
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "clang-cl", "cl")


def check_installation() -> None:
    """ActUp is the installed one, and on a free-threaded interpreter it left the lock off."""
    home = Path(actup.__file__).resolve()
    assert not home.is_relative_to(ROOT / "src"), f"{home} is the checkout, not an installed wheel"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "importing ActUp switched the interpreter lock on"


def check_maps(folder: Path) -> None:
    """Maps are good, saved models return, and threads get what one thread gets."""
    X, _ = load_digits(return_X_y=True)
    for estimator in (actup.UMAP, actup.TSNE, actup.GDR):
        model = estimator(random_state=0)
        quality = trustworthiness(X, model.fit_transform(X), n_neighbors=15)
        assert quality > 0.97, f"{estimator.__name__}: trustworthiness {quality:.3f}"
    model = actup.UMAP(random_state=0).fit(X[:1500])
    model.save(folder / "model.actup")
    loaded = actup.load(folder / "model.actup")
    expected = model.transform(X[1500:])
    np.testing.assert_array_equal(loaded.transform(X[1500:]), expected)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: loaded.transform(X[1500:]), range(16)):
            np.testing.assert_array_equal(found, expected)
        for found in pool.map(lambda _: actup.UMAP(random_state=0).fit_transform(X[:500]), range(16)):
            np.testing.assert_array_equal(found, actup.UMAP(random_state=0).fit_transform(X[:500]))


def check_hashes() -> None:
    """The ten maps have the hashes that are recorded in the checkout, at every level of this processor."""
    script = ROOT / "benchmarks" / "same_bits.py"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", script, "--golden"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    recorded = (ROOT / "tests" / "golden_hashes.txt").read_text(encoding="utf-8").splitlines()
    assert found == recorded, f"maps differ from the recorded ones: {set(found) ^ set(recorded)}"


def check_picture(folder: Path) -> None:
    """A picture and a page are written."""
    X, y = load_digits(return_X_y=True)
    Y = actup.UMAP(random_state=0).fit_transform(X)
    actup.plot(Y, y, path=folder / "map.png")
    assert (folder / "map.png").stat().st_size > 10_000
    write_page(folder / "map.html", {"UMAP": Y}, labels=y)
    assert (folder / "map.html").stat().st_size > 10_000


def check_command_line(folder: Path) -> None:
    """The installed program embeds a file."""
    np.save(folder / "rows.npy", load_digits().data)
    program = Path(sysconfig.get_path("scripts")) / "actup"
    subprocess.run([program, "--version"], check=True, capture_output=True)
    subprocess.run(
        [program, "embed", "rows.npy", "-o", "map.npy"], check=True, capture_output=True, cwd=folder
    )
    assert np.load(folder / "map.npy").shape == (1797, 2)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-compiler", action="store_true", help="fail if a compiler is on the path")
    if parser.parse_args().no_compiler:
        found = [name for name in COMPILERS if shutil.which(name)]
        assert not found, f"compilers on the path: {found}"
    check_installation()
    left_out = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_maps(folder)
        check_hashes()
        for extra, package, check in [
            ("plot", "matplotlib", check_picture),
            ("cli", "typer", check_command_line),
        ]:
            if find_spec(package):
                check(folder)
            else:
                left_out.append(extra)
    without = f", without the extras {', '.join(left_out)}" if left_out else ""
    print(f"ActUp {actup.__version__}, level {level} of {', '.join(offered_levels())}: works{without}")


if __name__ == "__main__":
    main()
