//! What a file is, by its first bytes.

use super::Format;

/// Bytes that are looked at.
pub(super) const WANTED: usize = 512;

const PCAP: [[u8; 4]; 6] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
];
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Files that others write, by how they begin: what they are, and what makes a capture of them.
const OTHERS: [(&[u8], &str); 11] = [
    (&[0x1f, 0x8b], "it is compressed twice; decompress it once"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "it is compressed twice; decompress it once"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "it is compressed with xz; decompress it first, xz -d FILE"),
    (b"BZh", "it is compressed with bzip2; decompress it first, bzip2 -d FILE"),
    (&[0x04, 0x22, 0x4d, 0x18], "it is compressed with lz4; decompress it first, lz4 -d FILE"),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"snoop\0\0\0", "it is a snoop capture; convert it, editcap -F pcap FILE NEW"),
    (b"GMBU", "it is a Network Monitor capture; convert it, editcap -F pcap FILE NEW"),
    (b"RTSS", "it is a Network Monitor capture; convert it, editcap -F pcap FILE NEW"),
    (b"TRSNIFF data", "it is a Sniffer capture; convert it, editcap -F pcap FILE NEW"),
    (b"PAR1", "it is a Parquet file; a capture's name ends in .pcap or .pcapng"),
];

/// The format of a capture that begins like this, or what the file is instead.
pub(super) fn format_of(first: &[u8]) -> Result<Format, String> {
    if PCAP.iter().any(|magic| first.starts_with(magic)) {
        return Ok(Format::Pcap);
    }
    if first.starts_with(&PCAPNG) {
        return Ok(Format::Pcapng);
    }
    if first.is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| first.starts_with(magic)) {
        return Err((*what).to_owned());
    }
    if is_erf(first) {
        return Err("it is an ERF capture; convert it, editcap -F pcap FILE NEW".to_owned());
    }
    if is_text(first) {
        return Err("it is text".to_owned());
    }
    let shown: Vec<String> = first.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Err(format!("it begins with the bytes {}, which belong to no format known here", shown.join(" ")))
}

/// ERF has no magic number: two records in a row must make sense.
fn is_erf(first: &[u8]) -> bool {
    let seconds_of_record = |at: usize| -> Option<(u32, usize)> {
        let header = first.get(at..at + 16)?;
        let seconds = u32::from_le_bytes(header[4..8].try_into().ok()?);
        let length = usize::from(u16::from_be_bytes([header[10], header[11]]));
        let known = (1..=48).contains(&(header[8] & 0x7f)) && length >= 16;
        known.then_some((seconds, length))
    };
    let Some((seconds, length)) = seconds_of_record(0) else { return false };
    seconds > 0 && seconds_of_record(length).is_some_and(|(next, _)| next.abs_diff(seconds) < 86_400)
}

fn is_text(first: &[u8]) -> bool {
    let readable = match std::str::from_utf8(first) {
        Ok(text) => text,
        // a character may be cut at the end of what was looked at
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(first.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !readable.is_empty() && readable.chars().all(|c| !c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_capture_is_named() {
        let said = |first: &[u8]| format_of(first).unwrap_err();
        assert_eq!(said(b""), "it is empty");
        assert_eq!(said(b"duration = \"1 s\"\n"), "it is text");
        assert_eq!(said("naïve …".as_bytes().split_at(9).0), "it is text");
        assert!(said(&[0x28, 0xb5, 0x2f, 0xfd, 0]).contains("twice"));
        assert!(said(&[0x7f, b'E', b'L', b'F']).contains("7f 45 4c 46"));
        let mut erf = vec![0, 0, 0, 0, 0x10, 0x20, 0x30, 0x40, 2, 0, 0, 32, 0, 0, 0, 14];
        erf.resize(32, 0);
        erf.extend_from_within(..);
        assert!(said(&erf).contains("ERF"));
    }
}
