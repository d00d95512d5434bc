"""Live sessions: watched fits keep their bits, controls act, strangers are refused, nothing is left."""

from __future__ import annotations

import http.client
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import actup
from actup.viewer import LiveView
from actup.viewer._live._levels import further_recipe

DIGITS, LABELS = load_digits(return_X_y=True)
X, Y_LABELS = DIGITS[:400], LABELS[:400]
ENDLESS = 1_000_000  # epochs of a layout that a test ends
SECONDS = 20.0  # a test fails if something takes longer


class Client:
    """What a page does: requests with the token, and the event stream."""

    def __init__(self, session: LiveView) -> None:
        address = urlsplit(session.url)
        self.host, self.path = address.netloc, address.path

    def request(self, path="", method="GET", body=None, headers=None, token_path=None):
        connection = http.client.HTTPConnection(self.host, timeout=SECONDS)
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


# --- watching ---


@pytest.mark.parametrize(
    "model", [actup.UMAP(random_state=1), actup.TSNE(random_state=1), actup.GDR(random_state=1)]
)
def test_a_watched_fit_has_the_same_bits(model):
    with begin(model) as session:
        listener = threading.Thread(target=lambda: list(Client(session).messages()))
        listener.start()
        assert session.wait_for_layout(SECONDS)
    listener.join(SECONDS)
    assert not hasattr(model, "embedding_")  # the session has fitted a copy
    np.testing.assert_array_equal(session.model.embedding_, clone(model).fit(X).embedding_)


def test_a_fit_of_a_viewed_model_has_the_same_bits():
    model = actup.UMAP(random_state=1)
    with model.view(labels=Y_LABELS, live=True) as session:
        assert b"Waiting for the fit" in Client(session).request().read()
        Y = model.fit(X).embedding_
        assert status(session)["state"] == "finished"
        np.testing.assert_array_equal(session.model.embedding_, Y)
        model.fit(X[:300])  # further fits are followed too
        assert status(session)["run"] == 2 and len(session.model.embedding_) == 300
    np.testing.assert_array_equal(Y, actup.UMAP(random_state=1).fit(X).embedding_)
    assert model._watcher is None


def test_the_layout_waits_for_the_page_and_frames_show_it():
    with begin(wait_for_page=True) as session:
        wait_until(lambda: status(session).get("epochs"))
        time.sleep(0.1)
        assert status(session)["epoch"] == 0 and status(session)["state"] == "paused"
        frames, epochs = [], []
        for message in Client(session).messages():
            if isinstance(message, tuple):
                frames.append(message[1])
            else:
                epochs.append(message.get("epoch"))
                if message["state"] == "finished":
                    break
        session.wait_for_layout(SECONDS)
        final = next(message[1] for message in Client(session).messages() if isinstance(message, tuple))
    assert epochs[0] == 0 and epochs[-1] == session.model.n_epochs_ == 100
    assert np.abs(frames[0] - final).max() > 0.1
    Y = session.model.embedding_
    assert np.abs(final - Y).max() < 2e-5 * np.ptp(Y, axis=0).max()


def test_the_page_has_the_points_and_may_only_talk_to_its_server(session):
    response = Client(session).request()
    page = response.read().decode("utf-8")
    assert response.status == 200 and "LiveSession" in page and "connect-src 'self'" in page
    assert response.headers["Content-Security-Policy"].startswith("frame-ancestors")
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


# --- controls ---


def test_pause_continue_and_stop():
    with begin(actup.UMAP(random_state=0, n_epochs=ENDLESS, n_jobs=1)) as session:
        page = Client(session)
        wait_until(lambda: status(session).get("epoch", 0) > 0)
        assert page.post("pause") == 204
        wait_until(lambda: status(session)["state"] == "paused")
        time.sleep(0.2)  # the slice that was running
        epoch = status(session)["epoch"]
        time.sleep(0.2)
        assert status(session)["epoch"] == epoch
        assert page.post("zoom", np.arange(50, dtype="<u4").tobytes()) == 409
        assert page.post("resume") == 204
        wait_until(lambda: status(session)["epoch"] > epoch)
        assert page.post("stop") == 204
        assert session.wait_for_layout(SECONDS)
        assert 0 < session.model.n_epochs_ < ENDLESS


