//! A session that is watched: what happened in it, as far as that is remembered, then what happens.
//!
//! Owns how often a watcher is told something. Whoever watches holds nobody up: what it does not take in time it is
//! told to have missed.

use std::time::Duration;

use inkcell_engine::api::SessionRef;
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::journal::{Item, Seq};
use inkcell_engine::kernel::ExecEvent;

use super::frames::HostEvent;
use super::serve::{Host, Talk};
use crate::exit::Failure;

/// After so much there is a pause: a flood is to be seen, not to be shared. Small events weigh something, too.
const BATCH_BYTES: usize = 256 << 10;
const EVENT_BYTES: usize = 2 << 10;

/// The pause. The journal holds what fits into it, the rest is told as missed.
const PAUSE: Duration = Duration::from_millis(40);

pub(super) async fn answer(
    host: &Host,
    session: &SessionRef,
    from: Option<u64>,
    talk: Talk,
) -> Result<(), Failure> {
    let mut watch = host.engine.watch_session(session, from.map(Seq)).await?;
    let mut sent_bytes = 0;
    loop {
        let item = tokio::select! {
            item = watch.next() => item,
            () = talk.cancelled(1) => return Ok(()),
            () = talk.gone.cancelled() => return Ok(()),
            () = host.ending.cancelled() => return Ok(()),
        };
        match item {
            Some(Item::Entry(Seq(seq), event)) => {
                sent_bytes += weight_bytes(&event);
                talk.tell(HostEvent::Session { seq, event }).await;
            }
            Some(Item::Gap { missed }) => talk.tell(HostEvent::Missed(missed)).await,
            None => return Ok(()),
        }
        if sent_bytes >= BATCH_BYTES {
            sent_bytes = 0;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// About what it takes to send an event.
fn weight_bytes(event: &SessionEvent) -> usize {
    let said = match event {
        SessionEvent::Happened { event: ExecEvent::Stream { data, .. }, .. } => data.len(),
        SessionEvent::Ended { report, .. } => {
            usize::try_from(report.output.counts.output_bytes).unwrap_or(BATCH_BYTES)
        }
        _ => 0,
    };
    EVENT_BYTES + said
}
