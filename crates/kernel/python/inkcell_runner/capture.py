"""Collects output instead of sending it, for `%%capture` and similar code.

Owns the collected output. It can be shown later, in the order in which it came.
"""


class Captured:
    """The output and the displays of captured code."""

    def __init__(self):
        self._stdout, self._stderr, self.outputs = [], [], []

    @property
    def stdout(self):
        return b"".join(self._stdout).decode("utf-8", "replace")

    @property
    def stderr(self):
        return b"".join(self._stderr).decode("utf-8", "replace")

    def stream(self, name, data):
        (self._stdout if name == "stdout" else self._stderr).append(data)

    def display(self, data, metadata, display_id, update):
        self.outputs.append((data, metadata, display_id, update))

    def clear(self, wait):
        if not wait:
            self.outputs.clear()


class Capture:
    """Collects output between its start and its end."""

    def __init__(self, session):
        self._session = session
        self.captured = Captured()

    def __enter__(self):
        self._session.flush()
        self._session.capturing.append(self.captured)
        return self.captured

    def __exit__(self, *error):
        self._session.flush()
        self._session.capturing.remove(self.captured)
        return False
