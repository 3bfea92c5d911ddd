//! Help as people read it: its groups, its width, its prose, and what a mistyped word is told.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, ArgAction};
use inkcell_testkit::prose::{self, Place};

use super::page::{GLOBAL, section};
use super::*;

/// The program with everything that parsing adds.
fn built() -> clap::Command {
    let mut program = command();
    program.build();
    program
}

/// Every command that is shown, with its words.
fn all_commands() -> Vec<(Vec<String>, clap::Command)> {
    type Found = Vec<(Vec<String>, clap::Command)>;
    fn collect(command: &clap::Command, path: &[String], found: &mut Found) {
        found.push((path.to_vec(), command.clone()));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            collect(below, &[path, &[below.get_name().to_owned()]].concat(), found);
        }
    }
    let mut found = Vec::new();
    collect(&built(), &[], &mut found);
    assert!(found.len() > 45, "{}", found.len());
    found
}

fn page(path: &[String], is_long: bool, width: usize) -> String {
    let page = HelpPage { path: path.to_vec(), is_long, is_answer: true };
    page.render(PageStyle::new(width, false))
}

fn read(line: &str) -> Result<Args, NoCommand> {
    Args::read(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
}

fn mistake(line: &str) -> Mistake {
    match read(line) {
        Err(NoCommand::Mistake(mistake)) => mistake,
        Ok(Args { command: Command::Help(help), .. }) => help.page().expect_err(line),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_command_is_in_one_group() {
    let mut seen = BTreeMap::new();
    for name in GROUPS.iter().flat_map(|(_, names)| *names) {
        *seen.entry((*name).to_owned()).or_insert(0) += 1;
    }
    let program = built();
    let names = program.get_subcommands().filter(|below| !below.is_hide_set());
    let wanted: BTreeMap<String, i32> =
        names.map(|below| (below.get_name().to_owned(), 1)).collect();
    assert_eq!(seen, wanted);
}

#[test]
fn definition_of_the_arguments_is_sound() {
    command().debug_assert();
}

#[test]
fn help_is_never_wider_than_the_terminal() {
    for (path, _) in all_commands() {
        for (width, is_long) in [(80, false), (80, true), (120, false), (120, true), (200, true)] {
            for line in page(&path, is_long, width).lines() {
                let columns = line.chars().count();
                assert!(columns <= width.min(100), "{path:?} at {width}: {columns}: {line}");
            }
        }
    }
    for topic in topics::TOPICS {
        let path = [topic.name.to_owned()];
        assert!(page(&path, true, 80).lines().all(|line| line.chars().count() <= 80), "{path:?}");
    }
}

#[test]
fn help_in_a_narrow_terminal_stacks_its_rows() {
    let page = page(&["run".to_owned()], false, 40);
    assert!(
        page.contains("\n  -o, --output <OUT>\n          Write to OUT and leave the\n"),
        "{page}"
    );
    assert!(page.lines().all(|line| line.chars().count() <= 40), "{page}");
}

#[test]
fn short_help_is_one_screen_with_one_line_a_flag() {
    for (path, command) in all_commands() {
        let page = page(&path, false, 80);
        let most = if path.is_empty() { 75 } else { 60 };
        assert!(page.lines().count() <= most, "{} lines of\n{page}", page.lines().count());
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_short_help_set());
        for arg in flags.filter(|arg| !path.is_empty() && !arg.is_hide_set()) {
            let help = match arg.get_id().as_str() {
                "help" => "Print help (--help prints details)".to_owned(),
                _ => arg.get_help().expect("help").to_string(),
            };
            let help = help.split(" [default: ").next().unwrap_or_default();
            let is_beside =
                |line: &str| line.trim_start().starts_with(['-', '<', '[']) && line.contains(help);
            assert!(
                page.lines().any(is_beside),
                "{path:?}: {help:?} is not on one line of\n{page}"
            );
        }
    }
}

#[test]
fn global_options_are_the_last_section() {
    for (path, command) in all_commands() {
        let global = ["json", "roots", "no_pager", "color", "help"];
        for arg in command.get_arguments() {
            let is_global = global.contains(&arg.get_id().as_str()) || arg.get_id() == "version";
            assert_eq!(section(arg) == GLOBAL, is_global, "{path:?} {arg}");
        }
        let page = page(&path, false, 80);
        let (_, last) = page.split_once("\nGlobal options:\n").expect("a section");
        let names = ["--json", "--root <DIR>", "--no-pager", "--color <WHEN>", "-h, --help"];
        let lines: Vec<&str> = last.lines().map(str::trim_start).collect();
        let found = names.map(|name| lines.iter().position(|line| line.starts_with(name)));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), Some(4)], "{path:?}: {last}");
    }
}

