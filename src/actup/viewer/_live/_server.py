"""LiveServer: serves one page and its event stream on this machine, to whoever knows the token."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HOST = "127.0.0.1"
_TOKEN_BYTES = 32
_SOCKET_SECONDS = 10.0  # a connection that is silent for longer, or does not read, is closed
_JOIN_SECONDS = 5.0  # how long closing waits for the threads of requests
_BYTES_PER_ID = 4
_MAX_COMMAND_BYTES = 4096
_HEADERS = {
    "Cache-Control": "no-store",
    # The page itself says what it may load and run. Only notebooks of this machine may show it in a frame.
    "Content-Security-Policy": "frame-ancestors http://127.0.0.1:* http://localhost:*",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Rejected(Exception):
    """A request that cannot be answered: its status and a line for the page."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Routes:
    """What the server answers requests with.

    Attributes
    ----------
    page : callable
        Returns the page, as bytes of HTML.
    listen : callable
        Returns a context that gives the messages of the event stream.
    read : mapping of str to callable
        Requests for bytes by name; the function gets what follows the name in the path.
    act : mapping of str to callable
        Requests that change something by name; the function gets the body. It may raise ``Rejected``.
    max_ids : callable
        Returns how many ids a body may hold.
    """

    page: Callable[[], bytes]
    listen: Callable[[], AbstractContextManager[Iterator[bytes]]]
    read: dict[str, Callable[[str], bytes]]
    act: dict[str, Callable[[bytes], None]]
    max_ids: Callable[[], int]


class LiveServer:
    """A server on 127.0.0.1 and a free port, with threads of its own.

    Every path begins with a random token. Requests without it, from another origin or under another host name
    are answered with 403 and reach none of the routes.
    """

    def __init__(self, routes: Routes) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._server = _Server(self.token, routes)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="actup-live-server", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where the page is, with the token."""
        return f"http://{_HOST}:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop listening and end all connections; no thread is left."""
        self._server.shutdown()
        self._thread.join(_JOIN_SECONDS)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a forgotten session does not keep the process alive
    allow_reuse_address = False

    def __init__(self, token: str, routes: Routes) -> None:
        self.token, self.routes = token, routes
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._lock = threading.Lock()
        super().__init__((_HOST, 0), _Handler)

    def server_bind(self) -> None:
        # The inherited method asks a name server for the name of the host.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = _HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self._answer, args=(request, client_address), name="actup-live-request", daemon=True
        )
        with self._lock:
            self._connections[thread] = request
        thread.start()

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: a page that is closed breaks its connections, which is no error."""

    def server_close(self) -> None:
        super().server_close()
        with self._lock:
            open_connections = dict(self._connections)
        for thread, connection in open_connections.items():
            if thread is threading.current_thread():  # the page asked to end
                continue
            thread.join(_JOIN_SECONDS / 10)  # enough to write the last message
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended meanwhile
                continue
            thread.join(_JOIN_SECONDS)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SOCKET_SECONDS
    server_version, sys_version = "ActUp", ""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: paths contain the token."""

    def do_GET(self) -> None:
        self._handle(self._get)

    def do_POST(self) -> None:
        self._handle(self._post)

    def _do_other(self) -> None:
        self._handle(self._refuse)

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _do_other  # noqa: N815 (the base class calls these)

    def _refuse(self, path: str) -> None:
        raise Rejected(HTTPStatus.METHOD_NOT_ALLOWED, "GET and POST only")

    def _handle(self, answer: Callable[[str], None]) -> None:
        try:
            answer(self._checked_path())
        except Rejected as rejected:
            self._send(rejected.status, "text/plain; charset=utf-8", str(rejected).encode("utf-8"))

    def _checked_path(self) -> str:
        """Return the path after the token; reject requests that do not come from the page."""
        port = self.server.server_port
        hosts = (f"{_HOST}:{port}", f"localhost:{port}")
        # A page of another site whose name was made to resolve to this machine sends its own name.
        if self.headers.get_all("Host", []) not in ([hosts[0]], [hosts[1]]):
            raise Rejected(HTTPStatus.FORBIDDEN, "wrong host")
        origin = self.headers.get("Origin")
        if origin is None and self.command == "POST":
            raise Rejected(HTTPStatus.FORBIDDEN, "no origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            raise Rejected(HTTPStatus.FORBIDDEN, "wrong origin")
        token, _, rest = self.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode("ascii")):
            raise Rejected(HTTPStatus.FORBIDDEN, "wrong token")
        return rest

    def _get(self, path: str) -> None:
        routes = self.server.routes
        name, _, rest = path.partition("/")
        if path == "":
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", routes.page())
        elif path == "events":
            self._stream()
        elif name in routes.read:
            self._send(HTTPStatus.OK, "application/octet-stream", routes.read[name](rest))
        else:
            raise Rejected(HTTPStatus.NOT_FOUND, "no such path")

    def _post(self, path: str) -> None:
        routes = self.server.routes
        if path not in routes.act:
            raise Rejected(HTTPStatus.NOT_FOUND, "no such path")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise Rejected(HTTPStatus.LENGTH_REQUIRED, "no length")
        if int(length) > max(_MAX_COMMAND_BYTES, _BYTES_PER_ID * routes.max_ids()):
            raise Rejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too long")
        routes.act[path](self.rfile.read(int(length)))
        self._send(HTTPStatus.NO_CONTENT)

    def _stream(self) -> None:
        """Write messages until the session ends or the page is gone."""
        self._send(HTTPStatus.OK, "application/octet-stream", None)
        with self.server.routes.listen() as messages:
            for message in messages:
                self.wfile.write(message)

    def _send(self, status: HTTPStatus, kind: str = "", body: bytes | None = b"") -> None:
        """Send a response; ``body=None``: the body follows until the connection ends."""
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if kind:
            self.send_header("Content-Type", kind)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(body)
