//! The table of options, in the order of a scenario's `tcp` table.

use super::setting::{Setting, Value};
use crate::config::{
    Config, Constants, EcnMode, EcnRule, Halving, HyStartMode, IdleRestart, Recovery, Variant,
};

/// Every option: its key, what it is, its value, and its sources in the RFCs, ns-2 and Linux.
pub const OPTIONS: &[Setting] = &[
    option(
        "variant",
        Variant::MEANING,
        |config| name_of(&Variant::ALL, config.variant),
        ["RFC 6582, 6675, 9438", "Agent/TCP/…, the agent's class", "net.ipv4.tcp_congestion_control"],
    ),
    option(
        "payload",
        "of a data packet",
        |config| Value::Bytes(config.payload),
        ["RFC 9293 section 3.7.1", "`packetSize_`", "tcp_output.c `tcp_current_mss`"],
    ),
    option(
        "header",
        "of a data packet; payload and header are on the wire",
        |config| Value::Bytes(config.header),
        ["RFC 9293 section 3.1", "`tcpip_base_hdr_size_`, `useHeaders_`", "`TCPOLEN_TSTAMP_ALIGNED`"],
    ),
    option(
        "ack",
        "an acknowledgement on the wire, without SACK blocks",
        |config| Value::Bytes(config.ack),
        ["RFC 9293 section 3.1", "TCPSink `packetSize_`", "`TCPOLEN_TSTAMP_ALIGNED`"],
    ),
    option(
        "syn",
        "size of a first packet without data, numbered 0; `false` is none",
        |config| config.syn.map_or(Value::Flag(false), Value::Bytes),
        ["RFC 9293 section 3.5", "`syn_`", "tcp_output.c `tcp_syn_options`"],
    ),
    option(
        "max_window",
        "the receiver's window; packets, or bytes of payload",
        |config| Value::Packets(config.max_window),
        ["RFC 7323 section 2", "`window_`", "net.ipv4.tcp_rmem"],
    ),
    option(
        "grow_unused",
        "Reno's window grows beyond `max_window`, else at most to it",
        |config| Value::Flag(config.grow_unused),
        ["RFC 7661 section 4.1", "tcp.cc `opencwnd`", "tcp_cong.c `tcp_is_cwnd_limited`"],
    ),
    option(
        "data_with_syn",
        "the first data are sent with the SYN, which counts in the window, else after its acknowledgement",
        |config| Value::Flag(config.data_with_syn),
        ["", "TCP-Linux, `delay_growth_` off", ""],
    ),
    option(
        "initial_window",
        "after the handshake; in `rfc` 14600 B, and from 2 to 10 packets of the payload",
        |config| Value::Packets(config.initial_window),
        ["RFC 6928", "`windowInit_`", "`TCP_INIT_CWND`"],
    ),
    option(
        "initial_ssthresh",
        "slow start ends here",
        |config| config.initial_ssthresh.map_or(Value::Unset("`max_window`"), Value::Packets),
        ["RFC 5681 section 3.1", "tcp.cc `reset`", "`TCP_INFINITE_SSTHRESH`"],
    ),
    option(
        "delayed_ack",
        "how long an acknowledgement may wait for a second packet; `false` acknowledges each at once",
        |config| config.delayed_ack.map_or(Value::Flag(false), Value::Time),
        ["RFC 5681 section 4.2", "TCPSink/DelAck `interval_`", "`TCP_DELACK_MIN`"],
    ),
    option(
        "quick_acks",
        "how many first packets are acknowledged at once although acknowledgements are delayed; the last packet of a message is too, unless the receiver's host sends data itself; 0 is none",
        |config| Value::Count(config.quick_acks),
        ["", "", "`TCP_MAX_QUICKACKS`, tcp_input.c `tcp_in_quickack_mode`, tcp.c `__tcp_cleanup_rbuf`"],
    ),
    option(
        "ack_every",
        "with `delayed_ack`: so many packets are acknowledged together, at least 2",
        |config| Value::Count(config.ack_every),
        ["RFC 5681 section 4.2", "", "tcp_input.c `__tcp_ack_snd_check`"],
    ),
    option(
        "gro",
        "receive offload: how long a packet waits for the next of its flow, to be answered as one with it; `false` answers each by itself",
        |config| config.gro.map_or(Value::Flag(false), Value::Time),
        ["", "", "`gro_flush_timeout`, tcp_offload.c `tcp_gro_receive`"],
    ),
    option(
        "adaptive_delay",
        "the delay follows the time between packets, and its timer counts in `timer_tick`",
        |config| Value::Flag(config.adaptive_delay),
        ["", "", "`icsk_ack.ato`, tcp_input.c `tcp_event_data_recv`"],
    ),
    option(
        "sack_compression",
        "with `rack` and delayed acknowledgements: from the fourth packet beyond a gap on, acknowledgements wait this long and are sent as one; `false` sends each at once",
        |config| config.sack_compression.map_or(Value::Flag(false), Value::Time),
        ["", "", "net.ipv4.tcp_comp_sack_delay_ns, tcp_input.c `__tcp_ack_snd_check`"],
    ),
    option(
        "push",
        "packets of a write (two thirds of a window where a window is more than three writes); the last one is acknowledged at once, as that of a message (`quick_acks`); 0 is none",
        |config| Value::Count(config.push),
        ["RFC 9293 section 3.9.1", "", "`sk_stream_write_space`, tcp.c `tcp_push`"],
    ),
    option(
        "read_delay",
        "after the first gap, acknowledgements for a second packet and for the last of a write wait until the application reads: a random time, at most this and a thousandth of the round trip",
        |config| Value::Time(config.read_delay),
        ["", "", "tcp.c `__tcp_cleanup_rbuf`"],
    ),
    option(
        "delayed_syn_ack",
        "the SYN's acknowledgement may be delayed too",
        |config| Value::Flag(config.delayed_syn_ack),
        ["RFC 9293 section 3.10.7", "`SYN_immediate_ack_`", "tcp_input.c `tcp_rcv_state_process`"],
    ),
    option(
        "sack_blocks",
        "most SACK blocks in an acknowledgement",
        |config| Value::Count(config.sack_blocks),
        ["RFC 2018 section 3", "`maxSackBlocks_`", "`TCP_NUM_SACKS`"],
    ),
    option(
        "sack_header",
        "bytes of the SACK option beside 8 a block",
        |config| Value::Bytes(config.sack_header),
        ["RFC 2018 section 3", "tcp-sink.cc `append_ack`", "`TCPOLEN_SACK_BASE_ALIGNED`"],
    ),
    option(
        "timestamps",
        "time every acknowledgement by the echo of its packet's timestamp",
        |config| Value::Flag(config.timestamps),
        ["RFC 7323 section 3", "`timestamps_`", "net.ipv4.tcp_timestamps"],
    ),
    option(
        "timestamps_end_back_off",
        "every such sample ends the back-off, not only that of a packet sent once",
        |config| Value::Flag(config.timestamps_end_back_off),
        ["RFC 6298 section 5", "`ts_resetRTO_`", "tcp_input.c `tcp_ack_update_rtt`"],
    ),
    option(
        "duplicate_threshold",
        "duplicate acknowledgements that mean a loss",
        |config| Value::Count(config.duplicate_threshold),
        ["RFC 5681 section 3.2", "`numdupacks_`", "net.ipv4.tcp_reordering"],
    ),
    option(
        "limited_transmit",
        "send on the first two duplicate acknowledgements",
        |config| Value::Flag(config.limited_transmit),
        ["RFC 3042", "`singledup_`", "tcp_input.c `tcp_fastretrans_alert`"],
    ),
    option(
        "recovery",
        "recovery of `bic` and `cubic` without `rack`: `\"rfc6675\"`; `\"rate-halving\"`, where a packet or retransmission more than three below the highest held is lost, and the window decreases by a packet for every second acknowledgement",
        |config| name_of(&Recovery::ALL, config.recovery),
        ["RFC 6675", "tcp/tcp-linux.cc, tcp/scoreboard1.cc", "tcp_input.c `tcp_cwnd_down`, until 3.1"],
    ),
    option(
        "rack",
        "`rfc6675`, `bic`, `cubic`: a packet or retransmission is lost when a packet sent after it has arrived, and later than that once packets were reordered; a probe precedes a timeout; a recovery or a timeout that was needless is undone, by timestamps and by what the receiver reports to have had twice (D-SACK); `bbr` and `bbr3` always have it",
        |config| Value::Flag(config.rack),
        ["RFC 8985, 9937, 5682, 3522, 2883", "", "net.ipv4.tcp_recovery, tcp_early_retrans, tcp_frto"],
    ),
    option(
        "timer_tick",
        "ticks in which timers count, and never run out early; `\"0 s\"` is exact",
        |config| Value::Time(config.timer_tick),
        ["RFC 6298 section 4", "", "`CONFIG_HZ`, kernel/time/timer.c `calc_wheel_index`"],
    ),
    option(
        "count_packets",
        "the window grows by packets delivered, not by acknowledgements, and only where it was used up",
        |config| Value::Flag(config.count_packets),
        ["RFC 5681 section 3.1", "tcp.cc `opencwnd`", "tcp_cong.c `tcp_slow_start`, `tcp_cong_avoid_ai`"],
    ),
    option(
        "max_burst",
        "most packets sent at one event; `false` is no limit",
        max_burst,
        ["", "`maxburst_`", ""],
    ),
    option(
        "gso",
        "segmentation offload: most packets that leave as one train, packets or bytes of payload; a train is what the rate sends in about 1 ms, at least two packets; `false` sends each by itself",
        |config| config.gso.map_or(Value::Flag(false), Value::Packets),
        ["", "", "`sk_gso_max_size`, tcp_output.c `tcp_tso_autosize`, `tcp_tso_should_defer`"],
    ),
    option(
        "tsq",
        "small queues: what the connection has in the queue of its own host, before its first link, is no more than its rate sends in about 1 ms, or two trains if that is more, and than so many bytes; `false` sends what the window lets out",
        |config| config.tsq.map_or(Value::Flag(false), Value::Bytes),
        ["", "", "net.ipv4.tcp_limit_output_bytes, tcp_output.c `tcp_small_queue_check`"],
    ),
    option(
        "overhead",
        "packets wait for a random time before they are sent, at most this, so that hosts do not stay in phase; fast retransmit and limited transmit do not wait",
        |config| Value::Time(config.overhead),
        ["", "`overhead_`", ""],
    ),
    option(
        "tick",
        "of the clock that times a round trip, 4 s at most; `\"0 s\"` is exact",
        |config| Value::Time(config.tick),
        ["RFC 6298 section 4", "`tcpTick_`", "`tcp_clock_us`"],
    ),
    option(
        "tick_phase",
        "phase of that clock, and of `timer_tick`, at time zero; with one value all hosts have the same ticks, as on one machine",
        |config| config.tick_phase.map_or(Value::Unset("drawn for each flow"), Value::Time),
        ["", "tcp.cc `boot_time_`", ""],
    ),
    option(
        "min_rto",
        "least retransmission timeout",
        |config| Value::Time(config.min_rto),
        ["RFC 6298 (2.4)", "`minrto_`", "`TCP_RTO_MIN`"],
    ),
    option(
        "min_rto_beyond_srtt",
        "min_rto is the least that is added to the smoothed round trip, else the least sum",
        |config| Value::Flag(config.min_rto_beyond_srtt),
        ["RFC 6298 (2.4)", "", "tcp_input.c `tcp_rtt_estimator`"],
    ),
    option(
        "timer_fix",
        "an acknowledgement restarts the timer after its sample is taken, not before",
        |config| Value::Flag(config.timer_fix),
        ["RFC 6298 section 5", "`timerfix_`", "tcp_input.c `tcp_ack`"],
    ),
    option(
        "min_rto_backs_off",
        "`min_rto` is applied before back-off, else after it",
        |config| Value::Flag(config.min_rto_backs_off),
        ["RFC 6298 (2.4), (5.5)", "`rfc2988_`", "tcp_timer.c `tcp_retransmit_timer`"],
    ),
    option(
        "back_off_to_maximum",
        "back-off continues to `max_rto`, else 64-fold at most",
        |config| Value::Flag(config.back_off_to_maximum),
        ["RFC 6298 (5.5)", "tcp.cc `rtt_backoff`: since 2007, with `rfc2988_`", "`TCP_RTO_MAX`"],
    ),
    option(
        "max_rto",
        "greatest retransmission timeout",
        |config| Value::Time(config.max_rto),
        ["RFC 6298 (2.5)", "`maxrto_`", "`TCP_RTO_MAX`"],
    ),
    option(
        "initial_rto",
        "retransmission timeout before the first sample",
        |config| Value::Time(config.initial_rto),
        ["RFC 6298 (2.1)", "`rtxcur_init_`", "`TCP_TIMEOUT_INIT`"],
    ),
    option(
        "rto_after_lost_syn",
        "timeout when data begin after a retransmitted SYN that gave no round trip; `false` keeps that of the SYN",
        |config| config.rto_after_lost_syn.map_or(Value::Flag(false), Value::Time),
        ["RFC 6298 (5.7)", "", "`TCP_TIMEOUT_FALLBACK`"],
    ),
    option(
        "linear_syn_timeouts",
        "timeouts of a SYN before they double",
        |config| Value::Count(config.linear_syn_timeouts),
        ["", "", "net.ipv4.tcp_syn_linear_timeouts"],
    ),
    option(
        "halving",
        "what a loss halves: `\"window\"`; `\"in-flight\"`, as in an ns-2 with D. X. Wei's pacing patch (flows paced by rule `wei` always do; a control such as `cubic` never, which cuts its window); `\"flight-size\"`",
        |config| name_of(&Halving::ALL, config.halving),
        ["RFC 5681 (4)", "tcp.cc `slowdown`", "tcp_cong.c `tcp_reno_ssthresh`"],
    ),
    option(
        "fractional_halving",
        "a cut window keeps its fraction, else it is rounded down",
        |config| Value::Flag(config.fractional_halving),
        ["RFC 5681 (4)", "`precisionReduce_`", "tcp_cong.c `tcp_reno_ssthresh`"],
    ),
    option(
        "cut_once",
        "a timeout for a packet that a timeout has sent again already leaves ssthresh as it is; with `rack` always",
        |config| Value::Flag(config.cut_once),
        ["RFC 5681 section 3.1", "", "tcp_input.c `tcp_enter_loss`"],
    ),
    option(
        "careful",
        "no second fast retransmit for what was outstanding at the last loss",
        |config| Value::Flag(config.careful),
        ["RFC 6582 section 3.2", "`bugFix_`", "tcp_input.c `high_seq`"],
    ),
    option(
        "less_careful",
        "NewReno: allows a second fast retransmit for the packet at which recovery ended",
        |config| Value::Flag(config.less_careful),
        ["RFC 2582", "`lessCareful_`", ""],
    ),
    option(
        "first_packet_fix",
        "a lost SYN makes the initial window one packet; the first data packet may be retransmitted fast",
        |config| Value::Flag(config.first_packet_fix),
        ["RFC 5681 section 3.1", "`bugfix_ss_`", "tcp_input.c `tcp_init_transfer`"],
    ),
    option(
        "forgives_syn",
        "one retransmission of the SYN leaves the initial window as it is, and so do several that timestamps show to be needless; ssthresh is never cut",
        |config| Value::Flag(config.forgives_syn),
        ["", "", "tcp_input.c `tcp_init_transfer`, `tcp_try_undo_spurious_syn`"],
    ),
    option(
        "impatient",
        "NewReno: only the first partial acknowledgement restarts the timer",
        |config| Value::Flag(config.impatient),
        ["RFC 6582 section 4", "`newreno_changes1_`", ""],
    ),
    option(
        "partial_deflation",
        "NewReno: a partial acknowledgement deflates the window by what it covers",
        |config| Value::Flag(config.partial_deflation),
        ["RFC 6582 section 3.2", "`partial_window_deflation_`", ""],
    ),
    option(
        "full_ack_deflation",
        "NewReno: at the end of recovery the window is at most what is in flight and one packet",
        |config| Value::Flag(config.full_ack_deflation),
        ["RFC 6582 section 3.2", "`exit_recovery_fix_`", ""],
    ),
    option(
        "partial_ack",
        "Sack1: a partial acknowledgement sends two packets, whatever the pipe holds",
        |config| Value::Flag(config.partial_ack),
        ["", "`partial_ack_`", ""],
    ),
    option(
        "constants",
        "CUBIC: `\"rfc9438\"` (beta 0.7, C 0.4; BIC takes the window at which slow start after a timeout ends as W_max); `\"linux-2013\"` (717/1024, 410/1024); `\"linux-2007\"` (819/1024, and 16 packets in 0.1 s at most), in whole numbers, of BIC too",
        |config| name_of(&Constants::ALL, config.constants),
        ["RFC 9438 section 4", "TCP-Linux, tcp/linux/src/tcp_cubic.c", "tcp_cubic.c"],
    ),
    option(
        "hystart",
        "CUBIC: slow start ends when a queue begins to build: `\"off\"`; `\"linux\"`, at once, by trains of acknowledgements or delay; `\"rfc9406\"`, HyStart++, by delay, after some rounds of slower growth",
        |config| name_of(&HyStartMode::ALL, config.hystart),
        ["RFC 9406, RFC 9438 section 4.10", "", "tcp_cubic.c `hystart`"],
    ),
    option(
        "idle_restart",
        "the window after an idle period: `\"keep\"`; `\"one\"` packet after one retransmission timeout; `\"initial\"`, the initial window after one; `\"decay\"`, halved for each; `\"paced\"`, three quarters, spread over a round trip until an acknowledgement comes",
        |config| name_of(&IdleRestart::ALL, config.idle_restart),
        ["RFC 5681 section 4.1", "`slow_start_restart_`, TCP/Reno/RBP", "net.ipv4.tcp_slow_start_after_idle"],
    ),
    option(
        "ecn",
        "explicit congestion notification: `\"off\"`; `\"rfc3168\"`, one cut a window; `\"dctcp\"`, the echo says which packets were marked; `\"accecn\"`, it counts them",
        |config| name_of(&EcnMode::ALL, config.ecn),
        ["RFC 3168, RFC 8257, RFC 9768", "`ecn_`", "net.ipv4.tcp_ecn; off unless the other end asks"],
    ),
    option(
        "ecn_rule",
        "what a mark does beside losses and retransmissions, with `ecn = \"rfc3168\"`: `\"rfc3168\"`, new data alone are ECN-capable; `\"ns2\"`, as ns-2's Tahoe, Reno, Newreno and Sack1",
        |config| name_of(&EcnRule::ALL, config.ecn_rule),
        ["RFC 3168 section 6.1", "`SetCWRonRetransmit_`; tcp/tcp.cc `ecn`, `dupack_action`", ""],
    ),
];

fn name_of<T: PartialEq>(all: &'static [(&'static str, T)], one: T) -> Value {
    let name = all.iter().find(|(_, value)| *value == one).map(|(name, _)| *name);
    Value::Name(name.unwrap_or_default())
}

const fn option(
    key: &'static str,
    meaning: &'static str,
    value: fn(&Config) -> Value,
    [rfc, ns2, linux]: [&'static str; 3],
) -> Setting {
    Setting { key, meaning, value, rfc, ns2, linux }
}

fn max_burst(config: &Config) -> Value {
    if config.max_burst == u32::MAX { Value::Flag(false) } else { Value::Packets(config.max_burst) }
}
