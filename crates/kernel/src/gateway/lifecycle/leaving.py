import sys

from kernel_gateway.gatewayapp import KernelGatewayApp
from tornado.ioloop import PeriodicCallback


class Leaving(KernelGatewayApp):
    """The kernel gateway, which ends when it has had no kernel for a while."""

    limit = float(sys.argv.pop(1))
    idle_since = None

    def start_app(self):
        super().start_app()
        self.idle_since = self.io_loop.time()
        self.look = PeriodicCallback(self.leave_if_idle, max(100, min(self.limit, 10) * 1000 / 4))
        self.look.start()

    def leave_if_idle(self):
        if list(self.kernel_manager.list_kernel_ids()):
            self.idle_since = self.io_loop.time()
        elif self.io_loop.time() - self.idle_since >= self.limit:
            self.log.info("no kernel for a while, stopping")
            self.stop()


Leaving.launch_instance()
