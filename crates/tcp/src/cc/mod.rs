//! Congestion control: how the window grows and by how much a loss cuts it. One file a control.
//!
//! Which losses are found, and what is sent while they are repaired, is loss recovery's part: [`crate::recovery`].

pub(crate) mod reno;
