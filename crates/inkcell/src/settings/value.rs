//! The allowed values of a setting, and how they are read from a variable or a file.
//!
//! Owns the kinds of values and the words for what is allowed. It must not know the list of settings.

use std::fmt;
use std::time::Duration;

use inkcell_engine::kernel::{EnvPattern, GatewayUrl, PlainHttp};
use serde_json::{Value as Json, json};
use toml::de::DeValue;

use crate::words;

/// A year in seconds; longer times are typos.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Stands for a secret that is set.
const HIDDEN: &str = "(set, not shown)";

/// The kind of a setting, which decides its allowed values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any text that is not empty, with its meaning.
    Text(&'static str),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// On or off, in the usual spellings.
    Switch,
    Seconds,
    /// A time in seconds, or this word (or 0) for none.
    SecondsOr(&'static str),
    Bytes,
    /// A size in bytes, or this word (or 0) for none.
    BytesOr(&'static str),
    Count,
    /// A count, or this word (or 0) for none.
    CountOr(&'static str),
    /// The address of a server, such as a gateway.
    Url,
    /// A text that is never shown.
    Secret(&'static str),
    /// Words, with their meaning; in a variable separated by commas.
    List(&'static str),
    /// Patterns for the names of variables that code gets.
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
    Count(u32),
    Secret(Secret),
    Address(Address),
    List(Vec<String>),
}

/// A text that no message, list or log shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    #[cfg(test)]
    pub(crate) fn new(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    /// The text itself, for the code that needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

/// The address of a server as the user pasted it: a token may follow it, which is not shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    whole: Secret,
    shown: String,
}

impl Address {
    /// Parses the address of a server without a user name: too many programs show the part before the host, so it
    /// is refused here.
    pub(crate) fn parse(given: &str) -> Option<Address> {
        let end = given.find(['?', '#']).unwrap_or(given.len());
        let place = &given[..end];
        let rest = place.strip_prefix("http://").or_else(|| place.strip_prefix("https://"))?;
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "@\\".contains(c);
        if rest.is_empty() || rest.starts_with(['/', ':']) || rest.contains(is_odd) {
            return None;
        }
        // Other errors in it are reported when it is used.
        let shown = GatewayUrl::parse(given, PlainHttp::Anywhere)
            .map_or_else(|_| place.to_owned(), |(url, _)| url.to_string());
        Some(Address { whole: Secret(given.to_owned()), shown })
    }

    /// The whole address, including a possible token, for the code that needs it.
    pub(crate) fn reveal(&self) -> &str {
        self.whole.reveal()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Kind {
    /// The allowed values, in words that follow "it is".
    pub(crate) fn allowed(self) -> String {
        match self {
            Kind::Text(what) => what.to_owned(),
            Kind::Choice([first @ .., last]) => format!("{} or {last}", first.join(", ")),
            Kind::Choice([]) => "nothing".to_owned(),
            Kind::Switch => "on or off".to_owned(),
            Kind::Seconds => "a number of seconds above 0, such as 3 or 0.5".to_owned(),
            Kind::SecondsOr(word) => format!("a number of seconds, such as 3 or 0.5, or {word}"),
            Kind::Bytes => "a number of bytes above 0, such as 51200".to_owned(),
            Kind::BytesOr(word) => format!("a number of bytes, such as 51200, or {word}"),
            Kind::Count => "a whole number above 0".to_owned(),
            Kind::CountOr(word) => format!("a whole number, or {word}"),
            Kind::Url => {
                "an address such as http://127.0.0.1:8888 or http://localhost:8888/lab?token=..., without a \
                 user before the host"
                    .to_owned()
            }
            Kind::Secret(what) => what.to_owned(),
            Kind::List(what) => format!("a list of {what}"),
            Kind::Patterns => "a list of NAME, NAME=VALUE or a glob such as AWS_*".to_owned(),
        }
    }

    /// Parses a value from a variable. The error is the whole sentence about it.
    pub(crate) fn read(self, given: &str) -> Result<Value, String> {
        let wrong = || self.wrong(&format_args!("{given:?}"));
        let given = given.trim();
        match self {
            Kind::Text(_) | Kind::Secret(_) if given.is_empty() => Err(wrong()),
            Kind::Secret(_) => Ok(Value::Secret(Secret(given.to_owned()))),
            Kind::Url => Address::parse(given).map(Value::Address).ok_or_else(wrong),
            Kind::Text(_) => Ok(Value::Text(given.to_owned())),
            Kind::Choice(words) => {
                let found = words.iter().find(|word| word.eq_ignore_ascii_case(given));
                found.map(|word| Value::Choice(word)).ok_or_else(wrong)
            }
            Kind::Switch => {
                let is_one_of =
                    |words: &[&str]| words.iter().any(|word| given.eq_ignore_ascii_case(word));
                match () {
                    () if is_one_of(&["on", "true", "yes", "1"]) => Ok(Value::Choice("on")),
                    () if is_one_of(&["off", "false", "no", "0"]) => Ok(Value::Choice("off")),
                    () => Err(wrong()),
                }
            }
            Kind::SecondsOr(word) | Kind::BytesOr(word) | Kind::CountOr(word)
                if given.eq_ignore_ascii_case(word) || given.parse() == Ok(0.0) =>
            {
                Ok(Value::Choice(word))
            }
            Kind::Seconds | Kind::SecondsOr(_) => {
                given.parse().ok().and_then(seconds).map(Value::Seconds).ok_or_else(wrong)
            }
            Kind::Bytes | Kind::BytesOr(_) => {
                let size = given.parse().ok().filter(|size| *size > 0);
                size.map(Value::Bytes).ok_or_else(wrong)
            }
            Kind::Count | Kind::CountOr(_) => {
                let count = given.parse().ok().filter(|count| *count > 0);
                count.map(Value::Count).ok_or_else(wrong)
            }
            Kind::List(_) | Kind::Patterns => {
                let words = given.split(',').map(str::trim).filter(|word| !word.is_empty());
                self.list(words.map(str::to_owned).collect())
            }
        }
    }

    /// Parses a value from a file.
    pub(crate) fn read_toml(self, given: &DeValue<'_>) -> Result<Value, String> {
        let wrong = || self.wrong(&ValueText(given));
        match (self, given) {
            (Kind::Switch, DeValue::Boolean(on)) => {
                Ok(Value::Choice(if *on { "on" } else { "off" }))
            }
            // `off` in a file may also be written as a boolean.
            (Kind::Choice(_) | Kind::SecondsOr(_) | Kind::BytesOr(_), DeValue::Boolean(false)) => {
                self.read("off").map_err(|_| wrong())
            }
            (
                Kind::Text(_) | Kind::Choice(_) | Kind::Switch | Kind::Url | Kind::Secret(_),
                DeValue::String(text),
            ) => self.read(text),
            (
                Kind::SecondsOr(word) | Kind::BytesOr(word) | Kind::CountOr(word),
                DeValue::String(text),
            ) if text.trim().eq_ignore_ascii_case(word) => Ok(Value::Choice(word)),
            (Kind::Seconds | Kind::SecondsOr(_), DeValue::Float(number)) => {
                self.read_number(number.as_str(), wrong)
            }
            (
                Kind::Seconds
                | Kind::SecondsOr(_)
                | Kind::Bytes
                | Kind::BytesOr(_)
                | Kind::Count
                | Kind::CountOr(_),
                DeValue::Integer(number),
            ) if number.radix() == 10 => self.read_number(number.as_str(), wrong),
            (Kind::List(_) | Kind::Patterns, DeValue::Array(items)) => {
                let words = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
                self.list(words.collect::<Option<Vec<_>>>().ok_or_else(wrong)?)
            }
            _ => Err(wrong()),
        }
    }

    /// The sentence about a value that is not allowed. It does not repeat a value that may be or hold a secret.
    fn wrong(self, shown: &dyn fmt::Display) -> String {
        match self {
            Kind::Secret(_) | Kind::Url => words::setting::is_something_else(&self.allowed()),
            _ => words::setting::is_wrong(shown, &self.allowed()),
        }
    }

    fn read_number(self, number: &str, wrong: impl Fn() -> String) -> Result<Value, String> {
        self.read(&number.replace('_', "")).map_err(|_| wrong())
    }

    fn list(self, words: Vec<String>) -> Result<Value, String> {
        if matches!(self, Kind::Patterns) {
            for word in &words {
                word.parse::<EnvPattern>().map_err(|error| words::setting::wrong_entry(&error))?;
            }
        } else if let Some(word) = words.iter().find(|word| word.trim().is_empty()) {
            return Err(words::setting::has_entry(word, &self.allowed()));
        }
        Ok(Value::List(words))
    }
}

fn seconds(number: f64) -> Option<Duration> {
    let is_fine = number > 0.0 && number <= MAX_SECONDS;
    is_fine.then(|| Duration::from_secs_f64(number))
}

/// A value of a file, as a message shows it.
struct ValueText<'a>(&'a DeValue<'a>);

impl fmt::Display for ValueText<'_> {
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
            Value::Count(count) => json!(count),
            Value::Secret(_) => json!(HIDDEN),
            Value::Address(address) => json!(address.shown),
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
            Value::Count(count) => write!(f, "{count}"),
            Value::Secret(_) => f.write_str(HIDDEN),
            Value::Address(address) => fmt::Display::fmt(address, f),
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
            (Kind::Bytes, "0", None),
            (Kind::Switch, "1", Some(Value::Choice("on"))),
            (Kind::Switch, "False", Some(Value::Choice("off"))),
            (Kind::Switch, "2", None),
            (Kind::SecondsOr("never"), "Never", Some(Value::Choice("never"))),
            (Kind::SecondsOr("never"), "0", Some(Value::Choice("never"))),
            (Kind::SecondsOr("never"), "2", Some(Value::Seconds(Duration::from_secs(2)))),
            (Kind::SecondsOr("never"), "off", None),
            (Kind::BytesOr("off"), "0", Some(Value::Choice("off"))),
            (Kind::BytesOr("off"), "7", Some(Value::Bytes(7))),
            (Kind::BytesOr("off"), "0.5", None),
            (Kind::Count, "4", Some(Value::Count(4))),
            (Kind::Count, "0", None),
            (Kind::Count, "4.5", None),
            (Kind::CountOr("none"), "4", Some(Value::Count(4))),
            (Kind::CountOr("none"), "0", Some(Value::Choice("none"))),
            (Kind::CountOr("none"), "-1", None),
            (Kind::Url, "ftp://a.b", None),
            (Kind::Url, "127.0.0.1:8888", None),
            (Kind::Url, "http://", None),
            (Kind::Url, "http://me:pass@a.b", None),
            (Kind::Secret("a token"), " ", None),
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
            (Kind::Switch, "true", Ok(Value::Choice("on"))),
            (Kind::Switch, "'off'", Ok(Value::Choice("off"))),
            (Kind::Switch, "1", Err("is 1; it takes on or off")),
            (Kind::Choice(&["inline", "off"]), "false", Ok(Value::Choice("off"))),
            (Kind::SecondsOr("off"), "false", Ok(Value::Choice("off"))),
            (Kind::SecondsOr("off"), "0", Ok(Value::Choice("off"))),
            (
                Kind::SecondsOr("never"),
                "false",
                Err("is false; it takes a number of seconds, such as 3 or 0.5, or never"),
            ),
            (Kind::BytesOr("off"), "'off'", Ok(Value::Choice("off"))),
            (Kind::BytesOr("off"), "1_024", Ok(Value::Bytes(1024))),
            (Kind::Count, "12", Ok(Value::Count(12))),
            (Kind::Count, "0", Err("is 0; it takes a whole number above 0")),
            (Kind::Count, "'4'", Err("is \"4\"; it takes a whole number above 0")),
            (CHOICE, "'off'", Ok(Value::Choice("off"))),
            (CHOICE, "1", Err("is 1; it takes on or off")),
            (Kind::Choice(&["auto", "off"]), "true", Err("is true; it takes auto or off")),
            (Kind::Seconds, "2", Ok(Value::Seconds(Duration::from_secs(2)))),
            (Kind::Seconds, "0.25", Ok(Value::Seconds(Duration::from_millis(250)))),
            (
                Kind::Seconds,
                "'2'",
                Err("is \"2\"; it takes a number of seconds above 0, such as 3 or 0.5"),
            ),
            (
                Kind::Seconds,
                "nan",
                Err("is nan; it takes a number of seconds above 0, such as 3 or 0.5"),
            ),
            (Kind::Bytes, "1_000", Ok(Value::Bytes(1000))),
            (Kind::List("names"), "['a', 'b']", Ok(Value::List(vec!["a".into(), "b".into()]))),
            (Kind::List("names"), "'a'", Err("is \"a\"; it takes a list of names")),
            (Kind::List("names"), "['a', 1]", Err("is a list; it takes a list of names")),
            (Kind::List("names"), "['']", Err("has the entry \"\"; it takes a list of names")),
        ];
        for (kind, given, wanted) in table {
            let parsed = DeValue::parse(given).unwrap();
            assert_eq!(kind.read_toml(parsed.get_ref()), wanted.map_err(str::to_owned), "{given}");
        }
    }
    /// A secret, or a value that may hold one, is in no message, list or log.
    #[test]
    fn secrets_are_not_shown() {
        let token = Kind::Secret("a token");
        let value = token.read("hunter2").unwrap();
        let Value::Secret(secret) = &value else { unreachable!() };
        assert_eq!(secret.reveal(), "hunter2");
        for shown in [value.to_string(), value.to_json().to_string(), format!("{value:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let number = DeValue::parse("4711").unwrap();
        let wrong = [
            token.read_toml(number.get_ref()).unwrap_err(),
            Kind::Url.read("http://me@a.b/?token=4711").unwrap_err(),
            Kind::Url.read_toml(number.get_ref()).unwrap_err(),
        ];
        for sentence in wrong {
            assert!(!sentence.contains("4711"), "{sentence}");
        }
    }

    /// B:G-01: a pasted address is accepted, and shown without its token.
    #[test]
    fn addresses_are_shown_without_their_tokens() {
        let table = [
            ("http://127.0.0.1:8888/", "http://127.0.0.1:8888"),
            ("http://localhost:8888/lab?token=hunter2", "http://localhost:8888"),
            ("http://localhost:8888/tree?token=hunter2#top", "http://localhost:8888"),
            ("http://h.org/notebooks/a%20b.ipynb?token=hunter2", "http://h.org"),
            ("https://h.org/user/me/lab?token=hunter2", "https://h.org/user/me"),
            // Errors in it are reported when it is used.
            ("https://h.org/hub/home?token=hunter2", "https://h.org/hub/home"),
            ("https://h.org/?token=%zzhunter2", "https://h.org/"),
        ];
        for (given, wanted) in table {
            let value = Kind::Url.read(given).unwrap();
            let Value::Address(address) = &value else { unreachable!() };
            assert_eq!((address.reveal(), value.to_string().as_str()), (given, wanted));
            for shown in [value.to_string(), value.to_json().to_string(), format!("{value:?}")] {
                assert!(!shown.contains("hunter2"), "{shown}");
            }
        }
    }
}
