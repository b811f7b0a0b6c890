//! "did you mean": the known name nearest to an unknown one.

/// The candidate with the fewest edits from `name`, if those are few for its length; the first of equals.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = plain(name).take(LONGEST).collect();
    let allowed = (letters.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MOST_CANDIDATES) {
        let distance = edits(&letters, candidate);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `did you mean "x"?`, or what `otherwise` returns when nothing is near.
pub(crate) fn suggestion<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    match nearest(name, candidates) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => otherwise(),
    }
}

/// Names longer than this are compared by their beginning.
const LONGEST: usize = 64;
/// A large network has more names than anyone would wait for.
const MOST_CANDIDATES: usize = 100_000;

/// Letters as they are compared: case does not count, nor which sign parts words.
fn plain(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|letter| if matches!(letter, '_' | ' ') { '-' } else { letter.to_ascii_lowercase() })
}

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
fn edits(a: &[char], b: &str) -> usize {
    let b: Vec<char> = plain(b).take(LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits_as_osa_does() {
        let distance = |a: &str, b: &str| edits(&a.chars().collect::<Vec<_>>(), b);
        for (a, b, expected) in [
            ("", "", 0),
            ("", "ab", 2),
            ("bufer", "buffer", 1),
            ("rtae", "rate", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn suggests_only_what_is_near() {
        let keys = ["rate", "delay", "buffer"];
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("CUBIC", ["reno", "cubic"]), Some("cubic"));
        assert_eq!(nearest("Token_Bucket", ["edge", "token-bucket"]), Some("token-bucket"));
    }
}
