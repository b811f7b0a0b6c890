//! No bytes make the reader of connection vectors panic; what it refuses is explained in one line with its number; what it
//! accepts has units of at least a byte, and reads the same with comments and blank lines between.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_sim::workload::cvec;

fuzz_target!(|bytes: &[u8]| {
    match cvec::read(bytes) {
        Ok(vectors) => {
            assert!(!vectors.is_empty());
            assert!(vectors.iter().flat_map(|vector| &vector.units).all(|unit| unit.bytes > 0));
            let mut spaced = Vec::new();
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                spaced.extend_from_slice(b"# comment\n\n");
                spaced.extend_from_slice(line);
            }
            assert_eq!(cvec::read(&spaced[..]), Ok(vectors));
        }
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1);
            assert!(error.line >= 1);
        }
    }
});
