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
    let (sentence, command) = match line.split_once(": inkcell ") {
        Some((sentence, command)) => {
            (format!("{sentence}: "), format!("inkcell {command}").replace(' ', JOINT))
        }
        None => (line.to_owned(), String::new()),
    };
    let parts = sentence.split('\'').map(|part| match part.starts_with("inkcell ") {
        true => part.replace(' ', JOINT),
        false => part.to_owned(),
    });
    let joined = parts.collect::<Vec<_>>().join("'") + &command;
    wrap(&joined, width).iter().map(|row| row.replace(JOINT, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_between_words_and_commands_stay_whole() {
        let table: [(&str, &[&str]); 4] = [
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
        ];
        for (line, wanted) in table {
            assert_eq!(sentence(line, 20), wanted, "{line}");
        }
    }
}
