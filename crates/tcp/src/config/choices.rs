//! The choices that a configuration makes by name: profiles, pacing rules, and what a loss or an idle period does to a window.

use super::variants::Variant;

/// A set of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// ns-2 2.35's defaults (tcl/lib/ns-default.tcl), as the papers ran it.
    Ns2,
    /// ns-2 2.28's defaults (February 2005), before those of 2006.
    Ns2Of2005,
    /// What ns-2's own test suite sets (tcl/test/test-suite-tcpVariants.tcl).
    Ns2Validation,
    /// Linux (net/ipv4/tcp*.c), with its default congestion control, CUBIC.
    Linux,
    /// The RFCs of today: 6298 (RTO), 6928 (initial window), 5681, 3042.
    Rfc,
}

impl Profile {
    /// Every profile by its name in a scenario.
    pub const ALL: [(&'static str, Profile); 5] = [
        ("ns2", Profile::Ns2),
        ("ns2-2.28", Profile::Ns2Of2005),
        ("ns2-validation", Profile::Ns2Validation),
        ("linux", Profile::Linux),
        ("rfc", Profile::Rfc),
    ];

    /// The profile of a scenario that names none: what a host runs today (docs/adr/0001-default-tcp.md).
    pub const DEFAULT: Profile = Profile::Linux;

    /// Its name in a scenario.
    ///
    /// ```
    /// # use paceline_tcp::Profile;
    /// assert_eq!(Profile::DEFAULT.name(), "linux");
    /// ```
    pub fn name(self) -> &'static str {
        Profile::ALL.iter().find(|(_, profile)| *profile == self).map_or("", |(name, _)| *name)
    }

    /// What a scenario's `variant = "sack"` means with this profile.
    ///
    /// ```
    /// # use paceline_tcp::{Profile, Variant};
    /// assert_eq!(Profile::Ns2.sack(), Variant::Sack1);
    /// ```
    pub fn sack(self) -> Variant {
        match self {
            Profile::Ns2 | Profile::Ns2Of2005 | Profile::Ns2Validation => Variant::Sack1,
            Profile::Linux | Profile::Rfc => Variant::Rfc6675,
        }
    }
}

/// How a sender spaces its packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostPacing {
    /// The rule of the gap.
    pub rule: PacingRule,
    /// The rate is this many times that of the rule.
    pub gain: f64,
    /// Each gap is drawn uniformly from gap (1 - jitter) to gap (1 + jitter); 0 draws nothing.
    pub jitter: f64,
    /// Packets that leave together; `None` is the rule's: one, and in Linux's and Prague's what the rate sends in a while.
    pub quantum: Option<u32>,
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
    /// TCP Prague's: 200 % in slow start, 100 % after, the first ten packets free, bursts of 1/4096 s.
    Prague,
}

