"""Images and videos, embedded or by address.

Owns recognizing the formats of images and reading their size, which pixel-doubled images need.
"""

import os

from .display import DisplayObject, _as_text, _exists, _is_address

_EMBEDDABLE = ("png", "jpeg", "gif", "webp")


def format_of(data):
    """The format of an image, judged by its first bytes, or None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return None


def size_of(data, kind):
    """Width and height in pixels."""
    if kind == "png":
        at = data.index(b"IHDR") + 4
        return int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")
    if kind == "gif":
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if kind == "jpeg":
        return _size_of_jpeg(data)
    return _size_of_webp(data)


def _size_of_jpeg(data):
    at = 2
    while at + 9 <= len(data):
        marker = data[at + 1]
        # Start of frame; C4, C8 and CC lie in the range but mean something else.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise ValueError("Not a valid JPEG header")


def _size_of_webp(data):
    kind = data[12:16]
    if kind == b"VP8 ":
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if kind == b"VP8L":
        packed = int.from_bytes(data[21:25], "little")
        return 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    raise ValueError("Not a valid WEBP header")


def _base64(data):
    import binascii

    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _pixels(name, value):
    return ' %s="%d"' % (name, value) if value else ""


class Image(DisplayObject):
    """A PNG, JPEG, GIF or WEBP."""

    _read_flags = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None,
                 retina=False, unconfined=False, metadata=None, alt=None):
        data, filename = _as_text(data), _as_text(filename)
        named = filename if filename is not None else url
        if named is None and isinstance(data, str) and (_is_address(data) or _exists(data)):
            named = data
        if named is None and data is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        if format is None:
            if named is not None:
                base, extension = os.path.splitext(named)
                format = extension[1:] or base
            else:
                format = (format_of(data) if isinstance(data, bytes) else None) or "png"
        format = format.lower()
        self.format = "jpeg" if format == "jpg" else format
        self.embed = url is None if embed is None else embed
        if self.embed:
            if self.format not in _EMBEDDABLE:
                raise ValueError("Cannot embed the '%s' image format" % self.format)
            self._mimetype = "image/" + self.format
        self.width, self.height, self.alt = width, height, alt
        self.retina, self.unconfined = retina, unconfined
        super().__init__(data=data, url=url, filename=filename, metadata=metadata)
        for name in ("width", "height", "alt"):
            if getattr(self, name) is None and self.metadata.get(name):
                setattr(self, name, self.metadata[name])
        if retina:
            self._retina_shape()

    def _retina_shape(self):
        if self.embed:
            width, height = size_of(self.data, self.format)
            self.width, self.height = width // 2, height // 2

    def reload(self):
        if self.embed:
            super().reload()
            if self.retina:
                self._retina_shape()

    def _repr_html_(self):
        if self.embed:
            return None
        from html import escape

        return '<img src="%s"%s%s%s%s/>' % (
            escape((self.url if self.url is not None else self.filename) or ""),
            _pixels("width", self.width),
            _pixels("height", self.height),
            ' class="unconfined"' if self.unconfined else "",
            ' alt="%s"' % escape(self.alt) if self.alt else "",
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.embed:
            return {"text/html": self._repr_html_()}
        data, metadata = self._data_and_metadata(always_both=True)
        return {self._mimetype: data}, {self._mimetype: metadata} if metadata else metadata

    def _data_and_metadata(self, always_both=False):
        if not isinstance(self.data, (bytes, bytearray, memoryview)):
            raise FileNotFoundError("No such file or directory: '%s'" % (self.data,))
        metadata = dict(self.metadata or {})
        for name in ("width", "height", "unconfined", "alt"):
            if getattr(self, name):
                metadata[name] = getattr(self, name)
        data = _base64(self.data)
        return (data, metadata) if metadata or always_both else data

    def _repr_png_(self):
        return self._data_and_metadata() if self.embed and self.format == "png" else None

    def _repr_jpeg_(self):
        return self._data_and_metadata() if self.embed and self.format == "jpeg" else None


class Video(DisplayObject):
    """A video by address; embedded only on request, because videos are big."""

    def __init__(self, data=None, url=None, filename=None, embed=False, mimetype=None, width=None, height=None,
                 html_attributes="controls"):
        data = _as_text(data)
        if url is None and isinstance(data, str) and data.startswith(("http:", "https:")):
            data, url = None, data
        elif data is not None and _exists(data):
            data, filename = None, data
        if data and not embed:
            raise ValueError(
                "To embed videos, you must pass embed=True (this may make your notebook files huge)\n"
                "Consider passing Video(url='...')"
            )
        self.mimetype, self.embed = mimetype, embed
        self.width, self.height = width, height
        self.html_attributes = html_attributes
        super().__init__(data=data, url=url, filename=filename)

    def reload(self):
        """Does nothing: the file is read when the video is shown."""

    def _repr_html_(self):
        width, height = _pixels("width", self.width), _pixels("height", self.height)
        if not self.embed:
            from html import escape

            source = escape((self.url if self.url is not None else self.filename) or "")
            return (
                '<video src="%s" %s %s %s>\n'
                "      Your browser does not support the <code>video</code> element.\n"
                "    </video>" % (source, self.html_attributes, width, height)
            )
        mimetype, video = self.mimetype, self.data
        if self.filename is not None:
            if not mimetype:
                import mimetypes

                mimetype = mimetypes.guess_type(self.filename)[0]
            with open(self.filename, "rb") as file:
                video = file.read()
        if not isinstance(video, str):
            video = _base64(video)
        return (
            "<video %s %s %s>\n"
            ' <source src="data:%s;base64,%s" type="%s">\n'
            " Your browser does not support the video tag.\n"
            " </video>" % (self.html_attributes, width, height, mimetype, video, mimetype)
        )


# Set the module name that IPython has for them: it shows in `<... object>`.
Image.__module__ = Video.__module__ = "IPython.core.display"
