//! The configuration of a TCP connection: the variant, the profile's constants, host pacing.
//!
//! A [`Profile`] is a set of constants: ns-2's, Linux's or the RFCs'. Each constant can then be set on its own.

mod choices;
mod derived;
mod variants;

use paceline_core::Span;

pub use choices::{
    Constants, EcnMode, EcnRule, Halving, HostPacing, HyStartMode, IdleRestart, PacingRule, Profile, Recovery,
};
pub use variants::Variant;
pub(crate) use variants::variants;

/// One connection's settings. Sizes in bytes, windows in packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Loss recovery and growth.
    pub variant: Variant,
    /// Payload of a data packet, bytes: what goodput counts.
    pub payload: u32,
    /// Header of a data packet, bytes; a data packet is payload + header on the wire.
    pub header: u32,
    /// An acknowledgement on the wire, bytes, without SACK blocks.
    pub ack: u32,
    /// Size of the first packet, numbered 0 and without payload; `None` starts with data.
    pub syn: Option<u32>,
    /// The receiver's window, packets.
    pub max_window: u32,
    /// Reno's congestion window grows beyond the receiver's window (ns-2 `opencwnd`); else it grows to that at most (RFC 7661
    /// section 4.1).
    pub grow_unused: bool,
    /// The first data leave with the SYN, which counts in the window (ns-2's TCP-Linux, `delay_growth_` off); else the window waits
    /// for its acknowledgement.
    pub data_with_syn: bool,
    /// Congestion window after the handshake, packets.
    pub initial_window: u32,
    /// Slow-start threshold at the start, packets; `None` is `max_window`, as in ns-2.
    pub initial_ssthresh: Option<u32>,
    /// How long the receiver may hold an acknowledgement back for a second packet; `None` acknowledges each at once
    /// (RFC 5681 section 4.2; ns-2's TCPSink/DelAck, `interval_`).
    pub delayed_ack: Option<Span>,
    /// The number of first packets that are acknowledged at once although acknowledgements are delayed. The last packet of each
    /// message is too, except where the receiver's host sends data itself (Linux `TCP_MAX_QUICKACKS`, pingpong mode). 0 delays these
    /// like all others.
    pub quick_acks: u32,
    /// With `delayed_ack`: so many packets are acknowledged together, at least two (RFC 5681 section 4.2).
    pub ack_every: u32,
    /// How long a packet waits at the receiver for the next of its flow, to be answered as one with it; `None` answers each by itself
    /// (Linux `gro_flush_timeout`).
    pub gro: Option<Span>,
    /// The delay of acknowledgements follows the time between packets, and its timer counts in `timer_tick` (Linux `icsk_ack.ato`).
    pub adaptive_delay: bool,
    /// Where acknowledgements are delayed and the sender has `rack`: from the fourth packet beyond a gap on, acknowledgements wait this
    /// long and are sent as one, but no longer than a twentieth of the round trip (Linux `tcp_comp_sack_delay_ns`). `None` sends each at
    /// once.
    pub sack_compression: Option<Span>,
    /// Packets that an application with endless data writes at once; the last carries PSH and counts for `quick_acks`. Two thirds of a
    /// window where a window is more than three writes (Linux `sk_stream_write_space`: a third of the send buffer is written at a
    /// time); 0 is one endless write.
    pub push: u32,
    /// The longest time from the arrival of a packet until the application reads it, at most a thousandth of the round trip; drawn for
    /// each packet. The acknowledgement for a second packet, or for the last of a write, is sent then (Linux `__tcp_cleanup_rbuf`).
    /// Begins with the first gap.
    pub read_delay: Span,
    /// The SYN's acknowledgement is delayed too (ns-2 without `SYN_immediate_ack_`, which came in 2010).
    pub delayed_syn_ack: bool,
    /// Most SACK blocks in an acknowledgement, at most [`MOST_BLOCKS`](crate::MOST_BLOCKS) (ns-2 `maxSackBlocks_`).
    pub sack_blocks: u32,
    /// Bytes of an acknowledgement's SACK option besides 8 a block: 4 with its padding (RFC 2018), 0 in ns-2.
    pub sack_header: u32,
    /// Time every acknowledgement of new data by the echo of its packet's timestamp (RFC 7323; ns-2 `timestamps_`). The
    /// option's bytes are part of `header` and `ack`.
    pub timestamps: bool,
    /// Every such sample ends the back-off, not only that of a packet sent once (RFC 6298 section 5; `ts_resetRTO_`).
    pub timestamps_end_back_off: bool,
    /// Duplicate acknowledgements that mean a loss (RFC 5681; ns-2 `numdupacks_`).
    pub duplicate_threshold: u32,
    /// Send a new packet on the first and the second duplicate acknowledgement (RFC 3042; ns-2 `singledup_`).
    pub limited_transmit: bool,
    /// How BIC and CUBIC recover, where not with `rack`.
    pub recovery: Recovery,
    /// RFC 6675, BIC and CUBIC: a packet is lost when one sent after it has arrived, and so is a retransmission; a probe precedes the
    /// timeout (RFC 8985; Linux `tcp_recovery`, `tcp_early_retrans`).
    pub rack: bool,
    /// Ticks in which timers count; `Span::ZERO` is exact (Linux `CONFIG_HZ`, here 250; kernel/time/timer.c).
    pub timer_tick: Span,
    /// The window grows by packets delivered, and Reno's only where it was used up (Linux `tcp_slow_start`, `tcp_cong_avoid_ai`,
    /// `tcp_is_cwnd_limited`); else by acknowledgements.
    pub count_packets: bool,
    /// Most packets sent at one event; `u32::MAX` is no limit (ns-2 `maxburst_`, where 0 is none).
    pub max_burst: u32,
    /// Most packets that the sender hands to the host's interface at once, as one train ([`segmentation`](crate::segmentation));
    /// `None` hands over each by itself (Linux `sk_gso_max_segs`).
    pub gso: Option<u32>,
    /// Most bytes that the connection has in its host's own queue, whatever its rate; more than about a millisecond of that, or two trains, are
    /// never there. `None` sends whatever the window lets out (Linux `net.ipv4.tcp_limit_output_bytes`; TCP small queues).
    pub tsq: Option<u32>,
    /// The longest random time before packets leave; `Span::ZERO` is none (ns-2 `overhead_`).
    pub overhead: Span,
    /// Granularity of the clock that times a round trip, at most [`Config::LONGEST_TICK`]; `Span::ZERO` is exact (ns-2 `tcpTick_`).
    pub tick: Span,
    /// Phase of `tick` and `timer_tick` at time zero; `None` is drawn for each flow.
    pub tick_phase: Option<Span>,
    /// Least retransmission timeout.
    pub min_rto: Span,
    /// `min_rto` is the least that is added to the smoothed round trip, not the least sum (Linux `rttvar_us`).
    pub min_rto_beyond_srtt: bool,
    /// An acknowledgement restarts the timer after its sample is taken, not before (ns-2 `timerfix_`).
    pub timer_fix: bool,
    /// `min_rto` is applied before back-off (RFC 6298; ns-2 `rfc2988_`); else after it.
    pub min_rto_backs_off: bool,
    /// Back-off doubles the timeout up to `max_rto`; else 64-fold at most (ns-2 before 2007, and without `rfc2988_`).
    pub back_off_to_maximum: bool,
    /// Greatest retransmission timeout.
    pub max_rto: Span,
    /// Retransmission timeout before the first sample (ns-2 `rtxcur_init_`).
    pub initial_rto: Span,
    /// Retransmission timeout when data begin after a SYN that was retransmitted and gave no sample (RFC 6298 section 5.7; Linux
    /// `TCP_TIMEOUT_FALLBACK`); `None` keeps that of the SYN.
    pub rto_after_lost_syn: Option<Span>,
    /// Timeouts of a SYN before they double (Linux `tcp_syn_linear_timeouts`).
    pub linear_syn_timeouts: u32,
    /// What a loss halves; Reno's window, paced by Wei's rule, is always cut to half of what is in flight.
    pub halving: Halving,
    /// Halve the window as a fraction; else round it down (ns-2 `precisionReduce_`, true since 2006).
    pub fractional_halving: bool,
    /// A timeout for a packet that a timeout has sent again already leaves ssthresh as it is (RFC 5681 section 3.1; Linux
    /// `tcp_enter_loss`).
    pub cut_once: bool,
    /// No second fast retransmit for what was outstanding at the last loss (RFC 6582 section 3.2; ns-2 `bugFix_`).
    pub careful: bool,
    /// NewReno: a second fast retransmit is allowed for the packet at which the recovery ended (RFC 2582 "less careful"; ns-2 `lessCareful_`).
    pub less_careful: bool,
    /// A lost SYN makes the initial window one packet, and the first data packet may be retransmitted fast (ns-2
    /// `bugfix_ss_`, there since June 2006).
    pub first_packet_fix: bool,
    /// One retransmission of the SYN leaves the initial window as it is, and so do several needless ones; ssthresh is never cut
    /// (Linux `tcp_init_transfer`, `tcp_try_undo_spurious_syn`, `tcp_init_metrics`).
    pub forgives_syn: bool,
    /// NewReno: only the first partial acknowledgement restarts the timer (RFC 6582 "impatient"; `newreno_changes1_`).
    pub impatient: bool,
    /// NewReno: a partial acknowledgement deflates the window by what it covers (RFC 6582; `partial_window_deflation_`).
    pub partial_deflation: bool,
    /// NewReno: at the end of recovery the window is at most what is in flight and one packet (RFC 6582 section 3.2,
    /// step 3, option 1; `exit_recovery_fix_`).
    pub full_ack_deflation: bool,
    /// Sack1: a partial acknowledgement sends two packets, whatever the pipe holds (`partial_ack_`).
    pub partial_ack: bool,
    /// Host pacing; `None` sends as the window allows. [`Variant::is_by_rate`] paces itself, whatever stands here.
    pub pacing: Option<HostPacing>,
    /// CUBIC's constants.
    pub constants: Constants,
    /// CUBIC: slow start ends when a queue begins to build.
    pub hystart: HyStartMode,
    /// The window after the application had nothing to send.
    pub idle_restart: IdleRestart,
    /// Explicit congestion notification.
    pub ecn: EcnMode,
    /// What a mark does beside losses and retransmissions, with [`EcnMode::Rfc3168`].
    pub ecn_rule: EcnRule,
}

