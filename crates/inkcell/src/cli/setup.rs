//! `inkcell setup`: the entry that a client's configuration needs so that its agent has inkcell's
//! tools.
//!
//! Owns which lines report the outcome. The places and the formats are in `setup/`, the sentences in `words`.

use std::path::{Path, PathBuf};

use inkcell_engine::Kind;
use serde_json::{Value, json};

use crate::app::python::text;
use crate::args::{ClientArg, ScopeArg, Setup};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::setup::{
    self, Change, Client, NoCommand, NoPlace, Readers, Refusal, SaveError, Scope, Server,
    StartCommand, command_of, quoted,
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
struct Plan<'a> {
    client: Client,
    scope: Scope,
    server: Server,
    file: PathBuf,
    /// The file as users write it.
    shown_file: String,
    call: Call<'a>,
    /// The content of a file with this entry alone.
    alone: String,
}

pub(crate) fn run(args: &Setup, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let (client, scope) = (args.client.into(), args.scope.into());
    let start = start(settings)?;
    let call = Call::of(args, &start);
    let server = server(args, start);
    let file = file(client, scope, settings)?;
    let shown_file = shown_file(&file, settings.home.as_deref());
    let alone = setup::edit(client.format(), "", &client.entry(&server));
    let (alone, _) = alone.map_err(|refusal| refused(client, &file, &call, &refusal))?;
    let plan = Plan { client, scope, server, file, shown_file, call, alone };
    let done = if args.write {
        let change = write(&plan)?;
        SetupResult::Written(change)
    } else {
        SetupResult::Shown(plan_change(&plan))
    };
    let written = if output.is_json() {
        output.json(&plan.to_json(&done))
    } else {
        plan.lines(&done).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The command that starts this inkcell from any shell.
fn start(settings: &Settings) -> Result<StartCommand, Failure> {
    let program = settings.program();
    let program = program.map_err(|error| Failure::Io(words::failure::FIND_PROGRAM, error))?;
    let folders = settings.program_folders();
    command_of(&program, &folders, &settings.launcher_folders()).map_err(|problem| {
        let (message, hint) = match problem {
            NoCommand::Gone(path) => {
                (words::setup::program_gone(&path.display()), words::setup::RUN_AGAIN)
            }
            NoCommand::NotText(path) => {
                (words::setup::path_not_text(&path.display()), words::setup::OTHER_FOLDER)
            }
        };
        Failure::new(Kind::Unavailable, message, Some(hint.to_owned()))
    })
}

/// How the client starts us.
fn server(args: &Setup, start: StartCommand) -> Server {
    let own = ["mcp"].iter().chain(args.tools.words()).map(|word| (*word).to_owned());
    let StartCommand { command, args: first } = start;
    Server { name: args.name.clone(), command, args: first.into_iter().chain(own).collect() }
}

/// A path with `~` for the home folder.
fn shown_file(file: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| file.strip_prefix(home).ok());
    below.map_or_else(|| file.display().to_string(), |below| format!("~/{}", below.display()))
}

fn file(client: Client, scope: Scope, settings: &Settings) -> Result<PathBuf, Failure> {
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
fn plan_change(plan: &Plan<'_>) -> Result<Change, String> {
    let Plan { client, server, file, .. } = plan;
    let found = setup::read(file).map_err(|error| unsaved(client, &error).0)?;
    let before = found.text.as_deref().unwrap_or_default();
    let edited = setup::edit(client.format(), before, &client.entry(server));
    edited.map(|(_, change)| change).map_err(|refusal| refusal_words(file, &refusal))
}

fn write(plan: &Plan<'_>) -> Result<Change, Failure> {
    let Plan { client, server, file, call, .. } = plan;
    let failed = |error: SaveError| {
        let (message, kind) = unsaved(client, &error);
        Failure::new(kind, message, Some(words::setup::by_hand(&call.show())))
    };
    let found = setup::read(file).map_err(failed)?;
    let before = found.text.as_deref().unwrap_or_default();
    let edited = setup::edit(client.format(), before, &client.entry(server));
    let (after, change) = edited.map_err(|refusal| refused(*client, file, call, &refusal))?;
    if change != Change::Nothing {
        let readers = match plan.scope {
            Scope::User => Readers::Owner,
            Scope::Project => Readers::Usual,
        };
        setup::replace(&found, &after, readers).map_err(failed)?;
    }
    Ok(change)
}

impl Plan<'_> {
    fn lines(&self, done: &SetupResult) -> Vec<String> {
        let Plan { client, scope, server, shown_file: file, call, alone, .. } = self;
        let (title, name) = (client.title(), &server.name);
        let then = words::setup::then(client.next_step(*scope));
        let mut lines = match done {
            SetupResult::Written(Change::Nothing) => {
                return vec![words::setup::nothing_to_change(file, name)];
            }
            SetupResult::Written(Change::Added) => vec![words::setup::added(name, file), then],
            SetupResult::Written(Change::Changed) => vec![words::setup::changed(name, file), then],
            SetupResult::Shown(state) => {
                let mut lines = vec![match state {
                    Ok(Change::Nothing) => words::setup::has_this(name, file),
                    Ok(Change::Changed) => words::setup::set_to_this(name, file),
                    Ok(Change::Added) | Err(_) => words::setup::add_this(file),
                }];
                lines.push(String::new());
                lines.extend(alone.lines().map(str::to_owned));
                lines.push(String::new());
                match state {
                    Ok(Change::Nothing) => return lines,
                    Ok(Change::Added | Change::Changed) => {
                        lines.push(words::setup::write_it(&call.write()));
                    }
                    Err(problem) => lines.push(format!("warning: {problem}")),
                }
                if let Some(own) = client.own_command(*scope, server) {
                    lines.push(words::setup::let_client(title, &own));
                }
                lines.push(then);
                lines
            }
        };
        lines.extend(self.note().map(|note| format!("note: {note}")));
        lines
    }

    /// A note for the other people in the project.
    fn note(&self) -> Option<String> {
        let Plan { scope, server, .. } = self;
        let name = Path::new(&server.command).file_name()?.to_str()?;
        (*scope == Scope::Project && server.command.contains('/'))
            .then(|| words::setup::of_this_machine(&server.command, name))
    }

    fn to_json(&self, done: &SetupResult) -> Value {
        let Plan { client, scope, server, file, alone, .. } = self;
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
            "client": client.argument(),
            "scope": scope.argument(),
            "file": text(file),
            "format": client.format().name(),
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

/// The command line of this command, as it works in any shell.
struct Call<'a> {
    args: &'a Setup,
    program: String,
}

impl Call<'_> {
    fn of<'a>(args: &'a Setup, start: &StartCommand) -> Call<'a> {
        // Only a launcher has arguments of its own; a program without one is called by its name.
        let program = match &*start.args {
            [] => "inkcell".to_owned(),
            first => format!("{} {}", quoted(&start.command), first.join(" ")),
        };
        Call { args, program }
    }

    /// The command that shows the entry.
    fn show(&self) -> String {
        self.named(&self.args.name)
    }

    /// The command that writes the entry.
    fn write(&self) -> String {
        format!("{} --write", self.show())
    }

    /// The command that shows the entry under this name.
    fn named(&self, name: &str) -> String {
        let (client, scope): (Client, Scope) = (self.args.client.into(), self.args.scope.into());
        let mut call = format!("{} setup {}", self.program, client.argument());
        if scope == Scope::Project {
            call.push_str(" --scope project");
        }
        for word in self.args.tools.words() {
            call.push_str(&format!(" {word}"));
        }
        if name != "inkcell" {
            call.push_str(&format!(" --name {}", quoted(name)));
        }
        call
    }
}

fn refused(client: Client, file: &Path, call: &Call<'_>, refusal: &Refusal) -> Failure {
    let message = words::setup::nothing_written(&refusal_words(file, refusal));
    match refusal {
        Refusal::Broken { .. } => {
            let hint = words::setup::mend_file(client.title());
            Failure::new(Kind::Invalid, message, Some(hint))
        }
        Refusal::Taken(_) => {
            let hint = words::setup::other_name(&call.named(&format!("{}2", call.args.name)));
            Failure::new(Kind::Conflict, message, Some(hint))
        }
        Refusal::Shape(_) | Refusal::Odd => {
            Failure::new(Kind::Invalid, message, Some(words::setup::by_hand(&call.show())))
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
