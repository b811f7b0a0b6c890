//! On which line of a TOML file a path stands: for errors of what is read without its places.

use toml::de::{DeArray, DeTable, DeValue};

/// The line, from 1, of the key or entry that `keys` lead to; of the last one on the way that is there.
pub fn line_of(text: &str, keys: &[String]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = Some(root.get_ref());
    let mut list: Option<&DeArray<'_>> = None;
    let mut at = None;
    for key in keys {
        let value = if let Some(entries) = list {
            let entry = key.parse::<usize>().ok().and_then(|number| entries.get(number));
            at = entry.map(|entry| entry.span().start).or(at);
            entry
        } else {
            let found = table.and_then(|table| table.iter().find(|(name, _)| name.get_ref() == key.as_str()));
            at = found.map(|(name, _)| name.span().start).or(at);
            found.map(|(_, value)| value)
        };
        let Some(value) = value else { break };
        (table, list) = match value.get_ref() {
            DeValue::Table(inner) => (Some(inner), None),
            DeValue::Array(entries) => (None, Some(entries)),
            _ => (None, None),
        };
    }
    let before = text.get(..at?)?;
    Some(before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_entries_and_what_is_nearest() {
        let text =
            "a = 1\n[network]\ncore = { rate = 2,\n delay = 3 }\n[[traffic]]\nx = 1\n[[traffic]]\ny = 2\n";
        let line = |path: &str| line_of(text, &path.split('.').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(line("a"), Some(1));
        assert_eq!(line("network.core.rate"), Some(3));
        assert_eq!(line("network.core.delay"), Some(4));
        assert_eq!(line("network.core.buffer"), Some(3), "of the table that lacks it");
        assert_eq!(line("traffic.1.y"), Some(8));
        assert_eq!(line("traffic.0.y"), Some(5));
        assert_eq!(line("nothing"), None);
    }
}
