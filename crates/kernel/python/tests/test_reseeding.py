"""Copies of the fork server draw numbers of their own."""

import os
import random

import pytest

from inkcell_runner import zygote


def _draw(draw):
    """What a copy draws after it was given seeds of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            zygote._reseed()
            os.write(write, repr(draw()).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read, "rb") as said:
        return said.read()


def test_copies_draw_different_numbers():
    state = random.getstate()
    try:
        random.seed(0)
        drawn = {_draw(random.random) for _ in range(3)}
    finally:
        random.setstate(state)
    assert len(drawn) == 3 and b"" not in drawn


def test_copies_draw_different_numbers_from_numpy():
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(0)
    drawn = {_draw(numpy.random.random) for _ in range(3)}
    assert len(drawn) == 3 and b"" not in drawn
