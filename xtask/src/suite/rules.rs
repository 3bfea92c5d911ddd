//! Declares what some tests need of the machine: one table, from which `.config/nextest.toml` is generated.
//!
//! Must not know what the tests check.

use std::fmt::Write as _;

/// A need of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The test measures time, so no other test may run beside it.
    Machine,
    /// The test takes longer than others, because it tries every case of something.
    Time,
}

/// A need of all tests whose names have a prefix, in a test binary or in a module of the Python tests.
pub(crate) struct Rule {
    pub(crate) binary: &'static str,
    pub(crate) prefix: &'static str,
    pub(crate) need: Need,
    /// The reason, for readers of the configuration.
    pub(crate) why: &'static str,
}

/// Path of the configuration, relative to the workspace root.
pub(crate) const NEXTEST_CONFIG: &str = ".config/nextest.toml";

const HEAD: &str = "\
# How nextest runs the tests of this workspace.
# Generated from xtask/src/suite/rules.rs by `cargo xtask docs`. Do not edit by hand.

[profile.default]
fail-fast = false
# A test that fails now and then is a bug. Nothing is tried again.
retries = 0
# A test that hangs must not take the time of all others: it ends after ten minutes.
slow-timeout = { period = \"60s\", terminate-after = 10 }
# Tests that pass are only counted: a log of thousands of lines hides the few that matter.
status-level = \"slow\"
final-status-level = \"fail\"
failure-output = \"immediate-final\"

# The closing table of `cargo xtask test` is read from here.
[profile.default.junit]
path = \"junit.xml\"
store-success-output = false
store-failure-output = false
";

/// Tests that a quick run leaves out: a test binary, and a module or the beginning of a name in it, at any depth.
/// They start servers, kernels of other projects or many processes; the full run includes all of them.
pub(crate) const NOT_QUICK: &[(&str, &str)] = &[
    ("conformance", "ipc::"),
    ("conformance", "tcp::"),
    ("conformance", "pooled::"),
    ("conformance", "spare::"),
    ("conformance", "forked_ipython::"),
    ("conformance", "on_servers::"),
    ("conformance", "served_faults::"),
    ("conformance", "jupyter"),
    ("it", "gateway::"),
    ("it", "managed::"),
    ("it", "differential::"),
    ("it", "gateways::"),
    ("it", "served_notebooks::"),
    ("it", "batches::a_batch_over_a_gateway"),
    ("it", "recipes::the_batch_over_a_gateway_runs"),
    ("it", "backends::"),
    ("it", "jupyter_kernels::"),
    ("it", "mcp_official::"),
    ("it", "run_crash::"),
    ("it", "crash::"),
    ("it", "host_faults::"),
    ("it", "host_life::"),
];

/// Tests that only `--all` runs, named as above: they repeat other tests over another path that shares most code.
pub(crate) const MATRIX: &[(&str, &str)] = &[
    // Ports carry the same messages as sockets in a folder. The full run tests starts, faults and ends on both.
    ("conformance", "output::tcp::"),
    ("conformance", "faults_output::tcp::"),
    ("conformance", "faults_start::tcp::many_kernels_start_at_once"),
    // The runner's own tests compare every kind of figure with the inline backend.
    ("it", "differential::figures"),
    ("it", "differential::styled_figures"),
    // inkcell treats every gateway in the same way.
    ("it", "backends::answers_do_not_tell_that_another_gateway_is_between"),
    // It needs large libraries. The full run copies kernels with threads of these names.
    ("it", "batches::rows_share_what_libraries_with_threads_loaded"),
    // The full run tests the oldest and the newest revision of the protocol; this one lies between.
    ("it", "mcp_official::an_agent_of_2025_11_25_has_its_session"),
];

pub(crate) const RULES: &[Rule] = &[
    Rule {
        binary: "conformance",
        prefix: "measured::",
        need: Need::Machine,
        why: "These measure how soon a death and output are told.",
    },
    Rule {
        binary: "it",
        prefix: "measured::",
        need: Need::Machine,
        why: "These measure how soon a server ends with everything that it started.",
    },
    Rule {
        binary: "it",
        prefix: "gateway::measured::",
        need: Need::Machine,
        why: "These measure how soon a gateway that died is told.",
    },
    Rule {
        binary: "it",
        prefix: "http_guard::silent_connections_keep_nobody_out",
        need: Need::Machine,
        why: "It measures how long a client waits beside silent connections.",
    },
    Rule {
        binary: "it",
        prefix: "faults_output::a_flood_is_stored_whole",
        need: Need::Machine,
        why: "It floods: 200 MB through a kernel into an artifact.",
    },
    Rule {
        binary: "it",
        prefix: "gateway::scale::",
        need: Need::Machine,
        why: "A thousand kernels at once, and their memory is measured.",
    },
    Rule {
        binary: "it",
        prefix: "mcp_official::requests_sent_together",
        need: Need::Time,
        why: "Each sends random bursts of requests.",
    },
    Rule {
        binary: "it",
        prefix: "run_crash::a_run_survives_a_fault_at_every_call",
        need: Need::Time,
        why: "It runs a notebook once for each call that a fault can hit.",
    },
    Rule {
        binary: "it",
        prefix: "crash::a_save_survives_a_fault_at_every_call",
        need: Need::Time,
        why: "It saves a notebook once for each call that a fault can hit.",
    },
    Rule {
        binary: "it",
        prefix: "host_faults::a_host_that_is_killed_at_any_call",
        need: Need::Time,
        why: "It starts a host once for each call that a fault can hit.",
    },
    Rule {
        binary: "it",
        prefix: "differential::",
        need: Need::Time,
        why: "Each runs its notebooks with Jupyter and in three ways with inkcell.",
    },
    Rule {
        binary: "it",
        prefix: "backends::answers_do_not_tell",
        need: Need::Time,
        why: "Each runs a long script of calls on a real gateway and on the runner.",
    },
    Rule {
        binary: "it",
        prefix: "gateways::",
        need: Need::Time,
        why: "These start real gateways; one runs many kernels at once.",
    },
    Rule {
        binary: "it",
        prefix: "served_notebooks::",
        need: Need::Time,
        why: "These start real Jupyter servers.",
    },
    Rule {
        binary: "it",
        prefix: "gateway::shared::",
        need: Need::Time,
        why: "These start real gateways.",
    },
    Rule {
        binary: "it",
        prefix: "managed::made::",
        need: Need::Time,
        why: "These make whole environments with venv and pip.",
    },
    Rule {
        binary: "conformance",
        prefix: "on_servers::",
        need: Need::Time,
        why: "Each shares one real server among the tests of several modules.",
    },
    Rule {
        binary: "test_against_ipython",
        prefix: "test_a_cell_stores_what_it_does_in_jupyter",
        need: Need::Time,
        why: "The first test of a group runs all cells of the group with Jupyter.",
    },
];

/// True if a test has this need.
pub(crate) fn needs(binary: &str, test: &str, need: Need) -> bool {
    let mut rules = RULES.iter().filter(|rule| rule.need == need);
    rules.any(|rule| rule.binary == binary && test.starts_with(rule.prefix))
}

/// True if a test may be slow. The name in a report begins with the test's binary, or with its package and binary.
pub(crate) fn may_be_slow(reported: &str) -> bool {
    let mut rules = RULES.iter().filter(|rule| rule.need == Need::Time);
    let reported = format!("::{reported}");
    rules.any(|rule| reported.contains(&format!("::{}::{}", rule.binary, rule.prefix)))
}

/// Generates nextest's whole configuration, so that a call of nextest by hand follows the same rules.
pub(crate) fn nextest_config() -> String {
    let mut text = HEAD.to_owned();
    // nextest does not run the Python tests.
    let rules = RULES.iter().filter(|rule| !rule.binary.starts_with("test_"));
    for Rule { binary, prefix, need, why } in rules {
        let setting = match need {
            // Such tests run last, so that no other test waits for them while they wait for a free machine.
            Need::Machine => "threads-required = \"num-test-threads\"\npriority = -50",
            // Slow tests start first, so that none runs alone at the end.
            Need::Time => {
                "slow-timeout = { period = \"300s\", terminate-after = 4 }\npriority = 50"
            }
        };
        // A write into a String cannot fail.
        let _ = write!(
            text,
            "\n# {why}\n[[profile.default.overrides]]\n\
             filter = 'binary({binary}) & test(/^{prefix}/)'\n{setting}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nextest reports a test with its package, the plain runner without.
    #[test]
    fn slow_tests_are_known_by_both_names() {
        let test = "it::run_crash::a_run_survives_a_fault_at_every_call";
        assert!(may_be_slow(&format!("inkcell::{test}")) && may_be_slow(test));
        assert!(!may_be_slow("inkcell::it::run_crash::another"));
        let python = "test_against_ipython::test_a_cell_stores_what_it_does_in_jupyter[errors-0]";
        assert!(may_be_slow(python));
    }
}
