"""The notes of the page."""

import pytest

from actup._experiments.page.notes import _notes, note


def test_notes_are_read_by_name():
    assert all(note(name) for name in _notes())
    with pytest.raises(KeyError):
        note("nothing")
