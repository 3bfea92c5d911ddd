//! Parameters as JSON, with whole numbers of any size.
//!
//! Owns how that text becomes values.

use std::fmt;

use inkcell_engine::api::MAX_PARAMETER_DEPTH;
use inkcell_engine::notebook::{ParameterValue, Parameters, WholeNumber};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Problem, TOO_DEEP, no_mapping};
use crate::words;

/// The members of an object in their order, as they are spelled.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Members<'de>, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Collect)
    }
}

pub(super) fn parameters(text: &str) -> Result<Parameters, Problem> {
    let broken = |error: serde_json::Error| words::parameters::no_json(&error);
    let raw: &RawValue = serde_json::from_str(text).map_err(broken)?;
    match value(raw, 0)? {
        ParameterValue::Null => Ok(Parameters::default()),
        ParameterValue::Map(entries) => Ok(entries.into_iter().collect()),
        other => Err(no_mapping(&other)),
    }
}

fn value(raw: &RawValue, depth: usize) -> Result<ParameterValue, Problem> {
    if depth > MAX_PARAMETER_DEPTH {
        return Err(TOO_DEEP.to_owned());
    }
    let text = raw.get();
    let broken = |error: serde_json::Error| words::parameters::no_json(&error);
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text).map_err(broken)?;
            let entries = members.into_iter().map(|(key, raw)| Ok((key, value(raw, depth + 1)?)));
            let entries: Vec<_> = entries.collect::<Result<_, Problem>>()?;
            let entries: Parameters = entries.into_iter().collect();
            ParameterValue::Map(entries.into_iter().collect())
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            let items = items.into_iter().map(|raw| value(raw, depth + 1));
            ParameterValue::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => ParameterValue::Text(serde_json::from_str(text).map_err(broken)?),
        Some(b't') => ParameterValue::Bool(true),
        Some(b'f') => ParameterValue::Bool(false),
        Some(b'n') => ParameterValue::Null,
        _ => match WholeNumber::parse(text) {
            Some(whole) => ParameterValue::Int(whole),
            None => ParameterValue::Float(serde_json::from_str(text).map_err(broken)?),
        },
    })
}
