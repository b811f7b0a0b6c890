//! What a TCP connection is made of: the variant, the profile's constants, host pacing.
//!
//! A [`Profile`] bundles the constants of one world; every one of them can be set on its own after that.

use crate::cc::Constants;
use paceline_core::Span;

/// Loss recovery and window growth, by the names the field uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Fast retransmit and fast recovery (RFC 5681; ns-2's Agent/TCP/Reno).
    Reno,
    /// Recovery stays on until all that was outstanding is acknowledged (RFC 6582; ns-2's Agent/TCP/Newreno).
    NewReno,
    /// Binary increase (Linux's tcp_bic).
    Bic,
    /// A cubic function of the time since the last loss (RFC 9438; Linux's tcp_cubic).
    Cubic,
}

impl Variant {
    /// Every variant by its name in a scenario: the one list.
    pub const ALL: [(&'static str, Variant); 4] = [
        ("reno", Variant::Reno),
        ("newreno", Variant::NewReno),
        ("bic", Variant::Bic),
        ("cubic", Variant::Cubic),
    ];
}

/// A bundle of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// ns-2 2.35's defaults (tcl/lib/ns-default.tcl), as the papers ran it.
    Ns2,
    /// The RFCs of today: 6298 (RTO), 6928 (initial window), 5681, 3042.
    Rfc,
}

impl Profile {
    /// Every profile by its name in a scenario: the one list.
    pub const ALL: [(&'static str, Profile); 2] = [("ns2", Profile::Ns2), ("rfc", Profile::Rfc)];
}

/// How a sender spaces its packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostPacing {
    /// Which rule gives the gap.
    pub rule: PacingRule,
    /// The rate is this many times what the rule says.
    pub gain: f64,
    /// Each gap is drawn uniformly from gap (1 - jitter) to gap (1 + jitter); 0 draws nothing.
    pub jitter: f64,
}

/// The rule that turns window and round-trip time into a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacingRule {
    /// D. X. Wei's ns-2 patch (2006), `pace_packet_` = 2.
    Wei,
    /// Linux's internal pacing: 200 % in slow start, 120 % after, the first ten packets free, quantum 1 ms.
    Linux,
    /// Exactly srtt / cwnd.
    Ideal,
}

