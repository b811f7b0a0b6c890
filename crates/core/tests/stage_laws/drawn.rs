//! Parameters and arrivals: at random, and at the extremes.

use paceline_core::Rate;
use paceline_core::pacer::parameters::{Kind, Parameter, Value};
use paceline_core::pacer::{PacerSpec, Row, parse};
use paceline_core::queue::Limit;
use proptest::prelude::*;

/// Parameters drawn for a method from its own description of them.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) link_rate: Rate,
    pub(crate) seed: u64,
}

impl Drawn {
    /// Draws which parameters are given, and what they are, until they are legal together.
    pub(crate) fn legal<T, E>(
        &self,
        parameters: &[Parameter],
        parse: impl Fn(&mut dyn FnMut(&str) -> Option<Value>, Rate) -> Result<T, E>,
    ) -> T {
        let mut draws = Draws(self.seed);
        let legal = (0..100_000).find_map(|_| {
            let given = draws.below(1 << parameters.len());
            let drawn: Vec<Option<Value>> = (parameters.iter().enumerate())
                .map(|(bit, parameter)| {
                    (given >> bit & 1 == 1).then(|| self.value(parameter.kind, &mut draws))
                })
                .collect();
            let mut values = |name: &str| {
                let index = parameters.iter().position(|parameter| parameter.name == name);
                index.and_then(|index| drawn[index].clone())
            };
            parse(&mut values, self.link_rate).ok()
        });
        legal.expect("there are legal parameters")
    }

    pub(crate) fn spec(&self, row: &Row) -> PacerSpec {
        self.legal(row.parameters, |values, rate| parse(row.name, values, rate))
    }

    fn value(&self, kind: Kind, draws: &mut Draws) -> Value {
        let link = self.link_rate.bits_per_second();
        Value::Text(match kind {
            Kind::Rate => format!("{} bit/s", (link / 100 * (1 + draws.below(100))).max(1)),
            Kind::Span => format!("{} us", [0, 10, 1_000, 20_000][draws.below(4) as usize]),
            Kind::Bytes => format!("{} B", [0, 40, 1_500, 20_000][draws.below(4) as usize]),
            Kind::Buffer if draws.below(2) == 0 => format!("{} packets", draws.below(20)),
            Kind::Buffer => format!("{} B", draws.below(20_000)),
            Kind::Fraction => return Value::Number((1 + draws.below(100)) as f64 / 100.0),
            Kind::Count => return Value::Number(draws.below(100) as f64),
            Kind::Choice(words) => words[draws.below(words.len() as u64) as usize].to_owned(),
            Kind::ByClass(one) => {
                let values = 1 + draws.below(3);
                return Value::List((0..values).map(|_| self.value(*one, draws)).collect());
            }
        })
    }
}

/// A deterministic draw, uniform in 0..below.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)) % below
    }
}

pub(crate) fn drawn() -> impl Strategy<Value = Drawn> {
    let rate = prop::sample::select(vec![100_000u64, 10_000_000, 33_333_333, 1_000_000_000, 400_000_000_000]);
    (rate, any::<u64>()).prop_map(|(rate, seed)| Drawn { link_rate: Rate::from_bits_per_second(rate), seed })
}

/// Packets from one at a time to bursts, 10 Mbit/s to 1 Gbit/s.
pub(crate) fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0u64), 0..20_000u64, 0..1_000_000u64, 0..50_000_000u64];
    let bytes = prop_oneof![4 => Just(1_500u32), 2 => Just(40), 2 => 0..3_000u32, 1 => Just(70_000)];
    prop::collection::vec((gap, bytes), 0..80).prop_map(|mut arrivals| {
        let mut now = 0;
        for (at, _) in &mut arrivals {
            now += *at;
            *at = now;
        }
        arrivals
    })
}

pub(crate) fn lateness() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0u64), 1..100_000u64, 1..10_000_000u64], 1..20)
}

pub(crate) fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0..30_000u64).prop_map(Limit::Bytes), (0..20u64).prop_map(Limit::Packets)]
}

/// Packets of all sizes, from the start of time to its end.
pub(crate) fn extreme_arrivals() -> Vec<(u64, u32)> {
    let end = u64::MAX;
    let sizes = [u32::MAX, 0, 1, 65_536, 1_500, u32::MAX, u32::MAX];
    let times = [0, 0, 1, end / 2, end - 5_000, end - 1, end];
    times.into_iter().zip(sizes).collect()
}

/// What a seed gives a parameter, the least or the most that it may be, if it gives it.
pub(crate) fn extreme(parameters: &[Parameter], name: &str, seed: u64) -> Option<Value> {
    let bit = parameters.iter().position(|parameter| parameter.name == name)?;
    let kind = match parameters[bit].kind {
        Kind::ByClass(one) => *one,
        kind => kind,
    };
    let choices: &[&str] = match kind {
        Kind::Span => &["0 ns", "1 ns", "100000 s", "18446744073709551615 ns"],
        Kind::Rate => &["1 bit/s", "100 Tbit/s", "18446744073709551615 bit/s"],
        Kind::Bytes => &["0 B", "1 B", "18446744073709551615 B"],
        Kind::Buffer => &["0 packets", "1 B", "18446744073709551615 B", "18446744073709551615 packets"],
        Kind::Fraction => &["1e-300", "1"],
        Kind::Count => &["0", "1000000"],
        Kind::Choice(words) => words,
        Kind::ByClass(_) => &[],
    };
    let given = Draws(seed).below(1 << parameters.len());
    let choice = Draws(seed ^ (bit as u64) << 32).below(choices.len() as u64) as usize;
    (given >> bit & 1 == 1).then(|| Value::Text(choices[choice].to_owned()))
}
