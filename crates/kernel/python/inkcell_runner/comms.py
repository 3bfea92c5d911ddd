"""Widget channels, as the `comm` package defines them.

Owns the runner's class of channel, and the output that `ipywidgets.Output` captures: no other part could supply it.
Widgets send their messages to the host, which keeps their state. There is no front end, so no other message ever comes
back.
"""

import sys

# The fields that identify the widget that captures output.
_OUTPUT = {"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output"}


def install(session):
    """Makes the `comm` package create the runner's channels. Leaves an unrelated module with that name alone."""
    package = sys.modules["comm"]
    base = getattr(package, "BaseComm", None)
    if base is None or not hasattr(package, "create_comm"):
        return

    class Comm(base):
        capture = None

        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            data = data or {}
            state = data.get("state") if isinstance(data, dict) else None
            if not isinstance(state, dict):
                state = {}
            if msg_type == "comm_open" and all(state.get(key) == value for key, value in _OUTPUT.items()):
                self.capture = Capture(session, self)
            _send(session, msg_type, dict(keys, comm_id=self.comm_id, data=data), buffers or ())
            if self.capture is not None:
                if "outputs" in state and data.get("method") != "echo_update":
                    self.capture.outputs = list(state["outputs"])
                if "msg_id" in state or msg_type == "comm_close":
                    self.capture.set(bool(state.get("msg_id")))

    Comm.__name__ = Comm.__qualname__ = "Comm"
    package.create_comm = Comm


def _to_json(content):
    """Writes content as Jupyter's kernels send it: NaN becomes "nan". Raises if a value has no form in JSON."""
    import json

    try:
        return json.dumps(content, default=_simple, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_clean(content), allow_nan=False)


def _simple(value):
    """Replaces a value that JSON lacks by one that JSON has."""
    import datetime
    import numbers

    if isinstance(value, datetime.datetime):
        known = value if value.tzinfo else value.astimezone()
        return known.isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        import binascii

        return binascii.b2a_base64(value, newline=False).decode()
    if hasattr(value, "__iter__"):
        return list(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise ValueError("Can't clean for JSON: %r" % (value,))


def _clean(value):
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float):
        is_number = value - value == 0
        return float(value) if is_number else repr(float(value))
    if value is None or isinstance(value, (str, int)):
        return value
    return _clean(_simple(value))


def _send(session, kind, content, buffers):
    parts, payload = [], []
    for name, form, raw in [("content", "j", _to_json(content).encode())] + [
        ("buffer", "b", bytes(memoryview(buffer).cast("B"))) for buffer in buffers
    ]:
        parts.append([name, form, len(raw)])
        payload.append(raw)
    session.send_comm(kind, parts, payload)


class Capture:
    """Collects the output written inside an `Output`, in the form in which notebooks store outputs."""

    def __init__(self, session, comm):
        self._session, self._comm = session, comm
        self._is_on = self._clears = self._is_new = False
        self.outputs = []

    def set(self, is_on):
        if is_on == self._is_on:
            return
        self._session.flush()
        self._is_on = is_on
        if is_on:
            self._session.capturing.append(self)
            return
        self._session.capturing.remove(self)
        if self._is_new:
            self._is_new = False
            state = {"outputs": self.outputs}
            data = {"method": "update", "state": state, "buffer_paths": []}
            # Tell the host, and tell the widget as a front end would.
            self._comm.send(data)
            self._comm.handle_msg({"content": {"comm_id": self._comm.comm_id, "data": data}, "buffers": []})

    def _add(self, output):
        if self._clears:
            self._clears, self.outputs = False, []
        last = self.outputs[-1] if self.outputs else {}
        is_more = output["output_type"] == "stream" and last.get("output_type") == "stream"
        if is_more and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            self.outputs.append(output)
        self._is_new = True

    def stream(self, name, data):
        self._add({"output_type": "stream", "name": name, "text": data.decode("utf-8", "replace")})

    def display(self, data, metadata, display_id, update):
        import binascii

        forms = {
            kind: binascii.b2a_base64(value, newline=False).decode() if isinstance(value, bytes) else value
            for kind, value in data.items()
        }
        self._add({"output_type": "display_data", "metadata": metadata, "data": forms})

    def clear(self, wait):
        if wait:
            self._clears = True
        else:
            self.outputs, self._is_new = [], True
