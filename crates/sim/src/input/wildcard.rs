//! Names with stars.

/// Whether `name` matches `pattern`, whose stars stand for any characters but dots.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut patterns = pattern.split('.');
    let mut names = name.split('.');
    loop {
        match (patterns.next(), names.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if part_matches(pattern, name) => {}
            _ => return false,
        }
    }
}

/// Greedy: the first piece begins the name, the last ends it, the others follow in order.
fn part_matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else {
        return false;
    };
    for piece in middle.split('*') {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_but_dots() {
        for (pattern, name, expected) in [
            ("edge.l.*", "edge.l.3", true),
            ("edge.l.*", "edge.l.3.reverse", false),
            ("edge.*.*", "edge.r.12", true),
            ("*", "core", true),
            ("*", "core.reverse", false),
            ("c*e", "core", true),
            ("c*re*e", "core", false),
            ("a*b*c", "aXbYc", true),
            ("aa*aa", "aaa", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