def test_a_pause_without_a_layout_does_not_concern_the_next_fit():
    model = actup.UMAP(random_state=0, n_jobs=1)
    with model.view(live=True) as session:
        session.pause()
        fit = threading.Thread(target=model.fit, args=(X,), daemon=True)
        fit.start()
        fit.join(SECONDS)
        assert not fit.is_alive()
        session.pause()  # after the fit
        assert status(session)["state"] == "finished"
        assert repr(session).startswith("<actup LiveView: finished, 400 points") and session.url not in repr(
            session
        )
        with pytest.raises(TypeError, match="exaggeration='x' must be a number"):
            session.steer(exaggeration="x")


def test_steering_acts_on_the_running_layout():
    def size(exaggeration, repulsion):
        with begin(actup.UMAP(random_state=0, n_epochs=300), wait_for_page=True) as session:
            body = json.dumps({"exaggeration": exaggeration, "repulsion": repulsion})
            assert Client(session).post("steer", body.encode()) == 204
            assert status(session)["exaggeration"] == exaggeration
            session.resume()
            assert session.wait_for_layout(SECONDS)
        return np.sqrt(session.model.embedding_.var(axis=0).sum())

    unsteered = np.sqrt(actup.UMAP(random_state=0, n_epochs=300).fit_transform(X).var(axis=0).sum())
    assert size(1, 1) == unsteered
    assert size(8, 1) < 0.8 * unsteered
    assert size(1, 8) > 1.2 * unsteered


@pytest.mark.parametrize(
    "model", [actup.UMAP(random_state=0), actup.TSNE(random_state=0, learning_rate=100.0)]
)
def test_a_layout_that_has_ended_goes_on_from_its_map(model):
    model.fit(X)
    Y = model.embedding_.copy()
    with actup.view(model, live=True) as session:
        session.steer(repulsion=3.0)
        assert session.wait_for_layout(SECONDS)
        moved = session.model.embedding_
        assert status(session)["epoch"] == status(session)["epochs"] == 200
    assert np.sqrt(moved.var(axis=0).sum()) > 1.1 * np.sqrt(Y.var(axis=0).sum())
    np.testing.assert_array_equal(model.embedding_, Y)  # the caller's model does not change


@pytest.mark.parametrize("name", actup.presets())
def test_every_preset_can_go_on(name):
    recipe = further_recipe(actup.preset(name))
    assert recipe.n_epochs(1000) == 200
    assert (recipe.schedule(1000).exaggeration == np.float32(recipe.late_exaggeration)).all()


def test_wrong_values_are_rejected_with_their_reason(session):
    page = Client(session)
    ids = np.arange(100, dtype="<u4")
    for path, body, reason in [
        ("steer", b'{"exaggeration": 0}', "exaggeration=0.0 must be"),
        ("steer", b'{"exaggeration": NaN}', "exaggeration=nan must be"),
        ("steer", b'{"repulsion": "2"}', "object of numbers"),
        ("steer", b'{"momentum": 1}', "unknown factors: momentum"),
        ("steer", b"[" * 3000, "must be JSON"),
        ("steer", b'{"exaggeration": 1%s}' % (b"0" * 400), "exaggeration is too large"),
        ("selection", np.array([3, 400], "<u4").tobytes(), "has sample 400, but samples are 0 to 399"),
        ("zoom", b"123", "4 bytes"),
        ("zoom", ids[:1].tobytes(), "select at least 2"),
        ("zoom", (ids + 350).tobytes(), "sample 400, which is not on the map"),
    ]:
        response = page.request(path, "POST", body)
        assert response.status == 400 and reason in response.read().decode(), path
    assert status(session)["state"] == "finished" and status(session)["exaggeration"] == 1.0


# --- selections ---


