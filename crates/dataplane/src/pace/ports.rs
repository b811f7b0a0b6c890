//! The back ends' ports, opened for both directions.

use super::{Lane, PaceError};
use crate::config::Config;
use crate::packet::{PacketPort, PacketPortSpec};

/// Frames that wait for an interface without room need places beside those that a stage holds.
const SPARE: u64 = 4096;

/// A packet socket's ring and sender for each direction.
pub(super) fn packet_ports(config: &Config, lanes: &[Lane]) -> Result<Vec<PacketPort>, PaceError> {
    let mut ports = Vec::new();
    for (lane, direction) in lanes.iter().zip([&config.forward, &config.reverse]) {
        let tap = lane.bypass.as_ref().map(|bypass| bypass.tap()).transpose()?;
        ports.push(PacketPort::open(&PacketPortSpec {
            from: &lane.from,
            to: &lane.to,
            largest: &lane.largest,
            held: (direction.places() + SPARE) as usize,
            uncounted: config.uncounted,
            tap: tap.as_ref(),
        })?);
    }
    Ok(ports)
}

/// AF_XDP sockets for both directions, and the programs at the drivers.
#[cfg(feature = "xdp")]
pub(super) fn xdp_ports(
    config: &Config,
    lanes: &[Lane],
    say: &mut dyn FnMut(&str),
) -> Result<Vec<crate::xdp::XdpPort>, PaceError> {
    use crate::config::{BackEnd, ConfigError};
    use crate::xdp::{self, XdpSpec};
    let [forward, reverse] = lanes else { return Err("two directions are needed".to_owned().into()) };
    let (Some(first), Some(second)) = (&forward.bypass, &reverse.bypass) else {
        let problem = "--no-bypass: AF_XDP works by the program that lets traffic bypass; leave it out";
        return Err(ConfigError(problem.to_owned()).into());
    };
    let programs = [first.driver()?, second.driver()?];
    let [(_, one), (_, other)] = &programs;
    let ports = xdp::open(
        &XdpSpec {
            interfaces: [&forward.from, &reverse.from],
            largest: [&forward.largest, &reverse.largest],
            held: [&config.forward, &config.reverse].map(|direction| (direction.places() + SPARE) as usize),
            uncounted: config.uncounted,
            zero_copy: config.back_end == BackEnd::AfXdpZeroCopy,
        },
        [one, other],
    )?;
    for (lane, (program, _)) in [forward, reverse].into_iter().zip(programs) {
        let name = &lane.from.name;
        lane.drive(program)?;
        if lane.from.is_virtual() {
            say(&format!(
                "{name} is virtual: what local senders put into it must have its checksum already (ethtool -K … tx off at their end)"
            ));
        }
    }
    Ok(ports.into())
}

#[cfg(feature = "xdp")]
pub(super) use crate::xdp::chunk_for;

/// There are none.
#[cfg(not(feature = "xdp"))]
pub(super) fn chunk_for(_: u32) -> Option<u32> {
    None
}

/// There are none.
#[cfg(not(feature = "xdp"))]
pub(super) fn xdp_ports(
    _: &Config,
    _: &[Lane],
    _: &mut dyn FnMut(&str),
) -> Result<Vec<PacketPort>, PaceError> {
    Err("--back-end: AF_XDP was left out when this was built; write af_packet".to_owned().into())
}
