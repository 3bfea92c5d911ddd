"""`%%capture`: running a cell and keeping its output instead of showing it.

Owns the object that the user gets. The session collects the output.
"""

import sys

from .options import anywhere

_STATUS = "application/x-omp-status"


class RichOutput:
    """One displayed object."""

    def __init__(self, session, data, metadata=None, display_id=None, update=False):
        self._session = session
        self.data = data
        self.metadata = metadata or {}
        self.transient = {} if display_id is None else {"display_id": display_id}
        self.update = update

    def display(self):
        display_id = self.transient.get("display_id")
        self._session.display(self.data, self.metadata, display_id=display_id, update=self.update)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata


class CapturedIO:
    """The output of a cell; call it or `show()` to see it."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout = stdout
        self.stderr = stderr
        self.outputs = outputs

    def __str__(self):
        return self.stdout

    def show(self):
        """Write and display everything as the cell did."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show


def capture(shell, line, cell):
    """Run the cell, capturing stdout, stderr, and rich display() calls.

    ``%%capture [--no-stdout] [--no-stderr] [--no-display] [NAME]``
    """
    options, names = anywhere(line, flags="no-stdout no-stderr no-display")
    session = shell.session
    collected = None
    try:
        with session.capture() as collected:
            session.run_source(cell)
    finally:
        # A cell that fails keeps its output, and its error is still raised.
        if collected is not None:
            _keep(shell, collected, options, names[0] if names else None, cell)


def _keep(shell, collected, options, name, cell):
    outputs = [RichOutput(shell.session, *_parts(output)) for output in collected.outputs]
    for output in outputs:
        # Status events are for clients that follow the session, not for the user's variable.
        if _STATUS in output.data:
            output.display()
    outputs = [output for output in outputs if _STATUS not in output.data]
    result = CapturedIO(collected.stdout, collected.stderr, outputs)
    # Show the output that was excluded from the capture now; keep the rest.
    if "no-stdout" in options:
        sys.stdout.write(result.stdout)
        result.stdout = ""
    if "no-stderr" in options:
        sys.stderr.write(result.stderr)
        result.stderr = ""
    if "no-display" in options:
        for output in outputs:
            output.display()
        result.outputs = []
    if name is not None:
        shell.user_ns[name] = result


def _parts(output):
    """Data, metadata, display id and update, in any form that the session uses for an output."""
    if isinstance(output, dict):
        return [output.get(key) for key in ("data", "metadata", "display_id", "update")]
    return list(output)


MAGICS = {"capture": capture}
