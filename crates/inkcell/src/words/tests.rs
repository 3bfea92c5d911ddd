//! What hints name: each face has flags, commands and arguments of its own, and no hint names those of another.

use std::collections::BTreeSet;
use std::path::Path;

use inkcell_engine::NextStep;
use inkcell_engine::api::KernelStep;
use regex::Regex;

use super::step::Audience;
use crate::args;

const PATH: &str = "nb.ipynb";

/// The places whose sentences a model reads.
const OF_MODELS: [&str; 8] = [
    "mcp",
    "view/inspection.rs",
    "view/outline.rs",
    "view/reading.rs",
    "view/reply",
    "view/reply.rs",
    "view/report.rs",
    "view/sessions.rs",
];

/// The words of the source documents, as the compatible tools say them.
const OF_DOCUMENTS: &str = "tool::PYTHON_DISABLED_COMPAT";

/// Arguments of tools, as a hint for a model writes them.
const ARGUMENTS: [&str; 7] =
    ["create: true", "all: true", "drop: ", "if_hash", "notebook_", "backend: ", "id: \""];

/// Words after the name of the program that are not commands.
const VERBS: [&str; 7] = ["does", "is", "on", "that", "was", "runs", "knows"];

/// Files of the libraries whose texts name flags or commands, and how many do: arguments of other programs, errors of
/// requests that only a command can make, and errors for the command line beside those for JSON.
const LIBRARY_EXCEPTIONS: [(&str, usize); 6] = [
    ("engine/src/edit/operations.rs", 2),
    ("engine/src/run/mod.rs", 4),
    ("kernel/src/gateway/contents.rs", 2),
    ("kernel/src/python/managed.rs", 1),
    ("kernel/src/python/managed/error.rs", 1),
    ("kernel/src/python/managed/ways.rs", 12),
];

/// Every step, each once.
fn steps() -> Vec<NextStep<'static>> {
    let mut all = vec![NextStep::MakeFirst(PATH)];
    while let Some(next) = all.last().copied().and_then(after) {
        all.push(next);
    }
    all
}

