"""The display functions that users call: `display`, its handles and updates, `clear_output`.

Owns the arguments that IPython's functions of these names accept.  It must not know how a value becomes a bundle
(`formatting` does that), nor how a display reaches the host (the session does that, found through
`inkcell_runner.current()`).
"""

import inkcell_runner
from . import mime
from .formatting import display_formatter


def _new_id():
    import os

    return os.urandom(16).hex()


def _merge(into, other):
    """Like `update`, but merges dicts within dicts too."""
    if not isinstance(into, dict) or not isinstance(other, dict):
        return other
    for key, value in other.items():
        into[key] = _merge(into.get(key), value)
    return into


def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None,
            raw=False, clear=False, **kwargs):
    """Shows values; with `display_id` gives a handle to change what was shown."""
    transient = dict(transient or {})
    if display_id:
        if display_id is True:
            display_id = _new_id()
        transient["display_id"] = display_id
    update = bool(kwargs.get("update"))
    if update and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if not objs and display_id:
        # An empty display, to be filled later.
        objs, raw = [{}], True
    if clear:
        clear_output(wait=True)
    for obj in objs:
        if raw:
            display_pub.publish(obj, metadata, transient=transient, update=update)
            continue
        data, extra = display_formatter.format(obj, include, exclude)
        if data:
            _merge(extra, metadata or {})
            display_pub.publish(data, extra, transient=transient, update=update)
    return DisplayHandle(display_id) if display_id else None


def update_display(obj, *, display_id, **kwargs):
    """Changes what was shown under this id."""
    kwargs["update"] = True
    display(obj, display_id=display_id, **kwargs)


def clear_output(wait=False):
    """Removes what the cell has shown so far, now or when something new comes."""
    inkcell_runner.current().clear_output(bool(wait))


class DisplayHandle:
    """Changes a display after it was shown."""

    def __init__(self, display_id=None):
        self.display_id = _new_id() if display_id is None else display_id

    def __repr__(self):
        return "<%s display_id=%s>" % (self.__class__.__name__, self.display_id)

    def display(self, obj, **kwargs):
        display(obj, display_id=self.display_id, **kwargs)

    def update(self, obj, **kwargs):
        update_display(obj, display_id=self.display_id, **kwargs)


class DisplayPublisher:
    """The object behind `get_ipython().display_pub`. It sends bundles that are ready."""

    is_publishing = False

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        if not isinstance(data, dict):
            raise TypeError("data must be a dict, got: %r" % (data,))
        if metadata is not None and not isinstance(metadata, dict):
            raise TypeError("metadata must be a dict, got: %r" % (metadata,))
        display_id = (transient or {}).get("display_id")
        if display_id is not None:
            display_id = str(display_id)
        inkcell_runner.current().display(
            mime.clean(data), mime.clean_metadata(metadata), display_id=display_id, update=bool(update)
        )

    def clear_output(self, wait=False):
        clear_output(wait)


display_pub = DisplayPublisher()
