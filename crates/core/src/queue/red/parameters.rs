//! RED's parameters.

use super::super::discipline::Tuned;
use super::super::powers::exp_minus;
use super::super::rule::Limit;
use crate::parameters::{Kind, Parameter, ParameterError, Reader};

/// The least threshold, packets, and the delay by which it grows with the link, s (`targetdelay_`).
const LEAST_THRESH: f64 = 5.0;
const TARGET_DELAY: f64 = 0.005;

/// Thresholds and weights. Lengths of queues are in packets of `mean_packet` bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// From there on packets are dropped.
    pub thresh: f64,
    /// There the probability is `max_p`.
    pub maxthresh: f64,
    /// The weight of an arrival in the average.
    pub q_weight: f64,
    /// ns-2's `1/linterm_`.
    pub max_p: f64,
    /// Bytes.
    pub mean_packet: u64,
    /// The queue is measured in bytes.
    pub by_bytes: bool,
    /// Bytes are counted between drops, and large packets are dropped more often.
    pub by_size: bool,
    /// Beyond `maxthresh` the probability grows to 1 at twice that; else it is 1 there.
    pub gentle: bool,
    /// No drop within 1/p packets of the last.
    pub wait: bool,
    /// `max_p` moves.
    pub adaptive: bool,
    /// What it grows by at most, and shrinks to.
    pub alpha: f64,
    /// See `alpha`.
    pub beta: f64,
    /// The most that it moves to.
    pub top: f64,
    /// The least.
    pub bottom: f64,
    /// It marks what understands marks, while the probability is below `mark_p`.
    pub marks: bool,
    /// See `marks`.
    pub mark_p: f64,
    /// A probability of 1 drops without a draw, even as the average crosses a threshold; below it marks at any.
    pub drops_undrawn: bool,
    /// Its draws are those of ns-2's default generator, after so many.
    pub ns2_draws: Option<u64>,
    /// Packets of `mean_packet` bytes that the link sends in a second.
    pub packets_per_second: f64,
}

