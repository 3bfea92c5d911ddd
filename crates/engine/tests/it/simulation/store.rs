//! The sink and the store under failing writes: a full disk, a broken disk, short or interrupted writes.

use std::io::{self, Write};
use std::time::SystemTime;

use inkcell_engine::artifact::{
    ArtifactId, ArtifactLimits, ArtifactSession, ArtifactSpec, ArtifactState, Artifacts,
    ArtifactsConfig, Scope,
};
use inkcell_engine::kernel::{ExecEvent, StreamName};
use inkcell_engine::output::{Notice, OutputLimits, OutputSink, Spill, SpillFile};
use inkcell_engine::system_random;

use super::dice::Dice;

/// A file that accepts some bytes, as the dice decide, and then fails for good.
struct Faulty<W> {
    inner: W,
    dice: Dice,
    room: u64,
    error: i32,
}

impl<W: Write> Write for Faulty<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.dice.percent(10) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.room == 0 {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        let most = if self.dice.percent(20) { 1 + self.dice.below(100) } else { u64::MAX };
        let len = (bytes.len() as u64).min(self.room).min(most);
        let written = self.inner.write(&bytes[..usize::try_from(len).expect("small")])?;
        self.room -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.dice.percent(3) {
            return Err(io::Error::from_raw_os_error(self.error));
        }
        self.inner.flush()
    }
}

/// F-150, F-034: after any failure, an artifact is complete or marked incomplete, and holds the beginning of the
/// output. The reader's text does not depend on the failure.
#[test]
fn a_store_that_fails_costs_the_artifact_and_says_so() {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    let dir = tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder");
    let artifacts = Artifacts::new(ArtifactsConfig {
        state_dir: dir.path().join("state"),
        limits: ArtifactLimits::STANDARD,
        random: system_random,
        now: SystemTime::now,
    });
    let session = ArtifactSession::new("simulated", &[]);
    let first = std::env::var("INKCELL_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = first.unwrap_or_else(system_random);
    let (mut whole, mut cut, mut none) = (0, 0, 0);
    for seed in (0..400).map(|n| first.wrapping_add(n)) {
        let mut dice = Dice::new(seed);
        let limits = OutputLimits {
            held_bytes: usize::try_from(dice.below(3000)).expect("small"),
            ..OutputLimits::head_and_tail().with_max_bytes(1000)
        };
        let spec = ArtifactSpec {
            session: session.clone(),
            kind: "text/plain".to_owned(),
            title: String::new(),
        };
        let (store, faults) = (artifacts.clone(), dice.split());
        let spill = Spill::new(move |_| {
            let mut dice = faults.clone();
            let writer = store.create(&spec)?;
            let room = if dice.percent(40) { u64::MAX } else { dice.below(12_000) };
            let error = if dice.percent(50) { ENOSPC } else { EIO };
            let id = writer.id().to_string();
            Ok(SpillFile { id, file: Box::new(Faulty { inner: writer, dice, room, error }) })
        });
        let (mut sink, mut calm) =
            (OutputSink::new(limits, spill), OutputSink::new(limits, Spill::none()));
        let mut written = Vec::new();
        for number in 0..dice.below(300) {
            let data = format!("{number} {}\n", "x".repeat(dice.below(60) as usize)).into_bytes();
            written.extend_from_slice(&data);
            let event = ExecEvent::Stream { name: StreamName::Stdout, data: data.into() };
            sink.push(&event);
            calm.push(&event);
        }
        let (output, calm) = (sink.finish(), calm.finish());
        assert_eq!(output.parts, calm.parts, "INKCELL_SIM_SEED={seed}");
        let told = output.notices.iter().find_map(|notice| match notice {
            Notice::ArtifactIncomplete { after_bytes, .. } => Some(*after_bytes),
            _ => None,
        });
        let Some(stored) = output.artifact else {
            assert!(!output.is_truncated || told == Some(0), "INKCELL_SIM_SEED={seed}");
            none += 1;
            continue;
        };
        let id = ArtifactId::parse(&stored.id).expect("an id");
        let kept = artifacts.find(&id, Scope::All).unwrap_or_else(|e| panic!("{seed}: {e}"));
        let bytes = std::fs::read(&kept.info().path).expect("its bytes");
        assert_eq!(bytes.len() as u64, stored.bytes, "INKCELL_SIM_SEED={seed}");
        assert!(written.starts_with(&bytes), "INKCELL_SIM_SEED={seed}");
        let is_complete = kept.info().state == ArtifactState::Complete;
        match told {
            None => {
                assert!(bytes == written && is_complete, "INKCELL_SIM_SEED={seed}");
                whole += 1;
            }
            Some(after) => {
                assert_eq!(after, stored.bytes, "INKCELL_SIM_SEED={seed}");
                assert!(!is_complete, "INKCELL_SIM_SEED={seed}: {:?}", kept.info().state);
                cut += 1;
            }
        }
    }
    assert!(whole > 20 && cut > 20 && none > 5, "{whole} {cut} {none}: the faults do not strike");
}
