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

    pub(super) fn example(self, number: Option<&str>) -> String {
        match self {
            Kind::Rate => format!("\"{} Mbit/s\"", number.unwrap_or("100")),
            Kind::Time => format!("\"{} ms\"", number.unwrap_or("10")),
            Kind::Size => format!("\"{} KB\"", number.unwrap_or("5")),
            Kind::Packets => format!("\"{} packets\"", number.unwrap_or("5")),
            Kind::Bdp => format!("\"{} BDP\"", number.unwrap_or("0.1")),
            Kind::Buffer => format!("\"{0} KB\" or \"{0} packets\"", number.unwrap_or("5")),
        }
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
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("tbps", "Tbit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("mbit", "Mbit/s"),
    ("gbit", "Gbit/s"),
    ("sec", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("usec", "us"),
    ("minutes", "min"),
    ("byte", "B"),
    ("bytes", "B"),
    ("pkt", "packets"),
    ("pkts", "packets"),
];

impl Unit {
    /// The unit that is written so.
    pub(super) fn named(name: &str) -> Option<Unit> {
        UNITS.iter().find(|unit| unit.name == name).copied()
    }

    /// The unit that somebody who wrote `name` had in mind.
    pub(super) fn meant(name: &str, wanted: Kind) -> Option<&'static str> {
        let lower = name.to_lowercase();
        let listed = MEANT.iter().find(|(wrong, _)| *wrong == lower).map(|(_, right)| *right);
        let fits = |unit: &&Unit| wanted.accepts(unit.kind) && unit.name.to_lowercase() == lower;
        listed.or_else(|| UNITS.iter().find(fits).map(|unit| unit.name))
    }
}
