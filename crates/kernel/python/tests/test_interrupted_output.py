"""An interrupt neither loses nor doubles output, at any point of the code."""

import os
import signal

import pytest

from inkcell_runner.channel import Channel
from inkcell_runner.interrupt import Interrupt
from inkcell_runner.streams import FrameWriter


class _Session:
    """A session that keeps its frames, and whose interrupt strikes when the test asks for it."""

    def __init__(self, channel):
        self.channel = channel
        self.streams = self
        self.strike = None
        self.frames = []

    def count(self, size):
        pass

    def send_stream(self, name, data):
        if self.strike == "before":
            raise KeyboardInterrupt
        self.frames.append(bytes(data))
        self.channel.sent = id(data)
        if self.strike == "after":
            raise KeyboardInterrupt


def _stream():
    import io

    session = _Session(Channel(-1))
    return session, io.BufferedWriter(FrameWriter(session, "stdout", 1), 1 << 16)


def test_what_was_sent_is_not_sent_again():
    session, stream = _stream()
    stream.write(b"one")
    session.strike = "after"
    try:
        stream.flush()
    except KeyboardInterrupt:
        pass
    session.strike = None
    stream.write(b"two")
    stream.flush()
    assert b"".join(session.frames) == b"onetwo"


def test_what_was_not_sent_is_not_lost():
    session, stream = _stream()
    stream.write(b"one")
    session.strike = "before"
    try:
        stream.flush()
    except KeyboardInterrupt:
        pass
    session.strike = None
    stream.write(b"two")
    stream.flush()
    assert b"".join(session.frames) == b"onetwo"


def test_an_interrupt_waits_for_the_end_of_a_frame():
    """A signal in the middle of a frame raises only after it: the frame is complete, and the lock is free."""
    before = signal.getsignal(signal.SIGINT)
    read, write = os.pipe()
    channel = Channel(write)
    real, struck = channel._write_parts, []

    def strike(parts):
        real(parts[:1])
        signal.raise_signal(signal.SIGINT)
        struck.append(True)
        real(parts[1:])

    channel._write_parts = strike
    try:
        with pytest.raises(KeyboardInterrupt):
            # A large payload, because a small one is joined with its line.
            Interrupt(channel).call(channel.send, "stream", '"id":1', (b"payload" * 1500,))
            pytest.fail("the interrupt was lost")
        assert struck
        assert channel.lock.acquire(False)
        channel.lock.release()
        assert os.read(read, 1 << 14).endswith(b"}\n" + b"payload" * 1500)
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(read)
        os.close(write)
