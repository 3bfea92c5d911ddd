"""SIGINT: an exception in the code of a command, nothing anywhere else.

Owns the handler. Between commands a signal is ignored. From the moment when a command was read until its code
runs, a signal is kept and ends the code as it begins. Inside a frame a signal waits for the frame's end, so that an
interrupt can never tear the channel.
"""

import _signal
from _signal import SIGINT, getsignal
from _thread import get_ident
from os import fstat, read

# What a signal does now.
_IGNORED, _KEPT, _RAISED = range(3)

# Code of the runner right around that of a command. By the time a signal finds it, the command is over.
_shielded = []

# In ticks of the thread that reminds.
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
        # Code of the user's runs before the cell.
        self._is_before = False
        # The read end of the pipe to which Python writes each signal, and the inode that identifies it.
        self._pipe = self._mark = None
        # How often the handler has run, and how often it had when a signal came that it has not run for.
        self._heard = 0
        self._unheard = None
        self._ticks, self._pause = 0, 1
        # One object, so that it can be known again.
        self._handler = self._on_signal
        _signal.signal(SIGINT, self._handler)

    def rearm(self):
        """Puts our handler in place, whatever user code has put there."""
        self._main = get_ident()
        _signal.signal(SIGINT, self._handler)

    def watch(self, read_end, write_end):
        """Takes a pipe from which `remind` learns of signals."""
        self._pipe, self._mark = read_end, _identify(read_end)
        _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        self._wakeup = write_end

    def forget(self):
        """In a copy of the process, before it closes the pipe, which is not its own."""
        if self._pipe is not None:
            self._pipe = None
            before = _signal.set_wakeup_fd(-1)
            if before != self._wakeup and before != -1:
                _signal.set_wakeup_fd(before)

    def _on_signal(self, number, frame):
        # The pipe first: a byte that `remind` finds there is of a signal that is not counted yet.
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
        """Keeps signals from here on: they are for the command that was read."""
        self._is_pending = False
        self._state = _KEPT
        if getsignal(SIGINT) is not self._handler:
            self.rearm()

    def call(self, code, *args):
        """Calls code that a signal ends, also one that came since the command was read."""
        # In this order, so that a signal in between is either kept or raised.
        self._state = _RAISED
        if self._is_pending:
            raise KeyboardInterrupt
        return code(*args)

    def call_before(self, function, *args):
        """Calls code of the user's that runs before the cell, such as a hook. A signal ends it, and then the cell as it
        begins: whoever calls hooks catches what they raise, and would run the cell."""
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
        """Returns the code to run in place of this code. A signal ends it from here on. A signal that came since the
        command was read ends it at its first line, and so tears nothing that runs before it."""
        if self._state == _KEPT:
            # In this order, so that a signal in between is either kept or raised.
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
            # The user's own would hear what comes between two cells, and the system's would end the runner.
            self.rearm()

    @shielded
    def unheard(self, answer, *args, **kwargs):
        """Calls what answers an interrupt; another one must not spoil it."""
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
        """The numbers of the signals that are in the pipe."""
        pipe = self._pipe
        try:
            # The cell may have closed it, and its number be that of the user's file.
            if pipe is not None and _identify(pipe) == self._mark:
                return read(pipe, 512)
        except OSError:
            pass
        return b""


def interrupted_at(code):
    """Code that is interrupted where the given code begins."""
    source = "\n" * (code.co_firstlineno - 1) + "raise KeyboardInterrupt"
    return compile(source, code.co_filename, "exec")


def _identify(fd):
    """The inode and the device of what is open there."""
    return fstat(fd)[1:3]


def _is_shielded(frame):
    return frame is not None and any(frame.f_code is code for code in _shielded)
