"""SIGINT: an exception in the user's code, nothing anywhere else.

Owns the handler. Between cells a signal is ignored; inside a frame it waits for the frame's end, so
that an interrupt can never tear the channel.
"""

import _signal
from _thread import get_ident


class Interrupt:
    def __init__(self, channel):
        self._channel = channel
        self._main = get_ident()
        self._is_armed = False
        self._is_pending = False
        channel.after_send = self._raise_pending
        _signal.signal(_signal.SIGINT, self._on_signal)

    def rearm(self):
        """User code may have put another handler in place; every cell starts with ours."""
        self._main = get_ident()
        _signal.signal(_signal.SIGINT, self._on_signal)

    def _on_signal(self, number, frame):
        if not self._is_armed:
            return
        if self._channel.is_busy:
            self._is_pending = True
            return
        raise KeyboardInterrupt

    def _raise_pending(self):
        if self._is_pending and get_ident() == self._main:
            self._is_pending = False
            if self._is_armed:
                raise KeyboardInterrupt

    def __enter__(self):
        if _signal.getsignal(_signal.SIGINT) != self._on_signal:
            self.rearm()
        self._is_pending = False
        self._is_armed = True

    def __exit__(self, *error):
        self._is_armed = False
        self._is_pending = False
        return False
