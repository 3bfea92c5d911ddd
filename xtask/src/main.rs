//! Chores of this workspace: `cargo xtask <chore>`.
//!
//! Owns the command line and nothing else: each chore lives in its own file and must not know how it
//! was called.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who started it; no protocol runs over these streams"
)]
#![allow(unreachable_pub, reason = "a binary exports nothing; `pub` marks a chore's entry point")]

mod bench;
mod benchmarks;
mod busy;
mod child;
mod docs;
mod fuzz;
mod gremlin;
mod interrupts;
mod laws;
mod package;
mod pictures;
mod pytest;
mod python_env;
mod pythons;
mod release;
mod servers;
mod site;
mod spec;
mod stages;
mod suite;
mod system;
mod test;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The chores of the inkcell workspace.",
    flatten_help = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every check of the project: format, lints, tests, generated pages, statements.
    Test {
        /// Run only tests whose names contain one of these texts, and no other check.
        names: Vec<String>,
        /// Run fewer cases for each test, and nothing that needs a server or a release build.
        #[arg(long)]
        quick: bool,
        /// Run the soak and matrix tests too: every Python, long gremlin, fuzz targets, packages.
        #[arg(long, conflicts_with = "quick")]
        all: bool,
        /// Run each named test N times.
        #[arg(long, value_name = "N", requires = "names", default_value_t = 1)]
        repeat: u32,
        /// Keep every core busy during the tests.
        #[arg(long)]
        busy: bool,
        /// Run part K of N of the Rust tests, for machines that share the work.
        #[arg(long, value_name = "K/N")]
        partition: Option<String>,
    },
    /// Run a sample of the runner's suites on the oldest and the newest CPython on this machine.
    Pythons {
        /// Run the whole suites on every CPython.
        #[arg(long)]
        all: bool,
    },
    /// Create the Python environments with the servers that tests use, and print their paths.
    Servers,
    /// List the statements of the source documents with their tests.
    Spec {
        /// The folder with behaviour.md and reliability.md [default: ../shared/spec].
        dir: Option<PathBuf>,
    },
    /// Check the document laws on every notebook in a folder.
    Laws {
        /// The folder to walk.
        dir: PathBuf,
    },
    /// Run the fuzz targets for a limited time.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u64,
        /// The only target to run [default: all targets].
        target: Option<String>,
    },
    /// Run a badly behaved client against the MCP server, and inject faults.
    Gremlin {
        /// Seconds until the run ends.
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u64,
        /// Seed of the random actions; the same seed repeats them.
        #[arg(long, value_name = "S", conflicts_with = "replay")]
        seed: Option<u64>,
        /// Repeat the actions in this log.
        #[arg(long, value_name = "FILE")]
        replay: Option<PathBuf>,
    },
    /// Generate the pages about commands, settings and tools from the real binary.
    Docs {
        /// Only compare, and fail if a page is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Build the pages of docs as a site in target/site, and fail at a dead link.
    Site,
    /// Generate the pictures in the README from the prompt and the notebook in a terminal.
    Pictures,
    /// Make the packages of a release, and try each as its users would.
    Package {
        /// The kinds to make [default: all].
        #[arg(value_enum, value_name = "KIND")]
        kinds: Vec<package::Kind>,
        /// Pack the binary of this wheel [default: make the portable wheel].
        #[arg(long, value_name = "FILE")]
        wheel: Option<PathBuf>,
    },
    /// Check whether a release is ready, or set its version.
    Release {
        #[command(flatten)]
        action: release::Action,
    },
    /// Run benchmarks; each family has its own arguments.
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    match chore {
        Chore::Test { names, quick, all, repeat, busy, partition } => {
            interrupts::restore(std::env::args_os().skip(1))?;
            let depth = match (quick, all) {
                (true, _) => test::Depth::Quick,
                (_, true) => test::Depth::All,
                _ => test::Depth::Full,
            };
            test::run(&workspace, &test::Options { depth, names, repeat, partition, busy })
        }
        Chore::Pythons { all } => {
            let depth = if all { test::Depth::All } else { test::Depth::Full };
            let loud = pythons::run(&workspace, depth)?;
            loud.iter().for_each(|line| println!("!! {line}"));
            Ok(())
        }
        Chore::Servers => {
            let servers = servers::prepare(&workspace)?;
            servers.loud.iter().for_each(|line| println!("!! {line}"));
            // Print the variables in the form that a shell reads.
            let told = servers.told.iter();
            told.for_each(|(name, value)| println!("export {name}={}", value.display()));
            Ok(())
        }
        Chore::Spec { dir } => {
            let dir = dir.unwrap_or_else(|| workspace.path(spec::DEFAULT_DIR));
            spec::run(&workspace, &dir, spec::Listing::Every)
        }
        Chore::Laws { dir } => laws::run(&dir),
        Chore::Fuzz { seconds, target } => fuzz::run(&workspace, seconds, target.as_deref()),
        Chore::Gremlin { seconds, seed, replay } => {
            gremlin::run(&workspace, &gremlin::Options { seconds, seed, replay })
        }
        Chore::Docs { check } => {
            docs::run(&workspace, if check { docs::Mode::Check } else { docs::Mode::Write })
        }
        Chore::Package { kinds, wheel } => {
            package::run(&workspace, package::Options { kinds, wheel })
        }
        Chore::Release { action } => release::run(&workspace, &action),
        Chore::Site => site::run(&workspace),
        Chore::Pictures => pictures::run(&workspace),
        Chore::Bench { args } => bench::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn help_shows_the_flags_of_every_chore() {
        use clap::CommandFactory as _;
        let help = Cli::command().render_help().to_string();
        for part in [
            "test",
            "--quick",
            "--repeat",
            "--busy",
            "pythons",
            "servers",
            "spec",
            "laws",
            "fuzz",
            "--seconds",
            "gremlin",
            "--replay",
            "docs",
            "--check",
            "package",
            "--wheel",
            "release",
            "--set",
            "bench",
        ] {
            assert!(help.contains(part), "{part} is missing in:\n{help}");
        }
    }

    #[test]
    fn bench_gets_its_arguments_untouched() {
        let cli = Cli::parse_from(["xtask", "bench", "open", "--help", "-n", "3"]);
        let Chore::Bench { args } = cli.chore else { panic!("not bench") };
        assert_eq!(args, ["open", "--help", "-n", "3"]);
    }
}
