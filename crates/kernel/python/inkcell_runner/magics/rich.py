"""`%%html`, `%%markdown` and similar magics: the body of the cell is the output.

Owns the MIME kind of each. The plain text beside it is the text of IPython's display objects, because runs are
compared with stored outputs.
"""

from .options import anywhere


def _shows(kind, name, doc):
    def magic(shell, line, cell):
        # IPython's SVG object writes a drawing without the text around it.
        body = cell.strip("\n") if kind == "image/svg+xml" else cell
        data = {kind: body, "text/plain": "<IPython.core.display.%s object>" % name}
        shell.session.display(data, {})

    magic.__doc__ = doc
    return magic


def html(shell, line, cell):
    """Render the cell as a block of HTML. ``--isolated`` keeps it in a frame of its own."""
    options, _ = anywhere(line, flags="isolated")
    metadata = {"text/html": {"isolated": True}} if options else {}
    data = {"text/html": cell, "text/plain": "<IPython.core.display.HTML object>"}
    shell.session.display(data, metadata)


_javascript = _shows("application/javascript", "Javascript", "Run the cell block of Javascript code.")
_svg = _shows("image/svg+xml", "SVG", "Render the cell as an SVG literal.")

MAGICS = {
    "html": html,
    "HTML": html,
    "javascript": _javascript,
    "js": _javascript,
    "latex": _shows("text/latex", "Latex", "Render the cell as a block of LaTeX."),
    "markdown": _shows("text/markdown", "Markdown", "Render the cell as Markdown text block."),
    "svg": _svg,
    "SVG": _svg,
}
