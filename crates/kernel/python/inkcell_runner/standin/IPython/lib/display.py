"""Sounds, frames, links and code: the display objects that are not data of one kind.

Owns the HTML of each, identical to IPython's, because runs are compared with stored outputs.
"""

import os

from ..core.display import DisplayObject, TextDisplayObject

__all__ = ["Audio", "IFrame", "YouTubeVideo", "VimeoVideo", "ScribdDocument", "FileLink", "FileLinks", "Code"]


def _escape(text):
    from html import escape

    return escape(str(text))


class Audio(DisplayObject):
    """A sound: samples, bytes of a sound file, a file or an address."""

    _read_flags = "rb"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, *,
                 element_id=None):
        if filename is None and url is None and data is None:
            raise ValueError("No audio data found. Expecting filename, url, or data.")
        if embed is False and url is None:
            raise ValueError("No url found. Expecting url when embed=False")
        self.embed = url is None or embed is True
        self.autoplay = autoplay
        self.element_id = element_id
        super().__init__(data=data, url=url, filename=filename)
        if self.data is not None and not isinstance(self.data, bytes):
            if rate is None:
                raise ValueError("rate must be specified when data is a numpy array or list of audio samples.")
            self.data = _wave(data, rate, normalize)

    def reload(self):
        if self.embed:
            super().reload()
        self.mimetype = "audio/wav"
        source = self.filename if self.filename is not None else self.url
        if source is not None:
            import mimetypes

            self.mimetype = mimetypes.guess_type(source)[0]

    def src_attr(self):
        if self.embed and self.data is not None:
            import binascii

            return "data:%s;base64,%s" % (
                self.mimetype,
                binascii.b2a_base64(self.data, newline=False).decode("ascii"),
            )
        return "" if self.url is None else _escape(self.url)

    def autoplay_attr(self):
        return 'autoplay="autoplay"' if self.autoplay else ""

    def element_id_attr(self):
        return 'id="%s"' % _escape(self.element_id) if self.element_id else ""

    def _repr_html_(self):
        lines = (
            "",
            '                <audio %s controls="controls" %s>' % (self.element_id_attr(), self.autoplay_attr()),
            '                    <source src="%s" type="%s" />' % (self.src_attr(), self.mimetype),
            "                    Your browser does not support the audio element.",
            "                </audio>",
            "              ",
        )
        return "\n".join(lines)


def _wave(data, rate, normalize):
    """A WAV file made of samples; numpy arrays may have a row for each channel."""
    import array
    import io
    import sys
    import wave

    # Check for the methods of arrays, so that numpy need not be imported.
    rows = data.tolist() if hasattr(data, "tolist") else list(data)
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    if rows and isinstance(rows[0], (list, tuple)):
        channels = len(rows)
        samples = [float(sample) for frame in zip(*rows) for sample in frame]
    else:
        channels = 1
        samples = [float(sample) for sample in rows]
    peak = max(map(abs, samples))
    if not normalize and peak > 1:
        raise ValueError("Audio data must be between -1 and 1 when normalize=False.")
    scale = peak if normalize else 1
    frames = array.array("h", [int(sample / scale * 32767) for sample in samples])
    if sys.byteorder == "big":
        frames.byteswap()
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setframerate(rate)
        file.setsampwidth(2)
        file.writeframes(frames.tobytes())
    return out.getvalue()


class IFrame:
    """A page within the page."""

    iframe = """
        <iframe
            width="{width}"
            height="{height}"
            src="{src}{params}"
            frameborder="0"
            allowfullscreen
            referrerpolicy="strict-origin-when-cross-origin"
            {extras}
        ></iframe>
        """

    def __init__(self, src, width, height, extras=None, **kwargs):
        self.src = src
        self.width = width
        self.height = height
        self.extras = [] if extras is None else extras
        self.params = kwargs

    def _repr_html_(self):
        params = ""
        if self.params:
            from urllib.parse import urlencode

            params = "?" + urlencode(self.params)
        return self.iframe.format(
            src=_escape(self.src),
            width=_escape(self.width),
            height=_escape(self.height),
            params=params,
            extras=" ".join(self.extras),
        )


class YouTubeVideo(IFrame):
    """A video by its id.  Its still picture is not downloaded: showing a value must not need the network."""

    def __init__(self, id, width=400, height=300, allow_autoplay=False, **kwargs):
        self.id = id
        if allow_autoplay:
            kwargs["extras"] = list(kwargs.get("extras", [])) + ['allow="autoplay"']
            kwargs["autoplay"] = 1
        super().__init__("https://www.youtube.com/embed/%s" % id, width, height, **kwargs)


class VimeoVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__("https://player.vimeo.com/video/%s" % id, width, height, **kwargs)


class ScribdDocument(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__("https://www.scribd.com/embeds/%s/content" % id, width, height, **kwargs)


class FileLink:
    """A link to a file."""

    html_link_str = "<a href='%s' target='_blank'>%s</a>"

    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        if os.path.isdir(path):
            raise ValueError("Cannot display a directory using FileLink. Use FileLinks to display '%s'." % path)
        self.path = os.fsdecode(path)
        self.url_prefix = url_prefix
        self.result_html_prefix = result_html_prefix
        self.result_html_suffix = result_html_suffix

    def _link(self, path, text):
        from html import escape

        link = self.html_link_str % (self.url_prefix + escape(path), escape(text, quote=False))
        return self.result_html_prefix + link + self.result_html_suffix

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return (
                "Path (<tt>%s</tt>) doesn't exist. It may still be in the process of "
                "being generated, or you may have the incorrect path." % self.path
            )
        return self._link(self.path, self.path)

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    """Links to the files under a folder."""

    def __init__(self, path, url_prefix="", included_suffixes=None, result_html_prefix="", result_html_suffix="<br>",
                 notebook_display_formatter=None, terminal_display_formatter=None, recursive=True):
        if os.path.isfile(path):
            raise ValueError("Cannot display a file using FileLinks. Use FileLink to display '%s'." % path)
        self.path = os.fsdecode(path).rstrip("/")
        self.url_prefix = url_prefix
        self.included_suffixes = included_suffixes
        self.result_html_prefix = result_html_prefix
        self.result_html_suffix = result_html_suffix
        self.recursive = recursive
        self.notebook_display_formatter = notebook_display_formatter or self._as_links
        self.terminal_display_formatter = terminal_display_formatter or self._as_text

    def _shown(self, folder, names, suffixes):
        for name in names:
            if os.path.isfile(os.path.join(folder, name)):
                if suffixes is None or os.path.splitext(name)[1] in suffixes:
                    yield name

    def _as_links(self, folder, names, suffixes=None):
        prefix, suffix = self.result_html_prefix, self.result_html_suffix
        lines = []
        for name in self._shown(folder, names, suffixes):
            link = self.html_link_str % (
                "%s%s/%s" % (self.url_prefix, _escape(folder), _escape(name)),
                _escape(name),
            )
            lines.append(prefix + "&nbsp;&nbsp;" + link + suffix)
        return [prefix + _escape(folder) + "/" + suffix] + lines if lines else []

    def _as_text(self, folder, names, suffixes=None):
        lines = ["  " + name for name in self._shown(folder, names, suffixes)]
        return [folder + "/"] + lines if lines else []

    def _lines(self, formatter):
        found = sorted(os.walk(self.path)) if self.recursive else [next(os.walk(self.path))]
        lines = []
        for folder, _, names in found:
            lines += formatter(folder, names, self.included_suffixes)
        return "\n".join(lines)

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return FileLink._repr_html_(self)
        return self._lines(self.notebook_display_formatter)

    def __repr__(self):
        return self._lines(self.terminal_display_formatter)


class Code(TextDisplayObject):
    """Source code, coloured if Pygments is installed."""

    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        super().__init__(data=data, url=url, filename=filename)

    def __repr__(self):
        return self.data

    def _lexer(self):
        from pygments import lexers

        if self.language:
            return lexers.get_lexer_by_name(self.language)
        if self.filename:
            return lexers.get_lexer_for_filename(self.filename)
        return lexers.guess_lexer(self.data)

    def _repr_html_(self):
        try:
            from pygments import highlight
            from pygments.formatters import HtmlFormatter
        except ImportError:
            return "<pre>%s</pre>" % _escape(self.data)
        formatter = HtmlFormatter()
        style = "<style>%s</style>" % formatter.get_style_defs(".output_html")
        return style + highlight(self.data, self._lexer(), formatter)

    def _repr_latex_(self):
        try:
            from pygments import highlight
            from pygments.formatters import LatexFormatter
        except ImportError:
            return None
        return highlight(self.data, self._lexer(), LatexFormatter())
