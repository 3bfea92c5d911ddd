"""Objects that wrap data of one kind, shown as the value of a cell or with `display`.

Owns how they are made from data, a file or an address, and the results of their `_repr_*_` methods. Texts that
end up in notebooks are identical to IPython's, because runs are compared with stored outputs.
"""

import os

from . import display_functions

_BY_KIND = {
    "pretty": "text/plain",
    "html": "text/html",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "latex": "text/latex",
    "json": "application/json",
    "javascript": "application/javascript",
    "pdf": "application/pdf",
}

__all__ = [
    *("display_" + name for name in _BY_KIND),
    "DisplayObject",
    "TextDisplayObject",
    "Pretty",
    "HTML",
    "Markdown",
    "Math",
    "Latex",
    "SVG",
    "ProgressBar",
    "JSON",
    "GeoJSON",
    "Javascript",
    "Image",
    "Video",
]


def _only(kind):
    """A function that displays one kind of its arguments."""

    def show(*objs, raw=False, metadata=None):
        if metadata:
            metadata = {kind: metadata}
        if raw:
            objs = [{kind: obj} for obj in objs]
        display_functions.display(*objs, raw=raw, metadata=metadata, include=[kind])

    show.__doc__ = "Displays the %s of values, or with `raw` the values themselves as that." % kind
    return show


for _name, _kind in _BY_KIND.items():
    globals()["display_" + _name] = _only(_kind)
    globals()["display_" + _name].__name__ = "display_" + _name


