"""Changes to the streams of ipykernel: what a kernel that ends may wait for."""

from types import SimpleNamespace

import pytest

zmq = pytest.importorskip("zmq")

from inkcell_runner import guest_output


def test_a_thread_that_wakes_one_that_is_gone_gives_up():
    context = zmq.Context()
    # Nobody takes what is sent there, as after the end of the thread for output.
    pipe = context.socket(zmq.PUSH)
    pipe.linger = 0
    pipe.connect("inproc://a-thread-that-is-gone")
    pipe.sndhwm = 1
    control = SimpleNamespace(io_loop=SimpleNamespace(add_callback=lambda call: call()))
    kernel = SimpleNamespace(iopub_thread=SimpleNamespace(_event_pipe=pipe), control_thread=control)
    guest_output.bound_wakes(SimpleNamespace(kernel=kernel), milliseconds=1)
    with pytest.raises(zmq.Again):
        for _ in range(100_000):
            pipe.send(b"")
    context.destroy()


def test_kernels_without_these_threads_are_left_alone():
    guest_output.bound_wakes(SimpleNamespace(kernel=SimpleNamespace()))
