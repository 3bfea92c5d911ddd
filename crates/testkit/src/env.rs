//! Running the real executable in a private environment.
