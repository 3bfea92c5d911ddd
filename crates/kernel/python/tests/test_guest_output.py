"""Changes to the streams of ipykernel: the waits of an ending kernel."""

from types import SimpleNamespace

import pytest

zmq = pytest.importorskip("zmq")

from inkcell_runner import guest_output


def test_a_thread_that_wakes_one_that_is_gone_gives_up():
    context = zmq.Context()
    # No reader takes messages from this pipe, as after the end of the output thread.
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


class Stream:
    """The parts of ipykernel's stream that the runner changes."""

    pub_thread = echo = None

    def __init__(self):
        self.flushes, self.text, self._flush_pending = 0, "", False

    def _is_master_process(self):
        return True

    def _flush(self):
        pass

    def write(self, text):
        self.text += text
        self._flush_pending = True
        return len(text)

    def flush(self):
        self.flushes += 1
        self._flush_pending = False


def test_a_stream_to_which_nothing_was_written_is_not_waited_for():
    stream = Stream()
    guest_output.pace(stream)
    stream.flush()
    assert stream.flushes == 1, "what was written before is not known"
    for _ in range(3):
        stream.flush()
    assert stream.flushes == 1
    stream.write("a")
    stream.flush()
    stream.flush()
    assert (stream.flushes, stream.text) == (2, "a")
    # The output thread has begun to send, but may not have finished.
    stream.write("b")
    stream._flush_pending = False
    stream.flush()
    assert stream.flushes == 3
    # ipykernel writes directly while IPython has put its own method back.
    stream._flush_pending = True
    stream.flush()
    assert stream.flushes == 4


def test_a_pipe_is_looked_into_without_reading_it():
    import os

    peek = guest_output._peek()
    source, sink = os.pipe()
    assert peek(source) == 0
    os.write(sink, b"abc")
    assert peek(source) == 3
    os.close(sink)
    os.read(source, 3)
    assert peek(source) == 0
    os.close(source)
    assert peek(source) == 1, "what cannot be asked is read"


@pytest.mark.parametrize("number, is_fatal", [(15, True), (9, True), (0, False), (17, False), (2, False), (999, False)])
def test_signals_that_end_the_process_are_known(number, is_fatal):
    # Python has a handler for 2.
    assert guest_output._is_fatal(number) == is_fatal
