//! What goes wrong in a simulation, and when: made from a seed, written as lines, and made smaller while it still fails.

use std::fmt;

/// A call of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Now,
    Sleep,
    Wait,
    Read,
    Send,
    Kick,
    Overflow,
}

impl Call {
    pub(super) const ALL: [(&str, Call); 7] = [
        ("now", Call::Now),
        ("sleep", Call::Sleep),
        ("wait", Call::Wait),
        ("read", Call::Read),
        ("send", Call::Send),
        ("kick", Call::Kick),
        ("overflow", Call::Overflow),
    ];

    fn name(self) -> &'static str {
        Call::ALL[self as usize].0
    }
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// So many calls fail with that error.
    Fail(Call, i32, u64),
    /// The thread panics in the next such call.
    Panic(Call),
    /// The process is killed in it.
    Kill(Call),
    /// The process is stopped at the end of it, for so many microseconds.
    Stop(Call, u64),
    /// The interface that frames come in by, or leave by, is down so long.
    Down(Side, u64),
    /// It is gone, and comes back after so long.
    Gone(Side, u64),
    /// The one that frames leave by has no room so long.
    Full(u64),
    /// It has no carrier so long.
    Carrier(u64),
    /// It drops so many frames, and says so.
    Drops(u64),
    /// Both interfaces have that MTU.
    Mtu(u64),
    /// The wall clock is set by so many microseconds.
    Step(i64),
    /// Settings are read again: those of that number.
    Reload(u64),
    /// So many frames come at once.
    Burst(u64),
    /// The process is told to end.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    In,
    Out,
}

impl Side {
    fn name(self) -> &'static str {
        if self == Side::In { "in" } else { "out" }
    }
}

/// Faults and when, microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// What traffic is like, and all other chance.
    pub(super) seed: u64,
    pub(super) xdp: bool,
    /// How long it runs.
    pub(super) length_us: u64,
    pub(super) faults: Vec<(u64, Fault)>,
}

/// Numbers that look random, and are the same every time (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash(self.0)
    }

    /// Below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

