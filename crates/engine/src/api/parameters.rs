//! Parameters of a run as JSON: those of a caller, and those on their way to a host.
//!
//! Owns both forms. A caller gives a plain object. On the way every value says what it is, since JSON has no numbers
//! that are none and rounds large ones.

use inkcell_notebook::{ParameterValue, Parameters, WholeNumber};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// How deep values may nest.
pub const MAX_PARAMETER_DEPTH: usize = 40;

/// Values as a caller gives them in JSON; none where they nest too deep.
pub fn json_parameters(given: &Map<String, Value>) -> Option<Parameters> {
    let entries = given.iter().map(|(name, value)| Some((name.clone(), of_json(value, 1)?)));
    entries.collect()
}

fn of_json(value: &Value, depth: usize) -> Option<ParameterValue> {
    if depth > MAX_PARAMETER_DEPTH {
        return None;
    }
    Some(match value {
        Value::Null => ParameterValue::Null,
        Value::Bool(yes) => ParameterValue::Bool(*yes),
        Value::Number(number) => match WholeNumber::parse(&number.to_string()) {
            Some(whole) => ParameterValue::Int(whole),
            None => ParameterValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => ParameterValue::Text(text.clone()),
        Value::Array(items) => {
            let items = items.iter().map(|item| of_json(item, depth + 1));
            ParameterValue::List(items.collect::<Option<_>>()?)
        }
        Value::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, item)| Some((key.clone(), of_json(item, depth + 1)?)));
            ParameterValue::Map(entries.collect::<Option<_>>()?)
        }
    })
}

/// A value that says what it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Null,
    Bool(bool),
    Int(String),
    Float(String),
    Text(String),
    List(Vec<Told>),
    Map(Vec<(String, Told)>),
}

impl Told {
    fn of(value: &ParameterValue) -> Told {
        match value {
            ParameterValue::Null => Told::Null,
            ParameterValue::Bool(yes) => Told::Bool(*yes),
            ParameterValue::Int(number) => Told::Int(number.as_str().to_owned()),
            ParameterValue::Float(number) => Told::Float(number.to_string()),
            ParameterValue::Text(text) => Told::Text(text.clone()),
            ParameterValue::List(items) => Told::List(items.iter().map(Told::of).collect()),
            ParameterValue::Map(entries) => {
                let told = |(key, value): &(String, ParameterValue)| (key.clone(), Told::of(value));
                Told::Map(entries.iter().map(told).collect())
            }
        }
    }

    fn value(self) -> Option<ParameterValue> {
        Some(match self {
            Told::Null => ParameterValue::Null,
            Told::Bool(yes) => ParameterValue::Bool(yes),
            Told::Int(digits) => ParameterValue::Int(WholeNumber::parse(&digits)?),
            Told::Float(text) => ParameterValue::Float(text.parse().ok()?),
            Told::Text(text) => ParameterValue::Text(text),
            Told::List(items) => {
                ParameterValue::List(items.into_iter().map(Told::value).collect::<Option<_>>()?)
            }
            Told::Map(entries) => {
                let value = |(key, told): (String, Told)| Some((key, told.value()?));
                ParameterValue::Map(entries.into_iter().map(value).collect::<Option<_>>()?)
            }
        })
    }
}

pub(super) fn serialize<S: Serializer>(given: &Parameters, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(given.iter().map(|(name, value)| (name, Told::of(value))))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Parameters, D::Error> {
    let told = Vec::<(String, Told)>::deserialize(from)?;
    let value = |(name, told): (String, Told)| Some((name, told.value()?));
    let given: Option<Parameters> = told.into_iter().map(value).collect();
    given.ok_or_else(|| D::Error::custom("a number of a parameter has no digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(given: &Parameters) -> Parameters {
        let mut text = Vec::new();
        serialize(given, &mut serde_json::Serializer::new(&mut text)).unwrap();
        deserialize(&mut serde_json::Deserializer::from_slice(&text)).unwrap()
    }

    #[test]
    fn every_value_arrives_as_it_was() {
        let digits = "-123456789012345678901234567890";
        let values = [
            ParameterValue::Null,
            ParameterValue::Bool(true),
            ParameterValue::Int(WholeNumber::parse(digits).unwrap()),
            ParameterValue::Float(-0.0),
            ParameterValue::Float(f64::INFINITY),
            ParameterValue::Float(0.1 + 0.2),
            ParameterValue::Text("é\u{0}\"".to_owned()),
            ParameterValue::List(vec![ParameterValue::Null, ParameterValue::List(Vec::new())]),
            ParameterValue::Map(vec![("int".to_owned(), ParameterValue::Text("1".to_owned()))]),
        ];
        let numbered = values.into_iter().enumerate();
        let given: Parameters = numbered.map(|(at, value)| (format!("p{at}"), value)).collect();
        assert_eq!(there_and_back(&given), given);
        let nan: Parameters =
            [("n".to_owned(), ParameterValue::Float(f64::NAN))].into_iter().collect();
        let arrived = there_and_back(&nan);
        assert!(matches!(arrived.get("n"), Some(ParameterValue::Float(n)) if n.is_nan()));
    }

    #[test]
    fn the_deepest_value_arrives_and_a_deeper_one_is_refused() {
        let nested = |depth: usize| {
            let mut value = Value::from(1);
            (1..depth).for_each(|_| value = Value::Array(vec![std::mem::take(&mut value)]));
            Map::from_iter([("deep".to_owned(), value)])
        };
        let deepest = json_parameters(&nested(MAX_PARAMETER_DEPTH)).unwrap();
        assert_eq!(there_and_back(&deepest), deepest);
        assert_eq!(json_parameters(&nested(MAX_PARAMETER_DEPTH + 1)), None);
    }

    #[test]
    fn numbers_of_json_keep_their_kind() {
        let given = serde_json::json!({"a": 1, "b": 1.0, "c": -5, "d": 18446744073709551615u64});
        let found = json_parameters(given.as_object().unwrap()).unwrap();
        let digits = |text: &str| ParameterValue::Int(WholeNumber::parse(text).unwrap());
        assert_eq!(found.get("a"), Some(&digits("1")));
        assert_eq!(found.get("b"), Some(&ParameterValue::Float(1.0)));
        assert_eq!(found.get("c"), Some(&digits("-5")));
        assert_eq!(found.get("d"), Some(&digits("18446744073709551615")));
    }
}
