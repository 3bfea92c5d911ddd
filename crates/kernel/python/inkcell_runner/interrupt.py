"""SIGINT: raises an exception in the code of a command, and does nothing anywhere else.

Owns the handler. Between commands a signal is ignored. After a command is read and before its code runs, a signal is
kept; it ends the code as the code begins. Inside a frame a signal waits for the end of the frame, so that an interrupt
can never break the channel.
"""

import _signal
from _signal import SIGINT, getsignal
from _thread import get_ident
from os import fstat, read

# The effect that a signal has now.
_IGNORED, _KEPT, _RAISED = range(3)

# Functions of the runner directly around the code of a command. When a signal finds one of them running, the command
# is over.
_shielded = []

# In ticks of the thread that calls `remind`.
_MAX_PAUSE = 20


def shielded(function):
    """Marks a function in which a signal raises nothing. Functions that it calls are not marked."""
    _shielded.append(function.__code__)
    return function


class Interrupt:
    def __init__(self, channel):
        self._channel = channel
        self._main = get_ident()
        self._state = _IGNORED
        self._is_pending = False
        # Whether code of the user runs before the cell, such as a hook.
        self._is_before = False
        # The read end of the pipe to which Python writes each signal, and the inode that identifies it.
        self._pipe = self._mark = None
        # How often the handler has run, and how often it had run when an open signal came.
        self._heard = 0
        self._unheard = None
        self._ticks, self._pause = 0, 1
        # Keep one bound method, so that comparisons by identity find it.
        self._handler = self._on_signal
        _signal.signal(SIGINT, self._handler)

    def rearm(self):
        """Restores the runner's handler, whatever handler the user's code has set."""
        self._main = get_ident()
        _signal.signal(SIGINT, self._handler)

    def watch(self, read_end, write_end):
        """Sets the pipe from which `remind` learns of signals."""
        self._pipe, self._mark = read_end, _identify(read_end)
        _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        self._wakeup = write_end

    def forget(self):
        """Called in a copy of the process, before it closes the pipe, which belongs to the original."""
        if self._pipe is not None:
            self._pipe = None
            before = _signal.set_wakeup_fd(-1)
            if before != self._wakeup and before != -1:
                _signal.set_wakeup_fd(before)

    def _on_signal(self, number, frame):
        # Empty the pipe first: a byte that `remind` finds there then belongs to a signal that is not counted yet.
        self._take_signals()
        self._heard += 1
        if self._state == _KEPT or self._is_before:
            self._is_pending = True
        if self._state == _RAISED and not _is_shielded(frame):
            if not self._channel.is_busy:
                raise KeyboardInterrupt
            self._channel.after_send = self._raise_after_send

    def _raise_after_send(self):
        if get_ident() == self._main:
            self._channel.after_send = None
            if self._state == _RAISED:
                raise KeyboardInterrupt

    def keep(self):
        """Keeps signals from here on: they are meant for the command that was read."""
        self._is_pending = False
        self._state = _KEPT
        if getsignal(SIGINT) is not self._handler:
            self.rearm()

    def call(self, code, *args):
        """Calls code that a signal ends, including a signal that came since the command was read."""
        # The order matters: a signal in between is either kept or raised.
        self._state = _RAISED
        if self._is_pending:
            raise KeyboardInterrupt
        return code(*args)

    def call_before(self, function, *args):
        """Calls the user's code that runs before the cell, such as a hook. A signal ends that code, and then the cell
        as it begins. The caller of a hook catches the hook's exceptions, and would otherwise run the cell."""
        if self._state != _KEPT:
            return function(*args)
        self._is_before = True
        self._state = _RAISED
        try:
            return function(*args)
        finally:
            self._state = _KEPT
            self._is_before = False

    def begin(self, code):
        """Returns the code to run in place of this code. From here on a signal ends the code. A signal that came since
        the command was read ends it at its first line, so it breaks nothing that runs before."""
        if self._state == _KEPT:
            # The order matters: a signal in between is either kept or raised.
            self._state = _RAISED
            if self._is_pending:
                self._is_pending = False
                return interrupted_at(code)
        return code

    @shielded
    def ignore(self):
        """Ignores signals from here on: the command is over."""
        self._state = _IGNORED
        self._is_pending = False
        self._channel.after_send = None
        if getsignal(SIGINT) is not self._handler:
            # A handler of the user would receive signals between two cells. The system's default would end the runner.
            self.rearm()

    @shielded
    def unheard(self, answer, *args, **kwargs):
        """Calls the function that answers an interrupt. A second interrupt must not break the answer."""
        state, self._state = self._state, _IGNORED
        try:
            return answer(*args, **kwargs)
        finally:
            self._state = state

    def remind(self):
        """Sends the signal again if the handler has not run. A signal that arrives between Python's last check and a
        blocking system call does not end that call. Another thread calls this at intervals while a cell runs."""
        heard = self._heard
        has_come = SIGINT in self._take_signals()
        if self._unheard != heard:
            # No signal was open, or the handler has run for it.
            self._unheard = heard if has_come else None
            self._ticks, self._pause = 0, 1
            return
        self._ticks += 1
        if self._ticks < self._pause or self._state != _RAISED:
            return
        self._ticks, self._pause = 0, min(self._pause * 2, _MAX_PAUSE)
        if getsignal(SIGINT) is self._handler and self._heard == heard:
            _signal.pthread_kill(self._main, SIGINT)

    def _take_signals(self):
        """Reads the numbers of the signals that are in the pipe."""
        pipe = self._pipe
        try:
            # The cell may have closed the pipe, and a file of the user may have its number now.
            if pipe is not None and _identify(pipe) == self._mark:
                return read(pipe, 512)
        except OSError:
            pass
        return b""


def interrupted_at(code):
    """Makes code that raises an interrupt where the given code begins."""
    source = "\n" * (code.co_firstlineno - 1) + "raise KeyboardInterrupt"
    return compile(source, code.co_filename, "exec")


def _identify(fd):
    """The inode and the device of the open file with this number."""
    return fstat(fd)[1:3]


def _is_shielded(frame):
    return frame is not None and any(frame.f_code is code for code in _shielded)
