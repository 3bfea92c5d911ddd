//! The command that goes on with a run that was cut short: the words of this process, with `--resume`.
//!
//! Owns which runs can be resumed, and the place of that word.

use super::PIPE;
use crate::args::Run;
use crate::settings::Settings;
use crate::setup::quoted;
use crate::words;

/// A longer command, such as one with many names of notebooks, is described instead.
const LONGEST: usize = 200;

/// The command that resumes this run, if it can be resumed.
pub(super) fn resumed(args: &Run, settings: &Settings) -> Option<String> {
    let is_chosen_here = args.with_needed || args.cells.as_deref() == Some("stale");
    let is_elsewhere = args.on_server || args.given().any(|given| given == PIPE);
    if args.is_kept() || is_elsewhere || is_chosen_here {
        return None;
    }
    Some(command(settings.typed_words().into_iter()))
}

fn command(words: impl Iterator<Item = String>) -> String {
    const RESUME: &str = "--resume";
    let mut words: Vec<String> = words.filter(|word| word != RESUME).collect();
    // Words behind two dashes are names.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(end, RESUME.to_owned());
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let command = format!("inkcell {}", words.join(" "));
    if command.len() > LONGEST { words::run::SAME_RESUMED.to_owned() } else { command }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_the_same_with_one_more_word() {
        let told = |line: &str| command(line.split(' ').map(str::to_owned));
        assert_eq!(told("run a.ipynb -o b.ipynb"), "inkcell run a.ipynb -o b.ipynb --resume");
        assert_eq!(told("run --resume it's.ipynb"), "inkcell run 'it'\\''s.ipynb' --resume");
        assert_eq!(told("run -- -a.ipynb"), "inkcell run --resume -- -a.ipynb");
        assert_eq!(told(&"name.ipynb ".repeat(30)), "the same command with --resume");
    }
}
