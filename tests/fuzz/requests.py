"""Requests to a live page's server that were changed: only right ones may reach the session."""

from __future__ import annotations

import contextlib
import io
import json
import random
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from actup.viewer._live._requests import command_table
from actup.viewer._live._server import Routes, _Handler

from .changed_bytes import change_bytes
from .oracle import Report, Wrong

_TOKEN, _PORT, _POINTS = "t0ken-" + "a" * 37, 4321, 100


class Session:
    """Takes note of what a page asks for, and rejects wrong values as a live session does."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def take(*arguments: Any) -> None:
            self.reached.append(name)
            if name in ("begin_zoom", "note_selection") and any(arguments[0] >= _POINTS):
                raise ValueError(f"ids must be below {_POINTS}")

        return take


class Connection:
    """Bytes in, bytes out, in place of a socket."""

    def __init__(self, request: bytes):
        self._request, self.answer = io.BytesIO(request), b""

    def makefile(self, *_: Any) -> io.BytesIO:
        return self._request

    def settimeout(self, _: Any) -> None:
        pass

    def sendall(self, data: Any) -> None:
        self.answer += bytes(data)


def draw_request(draw: random.Random) -> tuple[bytes, bool]:
    """A request as the page sends it, and whether it was left right."""
    method, path, body = draw.choice([
        ("GET", "", b""), ("GET", "level/0", b""), ("GET", "level/" + "9" * 30, b""), ("GET", "events", b""),
        ("POST", "pause", b""), ("POST", "stop", b""), ("POST", "zoom", struct.pack("<3I", 1, 2, 3)),
        ("POST", "selection", struct.pack("<2I", 5, 2**32 - 1)), ("POST", "zoom", b"abc"), ("HEAD", "", b""),
        ("POST", "steer", json.dumps({"exaggeration": 2.0}).encode()), ("POST", "steer", b"[" * 5000),
        ("POST", "steer", b'{"exaggeration": NaN}'), ("POST", "steer", b'{"repulsion": 1e999}'),
        ("PUT", "stop", b""),
    ])  # fmt: skip
    host, origin, token = f"127.0.0.1:{_PORT}", f"http://127.0.0.1:{_PORT}", _TOKEN
    right = draw.random() < 0.6
    if not right:
        match draw.randrange(3):
            case 0:
                host = draw.choice(
                    ["evil.example", "", f"127.0.0.1:{_PORT + 1}", f"{host}\r\nHost: evil.example"]
                )
            case 1:
                origin = draw.choice(["http://evil.example", "null", "", "http://127.0.0.1"])
            case _:
                token = draw.choice(["", "x", _TOKEN[:-1], _TOKEN + "x", "\u00e9", "..", _TOKEN.upper()])
    length = draw.choice(
        [str(len(body))] * 6 + ["", "-1", "99999999999", "0x10", "\u0663", str(len(body) + 4)]
    )
    lines = [f"{method} /{token}/{path} HTTP/1.1", f"Host: {host}", f"Origin: {origin}"]
    lines += [f"Content-Length: {length}", "", ""]
    return "\r\n".join(lines).encode("utf-8") + body, right


def run_case(draw: random.Random, report: Report) -> None:
    """Answer one changed request."""
    request, right = draw_request(draw)
    changed = draw.random() < 0.6
    if changed:
        request = change_bytes(request, draw)[1]
    report.steps.append(repr(request[:600]))
    session, connection = Session(), Connection(request)

    @contextlib.contextmanager
    def listen() -> Iterator[Iterator[bytes]]:
        yield iter([b"message"])

    routes = Routes(lambda: b"page", listen, {"level": level}, command_table(session), lambda: _POINTS)
    server = SimpleNamespace(token=_TOKEN, routes=routes, server_port=_PORT)
    with contextlib.suppress(ConnectionError, TimeoutError):
        _Handler(connection, ("127.0.0.1", 1), server)  # type: ignore[arg-type]
    answer = connection.answer
    if not right and not changed and (session.reached or b" 200 " in answer[:20]):
        raise Wrong(f"a request without the right to has reached {session.reached or 'the page'}")
    if _TOKEN.encode() not in request and (session.reached or b" 200 " in answer[:20]):
        raise Wrong(f"a request without the token has reached {session.reached or 'the page'}")
    report.count(
        "request", answer[9:12].decode("ascii", "replace") if answer[:5] == b"HTTP/" else "no answer"
    )


def level(rest: str) -> bytes:
    """What the session answers for the ids of a level, with its own check."""
    from actup.viewer._live._server import HTTPStatus, Rejected

    if rest != "0":
        raise Rejected(HTTPStatus.NOT_FOUND, "no such level")
    return b"1234"
