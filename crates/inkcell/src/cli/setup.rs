//! `inkcell setup`: the entry that a client's configuration needs so that its agent has inkcell's
//! tools.
//!
//! Owns which lines report the outcome. The places and the formats are in `setup/`, the sentences in `words`.

use std::path::Path;

use inkcell_engine::Kind;
use serde_json::{Value, json};

use crate::app::python::text;
use crate::args::{ClientArg, ScopeArg, Setup};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::setup::{
    self, Change, Client, NoCommand, NoPlace, Readers, Refusal, SaveError, Scope, Server,
    command_of, quoted,
};
use crate::words;

impl From<ClientArg> for Client {
    fn from(given: ClientArg) -> Client {
        match given {
            ClientArg::ClaudeCode => Client::ClaudeCode,
            ClientArg::Cursor => Client::Cursor,
            ClientArg::Vscode => Client::VsCode,
            ClientArg::Codex => Client::Codex,
            ClientArg::Zed => Client::Zed,
            ClientArg::Goose => Client::Goose,
        }
    }
}

impl From<ScopeArg> for Scope {
    fn from(given: ScopeArg) -> Scope {
        match given {
            ScopeArg::User => Scope::User,
            ScopeArg::Project => Scope::Project,
        }
    }
}

/// Everything that the command reports.
struct Plan {
    client: Client,
    scope: Scope,
    server: Server,
    file: std::path::PathBuf,
    /// The content of a file with this entry alone.
    alone: String,
}