/// The step after this one, so that a new one cannot be left out.
fn after(step: NextStep<'_>) -> Option<NextStep<'static>> {
    Some(match step {
        NextStep::MakeFirst(_) => NextStep::EditInstead(PATH),
        NextStep::EditInstead(_) => NextStep::RenameToNotebook("nb"),
        NextStep::RenameToNotebook(_) => NextStep::ChooseOther,
        NextStep::ChooseOther => NextStep::ReplaceEmpty,
        NextStep::ReplaceEmpty => NextStep::TryIfSaving,
        NextStep::TryIfSaving => NextStep::SeeCells(PATH),
        NextStep::SeeCells(_) => NextStep::MakeFolder("work"),
        NextStep::MakeFolder(_) => NextStep::ChooseState,
        NextStep::ChooseState => NextStep::WriteText,
        NextStep::WriteText => NextStep::RunScript("job.py"),
        NextStep::RunScript(_) => NextStep::LookAtJson(PATH),
        NextStep::LookAtJson(_) => NextStep::LookAtCells(PATH),
        NextStep::LookAtCells(_) => NextStep::RaiseLimit,
        NextStep::RaiseLimit => NextStep::BeginWithMarker("x = 1"),
        NextStep::BeginWithMarker(_) => NextStep::SayDropped(2),
        NextStep::SayDropped(_) => NextStep::AskForAll,
        NextStep::AskForAll => NextStep::ReadWhole(PATH),
        NextStep::ReadWhole(_) => NextStep::ReadAgain(PATH),
        NextStep::ReadAgain(_) => NextStep::ReadVersion(PATH),
        NextStep::ReadVersion(_) => NextStep::TryLater,
        NextStep::TryLater => NextStep::NameNotebook,
        NextStep::NameNotebook => NextStep::MakeWritable(PATH),
        NextStep::MakeWritable(_) => NextStep::WriteElsewhere,
        NextStep::WriteElsewhere => NextStep::StayInside,
        NextStep::StayInside => NextStep::FreeSpace,
        NextStep::FreeSpace => NextStep::CheckPermissions,
        NextStep::CheckPermissions => NextStep::InstallPython,
        NextStep::InstallPython => NextStep::NameOtherPython,
        NextStep::NameOtherPython => NextStep::ChooseCwd,
        NextStep::ChooseCwd => NextStep::RaiseStartTimeout,
        NextStep::RaiseStartTimeout => NextStep::RaiseOpenFiles,
        NextStep::RaiseOpenFiles => NextStep::SeeArtifacts,
        NextStep::SeeArtifacts => NextStep::UseOtherBackend,
        NextStep::UseOtherBackend => NextStep::SeeKernels,
        NextStep::SeeKernels => NextStep::InstallKernel,
        NextStep::InstallKernel => NextStep::SayPython,
        NextStep::SayPython => NextStep::OtherSession,
        NextStep::OtherSession => NextStep::GiveToken,
        NextStep::GiveToken => NextStep::RenewToken,
        NextStep::RenewToken => NextStep::CheckGateway,
        NextStep::CheckGateway => NextStep::CloseThere,
        NextStep::CloseThere => NextStep::RunNeeded,
        NextStep::RunNeeded => return None,
    })
}

const KERNEL_STEPS: [KernelStep; 11] = [
    KernelStep::RunNeeded,
    KernelStep::NameOtherPython,
    KernelStep::ChooseCwd,
    KernelStep::RaiseStartTimeout,
    KernelStep::ChooseState,
    KernelStep::RaiseOpenFiles,
    KernelStep::RaiseTimeout,
    KernelStep::TryLater,
    KernelStep::GiveToken,
    KernelStep::RenewToken,
    KernelStep::CheckGateway,
];

/// The flags and the commands of the program.
struct CommandLine {
    flags: BTreeSet<String>,
    commands: BTreeSet<String>,
}

impl CommandLine {
    fn new() -> CommandLine {
        fn collect(command: &clap::Command, flags: &mut BTreeSet<String>) {
            let longs = command.get_arguments().filter_map(clap::Arg::get_long);
            flags.extend(longs.map(|long| format!("--{long}")));
            command.get_subcommands().for_each(|inner| collect(inner, flags));
        }
        let command = args::command();
        let mut flags = BTreeSet::new();
        collect(&command, &mut flags);
        let commands = command.get_subcommands().map(|inner| inner.get_name().to_owned());
        CommandLine { flags, commands: commands.collect() }
    }

    /// The commands of the program that a text names.
    fn commands_in(&self, text: &str) -> Vec<String> {
        words_after("inkcell", text)
            .into_iter()
            .filter(|word| self.commands.contains(word))
            .collect()
    }

    /// What a text names that the program does not have.
    fn unknown_in(&self, text: &str) -> Vec<String> {
        let flags = flags_in(text).into_iter().filter(|flag| !self.flags.contains(flag));
        let is_known =
            |word: &String| self.commands.contains(word) || VERBS.contains(&word.as_str());
        let commands = words_after("inkcell", text).into_iter().filter(|word| !is_known(word));
        flags.chain(commands).collect()
    }

    /// What a text for a model names that a model does not have. A command may be named if a person is to run it.
    fn foreign_in(&self, text: &str) -> Vec<String> {
        // Flags of other programs, which anyone may run.
        let is_other = ["git ", "jupyter nbconvert"].iter().any(|program| text.contains(program));
        let mut found = if is_other { Vec::new() } else { flags_in(text) };
        if !text.contains("user") && !text.contains("person") {
            found.extend(self.commands_in(text));
        }
        found.extend(text.contains("eval.py").then(|| "eval.py".to_owned()));
        found
    }
}

fn flags_in(text: &str) -> Vec<String> {
    let flag = Regex::new(r#"(?:^|[\s(`'"])(--[a-z][a-z-]*)"#).unwrap();
    flag.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn words_after(name: &str, text: &str) -> Vec<String> {
    let named = Regex::new(&format!(r"\b{name} ([a-z]+)")).unwrap();
    named.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// The Rust files at a place of the workspace's crates, without tests.
fn sources(place: &str) -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut open = vec![crates.join(place)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.strip_prefix(crates).unwrap().display().to_string();
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.contains("/tests/")
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            found.push((name, text[..end].to_owned()));
        }
    }
    assert!(!found.is_empty(), "nothing at {place}");
    found
}

/// The string literals of a source, without comments and log lines.
fn literals(text: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.contains("tracing::");
    let code = text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
    let code = code.replace("'\"'", "");
    let joined = Regex::new(r"\\\n\s*").unwrap().replace_all(&code, "").into_owned();
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
    literal.captures_iter(&joined).map(|found| found[1].to_owned()).collect()
}

/// The names of sentences that these sources use, as `module::name`.
fn used(places: &[&str]) -> BTreeSet<String> {
    let direct = Regex::new(r"words::([a-z_]+::[A-Za-z_]+)").unwrap();
    let listed = Regex::new(r"use crate::words::\{([^}]*)\}").unwrap();
    let mut names = BTreeSet::new();
    for place in places {
        for (_, text) in sources(&format!("inkcell/src/{place}")) {
            names.extend(direct.captures_iter(&text).map(|found| found[1].to_owned()));
            for found in listed.captures_iter(&text) {
                let parts = found[1].split(',').map(|part| part.trim().to_owned());
                names.extend(parts.filter(|part| part.contains("::")));
            }
        }
    }
    names
}

/// The texts of a sentence: the literals of its definition.
fn texts(name: &str) -> Vec<String> {
    let (module, name) = name.split_once("::").unwrap();
    let (_, text) = sources(&format!("inkcell/src/words/{module}.rs")).remove(0);
    let begins = [format!("pub(crate) const {name}:"), format!("pub(crate) fn {name}(")];
    let Some(at) = begins.iter().find_map(|begin| text.find(begin)) else { return Vec::new() };
    let rest = &text[at..];
    let end = ["\npub(crate) ", "\nfn ", "\n///", "\nimpl "].iter();
    let end = end.filter_map(|next| rest.find(*next)).min().unwrap_or(rest.len());
    literals(&rest[..end])
}

/// Each step after an error names what its reader has.
#[test]
fn every_step_names_what_its_reader_has() {
    let line = CommandLine::new();
    let both = steps().into_iter().map(|step| {
        (format!("{step:?}"), [Audience::Person, Audience::Model].map(|reader| reader.step(step)))
    });
    let of_kernels = KERNEL_STEPS.map(|step| {
        (
            format!("{step:?}"),
            [Audience::Person, Audience::Model].map(|reader| reader.kernel_step(step)),
        )
    });
    for (step, [person, model]) in both.chain(of_kernels) {
        let unknown = line.unknown_in(&person);
        assert!(unknown.is_empty(), "{step}, {person:?}: there is no {unknown:?}");
        let argument = ARGUMENTS.iter().find(|argument| person.contains(**argument));
        assert_eq!(argument, None, "{step}: {person:?}");
        let foreign = line.foreign_in(&model);
        assert!(foreign.is_empty(), "{step}, {model:?}: a model has no {foreign:?}");
    }
}

/// The sentences that answers of tools are made of name no flag, and a command only for a person.
#[test]
fn sentences_for_models_name_no_flag() {
    let line = CommandLine::new();
    let names = used(&OF_MODELS);
    assert!(names.len() > 100, "{names:?}");
    for name in names.iter().filter(|name| *name != OF_DOCUMENTS) {
        for text in texts(name) {
            let foreign = line.foreign_in(&text);
            assert!(foreign.is_empty(), "{name}, {text:?}: a model has no {foreign:?}");
        }
    }
    // The rule sees something.
    assert!(!line.foreign_in("give --cells").is_empty());
    assert!(!line.foreign_in("see inkcell read").is_empty());
    assert!(texts("tool::LIST_SHOWS").iter().any(|text| !line.foreign_in(text).is_empty()));
}

/// Flags and commands in sentences for people exist.
#[test]
fn sentences_name_flags_and_commands_that_exist() {
    let line = CommandLine::new();
    for (file, text) in sources("inkcell/src/words") {
        for literal in literals(&text) {
            let unknown = line.unknown_in(&literal);
            assert!(unknown.is_empty(), "{file}, {literal:?}: there is no {unknown:?}");
        }
    }
}

/// Errors of the libraries are read by people and models, so they name no flag and no command of either.
#[test]
fn errors_of_the_libraries_name_no_flag() {
    let line = CommandLine::new();
    let mut wrong = Vec::new();
    for krate in ["notebook", "kernel", "engine"] {
        for (file, text) in sources(&format!("{krate}/src")) {
            let mut found = literals(&text);
            found.retain(|literal| !line.foreign_in(literal).is_empty());
            let row = LIBRARY_EXCEPTIONS.iter().find(|(name, _)| *name == file);
            if found.len() != row.map_or(0, |(_, count)| *count) {
                wrong.push(format!("{file} has {}: {found:?}", found.len()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "say these with a step, which each face has in its own words: {wrong:#?}"
    );
}
