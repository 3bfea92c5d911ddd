//! Kernels on gateways: a scripted one that misbehaves in ways real ones should not, and real ones.

mod contents;
mod desk;
mod enterprise;
mod fake_kernel;
mod faults_requests;
mod faults_shared;
mod faults_socket;
mod leftovers;
mod limits;
mod measured;
mod real;
mod scale;
mod scripted;
mod shared;
mod tls;