def _as_text(path):
    """The path as text; callers may pass path objects."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def _exists(path):
    try:
        return os.path.exists(path)
    except Exception:
        return False


def _is_address(text):
    return isinstance(text, str) and text.startswith("http")


class DisplayObject:
    """Data, or the file or address that has it."""

    _read_flags = "r"
    _show_mem_addr = False
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        data = _as_text(data)
        if isinstance(data, str):
            if _is_address(data) and url is None:
                data, url, filename = None, data, None
            elif filename is None and _exists(data):
                data, url, filename = None, None, data
        self.url = url
        self.filename = filename
        self.data = data
        if metadata is not None:
            self.metadata = metadata
        elif self.metadata is None:
            self.metadata = {}
        self.reload()
        self._check_data()

    def __repr__(self):
        if self._show_mem_addr:
            return super().__repr__()
        cls = self.__class__
        return "<%s.%s object>" % (cls.__module__, cls.__name__)

    def _check_data(self):
        """Refuses data that the kind cannot hold."""

    def _data_and_metadata(self):
        if not self.metadata:
            return self.data
        import copy

        return self.data, copy.deepcopy(self.metadata)

    def reload(self):
        """Reads the file or the address again."""
        if self.filename is not None:
            encoding = None if "b" in self._read_flags else "utf-8"
            with open(self.filename, self._read_flags, encoding=encoding) as file:
                self.data = file.read()
        elif self.url is not None:
            self.data = self._fetch()

    def _fetch(self):
        from urllib.request import urlopen

        with urlopen(self.url) as response:
            data, headers = response.read(), response.headers
        charset = headers.get_content_charset()
        if "gzip" in (headers.get("content-encoding") or ""):
            import gzip

            return gzip.decompress(data).decode(charset or "utf-8")
        return data.decode(charset, "replace") if charset else data


class TextDisplayObject(DisplayObject):
    """Data that is text."""

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError("%s expects text, not %r" % (self.__class__.__name__, self.data))


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, pp, cycle):
        return pp.text(self.data)


class HTML(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, str) and data[:10].lower().startswith("<iframe ") and data[-10:].lower().endswith("</iframe>"):
            import warnings

            warnings.warn("Consider using IPython.display.IFrame instead")
        super().__init__(data=data, url=url, filename=filename, metadata=metadata)

    def _repr_html_(self):
        return self._data_and_metadata()

    def __html__(self):
        """Tells templates that this is already HTML."""
        return self._repr_html_()


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self._data_and_metadata()


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self._data_and_metadata()


class Math(TextDisplayObject):
    def _repr_latex_(self):
        text = r"$\displaystyle %s$" % self.data.strip("$")
        return (text, dict(self.metadata)) if self.metadata else text


class SVG(DisplayObject):
    """An SVG; text around the `<svg>` element of a document is left out."""

    _read_flags = "rb"
    _data = None

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, svg):
        if svg is not None:
            from xml.dom import minidom

            elements = minidom.parseString(svg).getElementsByTagName("svg")
            if elements:
                svg = elements[0].toxml()
            if isinstance(svg, bytes):
                svg = svg.decode(errors="replace")
        self._data = svg

    def _repr_svg_(self):
        return self._data_and_metadata()


class ProgressBar(DisplayObject):
    """A bar that fills while one iterates over it."""

    def __init__(self, total):
        self.total = total
        self._progress = 0
        self.html_width = "60ex"
        self.text_width = 60
        self._display_id = os.urandom(8).hex()

    def __repr__(self):
        part = self.progress / self.total if self.total else 0
        bar = ("=" * int(part * self.text_width)).ljust(self.text_width)
        return "[%s] %s/%s" % (bar, self.progress, self.total)

    def _repr_html_(self):
        return "<progress style='width:%s' max='%s' value='%s'></progress>" % (
            self.html_width,
            self.total,
            self.progress,
        )

    def display(self):
        display_functions.display(self, display_id=self._display_id)

    def update(self):
        display_functions.display(self, display_id=self._display_id, update=True)

    @property
    def progress(self):
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress >= self.total:
            raise StopIteration
        return self.progress


class JSON(DisplayObject):
    """A dict or list; text is parsed as JSON, with a warning unless it comes from a file."""

    _data = None

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **kwargs):
        self.metadata = {"expanded": expanded, "root": root, **(metadata or {}), **kwargs}
        super().__init__(data=data, url=url, filename=filename)

    def _check_data(self):
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError("%s expects JSONable dict or list, not %r" % (self.__class__.__name__, self.data))

    @property
    def data(self):
        return self._data

    @data.setter
    def data(self, data):
        data = _as_text(data)
        if isinstance(data, str):
            import json

            if self.filename is None and self.url is None:
                import warnings

                warnings.warn("JSON expects JSONable dict or list, not JSON strings")
            data = json.loads(data)
        self._data = data

    def _data_and_metadata(self):
        return self.data, self.metadata

    def _repr_json_(self):
        return self._data_and_metadata()


class GeoJSON(JSON):
    def _ipython_display_(self):
        kind = "application/geo+json"
        bundle = {kind: self.data, "text/plain": "<IPython.display.GeoJSON object>"}
        display_functions.display(bundle, metadata={kind: self.metadata}, raw=True)


_STYLE_SHEET = """var link = document.createElement("link");
	link.rel = "stylesheet";
	link.type = "text/css";
	link.href = "%s";
	document.head.appendChild(link);
"""

_LIBRARY = """new Promise(function(resolve, reject) {
	var script = document.createElement("script");
	script.onload = resolve;
	script.onerror = reject;
	script.src = "%s";
	document.head.appendChild(script);
}).then(() => {
"""


def _addresses(given):
    if given is None or isinstance(given, str):
        return [given] if given is not None else []
    if not isinstance(given, (list, tuple)):
        raise TypeError("expected sequence, got: %r" % (given,))
    return given


class Javascript(TextDisplayObject):
    """Code for the page, after the libraries and style sheets it needs."""

    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = _addresses(lib)
        self.css = _addresses(css)
        super().__init__(data=data, url=url, filename=filename)

    def _repr_javascript_(self):
        before = "".join(_STYLE_SHEET % css for css in self.css) + "".join(_LIBRARY % lib for lib in self.lib)
        return before + self.data + "\n});" * len(self.lib)


from .media import Image, Video  # noqa: E402
