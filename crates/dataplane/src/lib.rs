//! Pacing on a wire: frames of one interface leave by another when a [`paceline_core`] stage says so.
//!
//! [`lane`] is a direction: the very stage that a simulated link has, and the frames that it holds. Back ends give it
//! frames and take them: captures ([`replay`]); on Linux packet sockets ([`packet`]) and
//! AF_XDP sockets ([`xdp`]).

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only interfaces use it, which only Linux has")
)]

pub mod command;
pub mod config;
pub mod histogram;
pub mod lane;
pub mod meters;
pub mod replay;
pub mod summary;

#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(target_os = "linux")]
pub mod bypass;
#[cfg(target_os = "linux")]
pub mod direction;
#[cfg(target_os = "linux")]
pub mod metrics;
#[cfg(target_os = "linux")]
pub mod pace;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(target_os = "linux")]
pub mod port;
#[cfg(target_os = "linux")]
pub mod segment;
#[cfg(all(test, target_os = "linux", feature = "xdp"))]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
mod simulation;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod top;
#[cfg(all(target_os = "linux", feature = "xdp"))]
pub mod xdp;
