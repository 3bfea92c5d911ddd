//! Tests of the managed environment with real and made-up tools, and without a network.

mod faults;
mod made;
mod tree;
