"""What the tests of pages and of live sessions share: a browser, a page, a session."""

import threading

import numpy as np
import pytest

from actup.viewer import write_page
from browser import OpenPage, chromium
from live_client import SECONDS, Y_LABELS, begin
from point_clouds import N, unequal_blobs


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    """Two maps with classes, values, dates, texts, pictures, neighbours and a panel."""
    Y, codes = unequal_blobs(N)
    maps = {"first": Y, "second": Y[:, ::-1] * (1, 2)}
    days = np.datetime64("2020-01-01") + np.arange(N)
    return write_page(
        tmp_path_factory.mktemp("page") / "page.html",
        maps,
        np.array(["alpha", "beta", "gamma", "delta", "rare"])[codes],
        {"first": "caption of the first"},
        {"word": [f"word{i:04d}" for i in range(N)]},
        np.full((N, 4, 4), 200, np.uint8),
        "Title of the page",
        columns={"height": Y[:, 1], "day": days},
        neighbors=(np.arange(N)[:, None] + [1, 2, 3]) % N,
        info={"quality": {"trustworthiness": 0.987}},
    )


@pytest.fixture
def opened(browser, path):
    page = OpenPage(browser, path)
    yield page
    page.close()


@pytest.fixture(scope="module")
def session():
    """A session whose first layout has ended; tests leave it at its first level."""
    with begin(labels=Y_LABELS) as session:
        session.wait_for_layout(SECONDS)
        yield session


@pytest.fixture
def new_threads():
    """Returns the names of the threads of sessions that the test has begun."""
    before = set(threading.enumerate())
    return lambda: [
        thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith("actup-live")
    ]
