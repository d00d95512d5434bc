"""The table "To change ..." of docs/architecture.md is true: toys are added in the places that it names.

A copy of the sources gets a toy metric, loss, affinity, measure and preset, is compiled, and runs those
contract tests that the new names select.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "src/actup"


@dataclass(frozen=True)
class Edit:
    """Text that is inserted before the only occurrence of an anchor in a file; the whole of a new file."""

    path: str
    before: str
    text: str


TOYS = {
    "an input metric": [
        Edit(
            f"{PACKAGE}/_native/neighbors/metrics.hpp",
            "  ROW(canberra, ",
            "  ROW(toy_metric, none, true, AbsoluteDifferences{}, sum / 2) \\\n",
        ),
        Edit(
            f"{PACKAGE}/neighbors/_metrics.py",
            '    Metric("canberra"',
            '    Metric("toy_metric", of_differences=True),\n',
        ),
        Edit(
            "tests/metric_oracle.py",
            '        case "hellinger":',
            '        case "toy_metric":\n            return cdist(A, X, "cityblock") / 2\n',
        ),
    ],
    "a loss": [  # twice the Frobenius loss
        Edit(
            f"{PACKAGE}/_native/layout/losses.h",
            "// The factors of all forces of an epoch.",
            """struct ToyLoss : FrobeniusLoss {
  ACTUP_DEVICE static LeadingFactors leading_factors(Curve curve, bool normalized) {
    const LeadingFactors half = FrobeniusLoss::leading_factors(curve, normalized);
    return {2 * half.attraction, 2 * half.repulsion};
  }
};

""",
        ),
        Edit(
            f"{PACKAGE}/_native/layout/settings.h",
            "  VALUE(frobenius, FrobeniusLoss)",
            "  VALUE(toy_loss, ToyLoss) \\\n",
        ),
        Edit(f"{PACKAGE}/recipe/_switches.py", '    FROBENIUS = "frobenius"', '    TOY_LOSS = "toy_loss"\n'),
        Edit(
            f"{PACKAGE}/backends/_reference/losses.py",
            "LOSSES: dict[Loss, ReferenceLoss] = {",
            """class ToyLoss(FrobeniusLoss):
    def leading_factor(self, a, b, normalized):
        return 2 * super().leading_factor(a, b, normalized)

    def normalized_value(self, p, q, fixed_Z):
        return 2 * super().normalized_value(p, q, fixed_Z)

    def unnormalized_value(self, r, q, one_minus_q):
        return 2 * super().unnormalized_value(r, q, one_minus_q)


""",
        ),
        Edit(
            f"{PACKAGE}/backends/_reference/losses.py",
            "    Loss.FROBENIUS: FrobeniusLoss(),",
            "    Loss.TOY_LOSS: ToyLoss(),\n",
        ),
        Edit(
            f"{PACKAGE}/quality/_losses.py",
            "            case Loss.FROBENIUS:",
            "            case Loss.TOY_LOSS:\n                return 2 * self.frobenius(normalized)\n",
        ),
    ],
    "an affinity": [
        Edit(
            f"{PACKAGE}/_native/graph/affinities.hpp",
            "struct UniformAffinity {",
            """struct ToyAffinity {
  static void weigh(const float*, int64_t k, const AffinitySettings&, double, ExponentRow&, float* out) {
    std::fill_n(out, k, 0.5f);
  }
};

""",
        ),
        Edit(
            f"{PACKAGE}/_native/graph/bandwidth.h",
            "  VALUE(uniform, UniformAffinity)",
            "  VALUE(toy_affinity, ToyAffinity) \\\n",
        ),
        Edit(
            f"{PACKAGE}/backends/_cuda/kernels/affinities.cu",
            "struct UniformAffinity {",
            """struct ToyAffinity {
  __device__ static void weigh(const Distances&, Row&, float (&result)[PER_LANE]) {
    for (int e = 0; e < PER_LANE; ++e) result[e] = 0.5f;
  }
};

