//! Sentences about the entry for inkcell in the configuration of a client.

use std::fmt::Display;

/// What a client shows as the description of the server.
pub(crate) const ABOUT: &str = "Notebooks that are edited safely, and a Python that remembers";

/// What to do next at a client, to see that it worked.
pub(crate) const CLAUDE_CODE: &str = "start Claude Code anew; /mcp lists the server";

pub(crate) const CLAUDE_CODE_HERE: &str =
    "start Claude Code here and allow the server when it asks; /mcp lists it";

pub(crate) const CURSOR: &str = "restart Cursor, and turn the server on in its settings";

pub(crate) const VSCODE: &str =
    "run \"MCP: List Servers\" in VS Code, start the server, and use agent mode";

pub(crate) const CODEX: &str = "start Codex anew; /mcp lists the server";

pub(crate) const CODEX_HERE: &str = "start Codex here and trust the project; /mcp lists the server";

pub(crate) const ZED: &str = "look at the agent panel's settings; Zed starts it at once";

pub(crate) const ZED_HERE: &str =
    "trust the project in Zed; the agent panel's settings list the server";

pub(crate) const GOOSE: &str = "start a new Goose session";

pub(crate) const NO_TABLE: &str = "its top level is no table of names and values";

pub(crate) fn no_servers(table: &dyn Display) -> String {
    format!("{table} is no table of servers")
}

pub(crate) fn no_server(shown: &str) -> String {
    format!("{shown} is no server")
}

pub(crate) fn reached_by(shown: &str, key: &dyn Display) -> String {
    format!("{shown} is a server that is reached by its {key}")
}

pub(crate) fn of_type(shown: &str, other: &dyn Display) -> String {
    format!("{shown} is a server of type {other}")
}

pub(crate) const MORE_DOCUMENTS: &str = "it holds more than one document";

pub(crate) const TOO_DEEP: &str = "it is nested too deep";

pub(crate) fn program_gone(path: &dyn Display) -> String {
    format!("this program was replaced or removed while it ran: {path}")
}

pub(crate) const RUN_AGAIN: &str = "run the same command again";

pub(crate) fn path_not_text(path: &dyn Display) -> String {
    format!("the path of this program is not UTF-8 text: {path}")
}

pub(crate) const OTHER_FOLDER: &str = "put it into another folder, or into one that is on PATH";

pub(crate) const NO_HOME: &str = "is not set, so the client's file is not known; set it";

pub(crate) fn one_file(client: &str) -> String {
    format!("{client} has one file for all projects; use --scope user")
}

pub(crate) fn nothing_to_change(file: &dyn Display, name: &str) -> String {
    format!("nothing to change: {file} has {name} already")
}

pub(crate) fn belongs_into(title: &str, file: &dyn Display) -> String {
    format!("{title} reads {file}; this belongs into it:")
}

pub(crate) const IS_THERE: &str = "it is there already";

pub(crate) fn is_there_otherwise(name: &str, call: &str) -> String {
    format!("{name} is there in another form; to change it: {call}")
}

pub(crate) fn let_client(title: &str, command: &str) -> String {
    format!("or let {title} do it: {command}")
}

/// The note about a file for a project, which others have too.
pub(crate) fn of_this_machine(path: &str) -> String {
    format!(
        "{path} is where inkcell is on this machine; put it on PATH and run this again, and the \
         file holds for everybody"
    )
}

pub(crate) fn by_hand(call: &str) -> String {
    format!("see what belongs into it, and put it there by hand: {call}")
}

pub(crate) fn nothing_written(problem: &str) -> String {
    format!("{problem}; nothing was written")
}

pub(crate) fn mend_file(client: &str) -> String {
    format!("mend the file so that {client} can read it, and run it again")
}

pub(crate) const OTHER_NAME: &str = "give ours another name: --name NAME";

pub(crate) fn odd(file: &dyn Display) -> String {
    format!("{file} is written in a way that cannot be changed without touching the rest")
}

pub(crate) fn no_text(path: &dyn Display) -> String {
    format!("{path} is no file of text")
}

pub(crate) fn lost_link(path: &dyn Display) -> String {
    format!("{path} is a link to a file that is not there")
}

pub(crate) fn written_by_other(path: &dyn Display, who: &str) -> String {
    format!(
        "{path} was written by somebody else, {who} perhaps, at the same time; nothing was written"
    )
}
