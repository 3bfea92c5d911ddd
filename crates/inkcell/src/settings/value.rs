//! What a setting may be, and how it is read from a variable or a file.
//!
//! Owns the kinds of values and the words for what is allowed. It must not know which settings there are.

use std::fmt;
use std::time::Duration;

use inkcell_engine::kernel::Pattern;
use serde_json::{Value as Json, json};
use toml::de::DeValue;

/// A week; longer times are slips.
const MAX_SECONDS: f64 = 604_800.0;

/// What a setting may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any text that is not empty, with what it means.
    Text(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time.
    Seconds,
    /// A size.
    Bytes,
    /// Words, with what they mean; in a variable with commas between them.
    List(&'static str),
    /// What may pass to code.
    Patterns,
}

/// The value of a setting.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Unset,
    Text(String),
    Choice(&'static str),
    Seconds(Duration),
    Bytes(u64),
    List(Vec<String>),
}

impl Kind {
    /// What is allowed, in words that follow "it is".
    pub(crate) fn allowed(self) -> String {
        match self {
            Kind::Text(what) => what.to_owned(),
            Kind::Choice([first @ .., last]) => format!("{} or {last}", first.join(", ")),
            Kind::Choice([]) => "nothing".to_owned(),
            Kind::Seconds => "a number of seconds above 0, such as 3 or 0.5".to_owned(),
            Kind::Bytes => "a number of bytes, such as 2147483648".to_owned(),
            Kind::List(what) => format!("a list of {what}"),
            Kind::Patterns => "a list of NAME, NAME=VALUE or a glob such as AWS_*".to_owned(),
        }
    }

    /// A value as a variable has it. The error is the whole sentence about it.
    pub(crate) fn read(self, given: &str) -> Result<Value, String> {
        let wrong = || format!("is {given:?}; it is {}", self.allowed());
        let given = given.trim();
        match self {
            Kind::Text(_) if given.is_empty() => Err(wrong()),
            Kind::Text(_) => Ok(Value::Text(given.to_owned())),
            Kind::Choice(words) => {
                let found = words.iter().find(|word| word.eq_ignore_ascii_case(given));
                found.map(|word| Value::Choice(word)).ok_or_else(wrong)
            }
            Kind::Seconds => {
                given.parse().ok().and_then(seconds).map(Value::Seconds).ok_or_else(wrong)
            }
            Kind::Bytes => given.parse().map(Value::Bytes).map_err(|_| wrong()),
            Kind::List(_) | Kind::Patterns => {
                let words = given.split(',').map(str::trim).filter(|word| !word.is_empty());
                self.list(words.map(str::to_owned).collect())
            }
        }
    }

    /// A value as a file has it.
    pub(crate) fn read_toml(self, given: &DeValue<'_>) -> Result<Value, String> {
        let wrong = || format!("is {}; it is {}", Shown(given), self.allowed());
        match (self, given) {
            (Kind::Choice(_), DeValue::Boolean(on)) => {
                self.read(if *on { "on" } else { "off" }).map_err(|_| wrong())
            }
            (Kind::Text(_) | Kind::Choice(_), DeValue::String(text)) => self.read(text),
            (Kind::Seconds, DeValue::Integer(number)) => self.read_number(number.as_str(), wrong),
            (Kind::Seconds, DeValue::Float(number)) => self.read_number(number.as_str(), wrong),
            (Kind::Bytes, DeValue::Integer(number)) if number.radix() == 10 => {
                self.read_number(number.as_str(), wrong)
            }
            (Kind::List(_) | Kind::Patterns, DeValue::Array(items)) => {
                let words = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
                self.list(words.collect::<Option<Vec<_>>>().ok_or_else(wrong)?)
            }
            _ => Err(wrong()),
        }
    }

    fn read_number(self, number: &str, wrong: impl Fn() -> String) -> Result<Value, String> {
        self.read(&number.replace('_', "")).map_err(|_| wrong())
    }

    fn list(self, words: Vec<String>) -> Result<Value, String> {
        if matches!(self, Kind::Patterns) {
            for word in &words {
                word.parse::<Pattern>().map_err(|error| format!("has an entry that {error}"))?;
            }
        } else if let Some(word) = words.iter().find(|word| word.trim().is_empty()) {
            return Err(format!("has the entry {word:?}; it is {}", self.allowed()));
        }
        Ok(Value::List(words))
    }
}

fn seconds(number: f64) -> Option<Duration> {
    let is_fine = number > 0.0 && number <= MAX_SECONDS;
    is_fine.then(|| Duration::from_secs_f64(number))
}

/// A value of a file, as a message shows it.
struct Shown<'a>(&'a DeValue<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DeValue::String(text) => write!(f, "{text:?}"),
            DeValue::Integer(number) => f.write_str(number.as_str()),
            DeValue::Float(number) => f.write_str(number.as_str()),
            DeValue::Boolean(on) => write!(f, "{on}"),
            DeValue::Datetime(_) => f.write_str("a date"),
            DeValue::Array(_) => f.write_str("a list"),
            DeValue::Table(_) => f.write_str("a table"),
        }
    }
}

