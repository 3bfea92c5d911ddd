//! The managed environment, made with real and with made-up tools; never with a network.

mod faults;
mod made;
mod tree;
