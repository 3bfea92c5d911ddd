//! Writes values as code: numbers, texts and lists in each language.
//!
//! Owns the literals. They match papermill's wherever papermill's mean the same value in the language. Text that
//! would become another text, such as one with a dollar sign in Julia, is written as the language requires. It must
//! not know cells.

use std::fmt::Write as _;

use super::language::ParameterError;
use super::language::ParameterLanguage::{
    self, Bash, CSharp, FSharp, Julia, Matlab, PowerShell, Python, R, Scala,
};
use super::value::{ParameterValue, WholeNumber, format_float};

/// Writes the line that sets a parameter.
pub(super) fn write_assignment(
    language: ParameterLanguage,
    name: &str,
    value: &ParameterValue,
) -> Result<String, ParameterError> {
    let written = language.checked(name)?;
    let failed = |kind| ParameterError::Value { name: name.to_owned(), kind, language };
    let code = Literals { language }.value(value).map_err(failed)?;
    Ok(match language {
        Python | R | Julia => format!("{written} = {code}"),
        Scala => format!("val {written} = {code}"),
        Matlab => format!("{written} = {code};"),
        CSharp if *value == ParameterValue::Null => format!("object {written} = {code};"),
        CSharp => format!("var {written} = {code};"),
        FSharp => format!("let {written} = {code}"),
        PowerShell => format!("${written} = {code}"),
        Bash => format!("{written}={code}"),
    })
}

/// The name of a kind of value for which the language has no literal.
type Unwritable = &'static str;

struct Literals {
    language: ParameterLanguage,
}

impl Literals {
    fn value(&self, value: &ParameterValue) -> Result<String, Unwritable> {
        Ok(match value {
            ParameterValue::Null => self.null().to_owned(),
            ParameterValue::Bool(yes) => self.truth(*yes).to_owned(),
            ParameterValue::Int(number) => self.int(number),
            ParameterValue::Float(number) => self.float(*number),
            ParameterValue::Text(text) => self.text(text)?,
            ParameterValue::List(items) => self.list(items)?,
            ParameterValue::Map(entries) => self.map(entries)?,
        })
    }

