"""The user's IPython profile: its settings, extensions and startup files.

Owns where they are looked for and in which order they count, which is ipykernel's.  It only reads: a
kernel leaves no profile, no history and no lock behind, so nothing here makes a folder.
"""

import os

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from IPython.core.profiledir import ProfileDir
from IPython.core.shellapp import InteractiveShellApp
from traitlets import Instance, Unicode, observe
from traitlets.config import Config

# The second counts more than the first, as it does for ipykernel.
_NAMES = ("ipython_config", "ipython_kernel_config")


def ipython_dir():
    """Where IPython keeps its profiles.  IPython's own function makes a folder where there is none."""
    return os.path.abspath(os.path.expanduser(os.environ.get("IPYTHONDIR") or "~/.ipython"))


class Profile(ProfileDir):
    """A profile that is read where it exists, and not made where it does not."""

    @observe("location")
    def _location_changed(self, change):
        for part in ("security", "log", "startup", "pid", "static"):
            setattr(self, part + "_dir", os.path.join(change["new"], part))

    @observe("startup_dir")
    def check_startup_dir(self, change=None):
        """IPython makes the folder, with a text in it, here."""

    def _mkdir(self, path, mode=None):
        return False


def profile(folder):
    """The default profile of an IPython folder."""
    return Profile(location=os.path.join(folder, "profile_default"))


def settings(location):
    """What the configuration files say, and the problems of those that could not be read."""
    found, problems = Config(), []
    for name in _NAMES:
        # What stands nearer to the user counts more.
        for folder in [*SYSTEM_CONFIG_DIRS[::-1], *ENV_CONFIG_DIRS[::-1], location]:
            for kind in (".py", ".json"):
                path = os.path.join(folder, name + kind)
                if not os.path.isfile(path):
                    continue
                try:
                    found.merge(_read(name + kind, folder))
                except (Exception, SystemExit) as problem:
                    problems.append("%s could not be read: %s: %s" % (path, type(problem).__name__, problem))
    return found, problems


def _read(name, folder):
    from traitlets.config.loader import JSONFileConfigLoader, PyFileConfigLoader

    kind = JSONFileConfigLoader if name.endswith(".json") else PyFileConfigLoader
    return kind(name, folder).load_config()


class IPKernelApp(InteractiveShellApp):
    """The part of IPython's applications that loads extensions and runs startup files.  Its name is that
    of the section of configuration files that is meant for kernels."""

    profile_dir = Instance(ProfileDir)
    ipython_dir = Unicode()
    extra_args = []

    @property
    def log(self):
        import logging

        return logging.getLogger("traitlets")


def start(shell):
    """Loads the extensions and runs the startup files of the shell's profile."""
    app = IPKernelApp(
        config=shell.config, shell=shell, profile_dir=shell.profile_dir, ipython_dir=shell.ipython_dir
    )
    app.init_gui_pylab()
    app.init_extensions()
    app.init_code()
