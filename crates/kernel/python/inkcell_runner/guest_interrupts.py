"""SIGINT in ipykernel: interrupts reach cells and questions, and no other code.

Owns the handlers of SIGINT, and the signal that wakes the main thread. If the kernel lacks the hooks, this module
changes nothing.
"""

import os
import signal
import threading
import time

from .interrupt import _identify, interrupted_at

# Wakes a thread that waits in a system call. User code hardly ever uses this signal.
_WAKE = signal.SIGRTMAX - 1 if hasattr(signal, "SIGRTMAX") else None

# Pauses before each wake, in seconds.
_PAUSES = (0.01, 0.05, 0.2, 1)


class Interrupts:
    """ipykernel lets an interrupt hit its own code around a cell, which loses replies or ends the kernel. The host
    interrupts a cell once the kernel has taken its request up. An interrupt before the first line of the cell runs is
    noted, and ends the cell there."""

    def __init__(self):
        # Whether interrupts reach only the user's code and answers to questions.
        self._is_taken = False
        # Whether an interrupt came since the last request was taken up, while no code of the user ran.
        self._is_noted = False
        # Cancels a cell that awaits: the handler of interrupts that ipykernel sets around such a cell.
        self._cancel = None
        # Keep one bound method, so that comparisons by identity find it.
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
            # This also restores a handler that a cell replaced.
            self.note()
            for settle in between:
                settle()

        def before_request():
            after_request()
            # An earlier interrupt was meant for a request that is over.
            self._is_noted = False
            if self._waker is not None:
                self._waker.listen()

        kernel.pre_handler_hook, kernel.post_handler_hook = before_request, after_request
        plain = shell.run_code

        def end_awaiting(signum, frame):
            # Interrupt code that runs now like any other code. While the code waits, an exception would hit the loop.
            while frame is not None and frame.f_code is not run_code.__code__:
                frame = frame.f_back
            if frame is not None:
                raise KeyboardInterrupt
            import asyncio

            self._cancel(signum, frame)
            # A loop that waits for an event does not check for the cancellation on its own.
            asyncio.get_running_loop().call_soon_threadsafe(int)

        ours = (self._noting, end_awaiting, signal.default_int_handler)

        async def run_code(code, *arguments, **named):
            # IPython calls this for each statement. Keep a handler that an earlier statement set.
            if signal.getsignal(signal.SIGINT) in ours:
                awaits = named.get("async_") and self._cancel is not None
                self._are(end_awaiting if awaits else signal.default_int_handler)
            if self._is_noted:
                self._is_noted = False
                code = interrupted_at(code)
            return await plain(code, *arguments, **named)

        shell.run_code = run_code

    def await_cell(self):
        """Prepares for a cell that has not begun yet. An interrupt now would hit more than the cell."""
        if self._is_taken:
            handler = signal.getsignal(signal.SIGINT)
            self._cancel = None if handler is self._noting or not callable(handler) else handler
        self.note()

    def note(self):
        """From here on, an interrupt is only noted."""
        self._are(self._noting)

    def let_through(self):
        """From here on, an interrupt ends the code that runs."""
        # Use a function of C: one in Python would show up in the traceback.
        self._are(signal.default_int_handler)

    def _note(self, signum, frame):
        self._is_noted = True

    def _are(self, handler):
        if self._is_taken:
            try:
                signal.signal(signal.SIGINT, handler)
            except ValueError:
                # This is not the main thread; signals do not reach it.
                pass


class _Waker:
    """A signal that arrives between Python's last check and a system call does not end that call, and the cell would
    wait on. The waker sends another signal, which does nothing itself. It ends the call, and Python checks again."""

    # The number of requests so far.
    _requests = 0

    @classmethod
    def start(cls):
        """Starts a waker. None if the signal has a handler already or no pipe can be opened."""
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
        # Signals that a child receives are not meant for this process.
        os.register_at_fork(after_in_child=waker._leave)
        signal.signal(_WAKE, waker._do_nothing)
        waker.listen()
        start_thread(waker._wake, heard)
        return waker

    def listen(self):
        """Makes Python write the number of each signal during the next request. A cell may have undone it."""
        self._requests += 1
        try:
            if self._told is not None and _identify(self._told) == self._mark:
                before = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
                if before not in (-1, self._told):
                    signal.set_wakeup_fd(before)
        except (OSError, ValueError):
            # A cell has closed the descriptor, or this is not the main thread.
            pass

    def _wake(self, heard):
        while True:
            try:
                numbers = os.read(heard, 512)
            except OSError:
                # A cell has closed the descriptor.
                return
            if not numbers:
                return
            request = self._requests
            if signal.SIGINT in numbers:
                for pause in _PAUSES:
                    time.sleep(pause)
                    # The interrupt was not meant for a later cell.
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