    fn null(&self) -> &'static str {
        match self.language {
            Python | Scala | FSharp => "None",
            R => "NULL",
            Julia => "nothing",
            Matlab => "NaN",
            CSharp => "null",
            PowerShell => "$Null",
            Bash => "",
        }
    }

    fn truth(&self, yes: bool) -> &'static str {
        match (self.language, yes) {
            (Python, true) => "True",
            (Python, false) => "False",
            (R, true) => "TRUE",
            (R, false) => "FALSE",
            (PowerShell, true) => "$True",
            (PowerShell, false) => "$False",
            (_, true) => "true",
            (_, false) => "false",
        }
    }

    fn int(&self, number: &WholeNumber) -> String {
        let digits = number.as_str();
        let small = number.as_i64();
        match self.language {
            Scala | CSharp | FSharp => match small {
                Some(number) if i32::try_from(number).is_ok() => digits.to_owned(),
                Some(_) => format!("{digits}L"),
                None if self.language == Scala => format!("BigInt(\"{digits}\")"),
                None if self.language == FSharp => format!("{digits}I"),
                None => format!("System.Numerics.BigInteger.Parse(\"{digits}\")"),
            },
            _ => digits.to_owned(),
        }
    }

    fn float(&self, number: f64) -> String {
        if number.is_finite() {
            return format_float(number);
        }
        let [nan, plus, minus] = match self.language {
            Python => ["float('nan')", "float('inf')", "float('-inf')"],
            R | Julia | Matlab => ["NaN", "Inf", "-Inf"],
            Scala => ["Double.NaN", "Double.PositiveInfinity", "Double.NegativeInfinity"],
            CSharp => ["double.NaN", "double.PositiveInfinity", "double.NegativeInfinity"],
            FSharp => ["nan", "infinity", "-infinity"],
            PowerShell => {
                ["[double]::NaN", "[double]::PositiveInfinity", "[double]::NegativeInfinity"]
            }
            Bash => ["nan", "inf", "-inf"],
        };
        let word = match (number.is_nan(), number < 0.0) {
            (true, _) => nan,
            (_, false) => plus,
            (_, true) => minus,
        };
        word.to_owned()
    }

    fn text(&self, text: &str) -> Result<String, Unwritable> {
        Ok(match self.language {
            Python => format!("\"{}\"", escape_text(text, escape_for_python)),
            R => {
                if text.contains('\0') {
                    return Err("text with a NUL");
                }
                // `\x` is a byte in R, and R refuses a text with both `\x` and `\u`.
                let escape = if text.is_ascii() { escape_for_python } else { escape_for_dotnet };
                format!("\"{}\"", escape_text(text, escape))
            }
            Scala => format!("\"{}\"", escape_text(text, escape_for_scala)),
            Julia => format!("\"{}\"", escape_text(text, escape_for_julia)),
            CSharp | FSharp => format!("\"{}\"", escape_text(text, escape_for_dotnet)),
            PowerShell => format!("\"{}\"", escape_text(text, escape_for_powershell)),
            Matlab => quote_for_matlab(text),
            Bash => {
                if text.contains('\0') {
                    return Err("text with a NUL");
                }
                quote_for_shell(text)
            }
        })
    }

    fn all(&self, items: &[ParameterValue], between: &str) -> Result<String, Unwritable> {
        let items: Vec<String> =
            items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?;
        Ok(items.join(between))
    }

    fn list(&self, items: &[ParameterValue]) -> Result<String, Unwritable> {
        let comma = || self.all(items, ", ");
        Ok(match self.language {
            Python | Julia => format!("[{}]", comma()?),
            R => format!("list({})", comma()?),
            Scala => format!("Seq({})", comma()?),
            Matlab => format!("{{{}}}", comma()?),
            // An array without a common type needs an explicit one.
            CSharp if is_one_type(items) => format!("new [] {{ {} }}", comma()?),
            CSharp => format!("new object[] {{ {} }}", comma()?),
            FSharp => format!("[ {} ]", self.all(items, "; ")?),
            PowerShell => format!("@({})", comma()?),
            Bash => {
                let is_nested = |item: &ParameterValue| matches!(item, ParameterValue::List(_));
                if items.iter().any(is_nested) {
                    return Err("a list with lists");
                }
                let empty = |item: &ParameterValue| *item == ParameterValue::Null;
                let item = |item: &ParameterValue| match empty(item) {
                    true => Ok("''".to_owned()),
                    false => self.value(item),
                };
                let items: Vec<String> = items.iter().map(item).collect::<Result<_, _>>()?;
                format!("({})", items.join(" "))
            }
        })
    }

    fn map(&self, entries: &[(String, ParameterValue)]) -> Result<String, Unwritable> {
        let pairs = |form: &dyn Fn(&str, &str) -> String, between: &str| {
            let pair = |(key, value): &(String, ParameterValue)| {
                Ok::<_, Unwritable>(form(&self.text(key)?, &self.value(value)?))
            };
            let pairs: Vec<String> = entries.iter().map(pair).collect::<Result<_, _>>()?;
            Ok::<_, Unwritable>(pairs.join(between))
        };
        Ok(match self.language {
            Python => format!("{{{}}}", pairs(&|key, value| format!("{key}: {value}"), ", ")?),
            R => format!("list({})", pairs(&|key, value| format!("{key} = {value}"), ", ")?),
            Scala => format!("Map({})", pairs(&|key, value| format!("{key} -> {value}"), ", ")?),
            Julia => format!("Dict({})", pairs(&|key, value| format!("{key} => {value}"), ", ")?),
            Matlab => {
                let keys: Vec<String> =
                    entries.iter().map(|(key, _)| quote_matlab_key(key)).collect();
                let values = entries.iter().map(|(_, value)| self.value(value));
                let values: Vec<String> = values.collect::<Result<_, _>>()?;
                format!("containers.Map({{{}}}, {{{}}})", keys.join(", "), values.join(", "))
            }
            CSharp => {
                let pairs = pairs(&|key, value| format!("{{ {key} , {value} }}"), ", ")?;
                format!("new Dictionary<string,Object>{{ {pairs} }}")
            }
            FSharp => {
                let pairs = pairs(&|key, value| format!("({key}, {value} :> IComparable)"), "; ")?;
                format!("[ {pairs} ] |> Map.ofList")
            }
            PowerShell => {
                format!("@{{{}}}", pairs(&|key, value| format!("{key} = {value}"), "\n ")?)
            }
            Bash => return Err("a mapping"),
        })
    }
}