def test_selections_are_embedded_and_left_again(session):
    page = Client(session)
    ids = np.flatnonzero(Y_LABELS < 5)
    assert page.post("selection", ids[::-1].astype("<u4").tobytes()) == 204
    np.testing.assert_array_equal(session.selection, ids)
    assert page.post("zoom", ids[::-1].astype("<u4").tobytes()) == 204
    wait_until(lambda: "points in" in status(session)["message"])
    level = status(session)["levels"][-1]
    assert level["count"] == len(ids)
    np.testing.assert_array_equal(np.frombuffer(page.request(f"level/{level['key']}").read(), "<u4"), ids)
    wanted = actup.UMAP(random_state=0, n_jobs=1).fit(X).subset(ids).embedding_
    np.testing.assert_array_equal(session.model.embedding_, wanted)
    inner = session.zoom_in(np.flatnonzero(Y_LABELS < 2))  # numbers are those of the data on every level
    assert session.model is inner and len(inner.embedding_) == (Y_LABELS < 2).sum()
    session.zoom_out()
    assert page.post("zoom_out") == 204
    assert session.wait_for_layout(SECONDS)
    assert len(status(session)["levels"]) == 1 and len(session.model.embedding_) == len(X)
    key, places = next(message for message in page.messages() if isinstance(message, tuple))
    assert key == status(session)["levels"][0]["key"] and len(places) == len(X)
    session.zoom_out()  # at the first map nothing happens
    assert session.wait_for_layout(SECONDS) and len(status(session)["levels"]) == 1


def test_a_selection_without_edges_stays_at_the_map(session):
    graph = session.model.graph_
    pair = next([0, j] for j in range(1, len(X)) if graph[0, j] == 0)
    with pytest.raises(ValueError, match="none of which is a neighbour"):
        session.zoom_in(pair)
    assert len(status(session)["levels"]) == 1 and "none of which" in status(session)["message"]


# --- strangers ---


def test_the_server_listens_on_this_machine_only(session):
    assert session._server._server.server_address[0] == "127.0.0.1"
    assert len(session._server.token) >= 43  # 32 random bytes


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "change",
    [
        {"token_path": "/"},
        {"token_path": "/wrong/"},
        {"token_path": "/%C3%A9/"},
        {"headers": {"Host": "example.com"}},
        {"headers": {"Host": "example.com:80"}},
        {"headers": {"Host": "127.0.0.1"}},
        {"headers": {"Origin": "http://example.com"}},
        {"headers": {"Origin": "null"}},
        {"headers": {"Origin": "http://127.0.0.1:1"}},
    ],
    ids=str,
)
def test_requests_that_do_not_come_from_the_page_are_refused(session, method, change):
    path = "events" if method == "GET" else "stop"
    body = None if method == "GET" else b""
    response = Client(session).request(path, method, body, **change)
    assert response.status == 403
    assert session._server.token not in response.read().decode()


def test_parts_of_the_token_and_missing_origins_are_refused(session):
    page = Client(session)
    assert page.request(token_path=page.path[:-2] + "/").status == 403
    assert page.request(token_path=page.path[:-1] + "x/").status == 403
    assert page.post("stop", headers={"Origin": None}) == 403
    port = page.host.rpartition(":")[2]
    assert page.request(headers={"Host": f"localhost:{port}"}).status == 200


