"""How long a live session takes to re-embed a lasso, and what watching costs a fit.

    python benchmarks/live.py [--data mnist] [--selected 20000] [--models UMAP TSNE] [--repeats 5]

The selection is the disc of points around the middle of a class, as a lasso would take it. Seconds run from
the request to the server until the page has the last frame: a client reads the event stream meanwhile.
Results are saved in benchmarks/results/live.json as soon as they are measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import struct
import threading
import time
from urllib.parse import urlsplit

import numpy as np
from report import save, saved, summary, timed

import actup
from actup.datasets import load

PACKAGES = ["actup", "numpy", "scikit-learn"]


class Page:
    """A client that reads the session's stream as the page does."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._netloc, self._path = address.netloc, address.path
        self.frames = 0
        self.status: dict = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        connection = http.client.HTTPConnection(self._netloc)
        connection.request("GET", f"{self._path}events")
        stream = connection.getresponse()
        while len(header := stream.read(8)) == 8:
            kind, length = struct.unpack("<II", header)
            body = stream.read(length)
            with self._changed:
                if kind == 0:
                    self.status = json.loads(body)
                else:
                    self.frames += 1
                self._changed.notify_all()

    def post(self, name: str, body: bytes = b"") -> None:
        connection = http.client.HTTPConnection(self._netloc)
        connection.request("POST", f"{self._path}{name}", body, {"Origin": f"http://{self._netloc}"})
        response = connection.getresponse()
        if response.status != 204:
            raise RuntimeError(f"{name}: {response.status} {response.read().decode()}")

    def wait(self, condition) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self.status), 300):
                raise TimeoutError(f"the session did not answer: {self.status}")


def lasso(Y: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """The points nearest to the median place of the first class."""
    middle = np.median(Y[y == y[0]], axis=0)
    return np.sort(np.argsort(((Y - middle) ** 2).sum(axis=1))[:count]).astype("<u4")


def reembed(model, X, y, options) -> dict:
    """Seconds of fits with and without a page, and of re-embedding a selection, several times."""
    _, plain = timed(lambda: model.fit(X))
    with actup.live(X, model, browser=False) as session:
        page = Page(session.url)
        begin = time.perf_counter()
        page.wait(lambda status: status.get("state") == "finished")
        watched = time.perf_counter() - begin
        ids = lasso(session.model.embedding_, y, options.selected)
        seconds, frames = [], []
        for _ in range(options.repeats):
            before, begin = page.frames, time.perf_counter()
            page.post("zoom", ids.tobytes())
            page.wait(lambda status: len(status["levels"]) == 2 and " s" in status["message"])
            seconds.append(time.perf_counter() - begin)
            frames.append(page.frames - before)
            page.post("zoom_out")
            page.wait(lambda status: len(status["levels"]) == 1)
    return {
        "points": len(X),
        "selected": len(ids),
        "fit_seconds": plain[0],
        "watched_fit_seconds": watched,
        "reembed_seconds": summary(seconds),
        "frames": frames,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--selected", type=int, default=20_000)
    parser.add_argument("--models", nargs="+", default=["UMAP", "TSNE"])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    data = load(options.data)
    X, y = np.asarray(data.X, np.float32), np.asarray(data.y)
    results = saved("live")
    for name in options.models:
        model = getattr(actup, name)(random_state=0)
        row = reembed(model, X, y, options)
        results.setdefault(options.data, {})[name] = row
        print(name, json.dumps(row))
        save("live", results, PACKAGES)


if __name__ == "__main__":
    main()
