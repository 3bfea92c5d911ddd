import os
import sys

from kernel_gateway.gatewayapp import KernelGatewayApp
from tornado.ioloop import PeriodicCallback

HISTORY = "HistoryManager"


class Gateway(KernelGatewayApp):
    """A kernel gateway whose kernels leave the user's IPython history alone.

    It ends after `idle_limit` seconds without kernels; "inf" means never.
    """

    idle_limit = float(sys.argv.pop(1))
    idle_since = None

    def init_configurables(self):
        super().init_configurables()
        specs = self.kernel_spec_manager
        find = specs.get_kernel_spec

        def without_history(name):
            spec = find(name)
            program = os.path.basename(spec.argv[0]) if spec.argv else ""
            starts_ipython = program.startswith("ipython") and spec.argv[1:2] == ["kernel"]
            starts_ipython |= any(word.startswith("ipykernel") for word in spec.argv)
            if starts_ipython and not any(HISTORY in word for word in spec.argv):
                spec.argv = [*spec.argv, "--%s.hist_file=:memory:" % HISTORY]
            return spec

        specs.get_kernel_spec = without_history

    def start_app(self):
        super().start_app()
        if self.idle_limit == float("inf"):
            return
        self.idle_since = self.io_loop.time()
        # Four times within the limit, and at least every 2.5 seconds.
        milliseconds = max(100, min(self.idle_limit, 10) * 1000 / 4)
        self.idle_check = PeriodicCallback(self.stop_if_idle, milliseconds)
        self.idle_check.start()

    def stop_if_idle(self):
        if list(self.kernel_manager.list_kernel_ids()):
            self.idle_since = self.io_loop.time()
        elif self.io_loop.time() - self.idle_since >= self.idle_limit:
            self.log.info("no kernel for a while, stopping")
            self.stop()


Gateway.launch_instance()
