//! Forced losses: of packets by their number, or by chance.

use crate::kernel::chance::Stream;
use crate::network::{DropRule, FlowId, LinkSpec};

/// A rule that forces losses, at work.
#[derive(Debug)]
pub(super) struct Loss {
    flow: Option<FlowId>,
    rule: LossRule,
}

#[derive(Debug)]
enum LossRule {
    /// Ascending numbers of arrivals, and how many of each flow have come.
    Arrivals {
        numbers: Vec<u64>,
        seen: Vec<u64>,
    },
    Probability {
        probability: f64,
        draws: Stream,
    },
}

impl Loss {
    pub(super) fn new(
        flow: Option<FlowId>,
        rule: DropRule,
        number: usize,
        spec: &LinkSpec,
        seed: u64,
        flows: usize,
    ) -> Self {
        let rule = match rule {
            DropRule::Arrivals(numbers) => LossRule::Arrivals { numbers, seen: vec![0; flows] },
            DropRule::Probability(probability) => {
                let draws = Stream::new(seed, &format!("{}:loss {number}", spec.name));
                LossRule::Probability { probability, draws }
            }
        };
        Loss { flow, rule }
    }

    /// Counts the packet, and returns whether it is lost.
    pub(super) fn takes(&mut self, packet_flow: u32) -> bool {
        if self.flow.is_some_and(|flow| flow != packet_flow) {
            return false;
        }
        match &mut self.rule {
            LossRule::Arrivals { numbers, seen } => {
                let seen = &mut seen[packet_flow as usize];
                *seen += 1;
                numbers.binary_search(&(*seen - 1)).is_ok()
            }
            LossRule::Probability { probability, draws } => draws.unit() < *probability,
        }
    }
}
