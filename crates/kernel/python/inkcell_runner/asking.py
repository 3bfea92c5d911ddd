"""Waits for a line of input that the running cell asks for.

Owns that wait. Between cells the main thread reads commands. While a cell runs, this module reads the only two that
can come: the answer, and the command to end.
"""

import select
from _thread import get_ident
from os import getpid

# In milliseconds.
_NAP = 200


def can_ask(session):
    """True only where commands are read: in the thread that runs the cell, and not in a copy of the process."""
    channel = session.channel
    return session.running is not None and getpid() == channel.pid and get_ident() == channel.main


def wait_for_line(session, prompt, password):
    """Asks for a line and returns it. An interrupt ends the wait."""
    channel, cell = session.channel, session.running
    # A reply that is already here answers an earlier question, which nobody waits for.
    while _next_reply(channel, waits=False) is not None:
        pass
    session.send_input_request(prompt, password)
    while True:
        command = _next_reply(channel, waits=True)
        if command is None:
            # The host ends the session, or the host is gone.
            raise EOFError
        if command.get("id") == cell:
            break
    reply = command["reply"]
    if isinstance(reply, dict):
        return reply["line"]
    if reply == "end":
        raise EOFError
    session.refuse_input(password)


def _next_reply(channel, *, waits):
    """Returns the next reply. None if another command comes, or if none is here and `waits` is false."""
    poll = select.poll()
    poll.register(channel.fd, select.POLLIN)
    while True:
        command = channel.peek()
        if command is not None:
            if command["t"] != "input":
                # Leave it for the loop that waits for the end of the cell.
                return None
            channel.receive()
            return command
        # An interrupt here loses nothing, because nothing has been read. A signal that arrives right before the call
        # does not end the call, so the call times out now and then.
        if not poll.poll(_NAP if waits else 0):
            if not waits:
                return None
        elif not channel.read_more():
            return None
