"""The display functions, taken from the runner."""

from inkcell_runner.displays import DisplayHandle, clear_output, display, update_display

__all__ = ["display", "clear_output", "publish_display_data", "update_display", "DisplayHandle"]


def publish_display_data(data, metadata=None, *, transient=None, **kwargs):
    """Sends a bundle unchanged."""
    from inkcell_runner.displays import display_pub

    display_pub.publish(data, metadata, transient=transient, **kwargs)
