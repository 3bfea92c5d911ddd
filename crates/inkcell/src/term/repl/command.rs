//! Input at the prompt other than code: commands, which begin with a colon, and questions about a name.
//!
//! Owns their syntax. The loop carries them out. Pure.

use crate::words;

/// An input that is not code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    Help,
    Save {
        path: String,
        over: Over,
    },
    Restart,
    Interrupt,
    Sessions,
    Attach(String),
    Quit,
    /// Shows the documentation of a name, with its source on request.
    About {
        name: String,
        detail: Detail,
    },
}

/// Permission to overwrite an existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    Refused,
    Wanted,
}

/// How much to show about a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    Usual,
    Source,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReplInput {
    Nothing,
    Code(String),
    Command(Command),
    /// An unknown or malformed command, with the reason.
    Slip(String),
}

/// Parses an input. Text that starts with a colon is a command or a mistake.
pub(crate) fn typed(text: &str) -> ReplInput {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return ReplInput::Nothing;
    }
    if matches!(trimmed, "exit" | "quit" | "exit()" | "quit()") {
        return ReplInput::Command(Command::Quit);
    }
    if let Some(command) = trimmed.strip_prefix(':') {
        return colon(command);
    }
    match about(trimmed) {
        Some(command) => ReplInput::Command(command),
        None => ReplInput::Code(text.trim_end().to_owned()),
    }
}

fn colon(command: &str) -> ReplInput {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    let alone = |command: Command| match rest {
        "" => ReplInput::Command(command),
        rest => ReplInput::Slip(words::repl::takes_nothing(word, rest)),
    };
    let needs = |(what, hint)| ReplInput::Slip(words::repl::needs(word, what, hint));
    match word {
        "help" | "h" | "?" => alone(Command::Help),
        "restart" => alone(Command::Restart),
        "interrupt" => alone(Command::Interrupt),
        "sessions" => alone(Command::Sessions),
        "quit" | "q" | "exit" => alone(Command::Quit),
        "attach" if rest.is_empty() => needs(words::repl::A_SESSION),
        "attach" => ReplInput::Command(Command::Attach(rest.to_owned())),
        "save" | "save!" if rest.is_empty() => needs(words::repl::A_FILE),
        "save" | "save!" => {
            let over = if word == "save" { Over::Refused } else { Over::Wanted };
            ReplInput::Command(Command::Save { path: rest.to_owned(), over })
        }
        _ => ReplInput::Slip(words::repl::no_command(word)),
    }
}

/// Parses a question about a name: `name?` or `?name`, with two marks for its source.
fn about(text: &str) -> Option<Command> {
    let name = text.trim_matches('?');
    let marks = text.len() - name.len();
    let is_one_sided = text.starts_with('?') != text.ends_with('?');
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let is_asked = is_one_sided && (1..=2).contains(&marks) && name.split('.').all(is_name);
    let detail = if marks == 2 { Detail::Source } else { Detail::Usual };
    is_asked.then(|| Command::About { name: name.to_owned(), detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 9: commands and questions have their own syntax.
    #[test]
    fn commands_and_questions_are_told_from_code() {
        let about = |name: &str, detail| Command::About { name: name.to_owned(), detail };
        let save = |path: &str, over| Command::Save { path: path.to_owned(), over };
        let commands = [
            (":help", Command::Help),
            ("  :quit  ", Command::Quit),
            ("exit()", Command::Quit),
            ("quit", Command::Quit),
            (":save my work.ipynb", save("my work.ipynb", Over::Refused)),
            (":save! a.ipynb", save("a.ipynb", Over::Wanted)),
            (":attach x", Command::Attach("x".to_owned())),
            (":restart", Command::Restart),
            (":interrupt", Command::Interrupt),
            (":sessions", Command::Sessions),
            ("print?", about("print", Detail::Usual)),
            ("?a.b_1", about("a.b_1", Detail::Usual)),
            ("a.b??", about("a.b", Detail::Source)),
        ];
        for (text, command) in commands {
            assert_eq!(typed(text), ReplInput::Command(command), "{text}");
        }
        for text in
            ["x = 1", "x if y else z", "%time f()", "!ls a?", "a b?", "1?", "a.?", "???", "?a?"]
        {
            assert_eq!(typed(text), ReplInput::Code(text.to_owned()), "{text}");
        }
        for text in [":save", ":attach", ":nothing", ":restart now", ":"] {
            assert!(matches!(typed(text), ReplInput::Slip(_)), "{text}");
        }
        assert_eq!(typed(" \n"), ReplInput::Nothing);
        assert_eq!(typed("if x:\n    y\n\n"), ReplInput::Code("if x:\n    y".to_owned()));
    }
}
