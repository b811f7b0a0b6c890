//! Tables, fields and values of a text, and what is wrong with them, in a line that names its place.

pub(crate) mod error;
pub(crate) mod lines;
pub(crate) mod quantity;
pub(crate) mod reader;
pub(crate) mod suggest;
