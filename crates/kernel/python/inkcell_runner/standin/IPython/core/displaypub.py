"""The old home of `publish_display_data`."""

from .display_functions import publish_display_data

__all__ = ["publish_display_data"]
