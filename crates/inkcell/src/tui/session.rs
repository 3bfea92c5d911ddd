//! The kernel of the notebook: cells are run in it, and what happens in it is told, whoever asked for it.
//!
//! Owns what is asked of it and the way in for what it tells. It must not know the screen or the file.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use inkcell_engine::api::CellChoice;

use super::model::Input;

/// Where other threads put what happens; whoever waits for it is woken.
#[derive(Clone)]
pub(super) struct Inbox {
    inputs: Sender<Input>,
    wake: Arc<UnixStream>,
}

impl Inbox {
    pub(super) fn new(inputs: Sender<Input>, wake: UnixStream) -> Inbox {
        Inbox { inputs, wake: Arc::new(wake) }
    }

    pub(super) fn put(&self, input: Input) {
        // Nobody is there any more, or is awake already.
        let _ = self.inputs.send(input);
        let _ = (&*self.wake).write(&[0]);
    }
}

/// Who runs code for the notebook.
pub(super) trait Session {
    fn run(&mut self, choice: CellChoice);
    fn interrupt(&mut self);
    fn restart(&mut self);
}

/// None yet.
struct Nobody(Inbox);

impl Session for Nobody {
    fn run(&mut self, _: CellChoice) {
        self.0.put(Input::RunOver(Err("there is no kernel".to_owned())));
    }

    fn interrupt(&mut self) {}

    fn restart(&mut self) {}
}

pub(super) fn open(
    _: &std::path::Path,
    _: &crate::settings::Settings,
    inbox: Inbox,
) -> Box<dyn Session> {
    Box::new(Nobody(inbox))
}
