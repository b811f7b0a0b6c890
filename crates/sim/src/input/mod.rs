//! Tables, fields and values of a text, and what is wrong with them, in a line that names its place.

mod error;
pub(crate) mod file;
pub(crate) mod keys;
mod line;
mod quantity;
mod reader;
mod schema;
mod suggest;
mod wildcard;

pub use self::error::ScenarioError;
pub(crate) use self::error::{Faults, Result, shortened};
pub use self::line::line_of;
pub(crate) use self::quantity::{BufferSize, Range};
pub(crate) use self::reader::{Field, Table, any_of};
pub(crate) use self::schema::schema;
pub(crate) use self::suggest::suggestion;
pub(crate) use self::wildcard::matches;
