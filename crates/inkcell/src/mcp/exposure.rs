//! The tools an agent is offered: by the profile, the mode, and whether Python works (B:C-01 to C-04).
//!
//! Owns the lists and the message about a tool that is not offered. It is pure, and must not know what a tool does
//! or how it is called.

use inkcell_engine::Preflight;
use serde::{Deserialize, Serialize};

use crate::settings::{Profile, ToolMode};
use crate::words;

/// The set of available tools (`--tools`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolSet {
    Default,
    /// The tools of the source documents, under their names and in their shapes.
    Compat,
    All,
}

/// The requirement of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Needs {
    Nothing,
    Python,
    Shell,
}

const DEFAULT: [(&str, Needs); 7] = [
    ("python", Needs::Python),
    ("notebook_read", Needs::Nothing),
    ("notebook_edit", Needs::Nothing),
    ("notebook_run", Needs::Python),
    ("result", Needs::Nothing),
    ("kernel", Needs::Python),
    ("inspect", Needs::Python),
];

const COMPAT: [(&str, Needs); 8] = [
    ("python", Needs::Python),
    ("eval", Needs::Python),
    ("notebook", Needs::Nothing),
    ("NotebookEdit", Needs::Nothing),
    ("read", Needs::Nothing),
    ("edit", Needs::Nothing),
    ("write", Needs::Nothing),
    ("bash", Needs::Shell),
];

impl ToolSet {
    /// The profile whose defaults hold for sessions. A client with our own tools gets our own limits.
    pub(crate) fn profile(self) -> Profile {
        match self {
            ToolSet::Default | ToolSet::All => Profile::Default,
            ToolSet::Compat => Profile::Compat,
        }
    }

    fn tools(self) -> Vec<(&'static str, Needs)> {
        match self {
            ToolSet::Default => DEFAULT.to_vec(),
            ToolSet::Compat => COMPAT.to_vec(),
            ToolSet::All => {
                // Every profile has exactly one `python`.
                let is_new =
                    |(name, _): &&(&str, Needs)| DEFAULT.iter().all(|(own, _)| own != name);
                DEFAULT.iter().chain(COMPAT.iter().filter(is_new)).copied().collect()
            }
        }
    }
}

/// The result of the check whether code can run, with the reason if it cannot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PythonTools {
    Offered,
    Disabled,
    /// Code cannot run; the reason belongs in the log.
    Unavailable(String),
}

/// The tools offered to an agent, and how often it may call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Exposure {
    /// The names, in the order in which they are listed.
    pub(crate) tools: Vec<&'static str>,
    pub(crate) python: PythonTools,
    set: ToolSet,
    calls: Calls,
}

/// The number of calls that a client makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Calls {
    Many,
    /// A single call. Work that continues after its answer ends with it.
    One,
}

impl Exposure {
    /// Without Python, the tools of the mode `bash-only` are left (B:C-03).
    pub(crate) fn new(set: ToolSet, mode: ToolMode, preflight: &Preflight) -> Exposure {
        let python = match (mode, preflight.failure()) {
            (ToolMode::BashOnly, _) => PythonTools::Disabled,
            (_, Some(reason)) => PythonTools::Unavailable(reason.to_owned()),
            (_, None) => PythonTools::Offered,
        };
        let is_offered = |needs: Needs| match needs {
            Needs::Nothing => true,
            Needs::Python => python == PythonTools::Offered,
            Needs::Shell => python != PythonTools::Offered || mode == ToolMode::Both,
        };
        let all = set.tools().into_iter();
        let tools: Vec<&str> =
            all.filter(|(_, needs)| is_offered(*needs)).map(|(name, _)| name).collect();
        Exposure { tools, python, set, calls: Calls::Many }
    }

    /// Every tool of a profile, for a single call by a user who names the tool.
    pub(crate) fn for_one_call(set: ToolSet) -> Exposure {
        let all = Exposure::new(set, ToolMode::Both, &Preflight::Skipped);
        Exposure { calls: Calls::One, ..all }
    }

    /// Returns whether a client whose code still runs after the answer can ask for the rest.
    pub(crate) fn can_ask_again(&self) -> bool {
        !self.ends_with_its_call() && self.offers("result")
    }

    /// Returns whether everything, kernels included, ends with the answer.
    pub(crate) fn ends_with_its_call(&self) -> bool {
        self.calls == Calls::One
    }

    /// The profile whose rules hold for calls.
    pub(crate) fn profile(&self) -> Profile {
        self.set.profile()
    }

