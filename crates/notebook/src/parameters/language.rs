//! Languages in which parameters can be written: their names, comments and rules for identifiers.
//!
//! Owns that table, and the errors for values that cannot be written. `literal.rs` owns the form of values.

use crate::error::EditError;
use crate::python::KEYWORDS;

/// A language in which parameters can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ParameterLanguage {
    /// Python, with IPython and PySpark.
    Python,
    /// R, and R in SparkR.
    R,
    /// Scala, and Scala in Spark.
    Scala,
    /// Julia, in any version.
    Julia,
    /// MATLAB, where a mapping is a `containers.Map`.
    Matlab,
    /// C# of .NET Interactive.
    CSharp,
    /// F# of .NET Interactive.
    FSharp,
    /// PowerShell, with .NET Interactive.
    PowerShell,
    /// Bash, without nested lists and mappings.
    Bash,
}

use ParameterLanguage::{Bash, CSharp, FSharp, Julia, Matlab, PowerShell, Python, R, Scala};

/// Reserved words, by language; `python` has those of Python.
const R_WORDS: &[&str] = &[
    "if", "else", "repeat", "while", "function", "for", "next", "break", "TRUE", "FALSE", "NULL",
    "Inf", "NaN", "NA", "in",
];
const JULIA_WORDS: &[&str] = &[
    "baremodule",
    "begin",
    "break",
    "catch",
    "const",
    "continue",
    "do",
    "else",
    "elseif",
    "end",
    "export",
    "false",
    "finally",
    "for",
    "function",
    "global",
    "if",
    "import",
    "let",
    "local",
    "macro",
    "module",
    "quote",
    "return",
    "struct",
    "true",
    "try",
    "using",
    "while",
];

impl ParameterLanguage {
    /// All languages, in the order in which messages list them.
    pub const ALL: [ParameterLanguage; 9] =
        [Python, R, Scala, Julia, Matlab, CSharp, FSharp, PowerShell, Bash];

    /// Name of the language as messages spell it.
    pub fn name(self) -> &'static str {
        match self {
            Python => "Python",
            R => "R",
            Scala => "Scala",
            Julia => "Julia",
            Matlab => "MATLAB",
            CSharp => "C#",
            FSharp => "F#",
            PowerShell => "PowerShell",
            Bash => "Bash",
        }
    }

    pub(super) fn list() -> String {
        let names = ParameterLanguage::ALL.map(ParameterLanguage::name);
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{} and {last}", others.join(", "))
    }

    /// The language of a notebook, from the names of its kernel and its language. The kernel's name counts first,
    /// because several kernels share a vague language name. A notebook that names neither is in Python.
    pub fn of(
        kernel: Option<&str>,
        language: Option<&str>,
    ) -> Result<ParameterLanguage, ParameterError> {
        if let Some(known) = kernel.and_then(ParameterLanguage::named) {
            return Ok(known);
        }
        match language {
            None => Ok(Python),
            Some(language) => ParameterLanguage::named(language)
                .ok_or_else(|| ParameterError::Language { language: language.to_owned() }),
        }
    }

    fn named(name: &str) -> Option<ParameterLanguage> {
        let name = name.to_lowercase();
        Some(match name.as_str() {
            "python" | "python3" | "ipython" | "pysparkkernel" => Python,
            "r" | "ir" | "sparkrkernel" => R,
            "scala" | "sparkkernel" => Scala,
            "julia" => Julia,
            "matlab" => Matlab,
            "c#" | "csharp" | ".net-csharp" => CSharp,
            "f#" | "fsharp" | ".net-fsharp" => FSharp,
            "powershell" | "pwsh" | ".net-powershell" | ".net-pwsh" => PowerShell,
            "bash" => Bash,
            // Names of Julia kernels contain the version.
            _ if name.starts_with("julia-") => Julia,
            _ => return None,
        })
    }

    pub(super) fn comment(self, text: &str) -> String {
        match self {
            Python | R | Julia | PowerShell | Bash => format!("# {text}"),
            Scala | CSharp => format!("// {text}"),
            Matlab => format!("% {text}"),
            FSharp => format!("(* {text} *)"),
        }
    }

    /// Returns the name as the cell spells it, or an error if the language does not allow it.
    pub(super) fn checked(self, name: &str) -> Result<&str, ParameterError> {
        let written = match self {
            // A name in R cannot begin with an underscore, so the underscore is dropped, as other tools do.
            R => name.trim_start_matches('_'),
            _ => name,
        };
        let is_first = |first: char| first.is_alphabetic() || first == '_';
        let is_later =
            |later: char| later.is_alphanumeric() || later == '_' || self == R && later == '.';
        let is_ascii_only = matches!(self, Matlab | Bash);
        let starts = written.starts_with(is_first)
            || self == R
                && written.starts_with('.')
                && !written[1..].starts_with(|c: char| c.is_ascii_digit());
        if !starts || !written.chars().all(is_later) || is_ascii_only && !written.is_ascii() {
            return Err(ParameterError::Name { name: name.to_owned(), language: self });
        }
        let words = match self {
            Python => KEYWORDS,
            R => R_WORDS,
            Julia => JULIA_WORDS,
            _ => &[],
        };
        if words.contains(&written) {
            return Err(ParameterError::Keyword { name: name.to_owned(), language: self });
        }
        Ok(written)
    }
}

impl std::fmt::Display for ParameterLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason why values cannot be put into a notebook.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The notebook's language does not allow this name.
    #[error(
        "{name:?} cannot be the name of a parameter in {language}: names are made of letters, digits and _, and do \
         not begin with a digit"
    )]
    Name {
        /// The name that the caller gave.
        name: String,
        /// The language of the notebook.
        language: ParameterLanguage,
    },
    /// The name is a reserved word of the language.
    #[error(
        "{name} is a reserved word of {language} and cannot name a parameter; choose another name"
    )]
    Keyword {
        /// The name that the caller gave.
        name: String,
        /// The language of the notebook.
        language: ParameterLanguage,
    },
    /// The language cannot express this kind of value.
    #[error(
        "the parameter {name} is {kind}, which cannot be written in {language}; give it as text"
    )]
    Value {
        /// Name of the parameter.
        name: String,
        /// The kind of value that cannot be written: the value itself, or one inside it.
        kind: &'static str,
        /// The language of the notebook.
        language: ParameterLanguage,
    },
    /// Parameters cannot be written in this language.
    #[error(
        "parameters cannot be written in {language}; they can be in {}",
        ParameterLanguage::list()
    )]
    Language {
        /// Name of the language in the notebook or its kernel.
        language: String,
    },
    /// The notebook refused the edit.
    #[error(transparent)]
    Edit(#[from] EditError),
}
