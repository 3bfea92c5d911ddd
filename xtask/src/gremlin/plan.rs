//! Plans the actions of a round, from the seed alone.
//!
//! Owns the likelihood of each action. Pure: the same seed makes the same actions on any machine.

use serde_json::{Value, json};

use super::action::{Action, Blow, Ending, FetchTarget, FileFault, Progress};
use super::code;
use super::dice::Dice;

/// The notebooks of every round.
pub(crate) const NOTEBOOKS: [&str; 4] = ["a.ipynb", "b.ipynb", "with space.ipynb", "ünï.ipynb"];
/// The word before the number of a call in the call's output.
pub(crate) const CANARY: &str = "canary";

/// Plans the actions of one round.
pub(crate) fn round(seed: u64, number: u64) -> Vec<Action> {
    let mut dice = Dice::new(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let tools = *dice.pick(&["default", "default", "all", "compat"]);
    let mut plan = Plan { dice, tools, calls: 0 };
    let mut actions = vec![Action::Start { tools: tools.to_owned() }];
    let length = 20 + plan.dice.below(30);
    for at in 0..length {
        if at % 8 == 7 {
            actions.push(Action::Settle);
        }
        let next = plan.action();
        actions.push(next);
    }
    // One round in three ends while calls still run.
    if !plan.dice.one_in(3) {
        actions.push(Action::Settle);
    }
    let endings = [
        Ending::Leave,
        Ending::Leave,
        Ending::HalfLine,
        Ending::Vanish,
        Ending::Terminate,
        Ending::Kill,
    ];
    actions.push(Action::End { how: *plan.dice.pick(&endings) });
    actions
}

struct Plan {
    dice: Dice,
    tools: &'static str,
    calls: u64,
}

impl Plan {
    fn action(&mut self) -> Action {
        match self.dice.below(100) {
            0..30 => self.run(),
            30..42 => self.edit(),
            42..50 => self.read(),
            50..56 => self.kernel(),
            56..60 => self.inspect(),
            60..67 => self.fetch(),
            67..73 => Action::Cancel { back: self.dice.below(4) },
            73..79 => self.raw(),
            79..85 => {
                let signals =
                    [Blow::Kill, Blow::Kill, Blow::Stop, Blow::Interrupt, Blow::Terminate];
                Action::Signal { nth: self.dice.below(8), signal: *self.dice.pick(&signals) }
            }
            85..91 => {
                use FileFault::{Cut, Delete, Folder, Garbage, ReadOnly, Replace};
                let faults = [Delete, Cut, Garbage, Replace, Replace, ReadOnly, Folder];
                Action::File { name: self.notebook(), fault: *self.dice.pick(&faults) }
            }
            91..95 => Action::Wait { millis: self.dice.below(400) as u64 },
            95..98 => self.ask(),
            _ => self.wrong(),
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Action {
        let progress = if self.dice.one_in(3) { Progress::Wanted } else { Progress::Unwanted };
        Action::Call { tool: tool.to_owned(), arguments, progress }
    }

    fn has_own(&self) -> bool {
        self.tools != "compat"
    }

    fn has_compat(&self) -> bool {
        self.tools != "default"
    }

    fn notebook(&mut self) -> String {
        (*self.dice.pick(&NOTEBOOKS)).to_owned()
    }

    fn session(&mut self) -> Option<&'static str> {
        *self.dice.pick(&[None, None, Some("a"), Some("b"), Some("c"), Some("new")])
    }

    fn run(&mut self) -> Action {
        self.calls += 1;
        let code = code::any(&mut self.dice, &format!("{CANARY}-{}-", self.calls));
        if self.has_compat() && self.dice.one_in(4) {
            let cell = json!({"language": "py", "code": code, "timeout": 2});
            return self.call("eval", json!({"cells": [cell]}));
        }
        if self.has_compat() && self.dice.one_in(5) {
            let canary = format!("{CANARY}-{}-", self.calls);
            let command = code::shell(&mut self.dice, &canary);
            return self.call("bash", json!({"command": command, "timeout": 2}));
        }
        let mut arguments = json!({"code": code, "timeout": 1 + self.dice.below(3)});
        if self.dice.one_in(4) {
            let first = json!({"code": "x = 1", "title": "first"});
            arguments = json!({"cells": [first, {"code": code}], "timeout": 2});
        }
        if let Some(session) = self.session() {
            arguments["session"] = json!(session);
        }
        if self.dice.one_in(8) {
            arguments["reset"] = json!(true);
        }
        if self.has_own() {
            if self.dice.one_in(3) {
                arguments["wait"] = json!(self.dice.below(3));
            }
            if self.dice.one_in(10) {
                let (path, cell) = (self.notebook(), self.dice.below(5));
                arguments = json!({"path": path, "cell": cell, "timeout": 2});
            }
        }
        self.call("python", arguments)
    }

    fn edit(&mut self) -> Action {
        let (path, cell) = (self.notebook(), self.dice.below(6));
        let source = format!("value = {}\nprint(value)", self.dice.below(1000));
        if self.tools == "compat" || (self.tools == "all" && self.dice.one_in(3)) {
            return match self.dice.below(4) {
                0 => {
                    let mode = *self.dice.pick(&["replace", "insert", "delete"]);
                    let arguments = json!({"notebook_path": path, "cell_id": format!("c{cell}"),
                        "new_source": source, "cell_type": "code", "edit_mode": mode});
                    self.call("NotebookEdit", arguments)
                }
                1 => {
                    let action = *self.dice.pick(&["edit", "insert", "delete"]);
                    let arguments = json!({"action": action, "notebook_path": path,
                        "cell_index": cell, "content": source});
                    self.call("notebook", arguments)
                }
                2 => {
                    let arguments = json!({"path": path, "old": "value", "new": "other"});
                    self.call("edit", arguments)
                }
                _ => {
                    let content = format!("# %% [code] cell:0\n{source}\n");
                    self.call("write", json!({"path": path, "content": content}))
                }
            };
        }
        let mut op = match self.dice.below(8) {
            0 | 1 => json!({"op": "insert", "at": "end", "source": source}),
            2 => json!({"op": "delete", "cell": cell}),
            3 => json!({"op": "move", "cell": cell, "at": "start"}),
            4 => json!({"op": "sub", "cell": cell, "old": "value", "new": "other", "all": true}),
            5 => json!({"op": "type", "cell": cell, "type": "markdown"}),
            6 => json!({"op": "meta", "cell": cell, "set": {"tag": self.dice.below(9)}}),
            _ => json!({"op": "replace", "cell": format!("c{cell}"), "source": source}),
        };
        if self.dice.one_in(3) {
            let ops = json!([op, {"op": "insert", "at": "start", "source": "# note", "type": "markdown"}]);
            op = json!({"ops": ops});
        }
        op["path"] = json!(path);
        if self.dice.one_in(6) {
            op["if_hash"] = json!(format!("{:016x}", self.dice.next()));
        }
        if self.dice.one_in(6) {
            op["create"] = json!(true);
        }
        self.call("notebook_edit", op)
    }

    fn read(&mut self) -> Action {
        let mut path = self.notebook();
        if self.dice.one_in(4) {
            path.push_str(":2-9");
        }
        if !self.has_own() {
            return self.call("read", json!({"path": path}));
        }
        let view = *self.dice.pick(&["text", "outline", "raw"]);
        let mut arguments = json!({"path": path, "view": view});
        if view == "text" && self.dice.one_in(3) {
            arguments["outputs"] = json!("full");
        }
        if view != "raw" && self.dice.one_in(4) {
            arguments["search"] = json!("val.e");
        }
        self.call("notebook_read", arguments)
    }

    fn kernel(&mut self) -> Action {
        if !self.has_own() {
            return self.read();
        }
        let actions = ["list", "list", "start", "status", "interrupt", "restart", "stop", "keep"];
        let mut arguments = json!({"action": *self.dice.pick(&actions)});
        if let Some(session) = self.session().filter(|name| *name != "new") {
            arguments["session"] = json!(session);
        }
        self.call("kernel", arguments)
    }

    fn inspect(&mut self) -> Action {
        if !self.has_own() {
            return self.read();
        }
        let mut arguments = match self.dice.below(4) {
            0 => json!({}),
            1 => json!({"name": "x"}),
            2 => json!({"help": "print"}),
            _ => json!({"code": "import o"}),
        };
        if let Some(session) = self.session().filter(|name| *name != "new") {
            arguments["session"] = json!(session);
        }
        self.call("inspect", arguments)
    }

    fn fetch(&mut self) -> Action {
        let kinds = [
            FetchTarget::Execution,
            FetchTarget::Artifact,
            FetchTarget::Resource,
            FetchTarget::MadeUp,
        ];
        let what = *self.dice.pick(&kinds);
        let arguments = match what {
            FetchTarget::Execution => json!({"wait": self.dice.below(2)}),
            _ => match self.dice.below(4) {
                0 => json!({}),
                1 => json!({"lines": "10-20"}),
                2 => json!({"grep": "9+"}),
                _ => json!({"offset": self.dice.below(5000)}),
            },
        };
        Action::Fetch { what, arguments }
    }

    fn ask(&mut self) -> Action {
        let (method, params) = match self.dice.below(7) {
            0 => ("tools/list", json!({})),
            1 => ("resources/list", json!({})),
            2 => ("prompts/list", json!({})),
            3 => ("ping", json!({})),
            4 => ("no/such/method", json!({"a": [1, {}]})),
            5 => ("tools/call", json!(7)),
            _ => ("resources/read", json!({"uri": "artifact://../../etc/passwd"})),
        };
        Action::Ask { method: method.to_owned(), params }
    }

    /// Makes a call with wrong arguments or an unknown tool.
    fn wrong(&mut self) -> Action {
        let (tool, arguments) = match self.dice.below(6) {
            0 => ("python", json!({"Code": "1"})),
            1 => ("python", json!({"code": 7, "timeout": "soon"})),
            2 => ("notebook_edit", json!({"path": "a.ipynb", "op": "explode"})),
            3 => ("notebook_read", json!({"path": "../../../etc"})),
            4 => ("no_such_tool", json!({})),
            _ => ("kernel", json!({"action": "list", "session": "a\nb"})),
        };
        self.call(tool, arguments)
    }

    fn raw(&mut self) -> Action {
        let number = self.dice.below(1000);
        let sound = format!(
            r#"{{"jsonrpc":"2.0","id":"raw-{number}","method":"tools/call","params":{{"name":"notebook_read","arguments":{{"path":"a.ipynb"}}}}}}"#
        );
        let bytes = match self.dice.below(10) {
            0 => String::new(),
            1 => "{".to_owned(),
            2 => "[".repeat(100 + self.dice.below(5000)),
            3 => "\0\u{1}\u{ff}\u{fe}".to_owned(),
            4 => format!("[{sound}]"),
            5 => "x".repeat(self.dice.below(200_000)),
            6 => sound[..self.dice.below(sound.len())].to_owned(),
            7 => sound.replace("raw-", "raw-\\u0000"),
            _ => {
                // A message with some bytes changed: mostly nonsense, sometimes another valid message.
                let mut chars: Vec<char> = sound.chars().collect();
                for _ in 0..1 + self.dice.below(4) {
                    let at = self.dice.below(chars.len());
                    chars[at] = char::from(self.dice.below(256) as u8);
                }
                chars.into_iter().filter(|one| *one != '\n').collect()
            }
        };
        Action::Raw { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// F-151: the same seed makes the same actions, another seed makes others.
    #[test]
    fn the_seed_decides_everything() {
        for number in 0..50 {
            assert_eq!(round(7, number), round(7, number));
        }
        let rounds = |seed| (0..5).map(|number| round(seed, number)).collect::<Vec<_>>();
        assert_ne!(rounds(7), rounds(8));
        assert_ne!(round(7, 1), round(7, 2));
    }

    /// F-151: a log contains exactly the actions that were executed.
    #[test]
    fn an_action_is_the_same_after_a_log() {
        for action in (0..50).flat_map(|number| round(1, number)) {
            let line = serde_json::to_string(&action).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Action>(&line).unwrap(), action);
        }
    }

    /// A round is the life of one server, and every kind of action occurs in some round.
    #[test]
    fn everything_is_done_sooner_or_later() {
        let mut kinds = BTreeSet::new();
        let mut tools = BTreeSet::new();
        for number in 0..100 {
            let actions = round(3, number);
            assert!(matches!(actions.first(), Some(Action::Start { .. })));
            assert!(matches!(actions.last(), Some(Action::End { .. })));
            let inner = &actions[1..actions.len() - 1];
            assert!(
                !inner.iter().any(|one| matches!(one, Action::Start { .. } | Action::End { .. }))
            );
            for action in &actions {
                kinds.insert(serde_json::to_value(action).unwrap()["do"].to_string());
                if let Action::Call { tool, .. } = action {
                    tools.insert(tool.clone());
                }
            }
        }
        assert_eq!(kinds.len(), 11, "{kinds:?}");
        for tool in ["python", "eval", "bash", "notebook_edit", "write", "kernel", "inspect"] {
            assert!(tools.contains(tool), "{tools:?}");
        }
    }

    /// Code that prints includes the number of its call, so two calls must not share one.
    #[test]
    fn each_call_has_a_number_of_its_own() {
        let numbered = |action: &Action| match action {
            Action::Call { arguments, .. } => {
                let text = arguments.to_string();
                let rest = text.split_once("canary-")?.1;
                rest.split('-').next().map(str::to_owned)
            }
            _ => None,
        };
        let numbers: Vec<String> = round(5, 9).iter().filter_map(numbered).collect();
        let different: BTreeSet<&String> = numbers.iter().collect();
        assert!(!numbers.is_empty());
        assert_eq!(numbers.len(), different.len());
    }
}
