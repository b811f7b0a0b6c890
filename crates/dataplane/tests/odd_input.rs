//! Odd input, in its quick form; `fuzz/` has the same for hours.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod odd;

use proptest::prelude::*;

/// Flags and files that are right in most places.
const GOOD: [&str; 7] = [
    "",
    "--method edge --delay 2ms\0",
    "--method token-bucket --rate 10Mbit/s --burst 3KB --overload flush --buffer 20KB\0",
    "--method qlbp --mu-min 1Mbit/s --mu-max 50Mbit/s --q-max 20packets --reverse-method edge --reverse-delay 1s\0",
    "--buffer 5packets\0[reverse]\nmethod = \"edge\"\ndelay = \"10 ms\"\nrelease = \"finish\"\n",
    "[forward]\nmethod = \"token-bucket\"\nrate = \"1 bit/s\"\nburst = \"1 GB\"\n",
    "in = \"a\"\nspin = \"0 us\"\n[forward]\nmethod = \"edge\"\ndelay = \"1 ns\"\nbuffer = 3\n",
];

/// One of them, with some characters changed.
fn settings() -> impl Strategy<Value = String> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..3);
    (0..GOOD.len(), changes).prop_map(|(which, changes)| {
        let mut text: Vec<char> = GOOD[which].chars().collect();
        for (at, char) in changes {
            if !text.is_empty() {
                let at = at.index(text.len());
                text[at] = char;
            }
        }
        text.into_iter().collect()
    })
}

/// Records of a pcap, of which some say what is not so.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let record = (0u32..5, any::<u32>(), 0u32..100, 0u32..2000, 0usize..100);
    prop::collection::vec(record, 0..20).prop_map(|records| {
        let mut bytes = Vec::new();
        for (seconds, fraction, captured, length, there) in records {
            let there = if there > 97 { there } else { captured as usize };
            for word in [seconds, fraction % 1_000_000, captured, length] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(vec![7; there]);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn settings_are_paced_by_or_refused_in_a_line(text in prop_oneof![settings(), any::<String>()]) {
        odd::settings(&text);
    }

    #[test]
    fn a_capture_leaves_or_is_counted(text in settings(), choice: u8, records in records()) {
        odd::capture(&[text.as_bytes(), &[0xff, choice], &records].concat());
    }

    #[test]
    fn whatever_happens_each_frame_leaves_once(text in settings(), events in prop::collection::vec(any::<u8>(), 0..400)) {
        odd::story(&[text.as_bytes(), &[0xff], &events].concat());
    }

    #[test]
    fn what_was_joined_is_cut_or_refused(largest in 0u16..2000, choice in 0u8..4, bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        odd::joined(&[&largest.to_le_bytes()[..], &[choice], &bytes].concat());
    }
}
