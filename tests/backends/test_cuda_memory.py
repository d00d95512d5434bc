"""Memory of the GPU: estimates, limits, and what is left behind when it runs out."""

import gc
import re

import numpy as np
import pytest

import actup
from actup.backends import cuda_is_available

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_is_available(), reason="needs CuPy and a GPU"),
]


@pytest.fixture
def pool():
    import cupy

    made = cupy.get_default_memory_pool()
    yield made
    made.set_limit(size=0)


def rows(n=20_000, columns=50):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 5)).astype(np.float32) @ random.normal(size=(5, columns)).astype(np.float32)


def test_every_stage_of_the_device_is_estimated(pool):
    estimate = actup.UMAP(backend="cuda").memory_estimate((100_000, 100))
    assert list(estimate.device_stages) == list(estimate.stages)
    assert estimate.device_stages["read"] == 4 * 100_000 * 100
    assert estimate.limited_bytes == estimate.device_bytes > 4 * 100_000 * 100
    assert "on the GPU" in estimate.describe()


def test_max_memory_is_that_of_the_device(pool):
    with pytest.raises(MemoryError, match=r"max_memory='1MB' is too little: stage '\w+' of 20,000 rows"):
        actup.UMAP(backend="cuda", max_memory="1MB").fit(rows())


def test_running_out_names_the_stage_and_leaves_nothing(pool):
    X = rows()
    model = actup.UMAP(backend="cuda", random_state=0, n_epochs=20)
    expected = model.fit(X).embedding_
    gc.collect()
    before = pool.used_bytes()
    pool.free_all_blocks()
    stages = set()
    for room in (2**20, 2**22, 2**23, 2**24, 2**25, 2**26):
        pool.set_limit(size=before + room)
        try:
            model.fit(X)
        except MemoryError as error:
            stages.add(re.search(r"memory ran out in stage '(\w+)'", str(error))[1])
        gc.collect()
        assert pool.used_bytes() <= before
    pool.set_limit(size=0)
    assert stages
    assert (model.embedding_ == expected).all()
    assert (model.fit(X).embedding_ == expected).all()
