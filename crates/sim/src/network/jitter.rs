//! Jitter: a delay that is drawn for each packet, beside the one that a link has for all.

use paceline_core::Span;

/// What is drawn for each packet that leaves a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JitterSpec {
    /// Its mean.
    pub mean: Span,
    /// How far it spreads: see [`JitterShape`]; the mean at most.
    pub spread: Span,
    /// Its distribution.
    pub shape: JitterShape,
    /// A packet may overtake those that have left the link before it. If not, it is at the far end with the latest of these at the earliest.
    pub reorder: bool,
}

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JitterShape {
    /// From the mean less the spread to the mean plus the spread, to the nanosecond.
    #[default]
    Uniform,
    /// Normal, of the spread for its standard deviation, cut off at zero and at twice the mean.
    Normal,
}

impl JitterShape {
    /// Every shape and its name in a scenario.
    pub const ALL: &'static [(&'static str, JitterShape)] =
        &[("uniform", JitterShape::Uniform), ("normal", JitterShape::Normal)];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            JitterShape::Uniform => "uniform",
            JitterShape::Normal => "normal",
        }
    }
}

impl JitterSpec {
    /// The most that can be drawn.
    pub fn most(&self) -> Span {
        match self.shape {
            JitterShape::Uniform => self.mean + self.spread,
            JitterShape::Normal => self.mean + self.mean,
        }
    }
}