pub(super) fn hash(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Script {
    /// One from a seed, with about a fault a second.
    pub(super) fn random(seed: u64, length_us: u64) -> Script {
        let mut chance = Chance(hash(seed ^ 0x5eed));
        let mut faults = Vec::new();
        let mut at = 300_000;
        while at < length_us {
            at += chance.below(2_000_000);
            let fault = Fault::random(&mut chance);
            if let Fault::Stop(Call::Send | Call::Kick, _) = fault {
                faults.push((at, Fault::Burst(300))); // between two batches
            }
            faults.push((at, fault));
            // others at once, or soon after
            let (mut next, within) = (at, [3_000, 100_000][chance.below(2) as usize]);
            while chance.one_in(3) {
                next += chance.below(within);
                faults.push((next, Fault::random(&mut chance)));
            }
        }
        faults.sort_by_key(|(at, _)| *at);
        Script { seed, xdp: chance.one_in(2), length_us, faults }
    }

    /// Smaller ones that may fail as well: with fewer faults, and shorter.
    pub(super) fn smaller(&self) -> Vec<Script> {
        let mut all = Vec::new();
        let mut part = self.faults.len();
        while part > 0 {
            for from in (0..self.faults.len()).step_by(part) {
                let mut less = self.clone();
                less.faults.drain(from..(from + part).min(self.faults.len()));
                all.push(less);
            }
            part /= 2;
        }
        if let Some((last, _)) = self.faults.last()
            && last + 500_000 < self.length_us
        {
            all.insert(0, Script { length_us: last + 500_000, ..self.clone() });
        }
        all
    }
}

impl Fault {
    fn random(chance: &mut Chance) -> Fault {
        let call = Call::ALL[chance.below(7) as usize].1;
        let side = if chance.one_in(2) { Side::In } else { Side::Out };
        let long = [200, 2_000, 12_000, 60_000, 300_000][chance.below(5) as usize];
        let long = 1 + chance.below(long);
        let errors = [libc::EINTR, libc::EAGAIN, libc::ENOMEM, libc::ENOBUFS, libc::EINVAL, libc::ENETDOWN];
        match chance.below(16) {
            0 | 1 => {
                let times = 1 + chance.below(4) * chance.below(10);
                // what it had to drop a kernel says in the end
                let times = if call == Call::Overflow { times.min(3) } else { times };
                Fault::Fail(call, errors[chance.below(6) as usize], times)
            }
            2 => Fault::Panic(call),
            3 => Fault::Kill(call),
            4 | 5 => Fault::Stop(call, long),
            6 | 7 => Fault::Down(side, long),
            8 => Fault::Gone(side, long),
            9 => Fault::Full(long.min(30_000)),
            10 => Fault::Drops(1 + chance.below(20)),
            11 => Fault::Mtu([1000, 1500, 1700, 3000, 3400][chance.below(5) as usize]),
            12 => Fault::Step(chance.below(4_000_000) as i64 - 2_000_000),
            13 => Fault::End,
            14 => Fault::Carrier(10 * long),
            _ if chance.one_in(2) => Fault::Burst(10 + chance.below(400)),
            _ => Fault::Reload(chance.below(5)),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let back_end = if self.xdp { "af_xdp" } else { "af_packet" };
        writeln!(f, "seed {} {back_end} {}", self.seed, self.length_us)?;
        for (at, fault) in &self.faults {
            write!(f, "{at} ")?;
            match fault {
                Fault::Fail(call, error, times) => writeln!(f, "fail {} {error} {times}", call.name()),
                Fault::Panic(call) => writeln!(f, "panic {}", call.name()),
                Fault::Kill(call) => writeln!(f, "kill {}", call.name()),
                Fault::Stop(call, long) => writeln!(f, "stop {} {long}", call.name()),
                Fault::Down(side, long) => writeln!(f, "down {} {long}", side.name()),
                Fault::Gone(side, long) => writeln!(f, "gone {} {long}", side.name()),
                Fault::Full(long) => writeln!(f, "full {long}"),
                Fault::Carrier(long) => writeln!(f, "carrier {long}"),
                Fault::Drops(count) => writeln!(f, "drops {count}"),
                Fault::Mtu(mtu) => writeln!(f, "mtu {mtu}"),
                Fault::Step(by) => writeln!(f, "step {by}"),
                Fault::Reload(to) => writeln!(f, "reload {to}"),
                Fault::Burst(count) => writeln!(f, "burst {count}"),
                Fault::End => writeln!(f, "end"),
            }?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Script, String> {
        let mut script = Script::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let wrong = || format!("no line of a script: {line}");
            let words: Vec<&str> = line.split(' ').collect();
            let number =
                |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).ok_or_else(wrong);
            let unsigned = |at: usize| number(at).map(|number| number as u64);
            let call = || {
                let name = words.get(2).copied().unwrap_or_default();
                Call::ALL.iter().find(|(known, _)| *known == name).map(|(_, call)| *call).ok_or_else(wrong)
            };
            let side = || if words.get(2) == Some(&"in") { Side::In } else { Side::Out };
            if words.first() == Some(&"seed") {
                script.seed = words.get(1).and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
                (script.xdp, script.length_us) = (words.get(2) == Some(&"af_xdp"), unsigned(3)?);
                continue;
            }
            let fault = match words.get(1).copied().unwrap_or_default() {
                "fail" => Fault::Fail(call()?, number(3)? as i32, unsigned(4)?),
                "panic" => Fault::Panic(call()?),
                "kill" => Fault::Kill(call()?),
                "stop" => Fault::Stop(call()?, unsigned(3)?),
                "down" => Fault::Down(side(), unsigned(3)?),
                "gone" => Fault::Gone(side(), unsigned(3)?),
                "full" => Fault::Full(unsigned(2)?),
                "carrier" => Fault::Carrier(unsigned(2)?),
                "drops" => Fault::Drops(unsigned(2)?),
                "mtu" => Fault::Mtu(unsigned(2)?),
                "step" => Fault::Step(number(2)?),
                "reload" => Fault::Reload(unsigned(2)?),
                "burst" => Fault::Burst(unsigned(2)?),
                "end" => Fault::End,
                _ => return Err(wrong()),
            };
            script.faults.push((unsigned(0)?, fault));
        }
        Ok(script)
    }
}
