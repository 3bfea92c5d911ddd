"""The user's IPython profile: its settings, extensions and startup files.

Owns the places where these are read, and their order of precedence, which is ipykernel's.  It only reads. A kernel
leaves no profile, no history and no lock behind, so nothing here creates a folder.
"""

import os

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from IPython.core.profiledir import ProfileDir
from IPython.core.shellapp import InteractiveShellApp
from traitlets import Instance, Unicode, observe
from traitlets.config import Config

# The second takes precedence, as in ipykernel.
_NAMES = ("ipython_config", "ipython_kernel_config")


def ipython_dir():
    """The folder where IPython keeps its profiles.  IPython's own function creates a missing folder."""
    return os.path.abspath(os.path.expanduser(os.environ.get("IPYTHONDIR") or "~/.ipython"))


class Profile(ProfileDir):
    """A profile that is read if it exists, and never created."""

    @observe("location")
    def _location_changed(self, change):
        for part in ("security", "log", "startup", "pid", "static"):
            setattr(self, part + "_dir", os.path.join(change["new"], part))

    @observe("startup_dir")
    def check_startup_dir(self, change=None):
        """Does nothing, where IPython creates the folder and a text in it."""

    def _mkdir(self, path, mode=None):
        return False


def profile(folder):
    """The default profile of an IPython folder."""
    return Profile(location=os.path.join(folder, "profile_default"))


def settings(location):
    """Reads the configuration files. Returns the settings, and the problems of files that could not be read."""
    found, problems = Config(), []
    for name in _NAMES:
        # Later folders are nearer to the user and take precedence.
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
    """The part of IPython's applications that loads extensions and runs startup files.  Configuration files name the
    section that is meant for kernels after this class."""

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
