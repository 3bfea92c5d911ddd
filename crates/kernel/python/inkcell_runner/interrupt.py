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
        # One object, so that it can be known again.
        self._handler = self._on_signal
        _signal.signal(_signal.SIGINT, self._handler)

    def rearm(self):
        """User code may have put another handler in place; every cell starts with ours."""
        self._main = get_ident()
        _signal.signal(_signal.SIGINT, self._handler)

    def _on_signal(self, number, frame):
        if not self._is_armed:
            return
        if self._channel.is_busy:
            self._channel.after_send = self._raise_pending
            return
        raise KeyboardInterrupt

    def _raise_pending(self):
        if get_ident() == self._main:
            self._channel.after_send = None
            if self._is_armed:
                raise KeyboardInterrupt

    def unheard(self, answer, *args, **kwargs):
        """Calls what answers an interrupt; another one must not spoil it."""
        was_armed, self._is_armed = self._is_armed, False
        try:
            return answer(*args, **kwargs)
        finally:
            self._is_armed = was_armed

    def __enter__(self):
        if _signal.getsignal(_signal.SIGINT) is not self._handler:
            self.rearm()
        self._channel.after_send = None
        self._is_armed = True

    def __exit__(self, *error):
        self._is_armed = False
        self._channel.after_send = None
        return False
