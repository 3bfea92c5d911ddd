//! Plain lines broken between words, for help and for errors at a terminal.
//!
//! Owns the places for a break. Must not know colours.

use unicode_width::UnicodeWidthStr;

pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Breaks lines between words. A line that goes on keeps its indentation, and an indented one gets some more.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        if columns(line) <= width {
            lines.push(line.to_owned());
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let hang = if indent == 0 { 0 } else { indent + 4 };
        let mut current = " ".repeat(indent);
        let mut has_word = false;
        for word in line.split_whitespace() {
            if has_word && columns(&current) + 1 + columns(word) > width {
                lines.push(std::mem::replace(&mut current, " ".repeat(hang)));
                has_word = false;
            }
            if has_word {
                current.push(' ');
            }
            current.push_str(word);
            has_word = true;
        }
        lines.push(current);
    }
    lines
}

/// Breaks a line between words. A command in quotes or behind a colon stays whole, so that it can be copied.
pub(crate) fn sentence(line: &str, width: usize) -> Vec<String> {
    // Stands for a space inside a command. A visible line has no such character.
    const JOINT: &str = "\u{1f}";
    let ending = |(at, _): (usize, &str)| line.get(at + 2..).filter(|end| is_command(end));
    let command = line.match_indices(": ").find_map(ending).unwrap_or_default();
    let sentence = &line[..line.len() - command.len()];
    let parts = sentence.split_inclusive(['\'', '`']).map(|part| match is_command(part) {
        true => part.replace(' ', JOINT),
        false => part.to_owned(),
    });
    let joined = parts.chain([command.replace(' ', JOINT)]).collect::<String>();
    wrap(&joined, width).iter().map(|row| row.replace(JOINT, " ")).collect()
}

/// Whether a part of a sentence is a command line, also one with variables or input before `inkcell`.
fn is_command(part: &str) -> bool {
    let first = part.split(' ').find(|word| !word.contains('='));
    let is_piped = part.starts_with("echo ") && part.contains("| inkcell ");
    part.contains(' ') && (first == Some("inkcell") || is_piped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_between_words_and_commands_stay_whole() {
        let table: [(&str, &[&str]); 7] = [
            ("hint: short", &["hint: short"]),
            ("hint: list the files with ls", &["hint: list the files", "with ls"]),
            (
                "hint: don't; use 'inkcell run a.ipynb -o b.ipynb' now",
                &["hint: don't; use", "'inkcell run a.ipynb -o b.ipynb'", "now"],
            ),
            (
                "no code given; such as: inkcell py '1 + 1'",
                &["no code given; such", "as:", "inkcell py '1 + 1'"],
            ),
            (
                "list them with 'A=/dev/null inkcell settings'",
                &["list them with", "'A=/dev/null inkcell settings'"],
            ),
            (
                "pipe the code in, for example: echo 'print(1)' | inkcell py -",
                &["pipe the code in,", "for example:", "echo 'print(1)' | inkcell py -"],
            ),
            ("run `inkcell gateway stop` first", &["run", "`inkcell gateway stop`", "first"]),
        ];
        for (line, wanted) in table {
            assert_eq!(sentence(line, 20), wanted, "{line}");
        }
    }
}