pub(crate) fn run(args: &Setup, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let (client, scope) = (args.client.into(), args.scope.into());
    let server = server(args, settings)?;
    let file = file(client, scope, settings)?;
    let alone = setup::edit(client.format(), "", &client.entry(&server));
    let (alone, _) = alone.map_err(|refusal| refused(client, &file, args, &refusal))?;
    let plan = Plan { client, scope, server, file, alone };
    let done = if args.write {
        let change = write(&plan, args)?;
        SetupResult::Written(change)
    } else {
        SetupResult::Shown(look(&plan))
    };
    let written = if output.is_json() {
        output.json(&plan.to_json(&done))
    } else {
        plan.lines(&done, args).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// How the client starts us.
fn server(args: &Setup, settings: &Settings) -> Result<Server, Failure> {
    let program = settings.program();
    let program = program.map_err(|error| Failure::Io(words::failure::FIND_PROGRAM, error))?;
    let command = command_of(&program, &settings.program_folders());
    let command = command.map_err(|problem| {
        let (message, hint) = match problem {
            NoCommand::Gone(path) => {
                (words::setup::program_gone(&path.display()), words::setup::RUN_AGAIN)
            }
            NoCommand::NotText(path) => {
                (words::setup::path_not_text(&path.display()), words::setup::OTHER_FOLDER)
            }
        };
        Failure::told(Kind::Unavailable, message, Some(hint.to_owned()))
    })?;
    let args_of = ["mcp"].iter().chain(args.tools.words());
    Ok(Server {
        name: args.name.clone(),
        command,
        args: args_of.map(|word| (*word).to_owned()).collect(),
    })
}

fn file(client: Client, scope: Scope, settings: &Settings) -> Result<std::path::PathBuf, Failure> {
    client.file(scope, &settings.client_places()).map_err(|problem| match problem {
        NoPlace::NoHome => Failure::argument("HOME", words::setup::NO_HOME),
        NoPlace::NoProjectFile => {
            Failure::argument("--scope", words::setup::one_file(client.title()))
        }
    })
}

enum SetupResult {
    Shown(Result<Change, String>),
    Written(Change),
}

/// The change that the file needs, without touching it, or the obstacle as an error text.
fn look(plan: &Plan) -> Result<Change, String> {
    let Plan { client, server, file, .. } = plan;
    let found = setup::read(file).map_err(|error| unsaved(client, &error).0)?;
    let before = found.text.as_deref().unwrap_or_default();
    let edited = setup::edit(client.format(), before, &client.entry(server));
    edited.map(|(_, change)| change).map_err(|refusal| refusal_words(file, &refusal))
}

fn write(plan: &Plan, args: &Setup) -> Result<Change, Failure> {
    let Plan { client, server, file, .. } = plan;
    let failed = |error: SaveError| {
        let (message, kind) = unsaved(client, &error);
        Failure::told(kind, message, Some(by_hand(args)))
    };
    let found = setup::read(file).map_err(failed)?;
    let before = found.text.as_deref().unwrap_or_default();
    let edited = setup::edit(client.format(), before, &client.entry(server));
    let (after, change) = edited.map_err(|refusal| refused(*client, file, args, &refusal))?;
    if change != Change::Nothing {
        let readers = match plan.scope {
            Scope::User => Readers::Owner,
            Scope::Project => Readers::Usual,
        };
        setup::replace(&found, &after, readers).map_err(failed)?;
    }
    Ok(change)
}

impl Plan {
    fn lines(&self, done: &SetupResult, args: &Setup) -> Vec<String> {
        let Plan { client, scope, server, file, alone } = self;
        let (title, file) = (client.title(), file.display());
        let next = format!("next: {}", client.next_step(*scope));
        let mut lines = match done {
            SetupResult::Written(Change::Nothing) => {
                return vec![words::setup::nothing_to_change(&file, &server.name)];
            }
            SetupResult::Written(change) => {
                let what = if *change == Change::Added { "added to" } else { "changed in" };
                vec![format!("{} {what} {file}", server.name), next]
            }
            SetupResult::Shown(state) => {
                let mut lines = vec![words::setup::belongs_into(title, &file)];
                lines.push(String::new());
                lines.extend(alone.lines().map(str::to_owned));
                lines.push(String::new());
                let call = write_call(args);
                lines.push(match state {
                    Ok(Change::Nothing) => words::setup::IS_THERE.to_owned(),
                    Ok(Change::Added) => format!("to write it: {call}"),
                    Ok(Change::Changed) => words::setup::is_there_otherwise(&server.name, &call),
                    Err(problem) => format!("warning: {problem}"),
                });
                if let Some(own) = client.own_command(*scope, server) {
                    lines.push(words::setup::let_client(title, &own));
                }
                lines.push(next);
                lines
            }
        };
        lines.extend(self.note().map(|note| format!("note: {note}")));
        lines
    }

    /// A note for the other people in the project.
    fn note(&self) -> Option<String> {
        let Plan { scope, server, .. } = self;
        (*scope == Scope::Project && server.command.contains('/'))
            .then(|| words::setup::of_this_machine(&server.command))
    }

    fn to_json(&self, done: &SetupResult) -> Value {
        let Plan { client, scope, server, file, alone } = self;
        let word = |change: &Change| match change {
            Change::Nothing => "nothing",
            Change::Added => "added",
            Change::Changed => "changed",
        };
        let (written, state, problem) = match done {
            SetupResult::Written(change) => (Some(word(change)), "present", None),
            SetupResult::Shown(Ok(Change::Nothing)) => (None, "present", None),
            SetupResult::Shown(Ok(Change::Added)) => (None, "absent", None),
            SetupResult::Shown(Ok(Change::Changed)) => (None, "different", None),
            SetupResult::Shown(Err(problem)) => (None, "unusable", Some(problem)),
        };
        json!({
            "client": client.word(),
            "scope": scope.word(),
            "file": text(file),
            "format": client.format().word(),
            "server": {"name": server.name, "command": server.command, "args": server.args},
            "content": alone,
            "state": state,
            "problem": problem,
            "written": written,
            "own_command": client.own_command(*scope, server),
            "next": client.next_step(*scope),
            "note": self.note(),
        })
    }
}

/// The command that writes the shown entry.
fn write_call(args: &Setup) -> String {
    format!("{} --write", shown_call(args))
}

fn shown_call(args: &Setup) -> String {
    let client: Client = args.client.into();
    let scope: Scope = args.scope.into();
    let mut call = format!("inkcell setup {}", client.word());
    if scope == Scope::Project {
        call.push_str(" --scope project");
    }
    for word in args.tools.words() {
        call.push_str(&format!(" {word}"));
    }
    if args.name != "inkcell" {
        call.push_str(&format!(" --name {}", quoted(&args.name)));
    }
    call
}

fn by_hand(args: &Setup) -> String {
    words::setup::by_hand(&shown_call(args))
}

fn refused(client: Client, file: &Path, args: &Setup, refusal: &Refusal) -> Failure {
    let message = words::setup::nothing_written(&refusal_words(file, refusal));
    match refusal {
        Refusal::Broken { .. } => {
            let hint = words::setup::mend_file(client.title());
            Failure::told(Kind::Invalid, message, Some(hint))
        }
        Refusal::Taken(_) => {
            Failure::told(Kind::Conflict, message, Some(words::setup::OTHER_NAME.to_owned()))
        }
        Refusal::Shape(_) | Refusal::Odd => {
            Failure::told(Kind::Invalid, message, Some(by_hand(args)))
        }
    }
}

fn refusal_words(file: &Path, refusal: &Refusal) -> String {
    let file = file.display();
    match refusal {
        Refusal::Broken { line, column, problem } => {
            format!("{file}:{line}:{column}: {problem}")
        }
        Refusal::Shape(what) | Refusal::Taken(what) => format!("{file}: {what}"),
        Refusal::Odd => words::setup::cannot_change(&file),
    }
}

/// The obstacle to reading or writing.
fn unsaved(client: &Client, error: &SaveError) -> (String, Kind) {
    match error {
        SaveError::Io { step, path, error } => {
            (format!("cannot {step} {}: {error}", path.display()), Kind::Unavailable)
        }
        SaveError::NotText(path) => (words::setup::not_text(&path.display()), Kind::Invalid),
        SaveError::LostLink(path) => (words::setup::lost_link(&path.display()), Kind::Invalid),
        SaveError::ReadOnly(path) => (format!("{} is read-only", path.display()), Kind::Invalid),
        SaveError::Moved(path) => {
            let who = client.title();
            (words::setup::written_by_other(&path.display(), who), Kind::Conflict)
        }
    }
}
