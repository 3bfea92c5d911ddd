"""Buffered output goes out soon: how long the flusher waits, and its actions after that."""

import pytest

from inkcell_runner import __main__ as runner
from inkcell_runner.streams import Streams


class _Channel:
    sent = None
    pid = -1

    def __init__(self, said):
        self._said = said

    def release(self):
        self._said.append("release")


class _Session:
    """A session with a running cell, whose clock stands still."""

    running = 1

    def __init__(self):
        self.said = []
        self.channel = _Channel(self.said)
        self.streams = Streams(self)
        self.streams._tick = self
        self.streams.flush = lambda: self.said.append("flush")
        self.interrupt = self
        self.writing = self

    def acquire(self, blocking, timeout):
        if "release" in self.said:
            raise EOFError
        self.said.append(timeout)

    def remind(self):
        self.said.append("remind")

    def __enter__(self):
        self.said.append("hold")

    def __exit__(self, *_):
        self.said.append("let go")


def test_what_is_held_back_goes_out_within_a_tenth_of_a_second():
    session = _Session()
    with pytest.raises(EOFError):
        runner._keep_flushing(session)
    timeout, *then = session.said
    # Half of the promised time, so that the other half is left for the way to the host.
    assert 0 < timeout <= 0.05
    assert then == ["remind", "hold", "flush", "release", "let go"]
