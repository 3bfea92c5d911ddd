"""Figures of matplotlib, shown after each cell as Jupyter's inline backend shows them.

Owns when a figure is shown and closed, and how it becomes a PNG.  It must not import matplotlib
on its own: everything here waits until the user's code has imported it, and costs nothing before.

The backend is plain Agg rather than one of our own, so that programs started from a cell, which
inherit MPLBACKEND but not this package, draw as well.
"""

import sys

# Backends that draw to memory or files.  Where one with windows was chosen, it shows its own figures.
_SILENT = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")
# Jupyter's own backend, which the environment of a Jupyter terminal may still name.
_INLINE = ("inline", "module://matplotlib_inline.backend_inline", "module://ipykernel.pylab.backend_inline")

# Figures displayed as a value since the last flush, with the format and what was shown of them.
_displayed = {}

# The formats that can be chosen, by the kind of what they make.
_KINDS = {
    "png": "image/png",
    "retina": "image/png",
    "svg": "image/svg+xml",
    "jpeg": "image/jpeg",
    "pdf": "application/pdf",
}
_SPELLINGS = {"png2x": "retina", "jpg": "jpeg"}

# What `%config InlineBackend` may change.
_settings = {"figure_formats": ("png",), "rc": {}, "close_figures": True, "print_figure_kwargs": {"bbox_inches": "tight"}}


def _pyplot():
    """The pyplot that was imported to its end, or None."""
    module = sys.modules.get("matplotlib.pyplot")
    return module if hasattr(module, "get_fignums") else None


def _open_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()]


def configure(name, value):
    """Takes a setting of `InlineBackend`; those that have no meaning here are left alone."""
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
    """Tells Jupyter's own backend, where the user's code imported it, what was set here: its functions look there."""
    backend = getattr(sys.modules.get("matplotlib_inline.config"), "InlineBackend", None)
    if backend is not None:
        for name in ("rc", "close_figures", "print_figure_kwargs"):
            setattr(backend.instance(), name, _settings[name])


def _choose(formats):
    """Makes these the formats figures are shown in."""
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
    """Takes over a pyplot that has just been imported; does nothing before, or a second time."""
    pyplot = _pyplot()
    if pyplot is None:
        return
    known = getattr(pyplot, "_inkcell", None)
    # A reload runs the module anew in its old namespace, and so puts its own `show` back.
    if known is not None and not (known and pyplot.show.__module__ == pyplot.__name__):
        return
    import matplotlib

    # Read past the lookup, which would choose and load a backend.
    backend = dict.get(matplotlib.rcParams, "backend")
    name = backend.lower() if isinstance(backend, str) else None
    pyplot._inkcell = name is None or name in _INLINE or name in _SILENT
    if not pyplot._inkcell:
        return
    if name is None or name in _INLINE:
        pyplot.switch_backend("agg")
    # The inline backend sets nothing but this; its figure.dpi and face colour are matplotlib's.
    matplotlib.interactive(True)
    matplotlib.rcParams.update(_settings["rc"])
    pyplot._inkcell_quiet = _track_quiet(pyplot, matplotlib)
    pyplot.show = _shower(pyplot)


def _track_quiet(pyplot, matplotlib):
    """The figures made while `plt.ioff()` held, which only `plt.show()` shows."""
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
    """Shows and closes the figures a cell left open; called after every cell, failed ones too."""
    pyplot = _pyplot()
    if pyplot is None:
        return
    use_inline()
    try:
        figures = _open_figures()
        quiet = getattr(pyplot, "_inkcell_quiet", ())
        if pyplot._inkcell and any(figure not in quiet for figure in figures):
            close = _settings["close_figures"]
            # A figure that stays open is shown again when it has changed.
            figures = [figure for figure in figures if (close or figure.stale) and not _was_displayed(figure)]
            _show(session, pyplot, figures, close)
    finally:
        _displayed.clear()


def _was_displayed(figure):
    """Whether the figure was the value of the cell or given to `display`, and is still the same."""
    shown = _displayed.get(id(figure))
    if shown is None:
        return False
    if not figure.stale:
        return True
    # Something was touched since; only drawing again tells whether it shows.  A drawing in lines holds
    # its own date and names, so it never tells.
    try:
        return shown[0] in ("png", "retina") and _render(figure, shown[0]) == shown[1]
    except Exception:
        # It cannot be drawn any more; showing it says why.
        return False


def _show(session, pyplot, figures, close):
    from . import formatting

    try:
        for figure in figures:
            data, metadata = formatting.bundle(figure)
            metadata.update(_background(figure))
            session.display(data, metadata)
    finally:
        # Closing collects garbage, which is slow, so only where there is something to close.
        if close and _open_figures():
            pyplot.close("all")
        for figure in figures:
            _displayed.pop(id(figure), None)


def draw(figure, form="png"):
    """A figure that is being shown, in a format; None for an empty one, of which text says enough."""
    data = _render(figure, form)
    if data is None:
        return None
    _displayed[id(figure)] = (form, data)
    # Saving leaves the mark of a figure to be drawn; from here on it means a change.
    figure.stale = False
    if form == "retina":
        # Twice the pixels for the same size on the page; the size stands in the head of the file.
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
    """Tells a reader with a dark or light page what a see-through figure is legible on."""
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
