//! Contenders that are whole processes: the name of each, and its command line.
//!
//! Owns this table. A row whose program is not available is left out. Must not know how a command is timed, or what
//! is in a notebook.

use std::ffi::OsString;
use std::path::PathBuf;

use super::arena::Arena;
use super::measure::Process;

/// One row. In its words, `{inkcell}`, `{xtask}`, `{python}`, `{nb}` and `{node}` name programs, `{bin}/NAME` names a
/// program beside the interpreter, `{scripts}/NAME` a program of ours in another language, and `{1}`, `{2}` and so on
/// are values from the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    words: &'static [&'static str],
    /// True for a contender that runs more often in a round, because its figures are close to a limit or cheap.
    is_quick: bool,
    /// Name of the finished notebook in the contender's folder; none if it leaves no notebook.
    pub(super) leaves: Option<&'static str>,
}

/// Names of the files in the folder of every contender that runs a notebook.
pub(super) const NOTEBOOK: &str = "notebook.ipynb";
pub(super) const SCRIPT: &str = "script.py";
pub(super) const DRAWING: &str = "drawing.py";
/// The output file of contenders that do not write in place.
const DONE: &str = "done.ipynb";

pub(super) const FLOOR: &str = "floor";
pub(super) const INKCELL: &str = "inkcell";
pub(super) const NBFORMAT: &str = "nbformat";

/// Edits of the source of one cell, the floor first: `{1}` is the file, `{2}` the cell, `{3}` the new source and
/// `{4}` the old one.
pub(super) const EDITS: [Contender; 7] = [
    Contender::quick(FLOOR, &["{xtask}", "bench", "floor", "copy", "{1}"]),
    Contender::quick(INKCELL, &["{inkcell}", "edit", "{1}", "replace", "{2}", "--source", "{3}"]),
    Contender::usual(NBFORMAT, &["{python}", "{scripts}/edit_nbformat.py", "{1}", "{2}", "{3}"]),
    Contender::usual("python json", &["{python}", "{scripts}/edit_json.py", "{1}", "{2}", "{3}"]),
    Contender::usual("jupytext", &["{python}", "{scripts}/edit_jupytext.py", "{1}", "{4}", "{3}"]),
    Contender::usual("node json", &["{node}", "{scripts}/edit_json.js", "{1}", "{2}", "{3}"]),
    Contender::usual(
        "nb-cli",
        &["{nb}", "cell", "update", "{1}", "--cell-index", "{2}", "--source", "{3}"],
    ),
];

/// Lists of the cells in the file `{1}`, the floor first.
pub(super) const OUTLINES: [Contender; 5] = [
    Contender::quick(FLOOR, &["{xtask}", "bench", "floor", "hash", "{1}"]),
    Contender::quick(INKCELL, &["{inkcell}", "read", "{1}", "--outline"]),
    Contender::usual(NBFORMAT, &["{python}", "{scripts}/outline_nbformat.py", "{1}"]),
    Contender::usual("python json", &["{python}", "{scripts}/outline_json.py", "{1}"]),
    Contender::usual("nb-cli", &["{nb}", "read", "{1}", "--no-output"]),
];

/// The code of the cells as a program.
pub(super) const PLAIN: Contender = Contender::quick("plain script", &["{python}", SCRIPT]);
/// The same program, drawing its figures.
pub(super) const DRAWS: Contender =
    Contender::quick("plain script that draws its figures", &["{python}", DRAWING]);
pub(super) const RUN: Contender =
    Contender::quick("inkcell run", &["{inkcell}", "run", NOTEBOOK, "--python", "{python}"])
        .leaves(NOTEBOOK);
/// Runs with Jupyter's own kernel, on its sockets or behind a server.
pub(super) const RUN_ZMQ: Contender = Contender::usual(
    "inkcell run --backend zmq",
    &["{inkcell}", "run", NOTEBOOK, "--backend", "zmq", "--python", "{python}"],
)
.leaves(NOTEBOOK);
pub(super) const RUN_GATEWAY: Contender = Contender::usual(
    "inkcell run --backend gateway",
    &["{inkcell}", "run", NOTEBOOK, "--backend", "gateway", "--python", "{python}"],
)
.leaves(NOTEBOOK);
/// The same kernel alone: a script reads its messages and drops them.
pub(super) const RAW: Contender =
    Contender::usual("raw reader of ipykernel", &["{python}", "{scripts}/flood_raw.py", NOTEBOOK]);
