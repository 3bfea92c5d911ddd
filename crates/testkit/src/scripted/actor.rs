//! The inside of a scripted kernel: takes orders, plays scripts, reports events.
//!
//! Owns the order of its events. While a script plays, an order is taken between two steps or during a wait;
//! while no script plays, an order is harmless.

use std::sync::atomic::Ordering;

use inkcell_kernel::{
    Answer, AskId, DeathCause, ExecEvent, ExecId, History, InputReply, KernelEvent, Outcome,
    StopSignal, StreamName,
};
use tokio::sync::mpsc;

use super::{Script, State, Step, death, exception};

/// An order to a kernel.
pub(super) enum Order {
    Execute { exec: ExecId, history: History, script: Script },
    Input(InputReply),
    Answer { id: AskId, answer: Answer },
    Interrupt,
    Force(StopSignal),
    Die(DeathCause),
}

/// The end of a script.
enum End {
    Finished(Outcome),
    Died(DeathCause),
    /// The kernel's handle is gone.
    Stopped,
}

/// The force that can still stop a script: any, or at least this much.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Heeds {
    Everyone,
    Terminate,
    Kill,
}

pub(super) struct Actor {
    orders: mpsc::UnboundedReceiver<Order>,
    events: mpsc::Sender<KernelEvent>,
    state: State,
    count: u32,
}

impl Actor {
    pub(super) fn new(
        orders: mpsc::UnboundedReceiver<Order>,
        events: mpsc::Sender<KernelEvent>,
        state: State,
    ) -> Actor {
        Actor { orders, events, state, count: 0 }
    }

    /// Takes orders until the kernel dies or its handle is gone.
    pub(super) async fn run(mut self) {
        let cause = self.live().await;
        self.state.is_gone.store(true, Ordering::SeqCst);
        let died = KernelEvent::Died(death(cause));
        if self.state.stop.is_cancelled() {
            // The receiver may be gone; the stream ends either way.
            let _ = self.events.try_send(died);
        } else {
            self.send(died).await;
        }
    }

    async fn live(&mut self) -> DeathCause {
        loop {
            let order = tokio::select! {
                biased;
                order = self.orders.recv() => order,
                () = self.state.stop.cancelled() => return DeathCause::Shutdown,
            };
            match order {
                None => return DeathCause::Shutdown,
                Some(Order::Die(cause)) => return cause,
                Some(Order::Force(_)) => return DeathCause::IgnoredInterrupt,
                Some(Order::Interrupt | Order::Input(_)) => {}
                Some(Order::Answer { id, answer }) => {
                    self.send(KernelEvent::Answer { id, answer }).await;
                }
                Some(Order::Execute { exec, history, script }) => {
                    match self.play(exec, history, script).await {
                        End::Died(cause) => return cause,
                        End::Stopped => return DeathCause::Shutdown,
                        End::Finished(outcome) => {
                            // Become idle first: the receiver of this event may post the next request at once.
                            self.state.is_busy.store(false, Ordering::SeqCst);
                            self.emit(exec, ExecEvent::Finished(outcome)).await;
                        }
                    }
                }
            }
        }
    }

    async fn play(&mut self, exec: ExecId, history: History, script: Script) -> End {
        if !script.is_unstarted {
            let count = match history {
                History::Store => {
                    self.count += 1;
                    Some(self.count)
                }
                History::Silent => None,
            };
            self.emit(exec, ExecEvent::Started { count }).await;
        }
        let mut heeds = Heeds::Everyone;
        for step in script.steps {
            // Take orders that have arrived before the next step, unless that step is about orders.
            if !step.is_about_orders() {
                while let Ok(order) = self.orders.try_recv() {
                    if let Some(end) = self.heed(order, heeds).await {
                        return end;
                    }
                }
            }
            let end = match step {
                Step::Emit(event) => self.emit(exec, event).await,
                Step::Orphan(event) => self.send(KernelEvent::Orphan(event)).await,
                Step::Notice(text) => self.send(KernelEvent::Notice(text)).await,
                Step::Take(time) => self.wait(heeds, tokio::time::sleep(time)).await,
                Step::Gate(gate) => self.wait(heeds, gate.notified()).await,
                Step::Hang => self.wait(heeds, std::future::pending()).await,
                Step::Ask { prompt, password } => {
                    self.emit(exec, ExecEvent::InputRequested { prompt, password }).await;
                    self.take_line(exec, heeds).await
                }
                Step::CatchInterrupt => self.catch_interrupt().await,
                Step::IgnoreInterrupts => {
                    heeds = Heeds::Terminate;
                    None
                }
                Step::IgnoreTerminate => {
                    heeds = Heeds::Kill;
                    None
                }
                Step::Die(cause) => Some(End::Died(cause)),
                Step::Finish(outcome) => Some(End::Finished(outcome)),
            };
            if let Some(end) = end {
                return end;
            }
        }
        End::Finished(Outcome::Ok)
    }

