//! Pacers, and the one list of them.
//!
//! A new pacer is a file beside this one and a line in `pacers!` below: from there come the enum that dispatches
//! ([`Pacer`], [`Method`]), the names in a scenario ([`METHODS`]), the parser and the documentation of its parameters, and
//! the laws that it must pass (`tests/stage_laws/`).

pub mod edge;
mod limited;
pub mod none;
pub mod qlbp;
pub mod token_bucket;

use std::fmt;

pub use crate::parameters;
use crate::parameters::{Parameter, ParameterError, Reader, Value};
use crate::queue::Limit;
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};
pub use limited::Limited;

/// A pacer as a scenario configures it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PacerSpec {
    /// Which algorithm, with its parameters.
    pub method: Method,
    /// What the pacer may hold (`pacer_buffer`); `None` is unlimited. A packet that finds it empty is always taken.
    pub limit: Option<Limit>,
}

/// A method as a scenario names it: one row of [`METHODS`].
#[derive(Debug)]
pub struct Row {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    read: fn(&mut Reader<'_>) -> Result<Method, ParameterError>,
}

/// What every pacer's parameters must offer beside their fields.
pub(crate) trait Tuned: Sized {
    /// The parameters as scenarios name them.
    const PARAMETERS: &'static [Parameter];

    /// Reads them, refusing what is impossible.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError>;

    /// See [`Method::delay_bound`].
    fn delay_bound(&self, link_rate: Rate, backlog: Backlog) -> Option<Span>;

    /// See [`Method::envelope`].
    fn envelope(&self, link_rate: Rate, largest: u32) -> Option<Envelope>;
}

/// What a pacer holds just after an arrival, that packet included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: u64,
    /// The largest packet that ever arrives, bytes.
    pub largest: u32,
}

/// In any interval of length t, no more than `burst` + `rate` (t + 1 ns) leaves; the nanosecond is that of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Long-term rate.
    pub rate: Rate,
    /// What may leave at once, bytes.
    pub burst: u64,
}

/// A loop over many packets that works with any pacer: compiled for each, so that only the loop is dispatched.
///
/// ```
/// use paceline_core::pacer::{Driver, Pacer, PacerSpec};
/// use paceline_core::{Instant, Packet, Rate, Stage};
///
/// struct Frame;
/// impl Packet for Frame {
///     fn bytes(&self) -> u32 {
///         1500
///     }
/// }
///
/// /// Lets all go that may.
/// struct Drain(Instant);
/// impl Driver<Frame> for Drain {
///     type Outcome = usize;
///     fn drive<S: Stage<Frame>>(self, stage: &mut S) -> usize {
///         std::iter::from_fn(|| stage.dequeue(self.0)).count()
///     }
/// }
///
/// let mut pacer = Pacer::new(&PacerSpec::default(), Rate::from_bits_per_second(1_000_000));
/// let _ = pacer.enqueue(Frame, Instant::ZERO);
/// assert_eq!((pacer.held_packets(), pacer.held_bytes()), (1, 1500));
/// assert_eq!(pacer.driven_by(Drain(Instant::ZERO)), 1);
/// ```
pub trait Driver<P: Packet> {
    /// What the loop returns.
    type Outcome;

    /// Runs the loop.
    fn drive<S: Stage<P>>(self, stage: &mut S) -> Self::Outcome;
}

macro_rules! pacers {
    ($($name:literal => $Variant:ident($module:ident::$Type:ident): $summary:literal;)+) => {
        /// A pacing algorithm and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Method {
            $(#[doc = $summary] $Variant($module::Parameters),)+
        }

        /// Every method, in the order in which they are documented.
        pub const METHODS: &[Row] = &[$(Row {
            name: $name,
            summary: $summary,
            parameters: <$module::Parameters as Tuned>::PARAMETERS,
            read: |reader| Tuned::read(reader).map(Method::$Variant),
        },)+];

        impl Method {
            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Method::$Variant(_) => $name,)+
                }
            }

            /// The longest that a packet may be held which arrives now and makes up this backlog; `None` if the method
            /// promises nothing. It is a promise at release: a link slower than what is released adds its own queue.
            pub fn delay_bound(&self, link_rate: Rate, backlog: Backlog) -> Option<Span> {
                match self {
                    $(Method::$Variant(parameters) => parameters.delay_bound(link_rate, backlog),)+
                }
            }

            /// What never leaves faster; `None` if that depends on what arrives.
            pub fn envelope(&self, link_rate: Rate, largest: u32) -> Option<Envelope> {
                match self {
                    $(Method::$Variant(parameters) => parameters.envelope(link_rate, largest),)+
                }
            }
        }

        impl fmt::Display for Method {
            /// The name and the parameters: `edge delay = 10 ms, release = start`.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())?;
                match self {
                    $(Method::$Variant(parameters) => parameters.fmt(f),)+
                }
            }
        }

        /// A pacer: one of the list, with what it holds counted and limited. Dispatch is by enum: it lies on the path of
        /// every packet.
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "a link has one, for the length of a run")]
        pub enum Pacer<P> {
            $(#[doc = $summary] $Variant(Limited<$module::$Type<P>>),)+
        }

        impl<P: Packet> Pacer<P> {
            /// A pacer for a link of that rate.
            pub fn new(spec: &PacerSpec, link_rate: Rate) -> Self {
                match &spec.method {
                    $(Method::$Variant(parameters) => {
                        Pacer::$Variant(Limited::new($module::$Type::new(parameters, link_rate), spec.limit))
                    })+
                }
            }

            /// Changes what may be held from now on; what is held stays.
            pub fn set_limit(&mut self, limit: Option<Limit>) {
                match self {
                    $(Pacer::$Variant(stage) => stage.set_limit(limit),)+
                }
            }

            /// What is held, bytes.
            #[inline]
            pub fn held_bytes(&self) -> u64 {
                match self {
                    $(Pacer::$Variant(stage) => stage.held_bytes(),)+
                }
            }

            /// What is held, packets.
            #[inline]
            pub fn held_packets(&self) -> u64 {
                match self {
                    $(Pacer::$Variant(stage) => stage.held_packets(),)+
                }
            }

            /// Lends the pacer to a loop over many packets.
            #[inline]
            pub fn driven_by<D: Driver<P>>(&mut self, driver: D) -> D::Outcome {
                match self {
                    $(Pacer::$Variant(stage) => driver.drive(stage),)+
                }
            }
        }

        impl<P: Packet> Stage<P> for Pacer<P> {
            #[inline]
            fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
                match self {
                    $(Pacer::$Variant(stage) => stage.enqueue(packet, now),)+
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant) -> Option<P> {
                match self {
                    $(Pacer::$Variant(stage) => stage.dequeue(now),)+
                }
            }

            #[inline]
            fn next_wakeup(&self) -> Option<Instant> {
                match self {
                    $(Pacer::$Variant(stage) => stage.next_wakeup(),)+
                }
            }
        }
    };
}

