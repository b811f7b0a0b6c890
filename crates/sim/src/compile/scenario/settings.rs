//! Settings of connections: flows whose settings are equal share them.

use std::sync::Arc;

use paceline_tcp::Config;

/// The settings met so far.
#[derive(Debug, Default)]
pub(crate) struct Settings(Vec<Arc<Config>>);

impl Settings {
    /// The same settings as all others that are equal.
    pub(crate) fn shared(&mut self, config: Config) -> Arc<Config> {
        if let Some(same) = self.0.iter().rev().find(|other| ***other == config) {
            return Arc::clone(same);
        }
        let config = Arc::new(config);
        self.0.push(Arc::clone(&config));
        config
    }
}
