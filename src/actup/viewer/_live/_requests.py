"""What a page may ask of a session: reads the bodies of requests, and calls the session's methods."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

import numpy as np

from actup.viewer._live._server import Rejected


class Controllable(Protocol):
    """The methods of a session that a page calls; none of them waits for a layout to come to its end."""

    def pause(self) -> None:
        """Have the layout wait."""

    def resume(self) -> None:
        """Have the layout go on."""

    def stop(self) -> None:
        """End the layout where it is."""

    def steer(self, exaggeration: float | None = None, repulsion: float | None = None) -> None:
        """Change the factors of the forces."""

    def note_selection(self, ids: np.ndarray) -> None:
        """Remember what is selected on the page."""

    def begin_zoom(self, ids: np.ndarray) -> object:
        """Begin to make a map of a selection."""

    def zoom_out(self) -> None:
        """Show the map before."""

    def end(self) -> None:
        """Begin to end the session."""


def command_table(session: Controllable) -> dict[str, Callable[[bytes], None]]:
    """Return what to do with the body of each request that changes something.

    Parameters
    ----------
    session : Controllable
    """
    commands: dict[str, Callable[[], None]] = {
        "pause": session.pause,
        "resume": session.resume,
        "stop": session.stop,
        "zoom_out": session.zoom_out,
        "end": session.end,
    }

    def steer(body: bytes) -> None:
        factors = _read_factors(body)
        session.steer(factors.get("exaggeration"), factors.get("repulsion"))

    def zoom(body: bytes) -> None:
        session.begin_zoom(_read_ids(body))

    def select(body: bytes) -> None:
        session.note_selection(_read_ids(body))

    table = {name: _without_body(command) for name, command in commands.items()}
    return table | {
        "steer": _rejecting_wrong_values(steer),
        "zoom": _rejecting_wrong_values(zoom),
        "selection": _rejecting_wrong_values(select),
    }


def _without_body(command: Callable[[], None]) -> Callable[[bytes], None]:
    return _rejecting_wrong_values(lambda body: command())


def _rejecting_wrong_values(act: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Answer values and moments that the session rejects with the reason it gives."""

    def checked(body: bytes) -> None:
        try:
            act(body)
        except ValueError as error:
            raise Rejected(HTTPStatus.BAD_REQUEST, str(error)) from error
        except RuntimeError as error:
            raise Rejected(HTTPStatus.CONFLICT, str(error)) from error

    return checked


def _read_factors(body: bytes) -> dict[str, float]:
    """Read an object of numbers by name, as JSON."""
    try:
        factors: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Rejected(HTTPStatus.BAD_REQUEST, "the body must be JSON") from error
    if not isinstance(factors, dict) or not all(type(value) in (int, float) for value in factors.values()):
        raise Rejected(HTTPStatus.BAD_REQUEST, "the body must be an object of numbers")
    unknown = factors.keys() - {"exaggeration", "repulsion"}
    if unknown:
        raise Rejected(HTTPStatus.BAD_REQUEST, f"unknown factors: {', '.join(sorted(unknown))}")
    return factors


def _read_ids(body: bytes) -> np.ndarray:
    """Read the numbers of samples: unsigned, 32 bits each, little-endian."""
    if len(body) % 4:
        raise Rejected(HTTPStatus.BAD_REQUEST, "the body must be numbers of 4 bytes")
    return np.frombuffer(body, "<u4").astype(np.int64)