/// True if all items of a list have one type that C# infers.
fn is_one_type(items: &[ParameterValue]) -> bool {
    let Some(first) = items.first() else { return false };
    let is_simple = !matches!(first, ParameterValue::Null | ParameterValue::List(_));
    is_simple && items.iter().all(|item| item.kind() == first.kind())
}

fn escape_text(text: &str, escape: fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|character| escape(character, &mut out));
    out
}

/// Writes an escape that all languages with a backslash share; false if the character has none.
fn escape_common(character: char, out: &mut String) -> bool {
    let escape = match character {
        '\\' => "\\\\",
        '"' => "\\\"",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        ' '..='~' => {
            out.push(character);
            return true;
        }
        _ => return false,
    };
    out.push_str(escape);
    true
}

/// Escapes like Python's `unicode_escape`.
fn escape_for_python(character: char, out: &mut String) {
    if !escape_common(character, out) {
        let code = character as u32;
        // Writes into a string cannot fail.
        let _ = match code {
            0..0x100 => write!(out, "\\x{code:02x}"),
            0x100..0x10000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
}

/// `\x` is a byte in Julia, and a byte above 7F is not a character.
fn escape_for_julia(character: char, out: &mut String) {
    match character {
        '$' => out.push_str("\\$"),
        '\u{80}'..'\u{100}' => drop(write!(out, "\\u{:04x}", character as u32)),
        _ => escape_for_python(character, out),
    }
}

/// `\x` in C# takes as many digits as follow, so this avoids it.
fn escape_for_dotnet(character: char, out: &mut String) {
    if !escape_common(character, out) {
        let code = character as u32;
        let _ = match code {
            0..0x10000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
}

/// Scala needs two `\u` escapes for a character beyond the first 65,536.
fn escape_for_scala(character: char, out: &mut String) {
    if !escape_common(character, out) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
}

/// In PowerShell the backslash is an ordinary character, and the dollar sign is special.
fn escape_for_powershell(character: char, out: &mut String) {
    match character {
        '`' => out.push_str("``"),
        '"' => out.push_str("`\""),
        '$' => out.push_str("`$"),
        '\n' => out.push_str("`n"),
        '\r' => out.push_str("`r"),
        '\t' => out.push_str("`t"),
        // Typographic quotes end a text in PowerShell, too.
        '\u{201c}' | '\u{201d}' | '\u{201e}' => {
            out.push('`');
            out.push(character);
        }
        _ if character.is_control() => drop(write!(out, "$([char]{})", character as u32)),
        _ => out.push(character),
    }
}

/// Quotes a text for MATLAB, which escapes only the quote itself. Control characters are appended as `char(N)`.
fn quote_for_matlab(text: &str) -> String {
    let plain = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let parts = split_for_matlab(text, plain);
    if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" + ") }
}

/// Quotes a text as a character vector, the type of map keys.
fn quote_matlab_key(text: &str) -> String {
    let plain = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let parts = split_for_matlab(text, plain);
    match parts.as_slice() {
        [] => "''".to_owned(),
        [one] => one.clone(),
        parts => format!("[{}]", parts.join(", ")),
    }
}

fn split_for_matlab(text: &str, plain: impl Fn(&str) -> String) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(char::is_control).unwrap_or(rest.len());
        if end > 0 {
            parts.push(plain(&rest[..end]));
        }
        rest = &rest[end..];
        if let Some(control) = rest.chars().next() {
            parts.push(format!("char({})", control as u32));
            rest = &rest[control.len_utf8()..];
        }
    }
    // A sum that begins with `char(N)` would add numbers.
    if parts.first().is_some_and(|first| first.starts_with("char(")) {
        parts.insert(0, plain(""));
    }
    parts
}

/// Quotes like Python's `shlex.quote`.
fn quote_for_shell(text: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_safe) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}