def test_other_requests_are_rejected(session):
    page = Client(session)
    assert page.request("secret").status == 404
    assert page.request("../../etc/passwd").status == 404
    assert page.post("secret") == 404
    for method in ("HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert page.request("", method).status == 405
        refused = page.request("", method, token_path="/")
        assert refused.status == 403 and (refused.read() == b"") == (method == "HEAD")
    assert page.request("level/../1").read() == b""
    assert page.post("zoom", b"\0" * (4 * len(X) + 5000)) == 413
    with socket.create_connection(tuple(session._server._server.server_address)) as connection:
        connection.settimeout(SECONDS)
        request = f"POST {page.path}stop HTTP/1.0\r\nHost: {page.host}\r\nOrigin: http://{page.host}\r\n\r\n"
        connection.sendall(request.encode())
        assert b" 411 " in connection.recv(1000)
    assert status(session)["state"] == "finished"


def test_labels_that_do_not_fit_the_data_are_named_on_the_page():
    model = actup.UMAP(random_state=0)
    with model.view(labels=Y_LABELS[:-1], live=True) as session:
        model.fit(X)
        response = Client(session).request()
        assert response.status == 500 and "399" in response.read().decode()


def test_titles_are_text_while_the_fit_is_awaited():
    with actup.view(actup.UMAP(), title="<script>alert(1)</script>", live=True) as session:
        page = Client(session).request().read()
    assert b"<script" not in page and b"&lt;script&gt;" in page


# --- the end ---


def test_nothing_is_left_of_a_closed_session(new_threads):
    session = begin(wait_for_page=True)
    address = session._server._server.server_address
    listener = threading.Thread(target=lambda: list(Client(session).messages()))
    listener.start()
    wait_until(lambda: session._channel.has_listeners)
    session.pause()
    session.close()
    session.close()  # once is enough
    listener.join(SECONDS)
    assert session.closed and not listener.is_alive() and new_threads() == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(tuple(address), timeout=1)


def test_the_page_ends_the_session(new_threads):
    session = begin()
    assert Client(session).post("end") == 204
    session.wait(SECONDS)
    assert session.closed
    wait_until(lambda: new_threads() == [])


def test_closing_stops_a_fit_before_its_layout_and_lets_a_callers_fit_go_on():
    slow = actup.UMAP(metric=lambda a, b: float(np.abs(a - b).sum()), n_neighbors=5, random_state=0)
    session = begin(slow, DIGITS)
    wait_until(lambda: status(session).get("stage") == "neighbors")
    started = time.monotonic()
    session.close()
    assert time.monotonic() - started < 5
    with pytest.raises(RuntimeError, match="no model yet"):
        session.model  # noqa: B018

    model = actup.UMAP(random_state=0, n_epochs=500)
    view = model.view(live=True)
    view.pause()
    closing = threading.Timer(0.3, view.close)
    closing.start()
    model.fit(X)  # waits until the view is closed
    closing.join()
    assert model.n_epochs_ == 500


def test_errors_of_the_fit_are_raised():
    broken = X.copy()
    broken[3, 2] = np.nan
    with begin(data=broken) as session:
        with pytest.raises(ValueError, match="NaN"):
            session.wait_for_layout(SECONDS)
        assert status(session)["state"] == "failed" and b"NaN" in Client(session).request().read()
        with pytest.raises(ValueError, match="NaN"):
            session.wait(0.1)


SCRIPT = """
import time
import actup
from sklearn.datasets import load_digits
model = actup.UMAP(n_epochs=10**6, random_state=0)
session = actup.live(load_digits().data, model, browser=False, wait_for_page=False)
while session._channel.status().get("epoch", 0) < 10:
    time.sleep(0.01)
{rest}
"""


def run_script(rest: str, interrupt: bool):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(rest=rest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if interrupt:
        assert process.stdout.readline().strip() == "waiting"
        os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to a process")
def test_ctrl_c_ends_the_session_and_keeps_the_map():
    rest = (
        "print('waiting', flush=True); session.wait(); print(session.closed, session.model.embedding_.shape)"
    )
    assert run_script(rest, interrupt=True) == (0, "True (1797, 2)\n", "")


def test_a_paused_session_does_not_keep_the_process_alive():
    assert run_script("session.pause()", interrupt=False) == (0, "", "")


# --- models ---


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (actup.UMAP(n_components=3), ValueError, "n_components=3"),
        (actup.UMAP(unique=True), ValueError, "unique=True"),
        (actup.UMAP(disconnected="nan"), ValueError, "disconnected='nan'"),
        (actup.UMAP(n_neighbors=0), ValueError, "n_neighbors"),
        (actup.preset("umap"), TypeError, "is a Recipe"),
        ("pca", ValueError, "model='pca'"),
        (np.zeros((4, 2)), ValueError, "must be UMAP, TSNE or GDR"),
    ],
)
def test_models_that_cannot_be_shown_are_rejected_before_any_work(model, error, message, new_threads):
    with pytest.raises(error, match=message):
        actup.live(X, model, browser=False)
    assert new_threads() == []


def test_finished_maps_have_no_layout_to_watch():
    with pytest.raises(TypeError, match="live=True needs a model"):
        actup.view({"map": X[:, :2]}, live=True)


def test_presets_are_taken_by_name():
    with begin("gdr_tsne") as session:
        assert session.wait_for_layout(SECONDS)
    assert isinstance(session.model, actup.GDR) and session.model.recipe_.normalized


def test_a_watched_model_can_be_copied_and_pickled(tmp_path):
    model = actup.UMAP(random_state=0)
    with model.view(live=True) as session:
        model.fit(X)
        copied = pickle.loads(pickle.dumps(model))
        model.save(tmp_path / "model.actup")
        assert copied._watcher is None and pickle.loads(pickle.dumps(session)) is None
    np.testing.assert_array_equal(copied.embedding_, model.embedding_)
    np.testing.assert_array_equal(actup.load(tmp_path / "model.actup").embedding_, model.embedding_)
