//! The contract of `kernel.rs`, checked on every backend by one suite in tiers.
//!
//! A backend takes part through a `Bench` that can launch its kernels; the tests do not know which it is. After
//! every test, `ledger` searches for processes and files that it left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Makes tests of functions that take a `Start`, one for each way to start the runner.
macro_rules! on_every_backend {
    ($($name:ident),* $(,)?) => {
        crate::starting!(direct, Direct, $($name),*);
        crate::starting!(forked, Forked, $($name),*);
    };
}
pub(crate) use on_every_backend;

/// As `on_every_backend!`, for IPython's kernel over ZeroMQ, through sockets in a folder and through ports. A test
/// that other macros list and this one omits concerns the runner alone, or asks more than that kernel can do.
macro_rules! on_jupyter {
    ($($name:ident),* $(,)?) => {
        crate::starting!(ipc, Ipc, $($name),*);
        crate::starting!(tcp, Tcp, $($name),*);
    };
}
pub(crate) use on_jupyter;

/// As `on_jupyter!`, only through sockets in a folder: for messages and their meaning, above the transport.
macro_rules! on_ipc {
    ($($name:ident),* $(,)?) => { crate::starting!(ipc, Ipc, $($name),*); };
}
pub(crate) use on_ipc;

/// Lists functions that take a `Start` for the tests on real servers. A server takes long to start, so the modules
/// share a few (`on_servers`). A test that this macro omits asks more than a remote kernel can do.
macro_rules! on_gateways {
    ($($name:ident),* $(,)?) => { crate::listing!(on_gateways, $($name),*); };
}
pub(crate) use on_gateways;

/// As `on_gateways!`, for kernels that know nothing of this machine.
macro_rules! on_another_machine {
    ($($name:ident),* $(,)?) => { crate::listing!(on_another_machine, $($name),*); };
}
pub(crate) use on_another_machine;

/// Makes one function of several, for a running server.
macro_rules! listing {
    ($module:ident, $($name:ident),*) => {
        pub(crate) mod $module {
            pub(crate) async fn run_all(start: crate::bench::Start) {
                $(
                    eprintln!("{}::{}", module_path!(), stringify!($name));
                    super::$name(start).await;
                )*
            }
        }
    };
}
pub(crate) use listing;

/// As `on_every_backend!`, and also for kernels whose cells run in the interpreter's own IPython.
macro_rules! on_every_shell {
    ($($name:ident),* $(,)?) => {
        crate::on_every_backend!($($name),*);
        crate::starting!(ipython, IPython, $($name),*);
        crate::starting!(forked_ipython, ForkedIPython, $($name),*);
    };
}
pub(crate) use on_every_shell;

/// As `on_every_backend!`, for kernels started ahead of time, where that may make a difference.
macro_rules! on_spares {
    ($($name:ident),* $(,)?) => { crate::starting!(spare, Spare, $($name),*); };
}
pub(crate) use on_spares;

/// As `on_jupyter!`, for kernels started ahead of time, where that may make a difference.
macro_rules! on_pooled {
    ($($name:ident),* $(,)?) => { crate::starting!(pooled, Pooled, $($name),*); };
}
pub(crate) use on_pooled;

/// Makes tests of functions that take a `Start`, for one way to start a kernel.
macro_rules! starting {
    ($module:ident, $start:ident, $($name:ident),*) => {
        mod $module {
            $(#[tokio::test] async fn $name() {
                let start = crate::bench::Start::$start;
                if start.is_possible(stringify!($name)) {
                    crate::ledger::leaving_nothing(super::$name(start)).await;
                }
            })*
        }
    };
}
pub(crate) use starting;

/// Makes tests of functions that start their kernels themselves.
macro_rules! alone {
    ($($name:ident),* $(,)?) => {
        mod alone {
            $(#[tokio::test] async fn $name() {
                crate::ledger::leaving_nothing(super::$name()).await;
            })*
        }
    };
}
pub(crate) use alone;

mod ask;
mod asking;
mod basic;
mod bench;
mod copies;
mod death;
mod environment;
mod faults_channel;
mod faults_children;
mod faults_death;
mod faults_display;
mod faults_host;
mod faults_input;
mod faults_ladder;
mod faults_output;
mod faults_start;
mod fork_server;
mod helpers;
mod interrupt;
mod ipython;
mod jupyter;
mod jupyter_adopt;
mod jupyter_faults;
mod jupyter_pool;
mod ledger;
mod measured;
mod on_servers;
mod output;
mod ran;
mod served;
mod served_faults;
mod trace;
mod widgets;