impl PacingRule {
    /// Every rule by its name in a scenario: the one list.
    pub const ALL: [(&'static str, PacingRule); 3] =
        [("wei", PacingRule::Wei), ("linux", PacingRule::Linux), ("ideal", PacingRule::Ideal)];

    /// The rule of the world that the profile comes from.
    pub fn of_profile(profile: Profile) -> Self {
        match profile {
            Profile::Ns2 => PacingRule::Wei,
            Profile::Rfc => PacingRule::Ideal,
        }
    }
}

/// What a loss halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halving {
    /// The congestion window, as inflated (ns-2.35 tcp/tcp.cc `slowdown`).
    Window,
    /// What is in flight, and one more: `t_seqno_ - highest_ack_` in D. X. Wei's patch, which halves that in every flow of
    /// the simulation, paced or not.
    InFlight,
}

impl Halving {
    /// Every rule by its name in a scenario: the one list.
    pub const ALL: [(&'static str, Halving); 2] =
        [("window", Halving::Window), ("in-flight", Halving::InFlight)];
}

/// What becomes of the window while nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleRestart {
    /// It stays.
    Keep,
    /// One packet, once the retransmission timer has run out with nothing outstanding (ns-2 `slow_start_restart_`).
    One,
    /// The initial window at most, once nothing was sent for longer than the timeout (RFC 5681 section 4.1).
    Initial,
    /// Halved for each timeout without sending, down to the initial window; ssthresh is at least three quarters of what
    /// it was (RFC 2861; Linux `tcp_slow_start_after_idle`).
    Decay,
}

impl IdleRestart {
    /// Every rule by its name in a scenario: the one list.
    pub const ALL: [(&'static str, IdleRestart); 4] = [
        ("keep", IdleRestart::Keep),
        ("one", IdleRestart::One),
        ("initial", IdleRestart::Initial),
        ("decay", IdleRestart::Decay),
    ];
}

/// One connection's settings. Sizes in bytes, windows in packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Loss recovery and growth.
    pub variant: Variant,
    /// Payload of a data packet, bytes: what goodput counts.
    pub payload: u32,
    /// Header of a data packet, bytes; a data packet is payload + header on the wire.
    pub header: u32,
    /// An acknowledgement on the wire, bytes.
    pub ack: u32,
    /// Size of the first packet, numbered 0 and without payload; `None` starts with data.
    pub syn: Option<u32>,
    /// The receiver's window, packets.
    pub max_window: u32,
    /// Congestion window after the handshake, packets.
    pub initial_window: u32,
    /// Slow-start threshold at the start, packets; `None` is `max_window`, as in ns-2.
    pub initial_ssthresh: Option<u32>,
    /// Send a new packet on the first and the second duplicate acknowledgement (RFC 3042; ns-2 `singledup_`).
    pub limited_transmit: bool,
    /// Granularity of the clock that times a round trip; `Span::ZERO` is exact (ns-2 `tcpTick_`).
    pub tick: Span,
    /// Where the tick stands at time zero, below `tick`; `None` is drawn for each flow.
    pub tick_phase: Option<Span>,
    /// Least retransmission timeout, before back-off.
    pub min_rto: Span,
    /// Greatest retransmission timeout.
    pub max_rto: Span,
    /// Retransmission timeout before the first sample.
    pub initial_rto: Span,
    /// What a loss halves; Wei's pacing rule always halves what is in flight.
    pub halving: Halving,
    /// Halve the window as a fraction; else round it down (ns-2 `precisionReduce_`, true since 2006).
    pub fractional_halving: bool,
    /// NewReno: only the first partial acknowledgement restarts the timer (RFC 6582 "impatient"; `newreno_changes1_`).
    pub impatient: bool,
    /// NewReno: a partial acknowledgement deflates the window by what it covers (RFC 6582; `partial_window_deflation_`).
    pub partial_deflation: bool,
    /// Host pacing; `None` sends as the window allows.
    pub pacing: Option<HostPacing>,
    /// CUBIC's constants.
    pub constants: Constants,
    /// CUBIC: slow start ends where the queue begins.
    pub hystart: bool,
    /// What becomes of the window while the application has nothing to send.
    pub idle_restart: IdleRestart,
}

impl Config {
    /// The constants of a profile, Reno, unpaced.
    pub fn new(profile: Profile) -> Self {
        let ns2 = Config {
            variant: Variant::Reno,
            payload: 1000,
            header: 40,
            ack: 40,
            syn: Some(40),
            max_window: 20,
            initial_window: 2,
            initial_ssthresh: None,
            limited_transmit: true,
            tick: Span::from_millis(10),
            tick_phase: None,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(60_000),
            initial_rto: Span::from_millis(3_000),
            halving: Halving::Window,
            fractional_halving: true,
            impatient: true,
            partial_deflation: true,
            pacing: None,
            constants: Constants::Linux2007, // what ns-2.35's TCP-Linux has
            hystart: false,
            idle_restart: IdleRestart::One,
        };
        match profile {
            Profile::Ns2 => ns2,
            Profile::Rfc => Config {
                variant: Variant::NewReno,
                payload: 1460,
                max_window: 10_000,
                initial_window: 10, // RFC 6928
                tick: Span::ZERO,
                min_rto: Span::from_millis(1_000),     // RFC 6298 (2.4)
                initial_rto: Span::from_millis(1_000), // RFC 6298 (2.1)
                constants: Constants::Rfc9438,
                idle_restart: IdleRestart::Initial, // RFC 5681 (4.1)
                ..ns2
            },
        }
    }

    /// A data packet on the wire, bytes.
    pub fn data_bytes(&self) -> u32 {
        self.payload + self.header
    }
}
