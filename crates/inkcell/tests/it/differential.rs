//! Outputs as nbclient with ipykernel stores them, over the notebooks in `tests/differential`.
//!
//! Owns starting the comparison. What is run, what counts as the same and which differences are meant is written
//! there, in Python and in the table of `docs/running.md`.

use std::path::Path;

use inkcell_testkit::env::finish;
use inkcell_testkit::need;

use crate::env;

/// What is stored equals what Jupyter stores, or is a difference that is documented; no difference that is
/// documented is gone.
#[test]
fn outputs_are_what_jupyter_would_have_stored() {
    let env = env();
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    for package in ["nbclient", "ipykernel", "pandas", "matplotlib"] {
        if !need::python_package("outputs_are_what_jupyter_would_have_stored", &python, package) {
            return;
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = env.command(&python);
    command
        .arg("-B")
        .arg(here.join("tests/differential/compare.py"))
        .arg(here.join("../../docs/running.md"))
        .arg(here.join("tests/differential/notebooks"))
        .arg(here.join("../../examples/tour.ipynb"))
        .env("INKCELL", env.program())
        .env("TMPDIR", env.dir());
    if need::is_quick() {
        command.args(["streams", "results", "updates", "errors", "magics"]);
    }
    let done = finish(command, b"");
    assert!(done.code == Some(0), "{}\n{}", done.stdout, done.stderr);
}
