//! Sentences about the entry for inkcell in the configuration of a client.

use std::fmt::Display;

/// The description of the server that a client shows.
pub(crate) const ABOUT: &str = "Edit and run Jupyter notebooks, and run Python that remembers";

/// The last step at each client. Each continues "Then".
pub(crate) const CLAUDE_CODE: &str = "restart Claude Code and check with /mcp";

pub(crate) const CLAUDE_CODE_HERE: &str =
    "start Claude Code in this directory, approve the server and check with /mcp";

pub(crate) const CURSOR: &str = "restart Cursor and turn the server on in its settings";

pub(crate) const VSCODE: &str =
    "run \"MCP: List Servers\" in VS Code, start the server and use agent mode";

pub(crate) const CODEX: &str = "restart Codex and check with /mcp";

pub(crate) const CODEX_HERE: &str =
    "start Codex in this directory, trust the project and check with /mcp";

pub(crate) const ZED: &str = "check the server in the settings of Zed's agent panel";

pub(crate) const ZED_HERE: &str =
    "trust the project in Zed and check the server in the settings of its agent panel";

pub(crate) const GOOSE: &str = "start a new Goose session";

pub(crate) fn then(step: &str) -> String {
    format!("Then {step}.")
}

pub(crate) const NOT_TABLE: &str = "the top level is not a table of names and values";

pub(crate) fn not_servers(table: &dyn Display) -> String {
    format!("'{table}' is not a table of servers")
}

pub(crate) fn not_server(shown: &str) -> String {
    format!("'{shown}' is not a server")
}

pub(crate) fn reached_by(shown: &str, key: &dyn Display) -> String {
    format!("'{shown}' is a remote server with its own '{key}'")
}

pub(crate) fn of_type(shown: &str, other: &dyn Display) -> String {
    format!("'{shown}' is a server of type '{other}'")
}

pub(crate) fn twice(shown: &str) -> String {
    format!("'{shown}' appears twice")
}

pub(crate) const MORE_DOCUMENTS: &str = "the file has more than one document";

pub(crate) const TOO_DEEP: &str = "the file is nested too deeply";

pub(crate) fn program_gone(path: &dyn Display) -> String {
    format!("inkcell was replaced or removed while it ran: {path}")
}

pub(crate) const RUN_AGAIN: &str = "run the same command again";

pub(crate) fn path_not_text(path: &dyn Display) -> String {
    format!("the path of inkcell is not UTF-8 text: {path}")
}

pub(crate) const OTHER_FOLDER: &str = "move inkcell to a directory on PATH";

pub(crate) const NO_HOME: &str = "is not set, so the client's configuration file is unknown";

pub(crate) fn one_file(client: &str) -> String {
    format!("{client} has one file for all projects; use --scope user")
}

pub(crate) fn nothing_to_change(file: &dyn Display, name: &str) -> String {
    format!("Nothing to change: {file} already has {name}")
}

pub(crate) fn added(name: &str, file: &dyn Display) -> String {
    format!("Added {name} to {file}")
}

pub(crate) fn changed(name: &str, file: &dyn Display) -> String {
    format!("Changed {name} in {file}")
}

pub(crate) fn add_this(file: &dyn Display) -> String {
    format!("Add this to {file}:")
}

pub(crate) fn has_this(name: &str, file: &dyn Display) -> String {
    format!("{file} already has {name}:")
}

pub(crate) fn set_to_this(name: &str, file: &dyn Display) -> String {
    format!("{file} has another entry for {name}. Change it to:")
}

pub(crate) fn write_it(call: &str) -> String {
    format!("To write it: {call}")
}

pub(crate) fn let_client(title: &str, command: &str) -> String {
    format!("Or let {title} write it: {command}")
}

/// The note about a file for a project, which other people have too.
pub(crate) fn of_this_machine(path: &str, name: &str) -> String {
    format!(
        "{path} exists only on this machine; put {name} on PATH and run this command again, and the \
         file works for everyone"
    )
}

pub(crate) fn by_hand(call: &str) -> String {
    format!("see the entry with '{call}' and add it by hand")
}

pub(crate) fn nothing_written(problem: &str) -> String {
    format!("{problem}; nothing was written")
}

pub(crate) fn mend_file(client: &str) -> String {
    format!("fix the file so that {client} can read it, and run the same command again")
}

pub(crate) fn other_name(call: &str) -> String {
    format!("choose another name: '{call}'")
}

pub(crate) fn cannot_change(file: &dyn Display) -> String {
    format!("{file}: cannot add the entry without rewriting the rest of the file")
}

pub(crate) fn not_text(path: &dyn Display) -> String {
    format!("{path} is not a text file")
}

pub(crate) fn lost_link(path: &dyn Display) -> String {
    format!("{path} links to a file that does not exist")
}

pub(crate) fn written_by_other(path: &dyn Display, who: &str) -> String {
    format!("another program, perhaps {who}, changed {path} at the same time; nothing was written")
}