pacers! {
    "none" => None(none::Unpaced): "packets leave as they come";
    "edge" => Edge(edge::Edge): "the smoothest output that holds no packet longer than a given delay";
    "qlbp" => Qlbp(qlbp::Qlbp): "a rate that grows with the queue";
    "token-bucket" => TokenBucket(token_bucket::TokenBucket): "a fixed rate and a burst: the shaper in use today";
}

impl Default for Method {
    fn default() -> Self {
        Method::None(none::Parameters)
    }
}

/// The parameters of the method of that name; `None` if there is no such method here.
///
/// ```
/// # use paceline_core::pacer::parameters_of;
/// let names: Vec<_> = parameters_of("edge").unwrap_or_default().iter().map(|one| one.name).collect();
/// assert_eq!(names, ["delay", "release"]);
/// assert!(parameters_of("ideal").is_none());
/// ```
pub fn parameters_of(method: &str) -> Option<&'static [Parameter]> {
    METHODS.iter().find(|row| row.name == method).map(|row| row.parameters)
}

/// Reads a method: `values` gives what the scenario says of each parameter, `None` for one that it leaves out.
///
/// The limit is not a parameter of a method but of a link (`pacer_buffer`): it is left unlimited.
///
/// ```
/// # use paceline_core::{Rate, pacer::{self, parameters::Value}};
/// let mut values = |name: &str| (name == "delay").then(|| Value::Text("10 ms".into()));
/// let spec = pacer::parse("edge", &mut values, Rate::from_bits_per_second(100_000_000))?;
/// assert_eq!(spec.method.to_string(), "edge delay = 10 ms, release = start");
/// # Ok::<(), pacer::parameters::ParameterError>(())
/// ```
pub fn parse(
    method: &str,
    values: &mut dyn FnMut(&str) -> Option<Value>,
    link_rate: Rate,
) -> Result<PacerSpec, ParameterError> {
    let row = METHODS.iter().find(|row| row.name == method);
    let row = row.ok_or_else(|| unknown(method))?;
    let method = (row.read)(&mut Reader::new(row.name, values, link_rate))?;
    Ok(PacerSpec { method, limit: None })
}

/// Refuses the first of `keys` that is no parameter of `method`, with the parameter that it resembles.
///
/// ```
/// # use paceline_core::pacer::check_keys;
/// assert!(check_keys("edge", ["delay"]).is_ok());
/// assert!(check_keys("edge", ["dela"]).unwrap_err().to_string().contains("delay"));
/// ```
pub fn check_keys<'a>(method: &str, keys: impl IntoIterator<Item = &'a str>) -> Result<(), ParameterError> {
    let parameters = parameters_of(method).ok_or_else(|| unknown(method))?;
    match keys.into_iter().find(|key| parameters.iter().all(|parameter| parameter.name != *key)) {
        Some(key) => Err(ParameterError::unknown_key(method, key, parameters)),
        None => Ok(()),
    }
}

fn unknown(method: &str) -> ParameterError {
    ParameterError::unknown("pacer", method, METHODS.iter().map(|row| row.name).collect())
}

/// The table of methods and parameters for the documentation, in Markdown.
///
/// ```
/// assert!(paceline_core::pacer::table().contains("| `edge` |"));
/// ```
pub fn table() -> String {
    let mut table =
        String::from("| method | parameter | what it is | unit | default |\n|---|---|---|---|---|\n");
    for row in METHODS {
        table += &format!("| `{}` | | {} | | |\n", row.name, row.summary);
        for parameter in row.parameters {
            table += &parameter.table_row();
        }
    }
    table
}
