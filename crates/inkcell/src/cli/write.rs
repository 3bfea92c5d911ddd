//! `inkcell write`: writes virtual text, or the JSON of a whole notebook, into a file.

use inkcell_engine::IfMissing;
use inkcell_engine::notebook::{DropRule, OutputsAfter, SourceShape, TextRules};

use crate::args::Write;
use crate::cli::{edit, input};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn run(args: &Write, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let text = input::stdin_text()?;
    let options = edit::options(&args.save, IfMissing::CreateNotebook)?;
    let rules = TextRules {
        drop: DropRule::Exactly(args.drop),
        outputs: if args.clear_changed { OutputsAfter::ClearIfChanged } else { OutputsAfter::Keep },
        shape: SourceShape::Keep,
    };
    let saved = settings
        .notebooks
        .change(&args.path, &options, |notebook, base| base.put_text(notebook, &text, rules))?;
    edit::answer(output, &saved)
}
