//! Questions as messages, and replies as answers.
//!
//! Owns the two ways to ask: through our code in a Python kernel, which knows every question, and
//! by the protocol's own requests, which know two of them.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::jupyter::fold::Fold;
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::message::{Channel, Message, Speak};
use crate::question::{Answer, AskId, Question};

/// A question that waits for its reply.
pub(crate) struct Asking {
    pub(crate) id: AskId,
    pub(crate) request: String,
    form: Form,
}

/// Open work at the moment a later request was sent. Replies come in order, so the reply to that
/// request means that this work is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Behind {
    Execution(String),
    Question(AskId),
}

impl Behind {
    /// Returns the work that is open now.
    pub(crate) fn what(fold: &Fold, asking: Option<&Asking>) -> Option<Behind> {
        let execution = fold.running().map(|request| Behind::Execution(request.to_owned()));
        execution.or_else(|| Some(Behind::Question(asking?.id)))
    }
}

enum Form {
    /// The question goes to our own code in the kernel.
    Guest,
    Complete,
    Inspect {
        name: String,
    },
}

/// Sends a question, or returns the answer that says why it cannot be asked.
pub(crate) fn ask(
    speaker: &impl Speak,
    guest: Guest,
    id: AskId,
    question: &Question,
) -> Result<Asking, Answer> {
    if guest == Guest::Present {
        let content = json!({"code": "", "silent": true, "store_history": false,
            "user_expressions": {"inkcell": guest::question(question)},
            "allow_stdin": false, "stop_on_error": false});
        let request = speaker.request(Channel::Shell, "execute_request", &content);
        return Ok(Asking { id, request, form: Form::Guest });
    }
    match question {
        Question::Complete { code, cursor } => {
            let content = json!({"code": code, "cursor_pos": cursor});
            let request = speaker.request(Channel::Shell, "complete_request", &content);
            Ok(Asking { id, request, form: Form::Complete })
        }
        Question::Help { name } => {
            let content =
                json!({"code": name, "cursor_pos": name.chars().count(), "detail_level": 0});
            let request = speaker.request(Channel::Shell, "inspect_request", &content);
            Ok(Asking { id, request, form: Form::Inspect { name: name.clone() } })
        }
        Question::Names { .. } => {
            let why =
                "Only a Python kernel that inkcell started knows names of code that has not run.";
            Err(Answer::Failed(why.to_owned()))
        }
        Question::Variables { .. } | Question::Variable { .. } | Question::Table { .. } => {
            let why = "Only a Python kernel that inkcell started can be asked for its variables; in others, run code \
                       that shows them.";
            Err(Answer::Failed(why.to_owned()))
        }
    }
}

impl Asking {
    /// Reads the answer, if this message is the reply to the question.
    pub(crate) fn answer(&self, message: &Message) -> Option<Answer> {
        if !message.is_of(&self.request) || !message.header.msg_type.ends_with("_reply") {
            return None;
        }
        let content = &message.content;
        let answer = match &self.form {
            Form::Guest => of_guest(content),
            Form::Complete => completion(content),
            Form::Inspect { name } => inspection(name, content),
        };
        Some(answer.unwrap_or_else(|| {
            Answer::Failed("The kernel's answer to the question cannot be read.".to_owned())
        }))
    }

    /// Returns the answer to a question whose reply an interrupt took away.
    pub(crate) fn interrupted() -> Answer {
        Answer::Failed("The question was interrupted.".to_owned())
    }
}

fn failed(name: &str) -> Answer {
    match name {
        "KeyboardInterrupt" => Asking::interrupted(),
        other => Answer::Failed(format!("The question could not be answered: {other}")),
    }
}

