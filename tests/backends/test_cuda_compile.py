"""The kernel files: each compiles, also without a GPU, and a run asks for its own at the beginning."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from actup.backends import cuda_is_available, load_backend
from actup.backends._cuda.compile import KERNELS, source_of

FILES = sorted(path.stem for path in KERNELS.glob("*.cu"))
VARIANTS = {
    "affinities": [["-DAFFINITY=1", "-DPER_LANE=3"], ["-DAFFINITY=2"], ["-DAFFINITY=3"], ["-DPSEUDO=0"]],
    "candidates": [["-DNARROW=1", "-DLISTS=4", "-DLENGTH=64"], ["-DKEEP=176", "-DLENGTH=112", "-DSTEPS=2"]],
    "ranking": [["-DLISTS=4", "-DLENGTH=64", "-DLANES=8"], ["-DKEEP=176", "-DLENGTH=112"]],
    "merge": [["-DSYMMETRIZATION=1"]],
    "scan": [["-DMETRIC=1"], ["-DMETRIC=3"], ["-DMETRIC=2", "-DK=150", "-DROOM=1184"]],
    "layout_batch": [
        ["-DNORMALIZED=1", "-DLOSS=1", "-DCOUNTED=1", "-DOPTIMIZER=1", "-DDIMENSIONS=5", "-DSHAPE=2"],
        ["-DMESH=1", "-DOPTIMIZER=2", "-DSHAPE=1"],
        ["-DMESH=1", "-DOPTIMIZER=2", "-DNORMALIZED=1", "-DDIMENSIONS=1"],
        ["-DMESH=1", "-DNORMALIZED=1", "-DLOSS=1", "-DSAMPLED=0"],
    ],
    "layout_in_place": [["-DLOSS=1", "-DDIMENSIONS=3", "-DSHAPE=1"], ["-DHORIZON=1", "-DSHAPE=1"]],
    "transform": [
        ["-DNORMALIZED=1", "-DLOSS=1", "-DDIMENSIONS=3", "-DSHAPE=2"],
        ["-DSHAPE=1", "-DDIMENSIONS=5"],
    ],
    "layout_mesh": [["-DPOTENTIAL=2", "-DSHAPE=1"], ["-DPOTENTIAL=1", "-DDIMENSIONS=1"]],
}


@pytest.mark.parametrize("name", FILES)
def test_headers_are_in_the_source_once(name):
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
        "-arch=sm_80",
        "-ptx",
        "-Werror",
        "all-warnings",
        "-diag-suppress",
        "177",
        *macros,
    ]
    done = subprocess.run([*command, "-o", tmp_path / "out.ptx", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
def test_without_a_gpu_the_backend_imports_and_refuses_to_work():
    import numpy as np

    from actup.graph._records import Graph
    from actup.recipe._presets import preset

    graph = Graph(np.zeros(3), np.zeros(0), np.zeros(0))
    with pytest.raises((ImportError, RuntimeError), match="backend='cuda'"):
        load_backend("cuda").make_layout(graph, np.zeros((2, 2)), preset("umap"), 0, 1)


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU")
@pytest.mark.parametrize("name", ["gdr_umap", "gdr_tsne", "umap", "tsne", "sampled_umap"])
def test_a_run_asks_for_its_kernels_at_the_beginning(name, monkeypatch):
    """So that they are compiled side by side: nothing but the scan of unproven rows comes as a surprise."""
    import numpy as np

    import actup
    from actup.backends import _cuda as cuda
    from actup.backends._cuda import compile

    requested, ahead = [], []
    request, search = compile._requested, cuda.nearest_neighbors

    def recorded(*variant):
        requested.append(variant)
        return request(*variant)

    def searching(*arguments):
        ahead.extend(requested)
        return search(*arguments)

    monkeypatch.setattr(compile, "_requested", recorded)
    monkeypatch.setattr(cuda, "nearest_neighbors", searching)
    X = np.random.default_rng(0).normal(size=(12_000, 60)).astype(np.float32)
    actup.embed(X, name, backend="cuda")
    assert ahead
    assert {variant[0] for variant in set(requested) - set(ahead)} <= {"scan"}
