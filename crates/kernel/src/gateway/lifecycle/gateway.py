import sys

from kernel_gateway.gatewayapp import KernelGatewayApp
from tornado.ioloop import PeriodicCallback

HISTORY = "HistoryManager"


class Gateway(KernelGatewayApp):
    """The kernel gateway, as inkcell starts it: its kernels leave the user's IPython history alone, and it may end
    when it has had no kernel for a while."""

    limit = float(sys.argv.pop(1))
    idle_since = None

    def init_configurables(self):
        super().init_configurables()
        specs = self.kernel_spec_manager
        find = specs.get_kernel_spec

        def without_history(name):
            spec = find(name)
            starts_ipython = any(word.startswith("ipykernel") for word in spec.argv)
            if starts_ipython and not any(HISTORY in word for word in spec.argv):
                spec.argv = [*spec.argv, "--%s.hist_file=:memory:" % HISTORY]
            return spec

        specs.get_kernel_spec = without_history

    def start_app(self):
        super().start_app()
        if self.limit == float("inf"):
            return
        self.idle_since = self.io_loop.time()
        self.look = PeriodicCallback(self.leave_if_idle, max(100, min(self.limit, 10) * 1000 / 4))
        self.look.start()

    def leave_if_idle(self):
        if list(self.kernel_manager.list_kernel_ids()):
            self.idle_since = self.io_loop.time()
        elif self.io_loop.time() - self.idle_since >= self.limit:
            self.log.info("no kernel for a while, stopping")
            self.stop()


Gateway.launch_instance()
