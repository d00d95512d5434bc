"""The kernel files: each compiles, also without a GPU, and a run requests its kernels when it begins."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from actup.backends import cuda_is_available, load_backend
from actup.backends._cuda.compile import KERNELS, _inlined, source_of

FILES = sorted(path.stem for path in KERNELS.glob("*.cu"))
VARIANTS = {
    "affinities": [["-DAFFINITY=1", "-DPER_LANE=3"], ["-DAFFINITY=2"], ["-DAFFINITY=3"], ["-DPSEUDO=0"]],
    "candidates": [
        ["-DNARROW=1", "-DLISTS=4", "-DLENGTH=64"],
        ["-DNARROW=1", "-DLISTS=4", "-DLENGTH=64", "-DCELLS=1"],
        ["-DKEEP=176", "-DLENGTH=112", "-DSTEPS=2"],
        ["-DCELLS=1"],
    ],
    "candidates_hopper": [["-DLISTS=16", "-DLENGTH=32", "-DSTEPS=2"]],
    "ranking": [["-DLISTS=4", "-DLENGTH=64", "-DLANES=8"], ["-DKEEP=176", "-DLENGTH=112"]],
    "merge": [["-DSYMMETRIZATION=1"]],
    "scan": [
        ["-DMETRIC=MAGNITUDES"],
        ["-DMETRIC=INNER_PRODUCT"],
        ["-DMETRIC=LARGEST_MAGNITUDE", "-DK=150", "-DCAPACITY=1184"],
    ],
    "layout_batch": [
        [
            "-DNORMALIZED=1",
            "-DLOSS=1",
            "-DCOUNTED=1",
            "-DOPTIMIZER=1",
            "-DDIMENSIONS=5",
            "-DSHAPE=Shape::tailed",
        ],
        ["-DMESH=1", "-DOPTIMIZER=2", "-DSHAPE=Shape::powered"],
        ["-DMESH=1", "-DOPTIMIZER=2", "-DNORMALIZED=1", "-DDIMENSIONS=1"],
        ["-DMESH=1", "-DNORMALIZED=1", "-DLOSS=1", "-DSAMPLED=0", "-DMOBILITY=1"],
    ],
    "layout_in_place": [
        ["-DLOSS=1", "-DDIMENSIONS=3", "-DSHAPE=Shape::powered"],
        ["-DHORIZON=1", "-DSHAPE=Shape::powered", "-DMOBILITY=1"],
    ],
    "transform": [
        ["-DNORMALIZED=1", "-DLOSS=1", "-DDIMENSIONS=3", "-DSHAPE=Shape::tailed"],
        ["-DSHAPE=Shape::powered", "-DDIMENSIONS=5"],
    ],
    "layout_mesh": [
        ["-DPOTENTIAL=PotentialKind::umap", "-DSHAPE=Shape::powered"],
        ["-DPOTENTIAL=PotentialKind::kernel_squared", "-DDIMENSIONS=1"],
    ],
}


ARCHITECTURES = {"candidates_hopper": "sm_90a"}  # of files that do not compile for every GPU


@pytest.mark.parametrize("name", FILES)
def test_source_contains_each_header_once(name):
    source = source_of(name)
    assert '#include "' not in source
    assert source.count("typedef unsigned char uint8_t;") <= 1


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize(
    ("name", "macros"), [(name, macros) for name in FILES for macros in ([], *VARIANTS.get(name, []))]
)
def test_compiles(name, macros, tmp_path):
    source = tmp_path / f"{name}.cu"
    source.write_text(source_of(name))
    command = [
        "nvcc",
        "-std=c++17",
        f"-arch={ARCHITECTURES.get(name, 'sm_80')}",
        "-ptx",
        "-Werror",
        "all-warnings",
        "-diag-suppress",
        "177",
        *macros,
    ]
    done = subprocess.run([*command, "-o", tmp_path / "out.ptx", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_header_in_a_condition_is_rejected(tmp_path):
    """It would be missing where the condition is false, and a later #include would not bring it back."""
    path = tmp_path / "conditional.cu"
    path.write_text('#if defined(OTHER)\n#include "candidate.h"\n#endif\n')
    with pytest.raises(ValueError, match="inside of an #if"):
        _inlined(path, set())


def test_without_cupy_the_error_names_the_extra():
    code = """
import sys
sys.modules["cupy"] = None
from actup.backends import backends, load_backend
from actup.backends._cuda.compile import load_kernels
assert "cuda" not in backends()
try:
    load_kernels("layout_graph")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "actup[cuda" in done.stdout


@pytest.mark.skipif(cuda_is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_the_backend_imports_and_raises_when_used():
    import numpy as np

    from actup.graph._records import Graph
    from actup.recipe._presets import preset

    graph = Graph(np.zeros(3), np.zeros(0), np.zeros(0))
    with pytest.raises((ImportError, RuntimeError), match="backend='cuda'"):
        load_backend("cuda").make_layout(graph, np.zeros((2, 2)), preset("umap"), 0, 1)


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")
@pytest.mark.parametrize("name", ["gdr_umap", "gdr_tsne", "umap", "tsne", "sampled_umap"])
def test_a_run_requests_its_kernels_when_it_begins(name, monkeypatch):
    """So that they are compiled in parallel; only the scan of unproven rows is not known in advance."""
    import numpy as np

    import actup
    from actup.backends._cuda import compile, neighbors

    requested, ahead = [], []
    request, search = compile._requested, neighbors.nearest_neighbors

    def recorded(*variant):
        requested.append(variant)
        return request(*variant)

    def searching(*arguments):
        ahead.extend(requested)
        return search(*arguments)

    monkeypatch.setattr(compile, "_requested", recorded)
    monkeypatch.setattr(neighbors, "nearest_neighbors", searching)
    X = np.random.default_rng(0).normal(size=(12_000, 60)).astype(np.float32)
    actup.embed(X, name, backend="cuda")
    assert ahead
    assert {variant[0] for variant in set(requested) - set(ahead)} <= {"scan"}
