"""Sends the displays and results of IPython's shell as the frames of this session.

Owns the two objects that receive IPython's bundles.  It must not know how a value becomes a bundle, which IPython does
here, nor how a frame is sent.
"""

import sys

import inkcell_runner
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from . import mime


class Publisher(DisplayPublisher):
    """The object behind `get_ipython().display_pub`, which sends the bundles of `display`."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **options):
        self._validate_data(data, metadata)
        display_id = (transient or {}).get("display_id")
        inkcell_runner.current().display(
            mime.clean(data), mime.clean_metadata(metadata), display_id=display_id, update=bool(update)
        )

    def clear_output(self, wait=False):
        inkcell_runner.current().clear_output(bool(wait))


class ResultHook(DisplayHook):
    """The `sys.displayhook` of cells. It sends the value of a cell with its number."""

    def __call__(self, result=None):
        inkcell_runner.current().returned = id(result)
        super().__call__(result)

    def write_output_prompt(self):
        """Prints nothing: the number is part of the frame."""

    def write_format_data(self, format_dict, md_dict=None):
        data = mime.clean(format_dict)
        if data:
            inkcell_runner.current().send_result(self.prompt_count, data, mime.clean_metadata(md_dict))

    def finish_displayhook(self):
        sys.stdout.flush()
        self._is_active = False
