//! The surroundings of a process: its variables, its folder, and the folder in which it was told to work.
//!
//! Owns the only access to the environment of this process, and the decision about colours. A host works for callers
//! with other surroundings than its own, so these can be serialized.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::encoding::os_text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::args::ColorArg;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    #[serde(serialize_with = "write_vars", deserialize_with = "read_vars")]
    pub(super) vars: BTreeMap<OsString, OsString>,
    #[serde(with = "os_text")]
    pub(super) cwd: PathBuf,
    /// The folder whose project counts, if it is not the one in which inkcell was started.
    pub(super) works_in: Option<PathBuf>,
    /// The folders that must contain the notebooks, if the command line names any.
    pub(super) roots: Vec<PathBuf>,
    /// The executable of this process, if the system tells it.
    #[serde(default, serialize_with = "write_program", deserialize_with = "read_program")]
    pub(crate) program: Option<PathBuf>,
    /// What the command line says about colours.
    #[serde(default)]
    pub(super) color: ColorArg,
}

impl Surroundings {
    /// The surroundings of this process.
    pub(crate) fn of_process(roots: &[PathBuf], works_in: Option<&Path>) -> Surroundings {
        Surroundings {
            vars: std::env::vars_os().collect(),
            // If our folder was removed, report that when a relative path is used, not before.
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            works_in: works_in.map(Path::to_owned),
            roots: roots.to_vec(),
            program: std::env::current_exe().ok(),
            color: ColorArg::Auto,
        }
    }

    pub(crate) fn with_color(self, color: ColorArg) -> Surroundings {
        Surroundings { color, ..self }
    }

    /// Decides whether a stream gets colours: `--color`, else NO_COLOR, else CLICOLOR_FORCE, else whether it is a
    /// terminal that can draw.
    pub(crate) fn has_colour(&self, stream: &impl IsTerminal) -> bool {
        self.may_colour(stream.is_terminal())
    }

    pub(super) fn may_colour(&self, is_terminal: bool) -> bool {
        let is_set = |name| self.get(name).is_some_and(|value| !value.is_empty());
        match self.color {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto if is_set("NO_COLOR") => false,
            ColorArg::Auto => {
                let is_forced = is_set("CLICOLOR_FORCE")
                    && self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
                is_forced || is_terminal && self.can_draw()
            }
        }
    }

    /// Returns whether a terminal can do more than print text. One that cannot says so (TERM).
    pub(super) fn can_draw(&self) -> bool {
        self.get("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
    }

    /// The value of a variable, which may be empty.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The path in a variable; an empty variable counts as absent.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The names of variables that are UTF-8 text.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.vars.keys().filter_map(|name| name.to_str()).map(str::to_owned)
    }
}

/// A string of the system: as text, or as an object with its bytes if it is not UTF-8.
#[derive(Serialize, Deserialize)]
struct OsText(#[serde(with = "os_text")] OsString);

fn write_vars<S: Serializer>(
    vars: &BTreeMap<OsString, OsString>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(vars.iter().map(|(name, value)| (OsText(name.clone()), OsText(value.clone()))))
}

fn read_vars<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<OsString, OsString>, D::Error> {
    let pairs = Vec::<(OsText, OsText)>::deserialize(from)?;
    Ok(pairs.into_iter().map(|(name, value)| (name.0, value.0)).collect())
}

fn write_program<S: Serializer>(program: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    program.clone().map(|path| OsText(path.into())).serialize(to)
}

fn read_program<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    Ok(Option::<OsText>::deserialize(from)?.map(|path| path.0.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    /// A host receives the surroundings of a caller unchanged, even if they are not UTF-8.
    #[test]
    fn surroundings_read_back() {
        let odd = OsString::from_vec(b"a\xffb".to_vec());
        let given = Surroundings {
            vars: BTreeMap::from([
                ("PATH".into(), "/bin".into()),
                ("ODD".into(), odd.clone()),
                (odd.clone(), "1".into()),
                ("EMPTY".into(), OsString::new()),
            ]),
            cwd: PathBuf::from("/work").join(&odd),
            works_in: Some("nb".into()),
            roots: vec!["data".into()],
            program: Some(PathBuf::from("/bin").join(odd)),
            color: ColorArg::Never,
        };
        let text = serde_json::to_string(&given).unwrap();
        assert_eq!(serde_json::from_str::<Surroundings>(&text).unwrap(), given);
        assert_eq!(given.path("EMPTY"), None);
        assert_eq!(given.get("EMPTY"), Some(OsStr::new("")));
    }

    #[test]
    fn color_follows_the_option_then_variables_then_the_stream() {
        type Case = (ColorArg, &'static [(&'static str, &'static str)], bool, bool);
        let table: [Case; 11] = [
            (ColorArg::Auto, &[], true, true),
            (ColorArg::Auto, &[], false, false),
            (ColorArg::Auto, &[("TERM", "dumb")], true, false),
            (ColorArg::Auto, &[("NO_COLOR", "1")], true, false),
            (ColorArg::Auto, &[("NO_COLOR", "")], true, true),
            (ColorArg::Auto, &[("CLICOLOR_FORCE", "1")], false, true),
            (ColorArg::Auto, &[("CLICOLOR_FORCE", "0")], false, false),
            (ColorArg::Auto, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false, false),
            (ColorArg::Always, &[("NO_COLOR", "1")], false, true),
            (ColorArg::Always, &[("TERM", "dumb")], true, true),
            (ColorArg::Never, &[("CLICOLOR_FORCE", "1")], true, false),
        ];
        for (color, vars, is_terminal, wanted) in table {
            let mut given = Surroundings { color, ..Surroundings::default() };
            given.vars.insert("TERM".into(), "xterm".into());
            given.vars.extend(vars.iter().map(|(name, value)| (name.into(), value.into())));
            assert_eq!(given.may_colour(is_terminal), wanted, "{color:?} {vars:?} {is_terminal}");
        }
    }
}
