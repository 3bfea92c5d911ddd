//! Recorded messages of IPython's kernel, decoded as live ones are. However the bytes are cut, and
//! in whatever order the channels deliver them, the events must be the same. `record.py` recorded
//! the texts in `traces/`.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::event::{ExecEvent, ExecId, KernelEvent, MimeBundle, MimeData, Outcome};
use crate::jupyter::fold::{Effect, Fold};
use crate::jupyter::handshake::StartPhase;
use crate::jupyter::message::Channel;
use crate::kernel::{CodeRequest, History, InputMode, NamesWanted};
use crate::zmq::sign::{Checker, Signer};
use crate::zmq::wire;
use crate::zmq::zmtp::{self, Decoder, Incoming};

const KEY: &str = "key";

/// One recording: messages in an order in which they once arrived, and the expected events.
struct Trace {
    name: &'static str,
    messages: Vec<(Channel, Vec<Bytes>)>,
    events: Vec<&'static str>,
}

macro_rules! traces {
    ($($name:literal),*) => {
        [$(Trace::read($name, include_str!(concat!("traces/", $name, ".txt")))),*]
    };
}

fn all() -> [Trace; 12] {
    traces![
        "clear_output",
        "displays",
        "error",
        "failed_syntax",
        "input",
        "interrupted",
        "magic",
        "nested",
        "picture",
        "streams",
        "thread",
        "widget"
    ]
}

/// Encodes a message; `number` makes it differ from all others.
fn frames(number: usize, kind: &str, parent: &str, content: &str) -> Vec<Bytes> {
    let header = |id: &str, kind: &str, session: &str| json!({"msg_id": id, "msg_type": kind, "session": session});
    let parent = match parent {
        "-" => json!({}),
        "r" => header("r", "execute_request", "me"),
        other => header(other, "execute_request", "other"),
    };
    let parts = [header(&format!("k{number}"), kind, "kernel"), parent, json!({})];
    let [header, parent, metadata] = parts.map(|part: Value| part.to_string());
    wire::encode([header, parent, metadata, content.to_owned()].map(Bytes::from), &Signer::new(KEY))
}

impl Trace {
    fn read(name: &'static str, text: &'static str) -> Trace {
        let (messages, events) = text.split_once("\nevents\n").expect("events");
        let message = |(number, line): (usize, &str)| {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let [channel, kind, parent, content] = words[..] else { panic!("{name}: {line}") };
            let channel = match channel {
                "iopub" => Channel::Iopub,
                "shell" => Channel::Shell,
                "stdin" => Channel::Stdin,
                other => panic!("{name}: {other}"),
            };
            (channel, frames(number, kind, parent, content))
        };
        let is_message = |line: &&str| !line.starts_with("# ") && !line.starts_with("cell ");
        let messages = messages.lines().filter(is_message).enumerate().map(message).collect();
        Trace { name, messages, events: events.lines().collect() }
    }

    /// Returns every order in which the channels can deliver the messages. A message after a
    /// question stays after its answer.
    fn orders(&self) -> Vec<Vec<usize>> {
        let mut orders = Vec::new();
        self.extend(&mut Vec::new(), &mut orders);
        orders
    }

    fn extend(&self, order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
        if order.len() == self.messages.len() {
            orders.push(order.clone());
            return;
        }
        for at in 0..self.messages.len() {
            let is_first = |before: usize| {
                let (channel, of_before) = (self.messages[at].0, self.messages[before].0);
                let is_bound = of_before == channel || of_before == Channel::Stdin;
                !is_bound || order.contains(&before)
            };
            if !order.contains(&at) && (0..at).all(is_first) {
                order.push(at);
                self.extend(order, orders);
                order.pop();
            }
        }
    }

    /// Returns the events of the messages in this order, as lines.
    fn events_of(&self, order: &[usize]) -> Vec<String> {
        let mut reading = Reading::new();
        let heard = order.iter().flat_map(|at| {
            let (channel, frames) = &self.messages[*at];
            reading.heard(*channel, frames)
        });
        heard.collect()
    }
}

/// A reader of a kernel that has just received a cell.
struct Reading {
    fold: Fold,
    checker: Checker,
}

impl Reading {
    fn new() -> Reading {
        let mut fold = Fold::new("me".to_owned(), StartPhase::default());
        let (code, env) = (String::new(), Vec::new());
        let (history, input) = (History::Store, InputMode::Refuse);
        let request = CodeRequest {
            exec: ExecId(1),
            code,
            history,
            env,
            cwd: None,
            input,
            names: NamesWanted::No,
        };
        fold.begin(&request, "r".to_owned());
        Reading { fold, checker: Checker::new(Signer::new(KEY)) }
    }

    fn heard(&mut self, channel: Channel, frames: &[Bytes]) -> Vec<String> {
        let message = wire::decode(frames, &mut self.checker).expect("a message");
        self.fold.heard(channel, &message).iter().map(line).collect()
    }
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::Event(KernelEvent::Exec { event, .. }) => event_line(event),
        Effect::Event(KernelEvent::Orphan(event)) => format!("orphan {}", event_line(event)),
        Effect::Line { .. } => "Line".to_owned(),
        other => format!("{other:?}"),
    }
}

