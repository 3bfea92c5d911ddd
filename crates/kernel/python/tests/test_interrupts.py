"""An interrupt ends the code that it is meant for, at any point, and nothing else."""

import _thread
import os
import signal

import pytest
from host import Host
from test_runner import error, results

from inkcell_runner.__main__ import start_thread
from inkcell_runner.channel import Channel
from inkcell_runner.interrupt import Interrupt, shielded

# Sends the signal in the next cell, when the runner is about to call one of its own functions.
STRIKE = """
import signal
session = get_ipython().session
def strike(owner, name, cell=session.running):
    real = getattr(owner, name)
    def struck(*args, **kwargs):
        if session.running not in (None, cell):
            delattr(owner, name)
            signal.raise_signal(signal.SIGINT)
        return real(*args, **kwargs)
    setattr(owner, name, struck)
strike(%s)
"""


@pytest.mark.parametrize(
    "point",
    [
        "session.streams, 'install'",
        "session, '_apply'",
        "session.channel, 'send'",
        "session.interrupt, 'begin'",
        "session, '_run'",
        "session.executor.loop, 'keep'",
        "session.executor, 'run'",
        "session.executor, '_parse'",
        "session.executor, '_execute'",
    ],
)
@pytest.mark.parametrize("code", ["import time\nwhile True: time.sleep(0.01)", "x = 1\nx"])
def test_interrupt_between_the_command_and_its_code_ends_the_code(host, point, code):
    host.run(STRIKE % point)
    events = host.run(code, cwd=os.getcwd())
    assert events[0][0] == "started", "the host knows no end of a cell that never began"
    ended = error(events)
    assert ended["ename"] == "KeyboardInterrupt"
    # The traceback points to the first line of the cell and to no line of the runner.
    traceback = "".join(ended["traceback"])
    assert code.split("\n")[0] in ended["traceback"][-2] and ".py" not in traceback, ended
    assert results(host.run("6 * 7")) == ["42"]


def test_threads_of_the_runner_never_take_an_interrupt(monkeypatch):
    """Not even at their start: an interrupt taken there would end the cell that runs by then."""

    def mask():
        return signal.pthread_sigmask(signal.SIG_BLOCK, ())

    inherited = []
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: inherited.append(mask()))
    start_thread(print)
    assert signal.SIGINT in inherited[0]
    assert signal.SIGINT not in mask()


@pytest.mark.parametrize("shell", ["lite", "ipython"])
def test_interrupt_ends_a_hook_and_the_cell_behind_it(shell):
    if shell == "ipython":
        pytest.importorskip("IPython")
    hook = (
        "import time\ndef wait(*args):\n"
        "    get_ipython().events.unregister('pre_run_cell', wait)\n    print('go', flush=True)\n    time.sleep(600)\n"
        "get_ipython().events.register('pre_run_cell', wait)"
    )
    host = Host(shell=shell)
    try:
        host.run(hook)
        events = host.run("ran = 1", after=lambda host: (host.wait_for_go(), host.interrupt()))
        assert error(events)["ename"] == "KeyboardInterrupt"
        assert results(host.run("6 * 7, 'ran' in globals()")) == ["(42, False)"]
    finally:
        host.close()


@pytest.mark.parametrize("point", ["session, '_finish'", "session, 'flush'", "session.descriptors, 'restore'"])
def test_interrupt_after_the_code_does_nothing(host, point):
    """F-011"""
    host.run(STRIKE % point)
    for code, value in (("x = 1", []), ("x", ["1"])):
        events = host.run(code)
        assert (events[-1][1]["status"], results(events)) == ("ok", value)


def test_interrupt_that_came_right_before_a_call_of_the_system_is_repeated(host):
    """The system gives the signal to another thread, so the main thread goes on waiting. The same happens if
    the signal comes between Python's last look at its signals and the call."""
    code = (
        "import os, signal, threading\nread, write = os.pipe()\nmain = threading.main_thread().native_id\n"
        "def strike():\n"
        "    call = ''\n"
        "    while call.split()[1:2] != [hex(read)]:\n"
        "        call = open('/proc/self/task/%d/syscall' % main).read()\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "threading.Thread(target=strike).start()\n"
        "os.read(read, 1)"
    )
    for _ in range(5):
        assert error(host.run(code))["ename"] == "KeyboardInterrupt"
    assert results(host.run("6 * 7")) == ["42"]


@pytest.mark.parametrize("handler", ["SIG_DFL", "default_int_handler"])
def test_interrupt_between_cells_does_not_meet_the_users_handler(host, handler):
    """F-011"""
    host.run("import signal\n_ = signal.signal(signal.SIGINT, signal.%s)" % handler)
    host.interrupt()
    assert results(host.run("6 * 7")) == ["42"]


def test_copy_that_a_cell_forks_does_not_write_to_the_runners_pipe(host):
    code = (
        "import os, signal\nread, write = os.pipe()\npid = os.fork()\n"
        "if pid == 0:\n    os.write(write, b'%d' % signal.set_wakeup_fd(-1))\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\nos.read(read, 9)"
    )
    assert results(host.run(code)) == ["b'-1'"]


@pytest.fixture
def interrupt():
    before = signal.getsignal(signal.SIGINT)
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    one = Interrupt(Channel(-1))
    one.watch(*ends)
    yield one
    one.forget()
    signal.signal(signal.SIGINT, before)
    for end in ends:
        os.close(end)


class _Blocked:
    """Counts the signals sent to the main thread, which does not handle them meanwhile."""

    def __enter__(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        return self

    def __exit__(self, *_):
        self.take()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def take(self):
        """Whether a signal was sent."""
        return signal.sigtimedwait({signal.SIGINT}, 0) is not None


def test_interrupt_is_repeated_at_growing_intervals_until_it_is_heard(interrupt):
    def ticks():
        with _Blocked() as blocked:
            # Python's C code does this when a signal comes.
            os.write(interrupt._wakeup, bytes([signal.SIGINT]))
            sent = []
            for tick in range(12):
                interrupt.remind()
                if blocked.take():
                    sent.append(tick)
            return sent

    assert interrupt.call(ticks) == [1, 3, 7]
    # The handler notes the signal, and the next one is a new signal.
    interrupt.ignore()
    signal.raise_signal(signal.SIGINT)
    assert interrupt.call(ticks) == [1, 3, 7]


def test_interrupt_is_not_repeated_for_the_users_handler_or_after_the_code(interrupt):
    def ticks():
        with _Blocked() as blocked:
            os.write(interrupt._wakeup, bytes([signal.SIGINT]))
            for _ in range(12):
                interrupt.remind()
            return blocked.take()

    assert not ticks()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert not interrupt.call(ticks)


def test_interrupt_leaves_the_code_around_a_cell_alone(interrupt):
    """An exception there would end the runner."""

    @shielded
    def around():
        signal.raise_signal(signal.SIGINT)
        return "whole"

    assert interrupt.call(around) == "whole"
    with pytest.raises(KeyboardInterrupt):
        interrupt.call(signal.raise_signal, signal.SIGINT)


def test_interrupt_is_kept_from_the_command_to_its_code_only(interrupt):
    signal.raise_signal(signal.SIGINT)
    interrupt.keep()
    assert interrupt.call(int) == 0
    interrupt.keep()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupt.call(pytest.fail, "the interrupt was lost")
    interrupt.ignore()
    signal.raise_signal(signal.SIGINT)
    interrupt.keep()
    assert interrupt.call(int) == 0
