"""Values that are computed when they are first read, also in a child that is forked meanwhile."""

import os
import signal
import threading

import pytest

from actup._cached_property import cached_property


class Slow:
    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()

    @cached_property
    def value(self):
        """The value."""
        self.begun.set()
        self.may_end.wait(60)
        return object()


def test_a_value_is_computed_once():
    slow = Slow()
    slow.may_end.set()
    assert slow.value is slow.value and Slow.value.__doc__ == "The value."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    slow, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.begun.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits
        other.may_end.set()
        os._exit(0 if other.value else 1)
    slow.may_end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