    /// Waits for a future of the script, and takes orders meanwhile.
    async fn wait(&mut self, heeds: Heeds, what: impl Future<Output = ()>) -> Option<End> {
        tokio::pin!(what);
        loop {
            let order = tokio::select! {
                biased;
                order = self.orders.recv() => order,
                () = self.state.stop.cancelled() => return Some(End::Stopped),
                () = &mut what => return None,
            };
            let Some(order) = order else { return Some(End::Stopped) };
            if let Some(end) = self.heed(order, heeds).await {
                return Some(end);
            }
        }
    }

    async fn take_line(&mut self, exec: ExecId, heeds: Heeds) -> Option<End> {
        loop {
            match self.next_order().await {
                None => return Some(End::Stopped),
                Some(Order::Input(InputReply::End)) => {
                    return Some(End::Finished(Outcome::Error(exception("EOFError", ""))));
                }
                Some(Order::Input(reply)) => {
                    // A refused input continues as an empty line, as in kernels that cannot tell the
                    // difference.
                    let line = match reply {
                        InputReply::Line(line) => line,
                        InputReply::End | InputReply::Refused => String::new(),
                    };
                    let event = ExecEvent::Stream {
                        name: StreamName::Stdout,
                        data: line.into_bytes().into(),
                    };
                    return self.emit(exec, event).await;
                }
                Some(order) => {
                    if let Some(end) = self.heed(order, heeds).await {
                        return Some(end);
                    }
                }
            }
        }
    }

    async fn catch_interrupt(&mut self) -> Option<End> {
        loop {
            match self.next_order().await {
                None => return Some(End::Stopped),
                Some(Order::Interrupt) => return None,
                Some(order) => {
                    if let Some(end) = self.heed(order, Heeds::Everyone).await {
                        return Some(end);
                    }
                }
            }
        }
    }

    async fn next_order(&mut self) -> Option<Order> {
        tokio::select! {
            biased;
            order = self.orders.recv() => order,
            () = self.state.stop.cancelled() => None,
        }
    }

    async fn emit(&mut self, exec: ExecId, event: ExecEvent) -> Option<End> {
        self.send(KernelEvent::Exec { exec, event }).await
    }

    /// Sends an event when the queue has room, unless the receiver is gone.
    async fn send(&mut self, event: KernelEvent) -> Option<End> {
        tokio::select! {
            sent = self.events.send(event) => sent.is_err().then_some(End::Stopped),
            () = self.state.stop.cancelled() => Some(End::Stopped),
        }
    }

    /// Applies an order to the script that plays.
    async fn heed(&mut self, order: Order, heeds: Heeds) -> Option<End> {
        match order {
            Order::Interrupt if heeds == Heeds::Everyone => {
                Some(End::Finished(Outcome::Error(exception("KeyboardInterrupt", ""))))
            }
            Order::Force(StopSignal::Terminate) if heeds <= Heeds::Terminate => {
                Some(End::Died(DeathCause::IgnoredInterrupt))
            }
            Order::Force(StopSignal::Kill) => Some(End::Died(DeathCause::IgnoredInterrupt)),
            Order::Die(cause) => Some(End::Died(cause)),
            Order::Answer { id, answer } => self.send(KernelEvent::Answer { id, answer }).await,
            Order::Interrupt | Order::Force(StopSignal::Terminate) | Order::Input(_) => None,
            Order::Execute { exec, .. } => panic!("{exec:?} was posted while another one runs"),
        }
    }
}
