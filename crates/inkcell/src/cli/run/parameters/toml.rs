//! Parameters as TOML, in the order of the file.
//!
//! Owns how that text becomes values. Dates and times become text.

use inkcell_engine::api::MAX_PARAMETER_DEPTH;
use inkcell_engine::notebook::{ParameterValue, Parameters, WholeNumber};
use toml::de::{DeTable, DeValue};

use super::{Problem, TOO_DEEP};
use crate::words;

pub(super) fn parameters(text: &str) -> Result<Parameters, Problem> {
    let broken = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        words::parameters::not_toml(line, error.message())
    };
    let table = DeTable::parse(text).map_err(broken)?;
    Ok(entries(table.get_ref(), 0)?.into_iter().collect())
}

fn entries(table: &DeTable<'_>, depth: usize) -> Result<Vec<(String, ParameterValue)>, Problem> {
    let mut entries: Vec<_> = table.iter().collect();
    // The parser sorts by name; the positions are still known.
    entries.sort_by_key(|(key, _)| key.span().start);
    let value =
        |(key, item): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| {
            Ok((key.get_ref().to_string(), value(item.get_ref(), depth + 1)?))
        };
    entries.into_iter().map(value).collect()
}

fn value(item: &DeValue<'_>, depth: usize) -> Result<ParameterValue, Problem> {
    if depth > MAX_PARAMETER_DEPTH {
        return Err(TOO_DEEP.to_owned());
    }
    Ok(match item {
        DeValue::String(text) => ParameterValue::Text(text.to_string()),
        DeValue::Boolean(yes) => ParameterValue::Bool(*yes),
        DeValue::Datetime(time) => ParameterValue::Text(time.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str();
            let too_large = || words::parameters::number_too_large(digits);
            let whole = match number.radix() {
                10 => WholeNumber::parse(digits),
                radix => {
                    let number = u128::from_str_radix(digits, radix).ok();
                    number.and_then(|number| WholeNumber::parse(&number.to_string()))
                }
            };
            ParameterValue::Int(whole.ok_or_else(too_large)?)
        }
        DeValue::Float(number) => {
            let text = number.as_str();
            let parsed = text.parse().map_err(|_| format!("{text} is not a number"))?;
            ParameterValue::Float(parsed)
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| value(item.get_ref(), depth + 1));
            ParameterValue::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => ParameterValue::Map(entries(table, depth)?),
    })
}