""",
        ),
        Edit(
            f"{PACKAGE}/recipe/_switches.py", '    UNIFORM = "uniform"', '    TOY_AFFINITY = "toy_affinity"\n'
        ),
        Edit(
            f"{PACKAGE}/backends/_reference/affinities.py",
            "        case Affinity.UNIFORM:",
            "        case Affinity.TOY_AFFINITY:\n            return np.full(distances.shape, 0.5)\n",
        ),
    ],
    "a quality measure": [
        Edit(
            f"{PACKAGE}/quality/_distances.py",
            "def triplet_accuracy(",
            "def toy_measure(Y):\n    return 1 / (1 + float(np.ptp(Y)))\n\n\n",
        ),
        Edit(
            f"{PACKAGE}/quality/_measures.py",
            "from actup.quality._distances import",
            "from actup.quality._distances import toy_measure\n",
        ),
        Edit(
            f"{PACKAGE}/quality/_measures.py",
            '    Measure(\n        "v_measure",',
            '    Measure("toy_measure", "higher", "a toy", lambda given: toy_measure(given.Y)),\n',
        ),
    ],
    "a preset": [
        Edit(
            f"{PACKAGE}/recipe/_presets.py",
            '    "tsne": _TSNE,',
            '    "toy_preset": _UMAP.but(spread=2.0),\n',
        ),
    ],
}

# The tests that cover each toy without new test code, and the least number of them.
CONTRACT = {
    "toy_metric": ("tests/neighbors/test_metrics.py", 6),
    "toy_loss": ("tests/layout/test_forces.py tests/layout/test_layout.py", 20),
    "toy_affinity": ("tests/graph/test_affinities.py", 1),
    "toy_measure": ("tests/quality/test_report.py", 1),
    "toy_preset": ("tests/layout/test_layout.py", 1),
}


def documented_places() -> dict[str, int]:
    """The number of places of each row of the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text[text.index("## To change ...") :]
    rows = re.findall(r"^\| (\w[^|]*?) \| (\d+) \|", table, re.M)
    return {name: int(places) for name, places in rows}


@pytest.mark.parametrize("thing", TOYS)
def test_each_thing_is_added_in_the_documented_number_of_places(thing):
    assert len({edit.path for edit in TOYS[thing]}) == documented_places()[thing]


@pytest.mark.parametrize("thing", TOYS)
def test_the_table_names_each_place(thing):
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| {thing} |"))
    for path in {edit.path for edit in TOYS[thing]}:
        folders = Path(path.removeprefix(f"{PACKAGE}/"))
        assert folders.as_posix() in row or f"{folders.parent.as_posix()}/`" in row, path


def insert(folder: Path, edit: Edit) -> None:
    path = folder / edit.path
    text = path.read_text(encoding="utf-8")
    assert text.count(edit.before) == 1, edit
    path.write_text(text.replace(edit.before, edit.text + edit.before), encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the sources with all toys, compiled with little optimisation."""
    pytest.importorskip("nanobind", reason="needs nanobind, which `make test` installs")
    if sys.platform == "win32":
        pytest.skip("needs a single-configuration generator")
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("needs CMake, which `make test` installs")
    folder = tmp_path_factory.mktemp("extended")
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("CMakeLists.txt", "pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    for edits in TOYS.values():
        for edit in edits:
            insert(folder, edit)
    build = folder / "build"
    options = ["-DACTUP_DEVELOP=ON", "-DACTUP_LEVELS=native", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([cmake, "-S", folder, "-B", build, *options], check=True, capture_output=True)
    jobs = str(os.cpu_count() or 1)
    done = subprocess.run([cmake, "--build", build, "-j", jobs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for module in build.glob("_*.so"):
        shutil.copy(module, folder / PACKAGE)
    return folder


# An editable installation finds actup before PYTHONPATH does.
RUN_TESTS = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("toy", CONTRACT)
def test_the_contract_tests_cover_each_toy(toy, extended):
    files, least = CONTRACT[toy]
    done = subprocess.run(
        [sys.executable, "-c", RUN_TESTS, "-q", "-p", "no:cacheprovider", "-k", toy, *files.split()],
        cwd=extended,
        env={**os.environ, "PYTHONPATH": str(extended / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= least, done.stdout[-2000:]
