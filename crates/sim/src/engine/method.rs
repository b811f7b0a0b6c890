//! The engines, by name.

/// How time advances: the results are the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Windowed where that is possible and pays.
    Auto,
    /// One event a packet and hop.
    Reference,
    /// Link by link, over an epoch of time each.
    Windowed,
}

impl Method {
    /// Every method by its name: the one list.
    pub const ALL: [(&'static str, Method); 3] =
        [("auto", Method::Auto), ("reference", Method::Reference), ("windowed", Method::Windowed)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Method::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}