#[test]
fn long_commands_have_their_flags_under_headings() {
    let table: [(&str, &[&str]); 3] = [
        ("run", &page::SECTIONS[2..]),
        ("py", &["Python and kernel", "Limits", "Output"]),
        ("verify", &["Which cells", "Python and kernel", "Limits", "Output"]),
    ];
    for (name, wanted) in table {
        let page = page(&[name.to_owned()], false, 80);
        let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
        let headings = page.lines().filter(is_heading).map(|line| line.trim_end_matches(':'));
        let headings: Vec<&str> =
            headings.filter(|title| !["Arguments", "Options", GLOBAL].contains(title)).collect();
        assert_eq!(headings, wanted, "{page}");
    }
}

/// Everything that is wrong with a text of help.
fn faults(text: &str) -> Vec<String> {
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
    let text = text.join("\n");
    [prose::faults(&text, Place::Help), prose::long_sentences(&text)].concat()
}

/// Everything that is wrong with the one line about something.
fn summary_faults(text: &str, most: usize) -> Vec<String> {
    let mut faults = faults(text);
    if text.ends_with('.') {
        faults.push("ends with a full stop".to_owned());
    }
    let without_default = text.split(" [default: ").next().unwrap_or_default();
    if without_default.chars().count() > most {
        faults.push(format!("has more than {most} characters"));
    }
    if !text.starts_with(|first: char| first.is_ascii_uppercase() || first == '-') {
        faults.push("does not begin with a capital".to_owned());
    }
    faults
}

fn argument_faults(arg: &Arg) -> Vec<String> {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut faults = summary_faults(&help, 70);
    if let Some(details) = arg.get_long_help() {
        faults.extend(self::faults(&details.to_string()));
    }
    let is_repeatable = matches!(arg.get_action(), ArgAction::Append) && !arg.is_positional();
    if is_repeatable != help.contains("(repeatable)") {
        faults.push("is (repeatable), or says so and is not".to_owned());
    }
    for value in arg.get_possible_values() {
        let help = value.get_help().map(ToString::to_string);
        faults.extend(help.iter().flat_map(|help| summary_faults(help, 80)));
    }
    faults
}

