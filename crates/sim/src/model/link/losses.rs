//! What is dropped, or marked, before a link's pacer and buffer see it: by force, of packets by their number, by chance or in bursts; and by a
//! policer.

use crate::kernel::cause::Cause;
use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::{DropRule, FlowId, ForcedDrop, GilbertElliott, LinkSpec};
use paceline_core::policer::Policer;

/// All of a link's: the rules, then the policer, which sees what they leave.
#[derive(Debug)]
pub(super) struct Losses {
    pub(super) rules: Vec<Loss>,
    pub(super) policer: Option<Policer>,
    /// A rule marks the packet that has come last.
    pub(super) marks: bool,
}

impl Losses {
    /// Of these rules and a link's policer; `None` where there are none.
    pub(super) fn of(rules: Vec<ForcedDrop>, spec: &LinkSpec, seed: u64, flows: usize) -> Option<Box<Self>> {
        let rules = rules.into_iter().enumerate();
        let rules: Vec<Loss> =
            rules.map(|(number, rule)| Loss::new(rule, number, spec, seed, flows)).collect();
        let policer = spec.fitting.policer.as_ref().map(Policer::new);
        let is_needed = !rules.is_empty() || policer.is_some();
        is_needed.then(|| Box::new(Losses { rules, policer, marks: false }))
    }

    /// A packet arrives: why it is dropped, if it is. Every rule counts it.
    #[inline(never)]
    pub(super) fn take(&mut self, event: &Event) -> Option<Cause> {
        let mut lost = false;
        self.marks = false;
        for loss in &mut self.rules {
            let takes = loss.takes(event.flow);
            lost |= takes && !loss.marks;
            self.marks |= takes && loss.marks;
        }
        if lost {
            return Some(Cause::Forced);
        }
        let policer = self.policer.as_mut()?;
        (!policer.conforms(event.bytes.into(), event.at)).then_some(Cause::Policer)
    }
}

/// A rule that forces losses, at work.
#[derive(Debug)]
pub(super) struct Loss {
    flow: Option<FlowId>,
    rule: LossRule,
    marks: bool,
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
    Bursts {
        chain: GilbertElliott,
        is_bad: bool,
        draws: Stream,
    },
}

impl Loss {
    pub(super) fn new(
        ForcedDrop { flow, rule, marks, .. }: ForcedDrop,
        number: usize,
        spec: &LinkSpec,
        seed: u64,
        flows: usize,
    ) -> Self {
        let mut draws = Stream::new(seed, &format!("{}:loss {number}", spec.name));
        let rule = match rule {
            DropRule::Arrivals(numbers) => LossRule::Arrivals { numbers, seen: vec![0; flows] },
            DropRule::Probability(probability) => LossRule::Probability { probability, draws },
            DropRule::Bursts(chain) => {
                let is_bad = draws.unit() < chain.badness();
                LossRule::Bursts { chain, is_bad, draws }
            }
        };
        Loss { flow, rule, marks }
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
            LossRule::Bursts { chain, is_bad, draws } => {
                let (loss, leaves) = if *is_bad { (chain.bad, chain.r) } else { (chain.good, chain.p) };
                let is_lost = draws.unit() < loss;
                *is_bad ^= draws.unit() < leaves;
                is_lost
            }
        }
    }
}
