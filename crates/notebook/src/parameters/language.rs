//! The languages in which parameters can be written: their names, comments, and what may be a name in them.
//!
//! Owns that table. How values are written is `literal.rs`'s.

use super::ParameterError;

/// A language that has literals for parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ParameterLanguage {
    /// Python.
    Python,
    /// R.
    R,
    /// Scala.
    Scala,
    /// Julia.
    Julia,
    /// MATLAB.
    Matlab,
    /// C#.
    CSharp,
    /// F#.
    FSharp,
    /// PowerShell.
    PowerShell,
    /// Bash.
    Bash,
}

use ParameterLanguage::{Bash, CSharp, FSharp, Julia, Matlab, PowerShell, Python, R, Scala};

/// Words that cannot be assigned to, by language.
const PYTHON_WORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
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
    /// All of them, in the order they are listed to people.
    pub const ALL: [ParameterLanguage; 9] =
        [Python, R, Scala, Julia, Matlab, CSharp, FSharp, PowerShell, Bash];

    /// Its name for people.
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

    /// The language of a notebook by what it says of its kernel and its language. The kernel's name counts first: some
    /// kernels share a language name that says little. A notebook that says nothing is in Python.
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
            // Kernels of Julia carry its version in their name.
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

    /// The name as it is written, or why it is none.
    pub(super) fn checked(self, name: &str) -> Result<&str, ParameterError> {
        let written = match self {
            // No name of R begins with this, so it is left out, as others do.
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
            Python => PYTHON_WORDS,
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
