"""The server of live sessions: what a page may ask, and strangers are refused."""

from __future__ import annotations

import socket

import numpy as np
import pytest

import actup
from live_client import SECONDS, Y_LABELS, Client, X, status


def test_the_page_has_the_points_and_may_only_talk_to_its_server(session):
    response = Client(session).request()
    page = response.read().decode("utf-8")
    assert response.status == 200 and "LiveSession" in page and "connect-src 'self'" in page
    assert response.headers["Content-Security-Policy"].startswith("frame-ancestors")
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


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
