"""The private channel to the host: control frames as lines of JSON, each followed by its bulk bytes.

Owns one descriptor. Every frame carries the nonce of this kernel and a sequence number, so the host rejects a frame
from any other source. A forked child may not send at all.
"""

import os
from _json import encode_basestring_ascii, make_scanner
from _thread import allocate_lock, get_ident
from os import getpid, read, write


class _ScannerRules:
    """The settings that the C scanner needs. Importing `json` would import regular expressions too."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}.__getitem__
    memo = {}


# Up to this size, joining the parts is as quick as handing them over one by one.
_SMALL = 1 << 13

# Most commands are short. Room for a long one would be allocated and freed for every command.
_ROOM = 1 << 15
_MORE_ROOM = 1 << 20

_scan = make_scanner(_ScannerRules())


def encode(text):
    """Encodes text as UTF-8 and shows a lone surrogate as an escape."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def to_json(value):
    """Writes a small value as JSON. It supports only the types that frames use."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return encode_basestring_ascii(encode(value).decode())
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, dict):
        return "{" + ",".join(to_json(str(k)) + ":" + to_json(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError("a frame cannot hold a " + type(value).__name__)


class Channel:
    """One end of the socket. A send is atomic: threads take turns, and an interrupt waits."""

    def __init__(self, fd):
        self.fd = fd
        self.pid = os.getpid()
        self.sign("")
        self.sequence = 0
        self.lock = allocate_lock()
        self.buffer = b""
        # Fields and payload of a value that goes out together with the end of its cell.
        self.held = None
        # Python handles signals in the main thread only. They wait while that thread is inside a frame.
        self.main = get_ident()
        self.is_busy = False
        # The payload that the main thread sent last. An interrupt right after the send must not send it again.
        self.sent = None
        # Called after a frame. It is set if an interrupt came in the middle of one.
        self.after_send = None

    def sign(self, nonce):
        """Sets the nonce of all frames."""
        # Every frame begins with this.
        self.head = f'{{"n":"{nonce}","s":'

    def send(self, kind, fields, payload=()):
        """Sends a frame. `fields` is JSON text without braces, `payload` the raw parts behind it."""
        if getpid() != self.pid:
            return
        if get_ident() != self.main:
            with self.lock:
                self._put(kind, fields, payload)
        elif not self.is_busy:
            # A signal handler that begins a frame in the middle of another would break both. Set the flag before
            # taking the lock: an interrupt between the two would leave the lock held for ever.
            self.is_busy = True
            try:
                with self.lock:
                    self._put(kind, fields, payload)
                if payload:
                    self.sent = id(payload[0])
            finally:
                self.is_busy = False
            if self.after_send is not None:
                self.after_send()

    def hold(self, fields, payload):
        """Keeps a result to send it together with the end of its cell, if no other frame comes first."""
        if self.held is None and get_ident() == self.main:
            self.held = (fields, payload)
        else:
            self.send("result", fields, payload)

    def release(self):
        """Sends the result that waits for the end of the cell."""
        if self.held is not None and getpid() == self.pid:
            with self.lock:
                held, self.held = self.held, None
                if held is not None:
                    self._put("result", *held)

    def _put(self, kind, fields, payload):
        held = self.held
        if held is not None:
            self.held = None
            if kind == "done":
                # The id of the cell is the first of these fields too. Append the fields after it.
                rest = fields.find(",")
                fields, payload = held[0] if rest < 0 else held[0] + fields[rest:], held[1]
            else:
                self._put("result", *held)
        self.sequence = number = self.sequence + 1
        if not payload:
            whole = f'{self.head}{number},"t":"{kind}",{fields}}}\n'.encode()
        else:
            size = len(payload[0]) if len(payload) == 1 else sum(map(len, payload))
            whole = f'{self.head}{number},"t":"{kind}",{fields},"bytes":{size}}}\n'.encode()
            if size > _SMALL:
                self._write_parts((whole, *payload))
                return
            whole = b"".join((whole, *payload))
        written = write(self.fd, whole)
        if written != len(whole):
            self._write_parts((whole[written:],))

    def _write_parts(self, parts):
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        while views:
            # The system takes at most 1024 parts at once; frames have few.
            written = os.writev(self.fd, views[:1000])
            while views and written >= len(views[0]):
                written -= len(views[0])
                del views[0]
            if written:
                views[0] = views[0][written:]

    def receive(self):
        """Returns the next command, or None when the host is gone."""
        end = self.buffer.find(b"\n")
        while end < 0:
            searched = len(self.buffer)
            try:
                more = self._read(_MORE_ROOM if searched else _ROOM)
            except OSError:
                return None
            if not more:
                return None
            self.buffer += more
            end = self.buffer.find(b"\n", searched)
        line, self.buffer = self.buffer[:end], self.buffer[end + 1 :]
        return _scan(line.decode(), 0)[0]

    def peek(self):
        """Returns the next command if all of it is here, and leaves it in the buffer."""
        end = self.buffer.find(b"\n")
        return None if end < 0 else _scan(self.buffer[:end].decode("utf-8"), 0)[0]

    def read_more(self):
        """Reads the bytes that are here in one step. An interrupt waits until the step is over. False at the end."""
        self.is_busy = True
        try:
            more = self._read(_MORE_ROOM if self.buffer else _ROOM)
            self.buffer += more
        except OSError:
            more = b""
        finally:
            self.is_busy = False
        after_send = self.after_send
        if after_send is not None:
            after_send()
        return bool(more)

    def _read(self, room):
        try:
            return read(self.fd, room)
        except MemoryError:
            # The cell may hold all memory. The next command may run the cell that frees it.
            return read(self.fd, 1 << 12)