impl Value {
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Value::Unset => Json::Null,
            Value::Text(text) => json!(text),
            Value::Choice(word) => json!(word),
            Value::Seconds(time) => json!(time.as_secs_f64()),
            Value::Bytes(size) => json!(size),
            Value::List(words) => json!(words),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unset => f.write_str("-"),
            Value::Text(text) => f.write_str(text),
            Value::Choice(word) => f.write_str(word),
            Value::Seconds(time) => write!(f, "{}", time.as_secs_f64()),
            Value::Bytes(size) => write!(f, "{size}"),
            Value::List(words) if words.is_empty() => f.write_str("-"),
            Value::List(words) => f.write_str(&words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICE: Kind = Kind::Choice(&["on", "off"]);

    #[test]
    fn variables_are_read() {
        let list = |words: &[&str]| Value::List(words.iter().map(|word| (*word).into()).collect());
        let table = [
            (CHOICE, "on", Some(Value::Choice("on"))),
            (CHOICE, " OFF ", Some(Value::Choice("off"))),
            (CHOICE, "yes", None),
            (Kind::Seconds, "0.5", Some(Value::Seconds(Duration::from_millis(500)))),
            (Kind::Seconds, "0", None),
            (Kind::Seconds, "-1", None),
            (Kind::Seconds, "inf", None),
            (Kind::Seconds, "NaN", None),
            (Kind::Seconds, "1e9", None),
            (Kind::Bytes, "100", Some(Value::Bytes(100))),
            (Kind::Bytes, "-100", None),
            (Kind::Text("a path"), " /x y ", Some(Value::Text("/x y".into()))),
            (Kind::Text("a path"), " ", None),
            (Kind::List("names"), "a, b,,", Some(list(&["a", "b"]))),
            (Kind::Patterns, "A,B_*,C=d", Some(list(&["A", "B_*", "C=d"]))),
            (Kind::Patterns, "=x", None),
        ];
        for (kind, given, wanted) in table {
            assert_eq!(kind.read(given).ok(), wanted, "{given:?}");
        }
    }

    #[test]
    fn values_of_files_are_read_and_told() {
        let table = [
            (CHOICE, "true", Ok(Value::Choice("on"))),
            (CHOICE, "'off'", Ok(Value::Choice("off"))),
            (CHOICE, "1", Err("is 1; it is on or off")),
            (Kind::Choice(&["auto", "off"]), "true", Err("is true; it is auto or off")),
            (Kind::Seconds, "2", Ok(Value::Seconds(Duration::from_secs(2)))),
            (Kind::Seconds, "0.25", Ok(Value::Seconds(Duration::from_millis(250)))),
            (
                Kind::Seconds,
                "'2'",
                Err("is \"2\"; it is a number of seconds above 0, such as 3 or 0.5"),
            ),
            (
                Kind::Seconds,
                "nan",
                Err("is nan; it is a number of seconds above 0, such as 3 or 0.5"),
            ),
            (Kind::Bytes, "1_000", Ok(Value::Bytes(1000))),
            (Kind::List("names"), "['a', 'b']", Ok(Value::List(vec!["a".into(), "b".into()]))),
            (Kind::List("names"), "'a'", Err("is \"a\"; it is a list of names")),
            (Kind::List("names"), "['a', 1]", Err("is a list; it is a list of names")),
            (Kind::List("names"), "['']", Err("has the entry \"\"; it is a list of names")),
        ];
        for (kind, given, wanted) in table {
            let parsed = DeValue::parse(given).unwrap();
            assert_eq!(kind.read_toml(parsed.get_ref()), wanted.map_err(str::to_owned), "{given}");
        }
    }
}