/// A run in a session of a running host, with a new kernel.
pub(super) const RUN_KEPT: Contender = Contender::quick(
    "inkcell run --keep --fresh, warm host with preload",
    &["{inkcell}", "run", "--keep", "--fresh", NOTEBOOK, "--python", "{python}"],
)
.leaves(NOTEBOOK);
pub(super) const NBCLIENT: Contender =
    Contender::usual("nbclient", &["{python}", "{scripts}/run_nbclient.py", NOTEBOOK])
        .leaves(NOTEBOOK);
pub(super) const PAPERMILL: Contender =
    Contender::usual("papermill", &["{bin}/papermill", NOTEBOOK, DONE]).leaves(DONE);
pub(super) const NB_CLI: Contender =
    Contender::usual("nb-cli", &["{nb}", "execute", "--timeout", "600", NOTEBOOK]).leaves(NOTEBOOK);
pub(super) const EXECUTE: Contender =
    Contender::usual("jupyter execute", &["{bin}/jupyter", "execute", "--inplace", NOTEBOOK])
        .leaves(NOTEBOOK);

impl Contender {
    pub(super) const fn usual(name: &'static str, words: &'static [&'static str]) -> Contender {
        Contender { name, words, is_quick: false, leaves: None }
    }

    pub(super) const fn quick(name: &'static str, words: &'static [&'static str]) -> Contender {
        Contender { name, words, is_quick: true, leaves: None }
    }

    const fn leaves(self, leaves: &'static str) -> Contender {
        Contender { leaves: Some(leaves), ..self }
    }

    /// The same contender under another name.
    pub(super) const fn called(self, name: &'static str) -> Contender {
        Contender { name, ..self }
    }
}

/// Programs that may be missing on a machine.
#[derive(Default)]
pub(super) struct Programs {
    pub(super) nb: Option<PathBuf>,
    pub(super) node: Option<PathBuf>,
}

impl Arena {
    /// Makes a process with these values for `{1}`, `{2}` and so on; none if its program is not available.
    pub(super) fn process(&self, contender: &Contender, values: &[OsString]) -> Option<Process> {
        let command: Option<Vec<OsString>> =
            contender.words.iter().map(|word| self.word(word, values)).collect();
        let (name, is_quick) = (contender.name, contender.is_quick);
        Some(Process { name, command: command?, is_quick })
    }

    fn word(&self, word: &str, values: &[OsString]) -> Option<OsString> {
        let Some((name, rest)) = word.strip_prefix('{').and_then(|word| word.split_once('}'))
        else {
            return Some(word.into());
        };
        let rest = rest.trim_start_matches('/');
        Some(match name {
            "inkcell" => self.inkcell.clone().into(),
            "xtask" => self.xtask.clone().into(),
            "python" => self.python.clone().into(),
            "nb" => self.programs.nb.clone()?.into(),
            "node" => self.programs.node.clone()?.into(),
            "bin" => self.python.with_file_name(rest).into(),
            "scripts" => self.script_path(rest).into(),
            number => values.get(number.parse::<usize>().ok()?.checked_sub(1)?)?.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn words_become_programs_and_what_is_missing_has_no_row() {
        let workspace = Workspace::find().unwrap();
        let mut arena =
            Arena::new(&workspace, "test-of-contenders", "/env/bin/python".as_ref()).unwrap();
        let command = |arena: &Arena, contender: &Contender, values: &[OsString]| {
            let process = arena.process(contender, values)?;
            Some(process.command.iter().map(|word| word.to_string_lossy().into_owned()).collect())
        };
        let found: Vec<String> = command(&arena, &PAPERMILL, &[]).unwrap();
        assert_eq!(found, ["/env/bin/papermill", "notebook.ipynb", "done.ipynb"]);
        assert!(arena.process(&NB_CLI, &[]).is_none());
        arena.programs.nb = Some("/nb".into());
        let values = ["file", "3", "new", "old"].map(OsString::from);
        let found: Vec<String> = command(&arena, &EDITS[6], &values).unwrap();
        assert_eq!(
            found,
            ["/nb", "cell", "update", "file", "--cell-index", "3", "--source", "new"]
        );
        let every = [&EDITS[..5], &OUTLINES[..]].concat();
        assert!(every.iter().all(|contender| arena.process(contender, &values).is_some()));
    }
}