impl Config {
    /// The longest `tick`.
    pub const LONGEST_TICK: Span = Span::from_millis(4_000);

    /// The constants of a profile, unpaced.
    pub fn new(profile: Profile) -> Self {
        let ns2 = Config {
            variant: Variant::Reno,
            payload: 1000,
            header: 40,
            ack: 40,
            syn: Some(40),
            max_window: 20,
            grow_unused: true,
            data_with_syn: false,
            initial_window: 2,
            initial_ssthresh: None,
            delayed_ack: None,
            quick_acks: 0,
            ack_every: 2,
            gro: None,
            adaptive_delay: false,
            sack_compression: None,
            push: 0,
            read_delay: Span::ZERO,
            delayed_syn_ack: false,
            sack_blocks: 3,
            sack_header: 0,
            timestamps: false,
            timestamps_end_back_off: false,
            duplicate_threshold: 3,
            limited_transmit: true,
            recovery: Recovery::RateHalving, // ns-2.35's TCP-Linux
            rack: false,
            timer_tick: Span::ZERO,
            count_packets: false,
            max_burst: u32::MAX,
            gso: None,
            tsq: None,
            overhead: Span::ZERO,
            tick: Span::from_millis(10),
            tick_phase: None,
            min_rto: Span::from_millis(200),
            min_rto_beyond_srtt: false,
            timer_fix: true,
            min_rto_backs_off: true,
            back_off_to_maximum: true,
            max_rto: Span::from_millis(60_000),
            initial_rto: Span::from_millis(3_000),
            rto_after_lost_syn: None,
            linear_syn_timeouts: 0,
            halving: Halving::Window,
            fractional_halving: true,
            cut_once: false, // tcp.cc `timeout`
            careful: true,
            less_careful: false,
            first_packet_fix: true,
            forgives_syn: false,
            impatient: true,
            partial_deflation: true,
            full_ack_deflation: false,
            partial_ack: false,
            pacing: None,
            constants: Constants::Linux2007, // what ns-2.35's TCP-Linux has
            hystart: HyStartMode::Off,
            idle_restart: IdleRestart::One,
            ecn: EcnMode::Off,
            ecn_rule: EcnRule::Ns2,
        };
        match profile {
            Profile::Ns2 => ns2,
            Profile::Ns2Of2005 => Config {
                fractional_halving: false,
                initial_rto: Span::from_millis(6_000),
                max_rto: Span::from_millis(100_000_000),
                back_off_to_maximum: false,
                first_packet_fix: false,
                delayed_syn_ack: true,
                ..ns2
            },
            Profile::Ns2Validation => Config {
                fractional_halving: false,
                initial_rto: Span::from_millis(6_000),
                min_rto: Span::from_millis(1_000),
                limited_transmit: false,
                impatient: false,
                partial_deflation: false,
                ..ns2
            },
            Profile::Rfc => Config {
                variant: Variant::NewReno,
                payload: 1460,
                sack_header: 4,
                timestamps_end_back_off: true,
                max_window: 10_000,
                grow_unused: false, // RFC 7661
                initial_window: Config::window_of_rfc_6928(1460),
                tick: Span::ZERO,
                min_rto: Span::from_millis(1_000),     // RFC 6298 (2.4)
                initial_rto: Span::from_millis(1_000), // RFC 6298 (2.1)
                rto_after_lost_syn: Some(Span::from_millis(3_000)), // RFC 6298 (5.7)
                recovery: Recovery::Rfc6675,
                halving: Halving::FlightSize, // RFC 5681, equation 4
                cut_once: true,
                constants: Constants::Rfc9438,
                idle_restart: IdleRestart::Initial, // RFC 5681 (4.1)
                ecn_rule: EcnRule::Rfc3168,
                ..ns2
            },
            Profile::Linux => Config {
                variant: Variant::Cubic, // net.ipv4.tcp_congestion_control
                payload: 1448,           // an Ethernet frame's 1500 B less the headers
                header: 52,              // IP 20, TCP 20, timestamps 12
                ack: 52,
                syn: Some(60),
                sack_header: 4,
                timestamps: true,
                timestamps_end_back_off: true,
                max_window: 10_000,
                grow_unused: false,                                 // tcp_is_cwnd_limited
                initial_window: 10,                                 // TCP_INIT_CWND
                delayed_ack: Some(Span::from_millis(40)),           // TCP_DELACK_MIN
                quick_acks: 16,                                     // TCP_MAX_QUICKACKS
                adaptive_delay: true,                               // tcp_event_data_recv
                sack_compression: Some(Span::from_millis(1)),       // net.ipv4.tcp_comp_sack_delay_ns
                push: 11,                                           // measured on Linux 6.18
                read_delay: Span::from_nanos(20_000),               // the same
                tick: Span::ZERO,                                   // microseconds
                min_rto: Span::from_millis(200),                    // TCP_RTO_MIN
                min_rto_beyond_srtt: true,                          // tcp_rtt_estimator
                max_rto: Span::from_millis(120_000),                // TCP_RTO_MAX
                initial_rto: Span::from_millis(1_000),              // TCP_TIMEOUT_INIT
                rto_after_lost_syn: Some(Span::from_millis(3_000)), // TCP_TIMEOUT_FALLBACK
                linear_syn_timeouts: 4, // net.ipv4.tcp_syn_linear_timeouts, since 6.5
                forgives_syn: true,
                recovery: Recovery::Rfc6675,
                rack: true,                       // tcp_recovery, tcp_early_retrans
                timer_tick: Span::from_millis(4), // CONFIG_HZ=250
                count_packets: true,              // tcp_slow_start, tcp_cong_avoid_ai
                fractional_halving: false,        // tcp_reno_ssthresh: cwnd >> 1
                cut_once: true,                   // tcp_enter_loss
                constants: Constants::Linux2013,
                hystart: HyStartMode::Linux,      // tcp_cubic.c
                idle_restart: IdleRestart::Decay, // tcp_cwnd_restart
                ecn_rule: EcnRule::Rfc3168,
                ..ns2
            },
        }
    }