#[test]
fn help_is_written_as_people_speak() {
    let mut wrong = Vec::new();
    for (path, command) in all_commands() {
        let name = path.join(" ");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // The program's own line names the three places in which it is used.
        let most = if path.is_empty() { 75 } else { 70 };
        let mut found: Vec<String> = summary_faults(&about, most)
            .iter()
            .map(|fault| format!("{name}: {about:?} {fault}"))
            .collect();
        for text in [command.get_long_about(), command.get_after_help()].into_iter().flatten() {
            found.extend(faults(&text.to_string()).iter().map(|fault| format!("{name}: {fault}")));
        }
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let faults = argument_faults(arg);
            found.extend(faults.iter().map(|fault| format!("{name} {arg}: {fault}")));
        }
        wrong.extend(found);
    }
    for (code, meaning) in crate::exit::codes() {
        let faults = faults(meaning);
        wrong.extend(faults.iter().map(|fault| format!("exit code {code}: {fault}")));
    }
    for topic in topics::TOPICS {
        let faults = faults(&page(&[topic.name.to_owned()], true, 100));
        wrong.extend(faults.iter().map(|fault| format!("topic {}: {fault}", topic.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn bad_prose_is_found() {
    for text in [
        "Say which Python is used",
        "Print so many lines",
        "Print the lines.",
        "print the lines",
        "Do it anew",
        "Print outputs; there is a limit",
        "Print the lines that match a regular expression, in the sources and in every output that the notebook has",
    ] {
        assert!(!summary_faults(text, 70).is_empty(), "{text}");
    }
    assert_eq!(summary_faults("Print lines that match", 70), Vec::<String>::new());
}

/// The command that a hint says to type.
fn command_in(hint: &str) -> &str {
    match hint.split_once("did you mean: ") {
        Some((_, command)) => command,
        None => hint.split('\'').nth(1).unwrap_or_else(|| panic!("no command in {hint}")),
    }
}

#[test]
fn mistakes_are_told_in_one_line_with_a_hint() {
    let table = [
        (
            "inkcell sesions",
            "'inkcell' has no command 'sesions'",
            "did you mean 'inkcell sessions'?",
        ),
        (
            "inkcell raed a.ipynb",
            "'inkcell' has no command 'raed'",
            "did you mean 'inkcell read a.ipynb'?",
        ),
        (
            "inkcell xyzzy",
            "'inkcell' has no command 'xyzzy'",
            "list the commands with 'inkcell help'",
        ),
        (
            "inkcell host strat",
            "'inkcell host' has no command 'strat'",
            "did you mean 'inkcell host start'?",
        ),
        (
            "inkcell run a.ipynb --allow-erors",
            "'inkcell run' has no option '--allow-erors'",
            "did you mean 'inkcell run a.ipynb --allow-errors'?",
        ),
        (
            "inkcell run a.ipynb --xyzzy",
            "'inkcell run' has no option '--xyzzy'",
            "list the options with 'inkcell run -h'",
        ),
        (
            "inkcell read a.ipynb --outputs ful",
            "invalid value 'ful' for '--outputs <OUTPUTS>' (allowed: none, digest, full)",
            "did you mean 'inkcell read a.ipynb --outputs full'?",
        ),
        (
            "inkcell read it's.ipynb --outputs=ful",
            "invalid value 'ful' for '--outputs <OUTPUTS>' (allowed: none, digest, full)",
            "did you mean: inkcell read 'it'\\''s.ipynb' --outputs=full",
        ),
        (
            "inkcell read a.ipynb --outputs 7",
            "invalid value '7' for '--outputs <OUTPUTS>' (allowed: none, digest, full)",
            "see how to use it with 'inkcell read --help'",
        ),
        (
            "inkcell read a.ipynb --cells",
            "'--cells <LIST>' needs a value",
            "see how to use it with 'inkcell read --help'",
        ),
        (
            "inkcell py --timeout soon 1",
            "invalid value 'soon' for '--timeout <SECONDS>': give seconds from 0 to 604800, such as 30 or 0.5",
            "see how to use it with 'inkcell py --help'",
        ),
        ("inkcell to script", "missing <PATH>", "see how to use it with 'inkcell to --help'"),
        (
            "inkcell new a.ipynb b.ipynb",
            "unexpected argument 'b.ipynb'",
            "see how to use it with 'inkcell new --help'",
        ),
        (
            "inkcell py 1 --file x.py",
            "'[CODE]...' cannot be used with '--file <FILE>'",
            "see how to use it with 'inkcell py --help'",
        ),
        ("inkcell --json", "no command given", "list the commands with 'inkcell help'"),
        (
            "inkcell help runn",
            "no command or topic named 'runn'",
            "did you mean 'inkcell help run'?",
        ),
        (
            "inkcell help exit",
            "no command or topic named 'exit'",
            "did you mean 'inkcell help exit-codes'?",
        ),
        (
            "inkcell help xyzzy",
            "no command or topic named 'xyzzy'",
            "list the topics with 'inkcell help topics'",
        ),
    ];
    for (line, message, hint) in table {
        let found = mistake(line);
        assert_eq!(
            (found.message.as_str(), found.hint.as_deref()),
            (message, Some(hint)),
            "{line}"
        );
        let command = command_in(hint);
        if !command.contains('\'') {
            let again = read(command);
            assert!(!matches!(again, Err(NoCommand::Mistake(_))), "{command}: {again:?}");
        }
    }
}

#[test]
fn help_is_found_by_every_way_of_asking() {
    let cases: [(&str, &str, bool, bool); 9] = [
        ("inkcell", "", false, false),
        ("inkcell -h", "", false, true),
        ("inkcell --help", "", true, true),
        ("inkcell run -h", "run", false, true),
        ("inkcell --root run run --help", "run", true, true),
        ("inkcell edit a.ipynb insert --help", "edit insert", true, true),
        ("inkcell host", "host", false, false),
        ("inkcell host start -h", "host start", false, true),
        ("inkcell host help", "host", true, true),
    ];
    for (line, path, is_long, is_answer) in cases {
        let path = path.split_whitespace().map(str::to_owned).collect();
        match read(line) {
            Err(NoCommand::Help(page)) => {
                assert_eq!(page, HelpPage { path, is_long, is_answer }, "{line}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    for line in
        ["inkcell help", "inkcell help run", "inkcell help host start", "inkcell help topics"]
    {
        let Ok(Args { command: Command::Help(help), .. }) = read(line) else { panic!("{line}") };
        assert!(help.page().is_ok(), "{line}");
    }
    assert!(matches!(read("inkcell --version"), Err(NoCommand::Version(_))));
}

#[test]
fn color_is_read_from_words_that_have_a_mistake() {
    let color =
        |line: &str| ColorArg::named_in(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
    assert_eq!(color("inkcell xyzzy --color always"), ColorArg::Always);
    assert_eq!(color("inkcell --color=never xyzzy"), ColorArg::Never);
    assert_eq!(color("inkcell --color sometimes"), ColorArg::Auto);
    assert_eq!(color("inkcell xyzzy --color"), ColorArg::Auto);
}
