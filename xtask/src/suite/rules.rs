//! What some tests need of the machine, declared: the one table, and `.config/nextest.toml` made from it.
//!
//! Must not know what the tests show.

use std::fmt::Write as _;

/// What a test needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No other test beside it: it measures time.
    Machine,
    /// Longer than others: it has to try every case of something.
    Time,
}

/// Tests with a need: a test binary or a module of the Python tests, and how the tests' names begin.
pub(crate) struct Rule {
    pub(crate) binary: &'static str,
    pub(crate) prefix: &'static str,
    pub(crate) need: Need,
    /// Why, for the reader of the configuration.
    pub(crate) why: &'static str,
}

/// The path of the configuration.
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

/// What a quick run leaves out: a test binary, and a module or how names begin in it, at any depth. These start
/// servers, kernels of others or many processes; the full run has all of it.
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

/// What is left to `--all`, named as above: the same tests once more, on a further way that shares what they show.
pub(crate) const MATRIX: &[(&str, &str)] = &[
    // Ports carry the same messages as sockets in a folder. Starts, faults and ends are tried on both.
    ("conformance", "output::tcp::"),
    ("conformance", "faults_output::tcp::"),
    ("conformance", "faults_start::tcp::many_kernels_start_at_once"),
    // The runner's own tests compare every kind of figure with the inline backend.
    ("it", "differential::figures"),
    ("it", "differential::styled_figures"),
    // inkcell speaks to every gateway in the same way.
    ("it", "backends::answers_do_not_tell_that_another_gateway_is_between"),
    // The oldest and the newest revision of the protocol are tried; this one lies between.
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
        why: "Each sends 200 random bursts of requests.",
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

/// Whether a test has this need.
pub(crate) fn needs(binary: &str, test: &str, need: Need) -> bool {
    let mut rules = RULES.iter().filter(|rule| rule.need == need);
    rules.any(|rule| rule.binary == binary && test.starts_with(rule.prefix))
}

/// Whether a test may take long, by its name in a report, which begins with its binary, or with its package and that.
pub(crate) fn may_be_slow(reported: &str) -> bool {
    let mut rules = RULES.iter().filter(|rule| rule.need == Need::Time);
    let reported = format!("::{reported}");
    rules.any(|rule| reported.contains(&format!("::{}::{}", rule.binary, rule.prefix)))
}

/// Nextest's whole configuration: a call of nextest by hand follows the same rules.
pub(crate) fn nextest_config() -> String {
    let mut text = HEAD.to_owned();
    // Python's tests are not nextest's.
    let rules = RULES.iter().filter(|rule| !rule.binary.starts_with("test_"));
    for Rule { binary, prefix, need, why } in rules {
        let setting = match need {
            // At the end, so that nothing waits for a test that waits for the others.
            Need::Machine => "threads-required = \"num-test-threads\"\npriority = -50",
            // What takes long begins first, so that nothing waits for it at the end.
            Need::Time => {
                "slow-timeout = { period = \"300s\", terminate-after = 4 }\npriority = 50"
            }
        };
        // Writing into a String cannot fail.
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

    /// Nextest reports a test with its package, the plain runner without.
    #[test]
    fn slow_tests_are_known_by_both_names() {
        let test = "it::run_crash::a_run_survives_a_fault_at_every_call";
        assert!(may_be_slow(&format!("inkcell::{test}")) && may_be_slow(test));
        assert!(!may_be_slow("inkcell::it::run_crash::another"));
        let python = "test_against_ipython::test_a_cell_stores_what_it_does_in_jupyter[errors-0]";
        assert!(may_be_slow(python));
    }
}
