//! Values for a notebook, as users give them: words of a command, YAML, base64, files.
//!
//! Owns the precedence of these forms and the errors about unreadable ones; `word.rs` interprets a single word,
//! `yaml.rs`, `json.rs` and `toml.rs` the texts. The engine uses the values.

mod json;
mod toml;
mod word;
mod yaml;

use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use inkcell_engine::notebook::{ParameterValue, Parameters};

use crate::args::ParameterArgs;
use crate::exit::Failure;
use crate::words::{self, parameters::TOO_DEEP};

pub(crate) use word::of_word;

/// The most bytes of a file of parameters.
const MAX_BYTES: u64 = 16 << 20;

/// Base64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The reason why a text holds no parameters: the end of a sentence.
type Problem = String;

/// The values of a command. More exact forms take precedence, as in papermill: base64, then files, then YAML, then
/// single words.
pub(crate) fn given(args: &ParameterArgs, cwd: &Path) -> Result<Parameters, Failure> {
    let mut all = Parameters::default();
    for text in &args.base64 {
        let failed = |problem| Failure::argument("--params-base64", problem);
        all.extend(of_base64(text).map_err(failed)?);
    }
    for file in &args.files {
        let failed =
            |problem| Failure::argument("--params", format!("{}: {problem}", file.display()));
        all.extend(of_file(&cwd.join(file)).map_err(failed)?);
    }
    for text in &args.yaml {
        let failed = |problem| Failure::argument("--params-yaml", problem);
        all.extend(yaml::parameters(text).map_err(failed)?);
    }
    for word in &args.words {
        all.set(&word.name, of_word(&word.value));
    }
    for word in &args.raw {
        all.set(&word.name, ParameterValue::Text(word.value.clone()));
    }
    Ok(all)
}

fn of_base64(text: &str) -> Result<Parameters, Problem> {
    let text: String = text.split_whitespace().collect();
    let bytes = BASE64.decode(text).map_err(|error| words::parameters::no_base64(&error))?;
    let text = String::from_utf8(bytes);
    yaml::parameters(&text.map_err(|_| words::parameters::ENCODED_NO_TEXT.to_owned())?)
}

/// A file of parameters; the end of its name tells the format.
fn of_file(path: &Path) -> Result<Parameters, Problem> {
    let failed = |error: std::io::Error| words::parameters::not_read(&error);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_BYTES {
        return Err(words::parameters::too_large(size));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| words::parameters::NO_TEXT.to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("json") => json::parameters(text),
        Some("toml") => toml::parameters(text),
        // YAML, whatever its name: papermill reads nothing else.
        _ => yaml::parameters(text),
    }
}

/// The error for text that is not a mapping.
fn no_mapping(value: &ParameterValue) -> Problem {
    words::parameters::no_mapping(value.kind())
}

#[cfg(test)]
mod tests;