impl PacingRule {
    /// Every rule by its name in a scenario.
    pub const ALL: [(&'static str, PacingRule); 4] = [
        ("wei", PacingRule::Wei),
        ("linux", PacingRule::Linux),
        ("ideal", PacingRule::Ideal),
        ("prague", PacingRule::Prague),
    ];

    /// It is a Linux kernel's: the first packets are free, and its bursts are what its rate sends in a while.
    pub(crate) fn is_of_a_kernel(self) -> bool {
        matches!(self, PacingRule::Linux | PacingRule::Prague)
    }

    /// The rule that belongs to a profile.
    ///
    /// ```
    /// # use paceline_tcp::{PacingRule, Profile};
    /// assert_eq!(PacingRule::of_profile(Profile::Linux), PacingRule::Linux);
    /// ```
    pub fn of_profile(profile: Profile) -> Self {
        match profile {
            Profile::Ns2 | Profile::Ns2Of2005 | Profile::Ns2Validation => PacingRule::Wei,
            Profile::Linux => PacingRule::Linux,
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
    /// the simulation, paced or not, but for TCP-Linux: a congestion control of its own cuts its window.
    InFlight,
    /// What is sent and not acknowledged, limited transmit left out: FlightSize of RFC 5681, equation 4.
    FlightSize,
}

impl Halving {
    /// Every rule by its name in a scenario.
    pub const ALL: [(&'static str, Halving); 3] =
        [("window", Halving::Window), ("in-flight", Halving::InFlight), ("flight-size", Halving::FlightSize)];
}

/// How BIC and CUBIC recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6675.
    Rfc6675,
    /// FACK; the packets in flight decrease by one for every second acknowledgement down to a half (Linux before 2012, ns-2's
    /// TCP-Linux).
    RateHalving,
}

impl Recovery {
    /// Every one by its name in a scenario.
    pub const ALL: [(&'static str, Recovery); 2] =
        [("rfc6675", Recovery::Rfc6675), ("rate-halving", Recovery::RateHalving)];
}

/// The window after an idle period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleRestart {
    /// Unchanged.
    Keep,
    /// One packet, if the retransmission timer has run out with nothing outstanding (ns-2 `slow_start_restart_`).
    One,
    /// At most the initial window, if nothing was sent for longer than the timeout (RFC 5681 section 4.1).
    Initial,
    /// Halved for each timeout without sending, down to the initial window; ssthresh is at least three quarters of what
    /// it was (RFC 2861; Linux `tcp_slow_start_after_idle`).
    Decay,
    /// Three quarters, which leave one by one over a round trip, if the retransmission timer has run out with nothing outstanding
    /// (rate-based pacing: ns-2 Agent/TCP/Reno/RBP).
    Paced,
}

impl IdleRestart {
    /// Every rule by its name in a scenario.
    pub const ALL: [(&'static str, IdleRestart); 5] = [
        ("keep", IdleRestart::Keep),
        ("one", IdleRestart::One),
        ("initial", IdleRestart::Initial),
        ("decay", IdleRestart::Decay),
        ("paced", IdleRestart::Paced),
    ];
}

/// Explicit congestion notification: what the two ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    /// Packets are not ECN-capable: a queue drops what it would mark.
    Off,
    /// New data are ECN-capable. A mark is echoed until the sender says that its window is reduced; one reduction a window (RFC 3168).
    Rfc3168,
    /// All packets are, and the echo says which were marked, for a sender that counts them (RFC 8257).
    Dctcp,
    /// All packets are, and each acknowledgement has three bits of the number of marked packets so far: accurate ECN (RFC 9768).
    Accurate,
}

impl EcnMode {
    /// Every mode by its name in a scenario.
    pub const ALL: [(&'static str, EcnMode); 4] = [
        ("off", EcnMode::Off),
        ("rfc3168", EcnMode::Rfc3168),
        ("dctcp", EcnMode::Dctcp),
        ("accecn", EcnMode::Accurate),
    ];
}

/// How CUBIC's slow start ends where a queue begins to build, before a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyStartMode {
    /// It does not.
    Off,
    /// At once, by trains of acknowledgements or by delay (Linux `tcp_cubic.c`).
    Linux,
    /// HyStart++: by delay, first to a slower growth for some rounds, from which it may return (RFC 9406).
    Rfc9406,
}

impl HyStartMode {
    /// Every mode by its name in a scenario.
    pub const ALL: [(&'static str, HyStartMode); 3] =
        [("off", HyStartMode::Off), ("linux", HyStartMode::Linux), ("rfc9406", HyStartMode::Rfc9406)];
}

/// What a mark does beside losses and retransmissions, with [`EcnMode::Rfc3168`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnRule {
    /// New data alone are ECN-capable and say that the window is reduced. A loss in a window of data that a mark has cut does not cut it
    /// again (RFC 3168 sections 6.1.2 and 6.1.5).
    Rfc3168,
    /// As ns-2's agents Tahoe, Reno, Newreno and Sack1; the other variants have the RFC's rule. All but packet 0 is ECN-capable, and what is
    /// sent next says that the window is reduced. Marks and losses share the number beyond which a recovery is over.
    Ns2,
}

impl EcnRule {
    /// Every rule by its name in a scenario.
    pub const ALL: [(&'static str, EcnRule); 2] = [("rfc3168", EcnRule::Rfc3168), ("ns2", EcnRule::Ns2)];
}

/// The constants of CUBIC, by their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constants {
    /// RFC 9438 (2023): beta 0.7, C 0.4.
    Rfc9438,
    /// Linux 2.6.25 (2008) and later: beta 717/1024, C 410/1024; 5 % a round trip while W_max is unknown.
    Linux2013,
    /// Linux 2.6.19 to 2.6.24 and ns-2.35's TCP-Linux, in whole numbers (`cc/linux2007.rs`): beta 819/1024, C 410/1024; beyond
    /// W_max 160 packets/s at most; 2 % a round trip while W_max is unknown.
    Linux2007,
}

impl Constants {
    /// Every set by its name in a scenario.
    pub const ALL: [(&'static str, Constants); 3] = [
        ("rfc9438", Constants::Rfc9438),
        ("linux-2013", Constants::Linux2013),
        ("linux-2007", Constants::Linux2007),
    ];
}
