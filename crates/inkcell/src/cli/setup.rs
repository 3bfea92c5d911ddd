//! `inkcell setup`: the entry that a client's configuration needs so that its agent has inkcell's
//! tools.
//!
//! Owns the words. The places and the formats are in `setup/`.

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
    let program =
        program.map_err(|error| Failure::Io("cannot tell which program this is", error))?;
    let command = command_of(&program, &settings.program_folders());
    let command = command.map_err(|problem| {
        let (message, hint) = match problem {
            NoCommand::Gone(path) => (
                format!("this program was replaced or removed while it ran: {}", path.display()),
                "run the same command again",
            ),
            NoCommand::NotText(path) => (
                format!("the path of this program is not UTF-8 text: {}", path.display()),
                "put it into another folder, or into one that is on PATH",
            ),
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
        NoPlace::NoHome => {
            Failure::argument("HOME", "is not set, so the client's file is not known; set it")
        }
        NoPlace::NoProjectFile => Failure::argument(
            "--scope",
            format!("{} has one file for all projects; use --scope user", client.title()),
        ),
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
                return vec![format!("nothing to change: {file} has {} already", server.name)];
            }
            SetupResult::Written(change) => {
                let what = if *change == Change::Added { "added to" } else { "changed in" };
                vec![format!("{} {what} {file}", server.name), next]
            }
            SetupResult::Shown(state) => {
                let mut lines = vec![format!("{title} reads {file}; this belongs into it:")];
                lines.push(String::new());
                lines.extend(alone.lines().map(str::to_owned));
                lines.push(String::new());
                let call = write_call(args);
                lines.push(match state {
                    Ok(Change::Nothing) => "it is there already".to_owned(),
                    Ok(Change::Added) => format!("to write it: {call}"),
                    Ok(Change::Changed) => {
                        format!("{} is there in another form; to change it: {call}", server.name)
                    }
                    Err(problem) => format!("warning: {problem}"),
                });
                if let Some(own) = client.own_command(*scope, server) {
                    lines.push(format!("or let {title} do it: {own}"));
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
        (*scope == Scope::Project && server.command.contains('/')).then(|| {
            format!(
                "{} is where inkcell is on this machine; put it on PATH and run this again, and the \
                 file holds for everybody",
                server.command
            )
        })
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
    format!("see what belongs into it, and put it there by hand: {}", shown_call(args))
}

fn refused(client: Client, file: &Path, args: &Setup, refusal: &Refusal) -> Failure {
    let message = format!("{}; nothing was written", refusal_words(file, refusal));
    match refusal {
        Refusal::Broken { .. } => {
            let hint =
                format!("mend the file so that {} can read it, and run it again", client.title());
            Failure::told(Kind::Invalid, message, Some(hint))
        }
        Refusal::Taken(_) => Failure::told(
            Kind::Conflict,
            message,
            Some("give ours another name: --name NAME".to_owned()),
        ),
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
        Refusal::Odd => {
            format!("{file} is written in a way that cannot be changed without touching the rest")
        }
    }
}

/// The obstacle to reading or writing.
fn unsaved(client: &Client, error: &SaveError) -> (String, Kind) {
    match error {
        SaveError::Io { step, path, error } => {
            (format!("cannot {step} {}: {error}", path.display()), Kind::Unavailable)
        }
        SaveError::NotText(path) => {
            (format!("{} is no file of text", path.display()), Kind::Invalid)
        }
        SaveError::LostLink(path) => {
            (format!("{} is a link to a file that is not there", path.display()), Kind::Invalid)
        }
        SaveError::ReadOnly(path) => (format!("{} is read-only", path.display()), Kind::Invalid),
        SaveError::Moved(path) => {
            let who = client.title();
            let words = format!("{} was written by somebody else, {who} perhaps", path.display());
            (format!("{words}, at the same time; nothing was written"), Kind::Conflict)
        }
    }
}
