"""The ends of live sessions: closed, interrupted, failed or refused, nothing of them is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import actup
from live_client import DIGITS, SECONDS, Client, X, begin, status, wait_until


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


def test_a_closed_session_takes_no_commands():
    session = begin()
    session.wait_for_layout(SECONDS)
    session.close()
    commands = (
        session.pause,
        session.resume,
        session.stop,
        lambda: session.steer(2.0),
        lambda: session.zoom_in([0, 1, 2]),
        session.zoom_out,
    )
    for command in commands:
        with pytest.raises(RuntimeError, match="has ended: begin another one"):
            command()


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


# A shell may have started the tests with Ctrl-C ignored, which programs inherit.
SCRIPT = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
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
        time.sleep(0.3)  # it waits soon after it says so
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
