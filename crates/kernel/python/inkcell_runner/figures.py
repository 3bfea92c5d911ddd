"""Shows figures of matplotlib after each cell, as Jupyter's inline backend does.

Owns when a figure is shown and closed, and how it becomes a PNG.  It must not import matplotlib itself. Everything
here waits until the user's code has imported it, and costs nothing before.

The backend is plain Agg, not a backend of inkcell, so that programs started from a cell can draw as well: they inherit
MPLBACKEND but not this package.
"""

import sys

# Backends that draw to memory or files.  A backend with windows shows its figures itself.
_SILENT = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
# Jupyter's own backend. The environment of a Jupyter terminal may still name it.
_INLINE = ("inline", "module://matplotlib_inline.backend_inline", "module://ipykernel.pylab.backend_inline")

# Figures displayed as a value since the last flush, each with its format and the data shown.
_displayed = {}

# The formats that users can choose, each with its MIME type.
_KINDS = {
    "png": "image/png",
    "retina": "image/png",
    "svg": "image/svg+xml",
    "jpeg": "image/jpeg",
    "pdf": "application/pdf",
}
_SPELLINGS = {"png2x": "retina", "jpg": "jpeg"}

# The settings that `%config InlineBackend` may change.
_settings = {"figure_formats": ("png",), "rc": {}, "close_figures": True, "print_figure_kwargs": {"bbox_inches": "tight"}}


def _pyplot():
    """Returns pyplot if its import is complete, else None."""
    module = sys.modules.get("matplotlib.pyplot")
    return module if hasattr(module, "get_fignums") else None


def _open_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()]


def configure(name, value):
    """Changes a setting of `InlineBackend`. Ignores settings that have no meaning here."""
    if name in ("figure_format", "figure_formats"):
        _choose((value,) if isinstance(value, str) else tuple(value))
    elif name in ("rc", "print_figure_kwargs"):
        _settings[name] = dict(value)
        if name == "rc" and "matplotlib" in sys.modules:
            sys.modules["matplotlib"].rcParams.update(_settings["rc"])
    elif name == "close_figures":
        _settings[name] = bool(value)
    tell_inline()


def tell_inline():
    """Copies the settings to Jupyter's own backend if the user's code imported it: its functions read them there."""
    backend = getattr(sys.modules.get("matplotlib_inline.config"), "InlineBackend", None)
    if backend is not None:
        for name in ("rc", "close_figures", "print_figure_kwargs"):
            setattr(backend.instance(), name, _settings[name])


def _choose(formats):
    """Sets the formats in which figures are shown."""
    chosen = tuple(_SPELLINGS.get(one, one) for one in formats)
    unknown = [one for one in chosen if one not in _KINDS]
    if unknown or not chosen:
        raise ValueError(
            "supported formats are: %s not: %s" % (", ".join(sorted(_KINDS)), ", ".join(map(str, unknown)) or "none")
        )
    from .formatting import display_formatter

    for kind in set(_KINDS.values()):
        display_formatter.formatters[kind].pop("matplotlib.figure.Figure", None)
    for one in chosen:
        formatter = display_formatter.formatters[_KINDS[one]]
        formatter.for_type_by_name("matplotlib.figure", "Figure", lambda figure, one=one: draw(figure, one))
    _settings["figure_formats"] = chosen


def use_inline():
    """Takes over pyplot right after its import. Does nothing before that, or a second time."""
    pyplot = _pyplot()
    if pyplot is None:
        return
    known = getattr(pyplot, "_inkcell", None)
    # A reload runs the module again in its old namespace, which restores its own `show`.
    if known is not None and not (known and pyplot.show.__module__ == pyplot.__name__):
        return
    import matplotlib

    # Bypass the lookup of rcParams, which would choose and load a backend.
    backend = dict.get(matplotlib.rcParams, "backend")
    name = backend.lower() if isinstance(backend, str) else None
    pyplot._inkcell = name is None or name in _INLINE or name in _SILENT
    if not pyplot._inkcell:
        return
    if name is None or name in _INLINE:
        pyplot.switch_backend("agg")
    # The inline backend sets only this; its figure.dpi and face colour are matplotlib's.
    matplotlib.interactive(True)
    matplotlib.rcParams.update(_settings["rc"])
    pyplot._inkcell_quiet = _track_quiet(pyplot, matplotlib)
    pyplot.show = _shower(pyplot)


