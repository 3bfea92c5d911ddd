//! Parameters of a run as JSON: the caller's form, and the form for the host.
//!
//! Owns both forms. A caller gives a plain object. In the form for the host, every value has its type, since JSON
//! cannot spell infinity or NaN and rounds large numbers.

use inkcell_notebook::{ParameterValue, Parameters, WholeNumber};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The deepest nesting of values.
pub const MAX_PARAMETER_DEPTH: usize = 40;

/// Reads a caller's JSON values. Returns `None` if they nest too deep.
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

/// A value with its type.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TypedValue {
    Null,
    Bool(bool),
    Int(String),
    Float(String),
    Text(String),
    List(Vec<TypedValue>),
    Map(Vec<(String, TypedValue)>),
}

impl TypedValue {
    fn of(value: &ParameterValue) -> TypedValue {
        match value {
            ParameterValue::Null => TypedValue::Null,
            ParameterValue::Bool(yes) => TypedValue::Bool(*yes),
            ParameterValue::Int(number) => TypedValue::Int(number.as_str().to_owned()),
            ParameterValue::Float(number) => TypedValue::Float(number.to_string()),
            ParameterValue::Text(text) => TypedValue::Text(text.clone()),
            ParameterValue::List(items) => {
                TypedValue::List(items.iter().map(TypedValue::of).collect())
            }
            ParameterValue::Map(entries) => {
                let told =
                    |(key, value): &(String, ParameterValue)| (key.clone(), TypedValue::of(value));
                TypedValue::Map(entries.iter().map(told).collect())
            }
        }
    }

    fn value(self) -> Option<ParameterValue> {
        Some(match self {
            TypedValue::Null => ParameterValue::Null,
            TypedValue::Bool(yes) => ParameterValue::Bool(yes),
            TypedValue::Int(digits) => ParameterValue::Int(WholeNumber::parse(&digits)?),
            TypedValue::Float(text) => ParameterValue::Float(text.parse().ok()?),
            TypedValue::Text(text) => ParameterValue::Text(text),
            TypedValue::List(items) => ParameterValue::List(
                items.into_iter().map(TypedValue::value).collect::<Option<_>>()?,
            ),
            TypedValue::Map(entries) => {
                let value = |(key, told): (String, TypedValue)| Some((key, told.value()?));
                ParameterValue::Map(entries.into_iter().map(value).collect::<Option<_>>()?)
            }
        })
    }
}

pub(super) fn serialize<S: Serializer>(given: &Parameters, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(given.iter().map(|(name, value)| (name, TypedValue::of(value))))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Parameters, D::Error> {
    let told = Vec::<(String, TypedValue)>::deserialize(from)?;
    let value = |(name, told): (String, TypedValue)| Some((name, told.value()?));
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
