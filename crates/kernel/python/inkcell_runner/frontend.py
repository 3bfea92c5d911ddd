"""The kernel object around the shell: `get_ipython().kernel`.

Owns an object that does next to nothing. Libraries check that it exists to learn that they run in a notebook and not
in a terminal (pandas shows twenty columns then). Some register objects that widgets would need.
"""

import inkcell_runner


class CommManager:
    """Accepts what libraries register for messages that this kernel does not have."""

    def __init__(self):
        self.targets, self.comms = {}, {}

    def register_target(self, target_name, f):
        self.targets[target_name] = f

    def unregister_target(self, target_name, f=None):
        return self.targets.pop(target_name, None)

    def register_comm(self, comm):
        self.comms[comm.comm_id] = comm
        return comm.comm_id

    def unregister_comm(self, comm):
        self.comms.pop(comm.comm_id, None)


class Kernel:
    """The kernel of a notebook, with the attributes that libraries read."""

    implementation = "inkcell"

    def __init__(self, shell):
        self.shell = shell
        self.comm_manager = CommManager()

    def get_parent(self, channel="shell"):
        """Returns the current request. Its id tells which output belongs to it."""
        running = inkcell_runner.current().running
        return {} if running is None else {"header": {"msg_id": str(running)}}
