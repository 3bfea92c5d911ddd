//! Document laws on odd and random files, and random edits against a model.

mod model;
mod random;

use inkcell_notebook::Notebook;
use inkcell_testkit::{laws, notebooks};
use proptest::prelude::*;

/// A quick run has fewer cases.
fn config() -> ProptestConfig {
    let is_quick = std::env::var_os("INKCELL_TEST_QUICK").is_some();
    let cases = if is_quick { 48 } else { 256 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// F-062 F-063 F-068 F-071 F-072 F-074 F-075 F-076 F-077
#[test]
fn laws_hold_on_odd_files() {
    for (name, bytes) in notebooks::odd() {
        let verdict = laws::check(&bytes);
        assert_eq!(verdict, Ok(laws::Verdict::Editable), "{name}");
    }
}

proptest! {
    #![proptest_config(config())]

    /// F-062 F-063 F-077 B:N-03
    #[test]
    fn laws_hold_on_random_files(file in random::file()) {
        let bytes = file.render();
        prop_assert_eq!(laws::check(&bytes), Ok(laws::Verdict::Editable));
    }

    /// F-063
    #[test]
    fn batches_do_what_the_model_does(
        file in random::file(),
        ops in prop::collection::vec(model::random_op(), 1..8),
    ) {
        let bytes = file.render();
        let mut notebook = Notebook::parse(bytes.clone()).unwrap();
        let before = model::cells(&notebook);
        let ops: Vec<_> = ops.iter().map(|op| op.aim(notebook.len())).collect();
        let mut ids = inkcell_notebook::IdSource::seeded(3);
        let expected = model::apply(&before, &ops);
        match notebook.apply(&ops, &mut ids) {
            Ok(report) => {
                prop_assert_eq!(report.changes.len(), ops.len());
                model::compare(&notebook, &before, &expected.expect("the model refuses this"))?;
            }
            Err(error) => {
                prop_assert!(expected.is_none(), "refused: {}", error);
                prop_assert_eq!(notebook.to_bytes(), bytes);
            }
        }
    }

    /// F-077 B:V-09 B:V-10 B:V-13 B:V-18
    #[test]
    fn texts_do_what_the_model_does(
        file in random::file(),
        edit in model::random_text(),
    ) {
        let mut notebook = Notebook::parse(file.render()).unwrap();
        let before = model::cells(&notebook);
        let (text, expected, missing) = edit.write(&before);
        let rules = inkcell_notebook::TextRules {
            drop: inkcell_notebook::DropRule::Exactly(missing),
            ..laws::KEEP_ALL
        };
        let mut ids = inkcell_notebook::IdSource::seeded(3);
        notebook.apply_text(&text, rules, &mut ids).unwrap();
        model::compare(&notebook, &before, &expected)?;
    }
}
