"""The tool bridge: calling the host's tools over its loopback HTTP server (X-40).

Owns the request and its errors. Must not know any tool. The connection goes straight to the given address: it
uses no proxy and follows no redirect, so the token reaches only the host.
"""

import json
import os
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from .report import session, status

_UNAVAILABLE = "tool bridge is unavailable in this kernel"


class Tool:
    """One tool of the host; call it with a dict of arguments."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __call__(self, args=None, /, **kwargs):
        if args is not None and not isinstance(args, dict):
            raise TypeError(
                "tool.%s() takes a dict of arguments, not %s" % (self._name, type(args).__name__)
            )
        ok = False
        try:
            value = call(self._name, dict(args or {}, **kwargs))
            ok = True
        finally:
            status("tool", name=self._name, ok=ok)
        return value

    def __repr__(self):
        return "<tool.%s>" % self._name


def describe():
    """The text of the `tool` object, which says whether tools work here."""
    try:
        return "<tools of session %s>" % _access()[2]
    except RuntimeError:
        return "<tools: %s>" % _UNAVAILABLE


def call(name, args):
    """Ask the host to run a tool; returns its value, or raises RuntimeError with the host's message."""
    url, token, key = _access()
    body = {"session": key, "run": _run_id(), "name": name, "args": args}
    try:
        # Relative paths in the arguments start at the caller's current directory.
        body["cwd"] = os.getcwd()
    except OSError:
        # The directory is gone; the host knows where the session began.
        pass
    reply = _post(url.rstrip("/") + "/v1/tool", token, json.dumps(body).encode())
    try:
        answer = json.loads(reply)
    except ValueError:
        raise RuntimeError("tool bridge answered %r to tool.%s" % (reply[:200], name)) from None
    if not isinstance(answer, dict) or answer.get("ok") is not True:
        error = answer.get("error") if isinstance(answer, dict) else None
        raise RuntimeError(error or "tool.%s failed without a reason" % name)
    return answer.get("value")


def _access():
    keys = ("PI_TOOL_BRIDGE_URL", "PI_TOOL_BRIDGE_TOKEN", "PI_TOOL_BRIDGE_SESSION")
    values = [os.environ.get(key) for key in keys]
    if not all(values):
        raise RuntimeError(_UNAVAILABLE)
    return values


def _run_id():
    # The host may name the run itself; otherwise it finds the cell by its request.
    return os.environ.get("PI_TOOL_BRIDGE_RUN") or getattr(session(), "running", None)


def _post(url, token, body):
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port)
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    try:
        try:
            connection.request("POST", parts.path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            # A host that stops reading early has already sent its reason.
            pass
        return connection.getresponse().read()
    except (OSError, HTTPException) as error:
        raise RuntimeError("tool bridge at %s did not answer: %s" % (parts.netloc, error)) from None
    finally:
        connection.close()
