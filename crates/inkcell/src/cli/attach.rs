//! `inkcell attach`: a session seen from outside: what happened in it, then what happens.
//!
//! Owns when it ends. What is shown is made by `render/transcript`; what runs is not touched.

use std::time::Duration;

use serde_json::json;

use super::heard::Heard;
use super::hosts;
use crate::args::Attach;
use crate::client::{Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{Ask, HostEvent};
use crate::output::Output;
use crate::settings::Settings;

/// How long nothing must come before what is remembered counts as seen.
const QUIET: Duration = Duration::from_millis(200);

pub(crate) fn run(
    args: &Attach,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let met = hosts::one(args.which.session.as_deref(), settings)?;
    let client = Client::of_host(met.found.clone(), settings);
    let mut asked = client.ask(Ask::Watch { session: met.reference(), from: args.from })?;
    let handle = asked.handle();
    let signals = Heard::listen(move |_| handle.cancel())?;
    if output.is_json() {
        output.in_lines();
    }
    let wait = args.no_follow.then_some(QUIET);
    loop {
        let event = match asked.next(wait) {
            Step::Event(event) => *event,
            Step::Nothing if args.no_follow => return Ok(Exit::Ok),
            Step::Nothing => continue,
            Step::Done(done) => {
                return match (signals.first(), done) {
                    // Whoever leaves has seen what they wanted to see.
                    (Some(_), _) | (None, Ok(_)) => Ok(Exit::Ok),
                    (None, Err(refusal)) => Err(refusal.into()),
                };
            }
        };
        let shown = match event {
            HostEvent::Session { seq, event } if output.is_json() => {
                output.json(&json!({"seq": seq, "event": event}))
            }
            HostEvent::Missed(missed) if output.is_json() => {
                output.json(&json!({"missed": missed}))
            }
            _ => Ok(()),
        };
        shown.map_err(Failure::of_output)?;
    }
}