const NO_YES: &[&str] = &["no", "yes"];
const ECN: &[&str] = &["mark", "drop", "always"];

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "thresh",
            kind: Kind::Buffer,
            default: Some("the larger of 5 packets and 2.5 ms"),
            doc: "average queue from which packets are dropped",
        },
        Parameter {
            name: "maxthresh",
            kind: Kind::Buffer,
            default: Some("3 `thresh`"),
            doc: "average queue at which the probability is `max_p`",
        },
        Parameter {
            name: "q_weight",
            kind: Kind::Fraction,
            default: Some("1 - exp(-1/C), C packets a second"),
            doc: "weight of an arrival in the average",
        },
        Parameter {
            name: "max_p",
            kind: Kind::Fraction,
            default: Some("0.1"),
            doc: "probability at `maxthresh`",
        },
        Parameter {
            name: "mean_packet",
            kind: Kind::Bytes,
            default: Some("500 B"),
            doc: "an average packet: what `packets` of thresholds and idle times are",
        },
        Parameter {
            name: "unit",
            kind: Kind::Choice(&["bytes", "packets"]),
            default: Some("bytes"),
            doc: "what the queue is measured in",
        },
        Parameter {
            name: "bytes",
            kind: Kind::Choice(NO_YES),
            default: Some("as `unit`"),
            doc: "large packets are dropped more often, and bytes are counted between drops",
        },
        Parameter {
            name: "gentle",
            kind: Kind::Choice(NO_YES),
            default: Some("yes"),
            doc: "beyond `maxthresh` the probability grows, to 1 at twice that",
        },
        Parameter {
            name: "wait",
            kind: Kind::Choice(NO_YES),
            default: Some("yes"),
            doc: "1/p packets pass between two drops",
        },
        Parameter {
            name: "adaptive",
            kind: Kind::Choice(NO_YES),
            default: Some("no"),
            doc: "`max_p` moves so that the average stays between the thresholds",
        },
        Parameter {
            name: "alpha",
            kind: Kind::Fraction,
            default: Some("0.01"),
            doc: "what `adaptive` adds to `max_p`, a quarter of it at most",
        },
        Parameter {
            name: "beta",
            kind: Kind::Fraction,
            default: Some("0.9"),
            doc: "what `adaptive` multiplies `max_p` by",
        },
        Parameter {
            name: "top",
            kind: Kind::Fraction,
            default: Some("0.5"),
            doc: "`adaptive` raises `max_p` up to it",
        },
        Parameter {
            name: "bottom",
            kind: Kind::Fraction,
            default: Some("0.01, or 80 kbit/s over the rate"),
            doc: "`adaptive` lowers `max_p` down to it",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Choice(ECN),
            default: Some("mark"),
            doc: "what becomes of a packet that understands marks, while the probability is below `mark_p`; \"always\" marks at any",
        },
        Parameter { name: "mark_p", kind: Kind::Fraction, default: Some("0.1"), doc: "see `ecn`" },
        Parameter {
            name: "use_mark_p",
            kind: Kind::Choice(NO_YES),
            default: Some("yes"),
            doc: "\"no\", as in ns-2 before 2005: any probability below 1 marks, and 1 drops without a draw",
        },
        Parameter {
            name: "ns2_draws",
            kind: Kind::Count,
            default: Some("draws of its own"),
            doc: "draws are those of ns-2's default generator, seeded with 1, after so many that others took",
        },
    ];

    const ACTS_EARLY: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let mean_packet = reader.bytes_or("mean_packet", 500)?;
        if mean_packet == 0 {
            return Err(reader.impossible("mean_packet", "is no packet; write for example \"500 B\""));
        }
        let bps = reader.link_rate().bits_per_second() as f64;
        let packets_per_second = bps / (8.0 * mean_packet as f64);
        let packets = |limit: Limit| match limit {
            Limit::Bytes(bytes) => bytes as f64 / mean_packet as f64,
            Limit::Packets(packets) => packets as f64,
        };
        let thresh = match reader.given("thresh") {
            true => packets(reader.buffer("thresh")?),
            false => LEAST_THRESH.max(TARGET_DELAY * packets_per_second / 2.0),
        };
        let maxthresh = match reader.given("maxthresh") {
            true => packets(reader.buffer("maxthresh")?),
            false => 3.0 * thresh,
        };
        if maxthresh < thresh {
            return Err(reader.impossible("maxthresh", "is below thresh; write at least as much"));
        }
        let mut fraction = |name: &'static str, default: f64| {
            if reader.given(name) { reader.fraction(name) } else { Ok(default) }
        };
        let q_weight = fraction("q_weight", 1.0 - exp_minus(1.0 / packets_per_second))?;
        let (max_p, mark_p) = (fraction("max_p", 0.1)?, fraction("mark_p", 0.1)?);
        let bottom = fraction("bottom", (80_000.0 / bps).min(0.01))?;
        let (alpha, beta) = (fraction("alpha", 0.01)?, fraction("beta", 0.9)?);
        let top = fraction("top", 0.5)?;
        let by_bytes = reader.choice("unit", &["bytes", "packets"], 0)? == 0;
        let drops_undrawn = reader.choice("use_mark_p", NO_YES, 1)? == 0;
        let ecn = reader.choice("ecn", ECN, 0)?;
        let ns2_draws = reader.given("ns2_draws").then(|| reader.count("ns2_draws")).transpose()?;
        Ok(Parameters {
            thresh,
            maxthresh,
            q_weight,
            max_p,
            mean_packet,
            by_bytes,
            by_size: reader.choice("bytes", NO_YES, by_bytes.into())? == 1,
            gentle: reader.choice("gentle", NO_YES, 1)? == 1,
            wait: reader.choice("wait", NO_YES, 1)? == 1,
            adaptive: reader.choice("adaptive", NO_YES, 0)? == 1,
            alpha,
            beta,
            top,
            bottom,
            marks: ecn != 1,
            mark_p: if ecn == 2 || drops_undrawn { f64::INFINITY } else { mark_p },
            drops_undrawn,
            ns2_draws,
            packets_per_second,
        })
    }
}
