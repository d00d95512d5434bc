"""What the tests of live sessions share: data, sessions, and a client that asks what a page asks."""

from __future__ import annotations

import http.client
import json
import struct
import time
from urllib.parse import urlsplit

import numpy as np
from sklearn.datasets import load_digits

import actup
from actup.viewer import LiveView

DIGITS, LABELS = load_digits(return_X_y=True)
X, Y_LABELS = DIGITS[:400], LABELS[:400]
SECONDS = 20.0  # a test fails if something takes longer


class Client:
    """What a page does: requests with the token, and the event stream; ``seconds=None`` waits for ever."""

    def __init__(self, session: LiveView, seconds: float | None = SECONDS) -> None:
        address = urlsplit(session.url)
        self.seconds = seconds
        self.host, self.path = address.netloc, address.path

    def request(self, path="", method="GET", body=None, headers=None, token_path=None):
        connection = http.client.HTTPConnection(self.host, timeout=self.seconds)
        sent = {"Origin": f"http://{self.host}"} if method == "POST" else {}
        sent = {name: value for name, value in {**sent, **(headers or {})}.items() if value is not None}
        connection.request(method, (token_path or self.path) + path, body, sent)
        return connection.getresponse()

    def post(self, path, body=b"", **options) -> int:
        return self.request(path, "POST", body, **options).status

    def messages(self):
        """Statuses as dicts and frames as (key, places), as they come."""
        stream = self.request("events")
        while len(header := stream.read(8)) == 8:
            kind, length = struct.unpack("<II", header)
            body = stream.read(length)
            yield json.loads(body) if kind == 0 else read_frame(body)


def read_frame(body: bytes) -> tuple[int, np.ndarray]:
    key, _, _, n, *box = struct.unpack("<4I4f", body[:32])
    steps = np.frombuffer(body[32:], "<u2").reshape(n, 2)
    return key, np.array(box[:2]) + steps / 65535 * np.array(box[2:])


def wait_until(condition) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def status(session: LiveView) -> dict:
    return session._channel.status()


def begin(model=None, data=X, **options) -> LiveView:
    options = {"browser": False, "wait_for_page": False, **options}
    return actup.live(data, model or actup.UMAP(random_state=0, n_jobs=1), **options)