def _track_quiet(pyplot, matplotlib):
    """Collects the figures made under `plt.ioff()`, which only `plt.show()` shows."""
    import weakref

    quiet = weakref.WeakSet()
    make = pyplot.new_figure_manager

    def new_figure_manager(*args, **kwargs):
        manager = make(*args, **kwargs)
        if not matplotlib.is_interactive():
            quiet.add(manager.canvas.figure)
        return manager

    new_figure_manager.__doc__ = make.__doc__
    pyplot.new_figure_manager = new_figure_manager
    return quiet


def _shower(pyplot):
    def show(close=None, block=None):
        """Shows all open figures here, in the order they were made, and closes them."""
        from . import current

        _show(current(), pyplot, _open_figures(), _settings["close_figures"] if close is None else close)

    return show


def show_open_figures(session):
    """Shows and closes the figures that a cell left open. The runner calls it after every cell, failed ones too."""
    pyplot = _pyplot()
    if pyplot is None:
        return
    use_inline()
    try:
        figures = _open_figures()
        quiet = getattr(pyplot, "_inkcell_quiet", ())
        if pyplot._inkcell and any(figure not in quiet for figure in figures):
            close = _settings["close_figures"]
            # A figure that stays open is shown again only if it has changed.
            figures = [figure for figure in figures if (close or figure.stale) and not _was_displayed(figure)]
            _show(session, pyplot, figures, close)
    finally:
        _displayed.clear()


def _was_displayed(figure):
    """Whether the figure was the value of the cell or given to `display`, and has not changed since."""
    shown = _displayed.get(id(figure))
    if shown is None:
        return False
    if not figure.stale:
        return True
    # Code touched the figure since. Only another drawing tells whether the change is visible.  A vector drawing
    # contains its own date and names, so its bytes never tell.
    try:
        return shown[0] in ("png", "retina") and _render(figure, shown[0]) == shown[1]
    except Exception:
        # The figure cannot be drawn any more. Showing it reports the error.
        return False


def _show(session, pyplot, figures, close):
    from . import formatting

    try:
        for figure in figures:
            data, metadata = formatting.bundle(figure)
            metadata.update(_background(figure))
            session.display(data, metadata)
    finally:
        # Closing collects garbage, which is slow. Close only if a figure is open.
        if close and _open_figures():
            pyplot.close("all")
        for figure in figures:
            _displayed.pop(id(figure), None)


def draw(figure, form="png"):
    """Draws a figure in a format when it is shown. None for an empty figure, whose text says enough."""
    data = _render(figure, form)
    if data is None:
        return None
    _displayed[id(figure)] = (form, data)
    # Saving leaves the figure marked as stale. From here on the mark means a change.
    figure.stale = False
    if form == "retina":
        # Twice the pixels for the same size on the page; the head of the file states the size.
        width, height = (int.from_bytes(data[at: at + 4], "big") // 2 for at in (16, 20))
        return data, {"width": width, "height": height}
    return data.decode("utf-8") if form == "svg" else data


def _render(figure, form):
    if not figure.axes and not figure.lines:
        return None
    import io

    if figure.canvas is None:
        from matplotlib.backend_bases import FigureCanvasBase

        FigureCanvasBase(figure)
    out = io.BytesIO()
    options = {
        "format": "png" if form == "retina" else form,
        "facecolor": figure.get_facecolor(),
        "edgecolor": figure.get_edgecolor(),
        "dpi": figure.dpi * 2 if form == "retina" else figure.dpi,
        "bbox_inches": "tight",
    }
    options.update(_settings["print_figure_kwargs"])
    figure.canvas.print_figure(out, **options)
    return out.getvalue()


def _background(figure):
    """Tells a reader with a dark or light page which background a transparent figure needs to be legible."""
    from matplotlib import colors

    try:
        if colors.to_rgba(figure.get_facecolor())[3] >= 0.5:
            return {}
        light = set()
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                for label in axis.get_ticklabels():
                    red, green, blue = colors.to_rgb(label.get_color())
                    light.add(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
    except Exception:
        return {}
    if len(light) != 1:
        return {}
    return {"needs_background": "dark" if light.pop() else "light"}
