//! Units of the scenario language, and what else people write for them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rate,
    Time,
    Size,
    Packets,
    Bdp,
    /// Asked for only: size, packets or BDP.
    Buffer,
}

impl Kind {
    pub(super) fn noun(self) -> &'static str {
        match self {
            Kind::Rate => "a rate",
            Kind::Time => "a time",
            Kind::Size => "an amount of data",
            Kind::Packets => "a number of packets",
            Kind::Bdp => "a multiple of the bandwidth-delay product",
            Kind::Buffer => "a buffer size",
        }
    }

    /// What one writes there, in quotes.
    pub(super) fn example(self) -> String {
        let example = match self {
            Kind::Rate => "\"100 Mbit/s\"",
            Kind::Time => "\"10 ms\"",
            Kind::Size => "\"5 KB\"",
            Kind::Packets => "\"5 packets\"",
            Kind::Bdp => "\"0.1 BDP\"",
            Kind::Buffer => "\"5 KB\" or \"5 packets\"",
        };
        example.to_owned()
    }

    /// The names of all units of this kind.
    pub(super) fn units(self) -> Vec<&'static str> {
        UNITS.iter().filter(|unit| self.accepts(unit.kind)).map(|unit| unit.name).collect()
    }

    pub(super) fn accepts(self, other: Kind) -> bool {
        self == other || (self == Kind::Buffer && matches!(other, Kind::Size | Kind::Packets | Kind::Bdp))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    name: &'static str,
    pub(super) kind: Kind,
    /// How many bit/s, nanoseconds, bytes or packets it is.
    pub(super) size: u64,
}

const UNITS: &[Unit] = &[
    Unit { name: "bit/s", kind: Kind::Rate, size: 1 },
    Unit { name: "kbit/s", kind: Kind::Rate, size: 1_000 },
    Unit { name: "Mbit/s", kind: Kind::Rate, size: 1_000_000 },
    Unit { name: "Gbit/s", kind: Kind::Rate, size: 1_000_000_000 },
    Unit { name: "Tbit/s", kind: Kind::Rate, size: 1_000_000_000_000 },
    Unit { name: "ns", kind: Kind::Time, size: 1 },
    Unit { name: "us", kind: Kind::Time, size: 1_000 },
    Unit { name: "\u{b5}s", kind: Kind::Time, size: 1_000 }, // micro sign
    Unit { name: "\u{3bc}s", kind: Kind::Time, size: 1_000 }, // Greek mu
    Unit { name: "ms", kind: Kind::Time, size: 1_000_000 },
    Unit { name: "s", kind: Kind::Time, size: 1_000_000_000 },
    Unit { name: "min", kind: Kind::Time, size: 60_000_000_000 },
    Unit { name: "B", kind: Kind::Size, size: 1 },
    Unit { name: "KB", kind: Kind::Size, size: 1_000 },
    Unit { name: "MB", kind: Kind::Size, size: 1_000_000 },
    Unit { name: "GB", kind: Kind::Size, size: 1_000_000_000 },
    Unit { name: "KiB", kind: Kind::Size, size: 1 << 10 },
    Unit { name: "MiB", kind: Kind::Size, size: 1 << 20 },
    Unit { name: "GiB", kind: Kind::Size, size: 1 << 30 },
    Unit { name: "packets", kind: Kind::Packets, size: 1 },
    Unit { name: "packet", kind: Kind::Packets, size: 1 },
    Unit { name: "BDP", kind: Kind::Bdp, size: 1 },
];

/// What people write, in lower case, and the unit that they mean.
const MEANT: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("bits/s", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("tbps", "Tbit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("tb/s", "Tbit/s"),
    ("kbits/s", "kbit/s"),
    ("mbits/s", "Mbit/s"),
    ("gbits/s", "Gbit/s"),
    ("kbit", "kbit/s"),
    ("mbit", "Mbit/s"),
    ("gbit", "Gbit/s"),
    ("tbit", "Tbit/s"),
    ("kb", "kbit/s"),
    ("mb", "Mbit/s"),
    ("gb", "Gbit/s"),
    ("tb", "Tbit/s"),
    ("k", "kbit/s"),
    ("m", "Mbit/s"),
    ("g", "Gbit/s"),
    ("t", "Tbit/s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("milliseconds", "ms"),
    ("usec", "us"),
    ("usecs", "us"),
    ("millisecond", "ms"),
    ("microseconds", "us"),
    ("microsecond", "us"),
    ("nsec", "ns"),
    ("nanoseconds", "ns"),
    ("m", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("byte", "B"),
    ("bytes", "B"),
    ("kilobytes", "KB"),
    ("kbytes", "KB"),
    ("megabytes", "MB"),
    ("mbytes", "MB"),
    ("gigabytes", "GB"),
    ("gbytes", "GB"),
    ("k", "KB"),
    ("m", "MB"),
    ("g", "GB"),
    ("pkt", "packets"),
    ("pkts", "packets"),
    ("segments", "packets"),
];

/// Prefixes of bytes, and what they multiply by.
const PREFIXES: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
];

impl Unit {
    /// The unit that is written so.
    pub(super) fn named(name: &str) -> Option<Unit> {
        UNITS.iter().find(|unit| unit.name == name).copied()
    }

    /// The unit that somebody who wrote `name` had in mind.
    pub(super) fn meant(name: &str, wanted: Kind) -> Option<&'static str> {
        let lower = name.to_lowercase();
        let fits = |name: &str| Unit::named(name).is_some_and(|unit| wanted.accepts(unit.kind));
        let same = UNITS.iter().map(|unit| unit.name).find(|name| fits(name) && name.to_lowercase() == lower);
        same.or_else(|| {
            MEANT.iter().find(|(wrong, right)| *wrong == lower && fits(right)).map(|(_, right)| *right)
        })
    }

    /// `MB/s` and its like: the unit in bit/s.
    pub(super) fn bytes_a_second(name: &str) -> Option<Unit> {
        let amount = ["/s", "ps", "/sec"].iter().find_map(|end| name.strip_suffix(end))?;
        let prefix =
            ["B", "Byte", "Bytes", "byte", "bytes"].iter().find_map(|end| amount.strip_suffix(end))?;
        multiple(prefix).map(|size| Unit { name: "bit/s", kind: Kind::Rate, size: 8 * size })
    }

    /// Hours and days: the unit in nanoseconds.
    pub(super) fn long_time(name: &str) -> Option<Unit> {
        const HOUR: u64 = 3_600_000_000_000;
        let size = match name.to_lowercase().as_str() {
            "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
            "d" | "day" | "days" => 24 * HOUR,
            _ => return None,
        };
        Some(Unit { name: "ns", kind: Kind::Time, size })
    }

    /// `Kb`, `Mbit` and their like: the unit in bit. Where everything is in lower case, bytes may well be meant.
    pub(super) fn bits(name: &str) -> Option<Unit> {
        let of_words = ["bits", "bit"].iter().find_map(|end| name.strip_suffix(end));
        let of_letters = || name.strip_suffix('b').filter(|prefix| prefix.starts_with(['K', 'M', 'G', 'T']));
        multiple(of_words.or_else(of_letters)?).map(|size| Unit { name: "bit", kind: Kind::Size, size })
    }
}

fn multiple(prefix: &str) -> Option<u64> {
    PREFIXES.iter().find(|(known, _)| *known == prefix).map(|(_, size)| *size)
}
