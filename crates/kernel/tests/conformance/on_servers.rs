//! The contract on kernels of real servers, and the modules that share a server.
//!
//! A server takes seconds to start, so each serves several modules, one after another. Each function prints its name
//! before it runs, so that a failure shows where it happened.

use crate::bench::Start;
use crate::ledger;
use crate::served::Served;

/// Makes one test from the lists of several modules, on one real server.
macro_rules! serving {
    ($test:ident, $start:ident, $list:ident: $($module:ident),* $(,)?) => {
        #[tokio::test]
        async fn $test() {
            let start = Start::$start;
            if !start.is_possible(stringify!($test)) {
                return;
            }
            ledger::leaving_nothing(async {
                let served = Served::start(start).await;
                $(crate::$module::$list::run_all(start).await;)*
                served.stop().await;
            })
            .await;
        }
    };
}

// Both servers speak the same protocol to the same kernels. One of them runs the tests of all layers above the
// protocol; the other shows that kernels start, run, fail and end.
serving!(server_calls, Server, on_gateways: basic, ask, asking, environment, helpers);
serving!(server_output, Server, on_gateways: output, interrupt, death);
serving!(server_faults, Server, on_gateways: served_faults, faults_death, faults_output);
serving!(server_oddities, Server, on_gateways: faults_display, faults_input, faults_ladder, widgets);
serving!(gateway_calls, Gateway, on_gateways: basic, death, served_faults);
serving!(another_machine, Elsewhere, on_another_machine: basic, ask);
