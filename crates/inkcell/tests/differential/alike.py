"""What is compared of a stored cell: everything but what differs from one run to the next.

Owns which differences do not count: addresses, times, folders, numbers of processes, colours, and how a picture is
packed. What it shows counts.
"""

import base64
import io
import json
import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

#: Patterns that are made equal, in this order.
SAME = [
    # A cell is compiled once or more often, and warns each time.
    (re.compile(r"<>:\d+: \w*Warning: .*\n"), ""),
    # The file that code of a cell is said to be in.
    (re.compile(r"(?<![^\s\"'(])[^\s\"'(]*ipykernel_\d+/\d+\.py|<cell \d+>|<ipython-input-[^>]*>"), "<cell>"),
    (re.compile(r"\(\d+\.py, line"), "(<cell>, line"),
    # Addresses.
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x"),
    (re.compile(r"\bat [0-9a-f]{12}\b"), "at 0x"),
    # Names that pandas makes up.
    (re.compile(r"\bT_[0-9a-f]{5}\b|\bT_[0-9a-f]{5}(?=_)"), "T_"),
    # Times, as the magics for them say them.
    (re.compile(r"(?<![\d.e+])\d[\d.e+]* ?(ns|μs|µs|us|ms|s|min)\b"), "T"),
    (re.compile(r"(CPU times|Wall time): .*"), r"\1"),
    (re.compile(r"The slowest run took [\d.]+ times longer than the fastest\..*\n"), ""),
    # How deep the kernel itself was when a recursion ended.
    (re.compile(r"\(\d{3,} times\)"), "(many times)"),
]


def cell(stored, folder):
    """The count and the outputs of a cell that ran in this folder."""
    outputs = [_output(each, folder) for each in _joined(stored["outputs"])]
    return {"count": stored.get("execution_count"), "outputs": outputs}


def _joined(outputs):
    """With the pieces of a stream put together: nbclient stores them as they came by the clock."""
    result = []
    for output in outputs:
        if output["output_type"] == "stream":
            output = dict(output, text="".join(output["text"]))
            if result and result[-1]["output_type"] == "stream" and result[-1]["name"] == output["name"]:
                result[-1]["text"] += output["text"]
                continue
        result.append(output)
    return result


def _output(output, folder):
    output = dict(output)
    kind = output["output_type"]
    if kind == "stream":
        output["text"] = _text(output["text"], folder)
    elif kind == "error":
        output["traceback"] = _shape(_text("\n".join(output["traceback"]), folder), output["ename"])
        output["evalue"] = _text(output["evalue"], folder)
    else:
        output["data"] = {mime: _form(mime, value, folder) for mime, value in output["data"].items()}
    return output


def _text(text, folder):
    text = "".join(text) if isinstance(text, list) else text
    text = text.replace(folder, "<folder>")
    text = _COLOURS.sub("", text)
    # Much text is data, and has nothing of this in it.
    for pattern, same in SAME if len(text) < 100_000 else ():
        text = pattern.sub(same, text)
    return text


def _shape(traceback, name):
    """Which exceptions and frames there are; of a syntax error, which has one place, everything.

    Releases of IPython differ in how much of the source they show around a frame, and the newest takes the line of
    a cell's frame from where it stopped in the end, not from where the exception passed.
    """
    if name in ("SyntaxError", "IndentationError", "TabError"):
        return traceback
    lines = [line for line in traceback.split("\n") if line and line[0] != " " and not re.match(r"-*> ", line)]
    lines = [re.sub(r"^(File .*?):\d+|^(Cell In\[\d+\]), line \d+", r"\1\2", line) for line in lines]
    # Of a recursion some frames are shown, by rules that differ.
    return "\n".join(line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1])


def _form(mime, value, folder):
    if mime in ("image/png", "image/jpeg"):
        return _picture(value)
    if isinstance(value, (dict, list)) and mime.endswith("json"):
        return value
    text = _text(value, folder)
    # Matplotlib numbers the parts of a drawing by chance.
    return re.sub(r"<dc:date>.*|[a-z]?[0-9a-f]{10,}", "", text) if mime == "image/svg+xml" else text


def _picture(packed):
    """The size of a picture and what every point of it is."""
    data = base64.b64decode("".join(packed))
    try:
        from PIL import Image

        picture = Image.open(io.BytesIO(data))
        picture.load()
    except Exception:
        return "not a picture: %r" % data[:40]
    import hashlib

    return "picture %dx%d %s" % (*picture.size, hashlib.sha256(picture.tobytes()).hexdigest()[:16])


def shown(compared):
    """A cell for people to read."""
    text = json.dumps(compared, indent=1, ensure_ascii=False)
    return text.replace("\\n", "\n        ") if len(text) < 6000 else text[:3000] + "\n[...]\n" + text[-3000:]