    /// The constants of a profile with another variant. In ns-2, BIC and CUBIC are TCP-Linux's, which has its own defaults
    /// (tcl/lib/ns-default.tcl, tcp/tcp-linux.cc `install_congestion_control`). Linux has no Reno that ends recovery with the first new
    /// acknowledgement: without SACK it repairs as NewReno does (tcp_input.c `tcp_newreno_mark_lost`).
    ///
    /// ```
    /// # use paceline_tcp::{Config, Profile, Variant};
    /// let config = Config::of_variant(Profile::Linux, Variant::Cubic);
    /// assert_eq!(config.variant, Variant::Cubic);
    /// assert!(config.needs_feedback());
    /// ```
    pub fn of_variant(profile: Profile, variant: Variant) -> Self {
        let variant = match (profile, variant) {
            (Profile::Linux, Variant::Reno) => Variant::NewReno,
            _ => variant,
        };
        let ecn = match variant {
            Variant::Dctcp => EcnMode::Dctcp,
            Variant::Prague => EcnMode::Accurate,
            _ => EcnMode::Off,
        };
        let mut config = Config { variant, ecn, ..Config::new(profile) };
        config.fractional_halving |= variant == Variant::Prague;
        if variant.is_by_rate() {
            (config.rack, config.idle_restart) = (true, IdleRestart::Keep);
        }
        let is_ns2 = !matches!(profile, Profile::Rfc | Profile::Linux);
        if !is_ns2 || !variant.is_control() {
            return config;
        }
        Config {
            tick: Span::from_millis(1),            // tcpTick_, set by select_ca
            max_rto: Span::from_millis(120_000),   // maxrto_
            initial_rto: Span::from_millis(3_000), // rtxcur_init_
            min_rto: Span::from_millis(200),       // minrto_
            timestamps_end_back_off: true,         // ts_resetRTO_
            ..config
        }
    }

    /// [`Recovery::RateHalving`] applies. While a packet is missing, only the packets in flight are then limited to `max_window`, as in
    /// ns-2.
    #[inline]
    pub fn halves_rate(&self) -> bool {
        self.variant.is_control() && self.recovery == Recovery::RateHalving && !self.has_rack()
    }

    /// The initial window of RFC 6928 section 2, packets of `payload` bytes: at most 10, and 14600 B or two packets.
    ///
    /// ```
    /// # use paceline_tcp::Config;
    /// assert_eq!([536, 1460, 9000].map(Config::window_of_rfc_6928), [10, 10, 2]);
    /// ```
    pub fn window_of_rfc_6928(payload: u32) -> u32 {
        (14_600 / payload.max(1)).clamp(2, 10)
    }
}
