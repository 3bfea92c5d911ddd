//! Kernels elsewhere: on a Jupyter gateway or server, by requests and a websocket.

pub(crate) mod url;
