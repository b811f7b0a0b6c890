//! Standard error that may not be read: a program ends all the same, whatever it still has to say there.
//!
//! *Idea.* A pipe that has room for anything has room for `PIPE_BUF` bytes in one piece. So a line is looked at before it is
//! written, is cut to so much, and is written at once; where there is no room within a second it is left out.
//!
//! *References.* pipe(7).

use std::io::Write;
use std::os::fd::AsFd;

use paceline_core::Span;

use super::clock::is_writable;

/// `PIPE_BUF`, bytes.
const MOST: usize = 4096;
/// How long a reader is waited for.
const PATIENCE: Span = Span::from_millis(1_000);

/// Says a line, if it is read.
pub(crate) fn say(line: &str) {
    let mut stderr = std::io::stderr().lock(); // what one thread has found to be free no other takes
    if is_writable(stderr.as_fd(), PATIENCE) {
        let _ = stderr.write_all(cut(line).as_bytes()); // a reader who is gone is none
    }
}

/// Whether it is read.
pub(crate) fn is_read() -> bool {
    is_writable(std::io::stderr().as_fd(), PATIENCE)
}

/// The line with its end, or as much of its beginning as there is room for.
fn cut(line: &str) -> String {
    const REST: &str = "…\n";
    if line.len() < MOST {
        return format!("{line}\n");
    }
    let mut end = MOST - REST.len();
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{REST}", line.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{MOST, cut};

    #[test]
    fn a_line_is_written_whole_up_to_what_a_pipe_takes_at_once() {
        assert_eq!(cut("ready"), "ready\n");
        for length in [MOST - 1, MOST, MOST + 1, 100_000] {
            for letter in ["x", "é", "€", "𝄞"] {
                let line = letter.repeat(length / letter.len());
                let written = cut(&line);
                assert!(written.len() <= MOST && written.ends_with('\n'), "{length} {letter}");
                match line.len() < MOST {
                    true => assert_eq!(written, format!("{line}\n")),
                    // no letter is halved, and no more are left out than must be
                    false => assert_eq!(written, format!("{}…\n", letter.repeat((MOST - 4) / letter.len()))),
                }
            }
        }
    }
}
