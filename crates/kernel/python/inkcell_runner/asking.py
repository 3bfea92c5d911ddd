"""A line of input from whoever runs the cell.

Owns the wait for it. Between cells the main thread reads commands; while a cell runs it is here that the only
ones are read that can come: the answer, and the word to end.
"""

import select
from _thread import get_ident
from os import getpid

# In milliseconds.
_NAP = 200


def can_ask(session):
    """Only where commands are read: in the thread that runs the cell, and not in a copy of the process."""
    channel = session.channel
    return session.running is not None and getpid() == channel.pid and get_ident() == channel.main


def wait_for_line(session, prompt, password):
    """Asks, and gives the answer. An interrupt ends the wait."""
    channel, cell = session.channel, session.running
    # An answer that is there already was given to a question that nobody asks any more.
    while _next_reply(channel, waits=False) is not None:
        pass
    session.send_input_request(prompt, password)
    while True:
        command = _next_reply(channel, waits=True)
        if command is None:
            # The host wants an end, or is gone.
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
    """The next answer; None when something else comes, or when none is here and nobody waits."""
    poll = select.poll()
    poll.register(channel.fd, select.POLLIN)
    while True:
        command = channel.peek()
        if command is not None:
            if command["t"] != "input":
                # For the loop that waits for the end of the cell.
                return None
            channel.receive()
            return command
        # Interrupted here, nothing has been read. A signal that comes right before the call does not end it, so
        # it ends by itself now and then.
        if not poll.poll(_NAP if waits else 0):
            if not waits:
                return None
        elif not channel.read_more():
            return None