fn of_guest(content: &[u8]) -> Option<Answer> {
    #[derive(Deserialize)]
    struct Reply<'a> {
        #[serde(default)]
        ename: String,
        #[serde(borrow, default)]
        user_expressions: Option<Expressions<'a>>,
    }
    #[derive(Deserialize)]
    struct Expressions<'a> {
        #[serde(borrow)]
        inkcell: Option<ExpressionReply<'a>>,
    }
    #[derive(Deserialize)]
    struct ExpressionReply<'a> {
        #[serde(default)]
        ename: String,
        #[serde(borrow, default)]
        data: Option<Data<'a>>,
    }
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow, rename = "application/x-inkcell-answer")]
        answer: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct HelperReply<'a> {
        #[serde(default)]
        failed: Option<String>,
        #[serde(borrow, default)]
        answer: Option<&'a RawValue>,
    }
    let reply: Reply<'_> = serde_json::from_slice(content).ok()?;
    let Some(value) = reply.user_expressions.and_then(|it| it.inkcell) else {
        return Some(failed(&reply.ename));
    };
    let Some(data) = value.data else { return Some(failed(&value.ename)) };
    let text: String = serde_json::from_str(data.answer.get()).ok()?;
    let told: HelperReply<'_> = serde_json::from_str(&text).ok()?;
    match told.failed {
        Some(why) => Some(Answer::Failed(why)),
        None => told.answer.map(|json| Answer::Json(json.get().to_owned())),
    }
}

fn completion(content: &[u8]) -> Option<Answer> {
    #[derive(Deserialize)]
    struct Reply {
        #[serde(default)]
        matches: Vec<String>,
        #[serde(default)]
        cursor_start: u64,
        #[serde(default)]
        cursor_end: u64,
        #[serde(default)]
        metadata: Value,
    }
    let reply: Reply = serde_json::from_slice(content).ok()?;
    // Not part of the protocol, but where it exists, it names the type of each match.
    let types = &reply.metadata["_jupyter_types_experimental"];
    let of = |(at, text): (usize, &String)| {
        let kind = types[at]["type"].as_str().unwrap_or_default();
        json!({"text": text, "type": kind})
    };
    let matches: Vec<Value> = reply.matches.iter().enumerate().map(of).collect();
    let (start, end, total) = (reply.cursor_start, reply.cursor_end, matches.len());
    let answer = json!({"start": start, "end": end, "matches": matches, "total": total});
    Some(Answer::Json(answer.to_string()))
}

fn inspection(name: &str, content: &[u8]) -> Option<Answer> {
    #[derive(Deserialize)]
    struct Reply {
        #[serde(default)]
        found: bool,
        #[serde(default)]
        data: serde_json::Map<String, Value>,
    }
    let reply: Reply = serde_json::from_slice(content).ok()?;
    let text = reply.data.get("text/plain").and_then(Value::as_str);
    match text.filter(|_| reply.found) {
        Some(text) => Some(Answer::Json(json!({"name": name, "doc": text}).to_string())),
        None => Some(Answer::Failed(format!("The kernel knows nothing of {name}."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_become_answers() {
        let guest = |content: Value| of_guest(content.to_string().as_bytes());
        let told = |text: &str| json!({"status": "ok", "user_expressions": {"inkcell": {"status": "ok", "data": {"application/x-inkcell-answer": text}}}});
        let answer = Some(Answer::Json(r#"{"a": 1.0}"#.to_owned()));
        assert_eq!(guest(told(r#"{"answer": {"a": 1.0}}"#)), answer);
        assert_eq!(guest(told(r#"{"failed": "no"}"#)), Some(Answer::Failed("no".to_owned())));
        let error = json!({"status": "ok", "user_expressions": {"inkcell": {"status": "error", "ename": "KeyboardInterrupt"}}});
        assert_eq!(guest(error), Some(Asking::interrupted()));
        assert_eq!(
            guest(json!({"status": "error", "ename": "KeyboardInterrupt"})),
            Some(Asking::interrupted())
        );
        assert_eq!(of_guest(b"nonsense"), None);
        let matches = json!({"matches": ["ab", "ac"], "cursor_start": 1, "cursor_end": 2, "metadata":
            {"_jupyter_types_experimental": [{"text": "ab", "type": "function"}]}});
        let wanted = r#"{"start":1,"end":2,"matches":[{"text":"ab","type":"function"},{"text":"ac","type":""}],"total":2}"#;
        assert_eq!(
            completion(matches.to_string().as_bytes()),
            Some(Answer::Json(wanted.to_owned()))
        );
        let found = json!({"found": true, "data": {"text/plain": "doc"}});
        let wanted = Answer::Json(r#"{"name":"x","doc":"doc"}"#.to_owned());
        assert_eq!(inspection("x", found.to_string().as_bytes()), Some(wanted));
        assert!(matches!(inspection("x", b"{}"), Some(Answer::Failed(_))));
    }
}
