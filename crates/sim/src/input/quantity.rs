//! Quantities with units, as a scenario writes them: the parser is `paceline_core`'s, the path is ours.

use paceline_core::units::parse::{self, Quantity, QuantityError, Usual};
use paceline_core::{Bytes, Rate, Span};
use serde_json::Value;

pub(crate) use paceline_core::units::parse::{BufferSize, Range};

use super::error::Result;
use super::reader::Field;

/// A year: a whole round trip of such delays ends long before the end of time, where sums would no longer be exact.
const LONGEST: Span = Span::from_millis(365 * 24 * 3_600_000);

impl Field<'_> {
    /// A time: `"10 ms"`.
    pub(crate) fn span(&self) -> Result<Span> {
        let span = self.quantity(parse::span)?;
        self.no_longer_than_a_year(span)
    }

    fn no_longer_than_a_year(&self, span: Span) -> Result<Span> {
        if span > LONGEST {
            return Err(self.refused(format!("is more than a year; write \"{LONGEST}\" at most")));
        }
        Ok(span)
    }

    /// A time that is not zero.
    pub(crate) fn positive_span(&self) -> Result<Span> {
        let none = || {
            let example = if self.usual() == Some(Usual::Seconds) { "60 s" } else { "10 ms" };
            self.refused(format!("is no time at all; write for example \"{example}\""))
        };
        match self.value().as_f64() {
            Some(0.0) => Err(none()), // "0 ms", which is advised for it elsewhere, is none either
            _ => match self.span()? {
                Span::ZERO => Err(none()),
                span => Ok(span),
            },
        }
    }

    /// A time or a range of times: `"5 ms .. 15 ms"`.
    pub(crate) fn spans(&self) -> Result<Range<Span>> {
        let spans = self.quantity(parse::range::<Span>)?;
        self.no_longer_than_a_year(spans.high)?;
        Ok(spans)
    }

    /// A rate or a range of rates: `"8 Mbit/s .. 12 Mbit/s"`.
    pub(crate) fn rates(&self) -> Result<Range<Rate>> {
        self.quantity(parse::range::<Rate>)
    }

    /// A buffer: `"5 KB"`, `"5 packets"`, `"0.1 BDP"`.
    pub(crate) fn buffer(&self) -> Result<BufferSize> {
        self.quantity(parse::buffer)
    }

    /// The size of a packet or of a part of it, bytes, in this range.
    pub(crate) fn packet_bytes(&self, least: u32, most: u32) -> Result<u32> {
        let bytes = self.quantity(parse::bytes)?;
        if bytes < Bytes::new(u64::from(least)) {
            return Err(self.refused(format!("is below {least} B; write \"{least} B\" to \"{most} B\"")));
        }
        if bytes > Bytes::new(u64::from(most)) {
            return Err(self.refused(format!("is above {most} B; write \"{least} B\" to \"{most} B\"")));
        }
        Ok(bytes.count() as u32)
    }

    /// Packets, from `"10 packets"`, or from bytes of which each packet carries `payload`, counting a part as one if
    /// `round_up`.
    pub(crate) fn packets(&self, payload: u32, round_up: bool, most: u64) -> Result<u64> {
        let packets = match self.buffer()? {
            BufferSize::Packets(packets) => packets,
            BufferSize::Bytes(bytes) if round_up => bytes.count().div_ceil(u64::from(payload)),
            BufferSize::Bytes(bytes) => bytes.count() / u64::from(payload),
            BufferSize::Bdp(_) => return Err(self.refused("is a buffer; write for example \"10 packets\"")),
        };
        match packets {
            0 => Err(self.refused("is no packet at all; write at least \"1 packet\"")),
            packets if packets > most => {
                Err(self.refused(format!("is above {most} packets; write \"{most} packets\" at most")))
            }
            packets => Ok(packets),
        }
    }

    /// A rate in bit/s, or none at all.
    pub(crate) fn zero_or_rate(&self) -> Result<u64> {
        let is_zero = |text: &str| {
            let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            number.parse() == Ok(0.0) && parse::rate(&text.replacen(&number, "1", 1)).is_ok()
        };
        match self.value() {
            Value::String(text) if is_zero(text.trim()) => Ok(0),
            _ => self.one_of::<Rate>().map(Rate::bits_per_second),
        }
    }

    /// What a bare number counts here.
    fn usual(&self) -> Option<Usual> {
        match self.path().rsplit('.').next().unwrap_or_default() {
            "duration" | "warmup" | "start" | "stop" | "from" | "to" | "window" | "think" | "min_rto"
            | "max_rto" | "initial_rto" => Some(Usual::Seconds),
            "payload" | "header" | "ack" | "packet" | "syn" | "sack_header" | "request" => {
                Some(Usual::PacketBytes)
            }
            "max_window" | "initial_window" | "initial_ssthresh" | "max_burst" | "gso" => {
                Some(Usual::Packets)
            }
            _ => None,
        }
    }

    /// A quantity of a kind.
    pub(crate) fn one_of<T: Quantity>(&self) -> Result<T> {
        self.quantity(T::parse)
    }

    /// Two of a kind, or one.
    pub(crate) fn range_of<T: Quantity>(&self) -> Result<Range<T>> {
        self.quantity(parse::range::<T>)
    }

    fn quantity<T>(&self, parse: impl Fn(&str) -> Result<T, QuantityError>) -> Result<T> {
        let parse = |text: &str| {
            parse(text).map_err(|error| match self.usual() {
                Some(usual) => error.with_usual(usual),
                None => error,
            })
        };
        match self.value() {
            Value::String(text) => parse(text).map_err(|error| self.wrong(error)),
            bare @ (Value::Number(_) | Value::Bool(_)) => {
                let text = bare.to_string();
                let error = match parse(&text) {
                    Ok(_) => return Err(self.refused("is not text; write it in quotes")),
                    Err(error) => error.to_string(),
                };
                Err(self.wrong(error.replacen(&format!("{text:?}"), &text, 1)))
            }
            _ => Err(self.refused("is not a quantity; write a number and a unit in quotes")),
        }
    }
}
