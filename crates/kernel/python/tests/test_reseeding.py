"""Each copy of the fork server draws its own random numbers."""

import os
import random

import pytest

from inkcell_runner.seeds import Seeds


def _draw(draw):
    """The numbers that a copy draws after it got its own seeds."""
    seeds = Seeds()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            seeds.renew()
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


def _numpy():
    numpy = pytest.importorskip("numpy")
    numpy.random.seed(0)
    # Numpy keeps half of a pair for the next draw, which would be the same in all copies.
    numpy.random.standard_normal()
    return numpy


@pytest.mark.parametrize("name", ["random", "standard_normal", "bytes"])
def test_copies_draw_different_numbers_from_numpy(name):
    numpy = _numpy()
    arguments = (8,) if name == "bytes" else ()
    drawn = {_draw(lambda: getattr(numpy.random, name)(*arguments)) for _ in range(3)}
    assert len(drawn) == 3 and b"" not in drawn


def test_copies_draw_different_numbers_from_a_numpy_that_does_not_tell_its_place(monkeypatch):
    numpy = _numpy()
    monkeypatch.setattr("inkcell_runner.seeds._numpy_key", lambda numbers: None)
    drawn = {_draw(numpy.random.random) for _ in range(3)}
    assert len(drawn) == 3 and b"" not in drawn


def test_numbers_from_a_renewed_numpy_are_spread_evenly():
    """The copy filled the whole state, and numpy can continue from it."""
    numpy = _numpy()
    code = "ok"

    def look():
        numbers = numpy.random.random(100_000)
        return code if abs(numbers.mean() - 0.5) < 0.01 and len(set(numbers.tolist())) > 99_000 else numbers.mean()

    assert _draw(look) == b"'ok'"
