//! Slips of the pen in names.

/// The one of `names` that `name` is a slip of, if there is one.
///
/// ```
/// # use paceline_core::parameters::closest;
/// assert_eq!(closest("dela", ["delay", "release"].into_iter()), Some("delay"));
/// assert_eq!(closest("gain", ["delay", "release"].into_iter()), None);
/// ```
pub fn closest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let near = names.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (near.0 <= near.1.chars().count().div_ceil(3)).then_some(near.1)
}

/// Letters to add, remove or change to make one word the other; case, `-` and `_` do not count.
fn distance(a: &str, b: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        let plain =
            |letter: char| if letter == '-' || letter == ' ' { '_' } else { letter.to_ascii_lowercase() };
        word.chars().take(64).map(plain).collect()
    };
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
