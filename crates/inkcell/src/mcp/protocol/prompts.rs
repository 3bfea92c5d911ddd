//! Prompts for the three most common tasks.
//!
//! Owns their words. They describe the task and name no tool. Prompts that need Python are offered only with
//! Python.

use inkcell_engine::notebook::visible_line;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use crate::mcp::desk::weight;
use crate::mcp::exposure::{Exposure, PythonTools};

struct Text {
    name: &'static str,
    description: &'static str,
    text: &'static str,
    needs: Needs,
}

/// The tools that a prompt needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Files,
    Python,
}

const ALL: [Text; 3] = [
    Text {
        name: "explain-notebook",
        description: "Explain what a notebook does, cell by cell.",
        text: "Read the outline of the notebook {path}, then the cells that matter. Explain what it does, in \
               which order, and what its outputs show. Do not change the file.",
        needs: Needs::Files,
    },
    Text {
        name: "fix-notebook",
        description: "Find out why a cell of a notebook fails, and fix it.",
        text: "Read the outline of the notebook {path} and find the cells whose outputs are errors. Run their \
               code in a session to reproduce the failure. Change only the cells that are wrong, and run them \
               again. Say what was wrong and what you changed.",
        needs: Needs::Python,
    },
    Text {
        name: "explore-data",
        description: "Explore data and write the findings into a notebook.",
        text: "Load the data {path} in a session. Look at its columns, types, missing values and ranges without \
               printing all of it. Make two or three plots that show something. Then write the steps that \
               matter into a notebook, one idea a cell, with a sentence before each.",
        needs: Needs::Python,
    },
];

/// The prompts that the tools on offer can fulfil.
fn offered(exposure: &Exposure) -> impl Iterator<Item = &'static Text> {
    let has_python = exposure.python == PythonTools::Offered;
    ALL.iter().filter(move |prompt| prompt.needs == Needs::Files || has_python)
}

pub(super) fn list(exposure: &Exposure) -> Vec<Prompt> {
    let argument = || PromptArgument::new("path").with_description("The file").with_required(true);
    offered(exposure)
        .map(|prompt| Prompt::new(prompt.name, Some(prompt.description), Some(vec![argument()])))
        .collect()
}

/// The prompt of this name, filled in; none if it does not exist.
pub(super) fn get(
    name: &str,
    arguments: Option<&Map<String, Value>>,
    exposure: &Exposure,
) -> Option<GetPromptResult> {
    let prompt = offered(exposure).find(|prompt| prompt.name == name)?;
    let path = arguments.and_then(|given| given.get("path")).and_then(Value::as_str);
    // No file has a longer path, and an answer has a bound.
    let path = path.map(|path| visible_line(weight::beginning(path, 4096)));
    let text = prompt.text.replace("{path}", path.as_deref().unwrap_or("that I name next"));
    let message = PromptMessage::new_text(Role::User, text);
    Some(GetPromptResult::new(vec![message]).with_description(prompt.description))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::exposure::ToolSet;

    /// Issue 21, 29: the path comes from outside.
    #[test]
    fn path_with_control_characters_is_shown_visible() {
        let exposure = Exposure::for_one_call(ToolSet::Default);
        for prompt in &ALL {
            let arguments = Map::from_iter([("path".to_owned(), "\u{1b}]0;t\u{7}.ipynb".into())]);
            let found = get(prompt.name, Some(&arguments), &exposure).expect("a prompt");
            let text = serde_json::to_value(&found.messages[0]).expect("JSON")["content"]["text"]
                .as_str()
                .expect("a text")
                .to_owned();
            assert!(text.contains("\u{241b}]0;t\u{2407}.ipynb"), "{text}");
            assert!(!text.contains(char::is_control), "{text}");
        }
    }
}