fn event_line(event: &ExecEvent) -> String {
    match event {
        ExecEvent::Started { count } => format!("started {}", count.unwrap_or(0)),
        ExecEvent::Stream { name, data } => {
            format!("{} {:?}", name.as_str(), String::from_utf8_lossy(data))
        }
        ExecEvent::Display { id: None, data } => format!("display {}", bundle(data)),
        ExecEvent::Display { id: Some(id), data } => {
            format!("display as {} {}", id.0, bundle(data))
        }
        ExecEvent::UpdateDisplay { id, data } => format!("update {} {}", id.0, bundle(data)),
        ExecEvent::Result { count, data, .. } => format!("result {count} {}", bundle(data)),
        ExecEvent::ClearOutput { wait } => format!("clear, wait {wait}"),
        ExecEvent::InputRequested { prompt, .. } => format!("asks {prompt:?}"),
        ExecEvent::Widgets(states) => format!("widgets {:?}", states.0.keys()),
        ExecEvent::Names(names) => format!("makes {:?}", names.makes),
        ExecEvent::Finished(Outcome::Error(error)) => {
            format!("fails {}: {} in {} lines", error.name, error.value, error.plain.len())
        }
        ExecEvent::Finished(outcome) => format!("ends {outcome:?}"),
    }
}

fn bundle(bundle: &MimeBundle) -> String {
    let form = |(mime, data): &(String, MimeData)| match data {
        MimeData::Text(text) => format!("{mime} {text:?}"),
        MimeData::Json(json) => format!("{mime} {json}"),
        MimeData::Binary(bytes) => format!("{mime} of {} bytes", bytes.len()),
    };
    bundle.data.iter().map(form).collect::<Vec<_>>().join(" | ")
}

/// Returns the lines that must be the same in every order. The protocol does not fix the place of a
/// question among the output, nor if output behind the end still belongs to a cell whose reply is
/// late.
fn essence(told: &[String]) -> (Vec<&str>, Vec<&str>) {
    let is_free = |line: &&str| line.starts_with("asks ") || line.starts_with("Line");
    let is_end = |line: &&str| line.starts_with("ends ") || line.starts_with("fails ");
    let lines = || told.iter().map(|line| line.strip_prefix("orphan ").unwrap_or(line));
    let output = lines().filter(|line| !is_free(line) && !is_end(line)).collect();
    (output, lines().filter(|line| is_free(line) || is_end(line)).collect())
}

/// Issue 7: in the recorded order, a recording gives the expected events.
#[test]
fn what_was_recorded_means_what_it_should() {
    for trace in all() {
        let order: Vec<usize> = (0..trace.messages.len()).collect();
        assert_eq!(trace.events_of(&order), trace.events, "{}", trace.name);
    }
}

/// Issue 7: in every order in which the channels can deliver it, a recording gives the same events.
/// The test tries all orders.
#[test]
fn every_order_of_the_channels_means_the_same() {
    for trace in all() {
        let orders = trace.orders();
        assert!(orders.len() >= trace.messages.len(), "{}: {}", trace.name, orders.len());
        let wanted: Vec<String> = trace.events.iter().map(|line| (*line).to_owned()).collect();
        for order in orders {
            let told = trace.events_of(&order);
            assert_eq!(essence(&told), essence(&wanted), "{} as {order:?}: {told:?}", trace.name);
            let end = told
                .iter()
                .position(|line| line.starts_with("ends ") || line.starts_with("fails "));
            let after = &told[end.expect("an end") + 1..];
            assert!(
                after.iter().all(|line| line.starts_with("orphan ")),
                "{}: {told:?}",
                trace.name
            );
            // Only output behind the kernel's idle status may belong to no cell.
            assert!(after.is_empty() || trace.name == "thread", "{}: {told:?}", trace.name);
        }
    }
}

proptest! {
    /// Issue 7: however the bytes of each channel are cut and interleaved, a recording gives the
    /// same events.
    #[test]
    fn any_cutting_means_the_same(
        which in 0usize..12,
        pick in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(1usize..2000, 1..30),
    ) {
        let traces = all();
        let trace = &traces[which];
        let orders = trace.orders();
        let order = &orders[pick.index(orders.len())];
        let (mut reading, mut told) = (Reading::new(), Vec::new());
        let mut decoders: BTreeMap<&str, Decoder> = BTreeMap::new();
        let mut cuts = cuts.iter().cycle();
        for at in order {
            let (channel, frames) = &trace.messages[*at];
            let bytes = zmtp::encode(frames);
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let cut = (*cuts.next().expect("a cycle")).min(rest.len());
                let decoder = decoders.entry(channel.as_str()).or_default();
                decoder.buffer().extend_from_slice(&rest[..cut]);
                rest = &rest[cut..];
                while let Some(incoming) = decoder.next().expect("a frame") {
                    let Incoming::Message(frames) = incoming else { panic!("a command") };
                    told.extend(reading.heard(*channel, &frames));
                }
            }
        }
        prop_assert_eq!(told, trace.events_of(order));
    }
}
