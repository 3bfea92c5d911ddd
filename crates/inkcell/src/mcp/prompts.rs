//! Prompts for the three things people ask most.
//!
//! Owns their words. They speak of what to do, so that they hold whichever tools are offered.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

struct Text {
    name: &'static str,
    description: &'static str,
    text: &'static str,
}

const ALL: [Text; 3] = [
    Text {
        name: "explain-notebook",
        description: "Explain what a notebook does, cell by cell.",
        text: "Read the outline of the notebook {path}, then the cells that matter. Explain what it does, in \
               which order, and what its outputs show. Do not change the file.",
    },
    Text {
        name: "fix-notebook",
        description: "Find out why a cell of a notebook fails, and mend it.",
        text: "Read the outline of the notebook {path} and find the cells whose outputs are errors. Run their \
               code in a session to reproduce the failure, change only the cells that are wrong, and run them \
               again. Say what was wrong and what you changed.",
    },
    Text {
        name: "explore-data",
        description: "Look at data and write what is found into a notebook.",
        text: "Load the data {path} in a session, look at its columns, types, missing values and ranges without \
               printing all of it, and make two or three pictures that show something. Then write the steps that \
               matter into a notebook, one idea a cell, with a sentence before each.",
    },
];

pub(super) fn list() -> Vec<Prompt> {
    let argument = || PromptArgument::new("path").with_description("The file").with_required(true);
    ALL.iter()
        .map(|prompt| Prompt::new(prompt.name, Some(prompt.description), Some(vec![argument()])))
        .collect()
}

/// The prompt of this name, filled; none when there is no such prompt.
pub(super) fn get(name: &str, arguments: Option<&Map<String, Value>>) -> Option<GetPromptResult> {
    let prompt = ALL.iter().find(|prompt| prompt.name == name)?;
    let path = arguments.and_then(|given| given.get("path")).and_then(Value::as_str);
    let text = prompt.text.replace("{path}", path.unwrap_or("that I name next"));
    let message = PromptMessage::new_text(Role::User, text);
    Some(GetPromptResult::new(vec![message]).with_description(prompt.description))
}
