//! One execution as a test observed it, from its start to its end.
//!
//! Owns the inspection of events. It must not know where they came from.

use inkcell_kernel::{
    Death, DeathCause, ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName,
};

/// One execution with its events, and the death of the kernel if it died meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) events: Vec<ExecEvent>,
    pub(crate) orphans: Vec<ExecEvent>,
    pub(crate) notices: Vec<String>,
    pub(crate) death: Option<Death>,
}

impl Ran {
    /// The output on a stream, byte for byte.
    pub(crate) fn bytes(&self, name: StreamName) -> Vec<u8> {
        written(&self.events, name)
    }

    /// The number of requests for a line.
    pub(crate) fn asked(&self) -> usize {
        let is_it = |event: &&ExecEvent| matches!(event, ExecEvent::InputRequested { .. });
        self.events.iter().filter(is_it).count()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.bytes(StreamName::Stdout)).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.bytes(StreamName::Stderr)).into_owned()
    }

    /// The output on both streams that belongs to no execution.
    pub(crate) fn orphaned(&self) -> String {
        let mut bytes = written(&self.orphans, StreamName::Stdout);
        bytes.extend(written(&self.orphans, StreamName::Stderr));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The cause of the kernel's death; fails if it lives.
    pub(crate) fn cause(&self) -> &DeathCause {
        match &self.death {
            Some(death) => &death.cause,
            None => panic!("the kernel lives: {:?}", self.events.last()),
        }
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        match self.events.last() {
            Some(ExecEvent::Finished(outcome)) => outcome,
            other => panic!("no end: {other:?}, {:?}", self.death),
        }
    }

    pub(crate) fn error(&self) -> &PyError {
        match self.outcome() {
            Outcome::Error(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }

    pub(crate) fn ok(self) -> Ran {
        assert_eq!(self.outcome(), &Outcome::Ok);
        self
    }

    /// The plain text of the result.
    pub(crate) fn result(&self) -> Option<String> {
        self.events.iter().find_map(|event| match event {
            ExecEvent::Result { data, .. } => Some(plain(data)),
            _ => None,
        })
    }

    /// Streams, displays and results in order, one line each; consecutive pieces of a stream are joined.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut last = None;
        for event in &self.events {
            let name = match event {
                ExecEvent::Stream { name, .. } => Some(*name),
                _ => None,
            };
            let is_more = name.is_some() && name == last;
            last = name;
            match event {
                ExecEvent::Stream { data, .. } if is_more => {
                    if let Some(line) = lines.last_mut() {
                        line.push_str(String::from_utf8_lossy(data).trim_end());
                    }
                }
                ExecEvent::Stream { name, data } => {
                    lines.push(format!(
                        "{} {}",
                        name.as_str(),
                        String::from_utf8_lossy(data).trim_end()
                    ));
                }
                ExecEvent::Display { data, .. } => lines.push(format!("display {}", plain(data))),
                ExecEvent::Result { data, .. } => lines.push(format!("result {}", plain(data))),
                _ => {}
            }
        }
        lines
    }
}

pub(crate) fn plain(bundle: &MimeBundle) -> String {
    match bundle.get("text/plain") {
        Some(MimeData::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn written(events: &[ExecEvent], name: StreamName) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in events {
        match event {
            ExecEvent::Stream { name: of, data } if *of == name => bytes.extend_from_slice(data),
            _ => {}
        }
    }
    bytes
}
