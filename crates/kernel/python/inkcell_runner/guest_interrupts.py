"""Interrupts of a kernel that is ipykernel's: they hit cells and questions and nothing else.

Owns SIGINT there, and the signal that wakes the main thread. If the kernel lacks the hooks, this module changes nothing.
"""

import os
import signal
import threading
import time

from .interrupt import _identify, interrupted_at

# Wakes a thread that waits for the system. User code has hardly a use for it.
_WAKE = signal.SIGRTMAX - 1 if hasattr(signal, "SIGRTMAX") else None

# Pauses before each wake, in seconds.
_PAUSES = (0.01, 0.05, 0.2, 1)


class Interrupts:
    """ipykernel lets an interrupt hit its own code around a cell, which loses replies or ends the kernel. The host
    interrupts a cell once the kernel has taken its request up; an interrupt before the first line of the cell runs is
    noted, and ends the cell there."""

    def __init__(self):
        # Whether they are for the user's code and for answers to questions alone.
        self._is_taken = False
        # One came since the last request was taken up, and no code of the user's ran that it could hit.
        self._is_noted = False
        # Cancels the cell that awaits: ipykernel's handler of interrupts around it.
        self._cancel = None
        # One object, so that it can be known again.
        self._noting = self._note
        self._waker = None

    def take(self, shell, between):
        kernel = getattr(shell, "kernel", None)
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not hasattr(kernel, "pre_handler_hook") or not hasattr(kernel, "post_handler_hook"):
            return
        self._is_taken = True
        self._waker = _Waker.start()

        def after_request():
            # Also makes good what a cell did to the handler.
            self.note()
            for settle in between:
                settle()

        def before_request():
            after_request()
            # An earlier interrupt was meant for something that is over.
            self._is_noted = False
            if self._waker is not None:
                self._waker.listen()

        kernel.pre_handler_hook, kernel.post_handler_hook = before_request, after_request
        plain = shell.run_code

        def end_awaiting(signum, frame):
            # Code that has its turn is interrupted as any other. While it waits, an exception would hit the loop.
            while frame is not None and frame.f_code is not run_code.__code__:
                frame = frame.f_back
            if frame is not None:
                raise KeyboardInterrupt
            import asyncio

            self._cancel(signum, frame)
            # A loop that waits for something to happen does not look by itself.
            asyncio.get_running_loop().call_soon_threadsafe(int)

        ours = (self._noting, end_awaiting, signal.default_int_handler)

        async def run_code(code, *arguments, **named):
            # Called for each statement. A handler that a statement before has put there stays.
            if signal.getsignal(signal.SIGINT) in ours:
                awaits = named.get("async_") and self._cancel is not None
                self._are(end_awaiting if awaits else signal.default_int_handler)
            if self._is_noted:
                self._is_noted = False
                code = interrupted_at(code)
            return await plain(code, *arguments, **named)

        shell.run_code = run_code

    def await_cell(self):
        """The cell has not begun yet: an interrupt now would hit more than the cell."""
        if self._is_taken:
            handler = signal.getsignal(signal.SIGINT)
            self._cancel = None if handler is self._noting or not callable(handler) else handler
        self.note()

    def note(self):
        """An interrupt from here on is noted and does nothing by itself."""
        self._are(self._noting)

    def let_through(self):
        """An interrupt from here on ends what runs."""
        # A function of C: one in Python would show up in the traceback.
        self._are(signal.default_int_handler)

    def _note(self, signum, frame):
        self._is_noted = True

    def _are(self, handler):
        if self._is_taken:
            try:
                signal.signal(signal.SIGINT, handler)
            except ValueError:
                # A thread that is not the main one; signals do not reach it.
                pass


class _Waker:
    """A signal that arrives between Python's last check and a call of the system does not end that call, and the cell
    would wait on. Another signal, which does nothing itself, ends the call, and Python checks again."""

    # How many requests there were.
    _requests = 0

    @classmethod
    def start(cls):
        """A waker, or None if the signal has a handler already or no pipe can be opened."""
        if _WAKE is None or signal.getsignal(_WAKE) is not signal.SIG_DFL:
            return None
        from .__main__ import _move_high, start_thread

        try:
            heard, told = map(_move_high, os.pipe())
        except OSError:
            return None
        os.set_blocking(told, False)
        waker = cls()
        waker._told, waker._mark, waker._main = told, _identify(told), threading.get_ident()
        # Signals of a child are not for this process.
        os.register_at_fork(after_in_child=waker._leave)
        signal.signal(_WAKE, waker._do_nothing)
        waker.listen()
        start_thread(waker._wake, heard)
        return waker

    def listen(self):
        """Has Python write the number of each signal that comes during the next request; a cell may have undone it."""
        self._requests += 1
        try:
            if self._told is not None and _identify(self._told) == self._mark:
                before = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
                if before not in (-1, self._told):
                    signal.set_wakeup_fd(before)
        except (OSError, ValueError):
            # A cell has closed it, or this is not the main thread.
            pass

    def _wake(self, heard):
        while True:
            try:
                numbers = os.read(heard, 512)
            except OSError:
                # A cell has closed it.
                return
            if not numbers:
                return
            request = self._requests
            if signal.SIGINT in numbers:
                for pause in _PAUSES:
                    time.sleep(pause)
                    # A later cell has no part in it.
                    if self._requests != request:
                        break
                    if signal.getsignal(_WAKE) == self._do_nothing:
                        signal.pthread_kill(self._main, _WAKE)

    def _leave(self):
        told, self._told = self._told, None
        if told is not None:
            before = signal.set_wakeup_fd(-1)
            if before == told:
                os.close(told)
            elif before != -1:
                signal.set_wakeup_fd(before)

    def _do_nothing(self, signum, frame):
        pass
