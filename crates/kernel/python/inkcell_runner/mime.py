"""MIME bundles: which values each kind may hold, and the form in which each is sent.

Owns the rules of Jupyter's messages: text as str, binary kinds as bytes, the rest as JSON. A value that fits
none of these is left out with a warning.  It must not know formatters, displays or sessions.

Plain results do not need this module, so it loads when a cell first shows something rich.
"""


class FormatterWarning(UserWarning):
    """A representation that cannot be sent."""


def warn(message):
    import warnings

    warnings.warn(message, FormatterWarning, stacklevel=3)


def is_binary(kind):
    """Whether values of this kind are bytes, which notebooks store as base64."""
    if kind.endswith(("+xml", "+json")):
        return False
    return kind.startswith(("image/", "audio/", "video/")) or kind in ("application/pdf", "application/octet-stream")


def clean(data):
    """The part of a bundle that can be sent: text as str, binary kinds as bytes, the rest JSON."""
    if not isinstance(data, dict):
        return {}
    result = {}
    for kind, value in list(data.items()):
        if not isinstance(kind, str) or value is None:
            continue
        value = _sendable(kind, value)
        if value is None:
            warn("%s was given a value that cannot be shown: it is left out" % kind)
        else:
            result[str(kind)] = value
    return result


def clean_metadata(metadata):
    if not metadata or not isinstance(metadata, dict):
        return {}
    metadata = _jsonable(metadata)
    return metadata if isinstance(metadata, dict) else {}


def _sendable(kind, value):
    """`value` in the form its kind needs, or None."""
    if isinstance(value, str):
        if is_binary(kind):
            return _unbase64(value)
        return str(value) if type(value) is not str else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value)
        return value if is_binary(kind) else value.decode("utf-8", "replace")
    if kind.startswith("text/"):
        # Notebook files store text as a list of lines, and some code passes it that way.
        if isinstance(value, (list, tuple)) and all(isinstance(line, str) for line in value):
            return "".join(value)
        return None
    return None if is_binary(kind) else _jsonable(value)


def _unbase64(text):
    """The bytes that `text` encodes; text that is not base64 stays unchanged."""
    import binascii

    try:
        packed = "".join(text.split()).encode("ascii")
        data = binascii.a2b_base64(packed)
        # The decoder skips unknown characters, so only encoding the bytes again proves that the text was base64.
        return data if binascii.b2a_base64(data, newline=False) == packed else text
    except ValueError:
        return text


def _jsonable(value):
    """`value` if JSON can hold it, else the nearest value that JSON can hold, else None."""
    import json

    try:
        json.dumps(value, allow_nan=False)
        return value
    except Exception:
        # A circular value, a NaN, a key that is not a string, or an unknown type.
        pass
    try:
        return _to_json(value)
    except Exception:
        return None


def _to_json(value):
    """The rules of Jupyter's messages for types that JSON does not know."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, bytes):
        import binascii

        return binascii.b2a_base64(value, newline=False).decode("ascii")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        number = float(value)
        return number if number - number == 0 else repr(number)
    return [_to_json(item) for item in value]