    /// Returns whether a client may call this tool.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.tools.contains(&name)
    }

    /// The error for a call of a tool that is not offered; none if it is offered, or if the tool does not exist
    /// (B:C-04).
    pub(crate) fn refusal(&self, name: &str) -> Option<String> {
        if self.offers(name) {
            return None;
        }
        if self.needs(name, Needs::Shell) {
            return Some(words::tool::not_offered(name));
        }
        match &self.python {
            _ if !self.needs(name, Needs::Python) => None,
            PythonTools::Offered => None,
            PythonTools::Disabled => Some(match self.set {
                ToolSet::Compat => words::tool::PYTHON_DISABLED_COMPAT.to_owned(),
                ToolSet::Default | ToolSet::All => words::tool::PYTHON_DISABLED.to_owned(),
            }),
            PythonTools::Unavailable(reason) => {
                Some(words::tool::python_unavailable(reason.trim_end_matches('.')))
            }
        }
    }

    /// The log message about tools that were requested but are missing.
    pub(crate) fn warning(&self) -> Option<String> {
        match &self.python {
            PythonTools::Unavailable(reason) => Some(words::tool::python_not_offered(reason)),
            PythonTools::Offered | PythonTools::Disabled => None,
        }
    }

    fn needs(&self, name: &str, what: Needs) -> bool {
        self.set.tools().iter().any(|(known, needs)| *known == name && *needs == what)
    }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::kernel::FindError;

    use super::*;
    use crate::settings::{Key, ResolvedSettings, Value};

    /// The mode as the setting and `PI_PY` select it.
    fn mode(setting: &str, py: &str) -> ToolMode {
        let variable = |name: &str| {
            let value = match name {
                "PI_PYTHON_TOOL_MODE" => setting,
                "PI_PY" => py,
                _ => "",
            };
            Some(value.to_owned())
        };
        let resolved = ResolvedSettings::new(&variable, &[]).unwrap();
        let Value::Choice(word) = resolved.get(Key::PythonToolMode).value else { unreachable!() };
        ToolMode::of_word(word)
    }

    const OWN: &str = "python notebook_read notebook_edit notebook_run result kernel inspect";
    const OWN_FILES: &str = "notebook_read notebook_edit result";
    const THEIRS: &str = "python eval notebook NotebookEdit read edit write bash";
    const THEIRS_PYTHON: &str = "python eval notebook NotebookEdit read edit write";
    const THEIRS_FILES: &str = "notebook NotebookEdit read edit write bash";

    /// B:C-01 B:C-02 B:C-03: every mode with every word of `PI_PY`, with a Python and without, in every profile.
    #[test]
    fn the_exact_tools_of_every_case() {
        // The mode that each value of PI_PY makes of each setting; the setting's own if the value changes nothing.
        let words = [
            ("", None),
            ("0", Some(ToolMode::BashOnly)),
            ("bash", Some(ToolMode::BashOnly)),
            ("BASH", Some(ToolMode::BashOnly)),
            ("1", Some(ToolMode::IpyOnly)),
            ("py", Some(ToolMode::IpyOnly)),
            ("Py", Some(ToolMode::IpyOnly)),
            ("mix", Some(ToolMode::Both)),
            ("both", Some(ToolMode::Both)),
            ("2", None),
            ("ipy-only", None),
            ("python", None),
        ];
        let settings = [
            ("", ToolMode::Both),
            ("both", ToolMode::Both),
            ("ipy-only", ToolMode::IpyOnly),
            ("bash-only", ToolMode::BashOnly),
        ];
        let all = format!("{OWN} {}", THEIRS.strip_prefix("python ").unwrap());
        let all_python = format!("{OWN} {}", THEIRS_PYTHON.strip_prefix("python ").unwrap());
        let all_files = format!("{OWN_FILES} {THEIRS_FILES}");
        let failed = Preflight::Failed(FindError::NoneFound.to_string());
        for (setting, meant) in settings {
            for (py, overriding) in words {
                let mode = mode(setting, py);
                assert_eq!(mode, overriding.unwrap_or(meant), "{setting:?} {py:?}");
                for preflight in [&Preflight::Ready, &Preflight::Skipped, &failed] {
                    let wanted = match (mode, preflight) {
                        (ToolMode::BashOnly, _) | (_, Preflight::Failed(_)) => {
                            [OWN_FILES, THEIRS_FILES, &all_files]
                        }
                        (ToolMode::IpyOnly, _) => [OWN, THEIRS_PYTHON, &all_python],
                        (ToolMode::Both, _) => [OWN, THEIRS, &all],
                    };
                    let sets = [ToolSet::Default, ToolSet::Compat, ToolSet::All];
                    for (set, wanted) in sets.into_iter().zip(wanted) {
                        let offered = Exposure::new(set, mode, preflight);
                        let case = format!("{set:?} {mode:?} {preflight:?}");
                        assert_eq!(offered.tools.join(" "), wanted, "{case}");
                    }
                }
            }
        }
    }

    /// B:C-04
    #[test]
    fn what_is_not_offered_is_refused_with_the_reason() {
        let failed = Preflight::Failed(FindError::NoneFound.to_string());
        let disabled = Exposure::new(ToolSet::Compat, ToolMode::BashOnly, &failed);
        let wanted = "Python backend is disabled (PI_PY=0 or eval.py = false).";
        assert_eq!(disabled.refusal("eval").as_deref(), Some(wanted));
        let disabled = Exposure::new(ToolSet::All, ToolMode::BashOnly, &failed);
        let refusal = disabled.refusal("eval").unwrap();
        assert!(refusal.starts_with("Python is disabled in this server"), "{refusal}");
        assert_eq!(disabled.warning(), None, "it was asked for");
        let missing = Exposure::new(ToolSet::All, ToolMode::IpyOnly, &failed);
        let refusal = missing.refusal("python").unwrap();
        assert!(refusal.starts_with("Python backend is unavailable in this session"), "{refusal}");
        assert!(refusal.contains("Python executable not found on PATH"), "{refusal}");
        let warning = missing.warning().unwrap();
        assert!(warning.ends_with("Python executable not found on PATH"), "{warning}");
        assert_eq!(missing.refusal("read"), None);
        assert_eq!(missing.refusal("nonsense"), None);
        let python = Exposure::new(ToolSet::Compat, ToolMode::IpyOnly, &Preflight::Ready);
        let wanted = "bash is not offered: python.toolMode is ipy-only.";
        assert_eq!(python.refusal("bash").as_deref(), Some(wanted));
        assert_eq!(python.refusal("python"), None);
    }
}
