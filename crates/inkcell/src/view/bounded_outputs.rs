//! Outputs collected for one final answer: the first and the last ones, within a bound.
//!
//! Owns the bound, and the marker in place of the outputs that it drops. It must not know where outputs
//! come from.

use std::collections::VecDeque;

use inkcell_engine::kernel::{DisplayId, StreamName};
use serde_json::{Value, json};

use crate::words;

/// Bytes kept of the beginning, and again of the end.
const EACH: usize = 16 << 20;

/// Bytes of one part of a stream. The end of a stream is dropped part by part.
const PART: usize = 1 << 16;

/// Bytes counted for each part beside its content.
const OVERHEAD: usize = 128;

/// One output, or one part of a stream.
pub(crate) enum Output {
    /// Bytes rather than text, since a cut may split a character.
    Stream(StreamName, Vec<u8>),
    /// The last field is the approximate size in bytes.
    Display(Option<DisplayId>, Value, usize),
    /// Marks a gap of this many bytes.
    LeftOut(StreamName, u64),
}

/// The first and the last outputs, in order.
pub(crate) struct BoundedOutputs {
    each: usize,
    head: Vec<Output>,
    head_bytes: usize,
    tail: VecDeque<Output>,
    tail_bytes: usize,
    left_out: u64,
}

impl Default for BoundedOutputs {
    fn default() -> BoundedOutputs {
        BoundedOutputs::new(EACH)
    }
}

impl BoundedOutputs {
    fn new(each: usize) -> BoundedOutputs {
        let (head, tail) = (Vec::new(), VecDeque::new());
        BoundedOutputs { each, head, head_bytes: 0, tail, tail_bytes: 0, left_out: 0 }
    }

    pub(crate) fn clear(&mut self) {
        *self = BoundedOutputs::new(self.each);
    }

    /// Number of bytes that were dropped.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(crate) fn stream(&mut self, name: StreamName, bytes: &[u8]) {
        let room = if self.tail.is_empty() { self.each.saturating_sub(self.head_bytes) } else { 0 };
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        if !first.is_empty() {
            self.head_bytes += first.len();
            match self.head.last_mut() {
                Some(Output::Stream(last, known)) if *last == name => {
                    known.extend_from_slice(first);
                }
                _ => {
                    self.head_bytes += OVERHEAD;
                    self.head.push(Output::Stream(name, first.to_vec()));
                }
            }
        }
        for part in rest.chunks(PART) {
            self.tail_bytes += part.len();
            match self.tail.back_mut() {
                Some(Output::Stream(last, known))
                    if *last == name && known.len() + part.len() <= PART =>
                {
                    known.extend_from_slice(part);
                }
                _ => {
                    self.tail_bytes += OVERHEAD;
                    self.tail.push_back(Output::Stream(name, part.to_vec()));
                }
            }
            self.drop_middle();
        }
    }

    pub(crate) fn display(&mut self, id: Option<DisplayId>, value: Value, size: usize) {
        let display = Output::Display(id, value, size);
        if self.tail.is_empty() && self.head_bytes < self.each {
            self.head_bytes += cost(&display);
            self.head.push(display);
        } else {
            self.tail_bytes += cost(&display);
            self.tail.push_back(display);
            self.drop_middle();
        }
    }

    /// Replaces the content of every display with this id.
    pub(crate) fn update(&mut self, id: &DisplayId, new: &Value) {
        for output in self.head.iter_mut().chain(&mut self.tail) {
            if let Output::Display(Some(known), value, _) = output
                && known == id
            {
                *value = new.clone();
            }
        }
    }

    /// Drops the oldest outputs of the tail until it is within its bound. The very last output always
    /// stays.
    fn drop_middle(&mut self) {
        while self.tail_bytes > self.each && self.tail.len() > 1 {
            let Some(oldest) = self.tail.pop_front() else { return };
            self.tail_bytes -= cost(&oldest);
            let (name, size) = match oldest {
                Output::Stream(name, bytes) => (name, bytes.len() as u64),
                Output::Display(_, _, size) => (StreamName::Stdout, size as u64),
                Output::LeftOut(name, size) => (name, size),
            };
            self.left_out += size;
            match self.head.last_mut() {
                Some(Output::LeftOut(_, known)) => *known += size,
                _ => self.head.push(Output::LeftOut(name, size)),
            }
        }
    }

    /// The outputs in the format of a notebook.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let mut found = Vec::new();
        let mut open: Option<(StreamName, Vec<u8>)> = None;
        for output in self.head.iter().chain(&self.tail) {
            let said;
            let (name, bytes) = match output {
                Output::Stream(name, bytes) => (*name, bytes.as_slice()),
                Output::LeftOut(name, size) => {
                    said = words::output::bytes_left_out(*size);
                    (*name, said.as_bytes())
                }
                Output::Display(_, value, _) => {
                    found.extend(open.take().map(stream_json));
                    found.push(value.clone());
                    continue;
                }
            };
            match &mut open {
                Some((last, known)) if *last == name => known.extend_from_slice(bytes),
                _ => found.extend(open.replace((name, bytes.to_vec())).map(stream_json)),
            }
        }
        found.extend(open.map(stream_json));
        found
    }
}

fn cost(output: &Output) -> usize {
    OVERHEAD
        + match output {
            Output::Stream(_, bytes) => bytes.len(),
            Output::Display(_, _, size) => *size,
            Output::LeftOut(..) => 0,
        }
}

fn stream_json((name, bytes): (StreamName, Vec<u8>)) -> Value {
    json!({
        "output_type": "stream",
        "name": name.as_str(),
        "text": String::from_utf8_lossy(&bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: StreamName = StreamName::Stdout;

    /// F-036: the first and the last outputs are kept, and a marker between them counts the missing bytes.
    #[test]
    fn the_middle_of_too_much_output_is_left_out() {
        let mut kept = BoundedOutputs::new(4 * PART);
        for letter in b'a'..=b'z' {
            kept.stream(OUT, &[letter; PART]);
        }
        let outputs = kept.to_json();
        assert_eq!(outputs.len(), 1);
        let text = outputs[0]["text"].as_str().unwrap();
        let marker = format!("\n[... {} bytes of output left out ...]\n", kept.left_out());
        let (first, last) = text.split_once(&marker).unwrap();
        assert_eq!(first.len() + last.len() + kept.left_out() as usize, 26 * PART);
        assert!(first.starts_with('a') && last.ends_with('z'));
        assert!(first.len() <= 4 * PART && last.len() <= 4 * PART);
        kept.clear();
        assert_eq!((kept.left_out(), kept.to_json().len()), (0, 0));
    }

    /// Displays count against the bound too. The very last output is kept at any size.
    #[test]
    fn displays_are_within_the_bound_too() {
        let mut kept = BoundedOutputs::new(1000);
        for number in 0..100 {
            kept.display(None, json!({"number": number}), 100);
            kept.stream(StreamName::Stderr, b"x");
        }
        kept.display(None, json!({"number": "last"}), 5000);
        let outputs = kept.to_json();
        assert!(outputs.len() < 20, "{outputs:?}");
        assert_eq!(outputs[0]["number"], 0);
        assert_eq!(outputs.last().unwrap()["number"], "last");
        assert!(kept.left_out() > 8000);
    }
}
