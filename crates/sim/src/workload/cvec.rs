//! Connection vectors: what applications were seen to say over TCP connections, as Tmix writes it down.
//!
//! *Idea.* A connection is a list of units of data with the pauses between them, and nothing of how a network carried them.
//! Two ways to write it, recognised line by line:
//!
//! ```text
//! SEQ start_us epochs id id            S start_us epochs id id
//! w 17520 64240                        w 17520 64240      windows, bytes: initiator's, acceptor's
//! r 36556                              r 36556            least round trip, us
//! l 0.000000 0.010000                  l 0.000000 0.0100  loss rates
//! > 245                                I 0 0 245          the initiator sends 245 B
//! t 51257                              A 0 51257 510      and 51257 us after it has them, the acceptor 510 B
//! < 510                                A 6308497 0 0      6308497 us after sending these, the acceptor closes
//! t 6308497
//! ```
//!
//! In the second, a unit has two pauses: after the sending of the side's own last unit, and after the receipt of the other
//! side's. In a concurrent connection (`CONC start_us units units id id`, `C`) the sides do not wait for each other: `c>`,
//! `t>`, `c<` and `t<`, or `I` and `A`.
//!
//! *Where it breaks.* Round trips and loss rates belong to the network that was measured: they are read, and not used.
//! *References.* M. C. Weigle et al., "Tmix: a tool for generating realistic TCP application workloads in ns-2" (CCR 2006);
//! ns-2.35 manual, chapter Tmix.

use super::dialogue::Side;
use paceline_core::Span;
use std::fmt;
use std::io::BufRead;

/// One unit of more than this is a slip of the pen, bytes.
const MOST_BYTES: u64 = 1_000_000_000_000;
/// A year, microseconds: the same of times.
const MOST_MICROS: u64 = 31_536_000_000_000;
/// Longer lines are not what they seem.
const LONGEST_LINE: usize = 1000;
/// A file is no larger, unpacked if it is gzip'd: a small one may hold as much as there are disks.
const MOST_READ: u64 = 4 << 30;
/// Connections and units together, which take 3 GB at most.
const MOST_ITEMS: usize = 32 << 20;

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// From the start of the file's time.
    pub start: Span,
    /// What the initiator and the acceptor let the other have in flight, bytes.
    pub windows: Option<[u64; 2]>,
    /// The sides do not wait for each other.
    pub is_concurrent: bool,
    /// What is sent, in the order of the file.
    pub units: Vec<Unit>,
}

/// Data that one side sends in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Who sends them.
    pub side: Side,
    /// Pause before: after the unit before has been given to the connection, if the same side sent that (always so in a
    /// concurrent connection, where the side's first counts from the start), and after it has been received, if the other did.
    pub wait: Span,
    /// How much, at least one byte.
    pub bytes: u64,
}

impl Vector {
    /// Bytes that the initiator and the acceptor send.
    pub fn bytes(&self) -> [u64; 2] {
        let of = |side| self.units.iter().filter(|unit| unit.side == side).map(|unit| unit.bytes).sum();
        [of(Side::Opener), of(Side::Answerer)]
    }
}

/// What is wrong with a file of connection vectors. Displays as one line that names the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CvecError {
    /// From 1.
    pub line: usize,
    /// What is there, and what was expected.
    pub problem: String,
}

impl fmt::Display for CvecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for CvecError {}

/// Reads every connection; there is at least one.
pub fn read(input: impl BufRead) -> Result<Vec<Vector>, CvecError> {
    read_at_most(input, MOST_READ, MOST_ITEMS)
}

fn read_at_most(input: impl BufRead, bytes: u64, items: usize) -> Result<Vec<Vector>, CvecError> {
    let mut reader =
        Reader { line: 0, vectors: Vec::new(), pause: [None; 2], alternate: false, items, bytes_left: bytes };
    let mut input = input.take(u64::MAX);
    let mut line = Vec::new();
    loop {
        line.clear();
        input.set_limit(LONGEST_LINE as u64 + 1);
        reader.line += 1;
        let length = input.read_until(b'\n', &mut line);
        reader.take_room(length.as_ref().map_or(0, |&length| length as u64), bytes)?;
        match length {
            Ok(0) => break,
            Ok(length) if length > LONGEST_LINE => {
                return Err(reader.error("is too long for a line of connection vectors"));
            }
            Ok(_) => {}
            Err(error) => return Err(reader.error(format!("cannot be read: {error}"))),
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            return Err(reader.error("is not text; expected a file of connection vectors"));
        };
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            reader.read_line(text)?;
        }
    }
    if reader.vectors.is_empty() {
        return Err(reader.error("the file ends without a connection; expected SEQ, CONC, S or C"));
    }
    Ok(reader.vectors)
}

#[derive(Debug)]
struct Reader {
    line: usize,
    vectors: Vec<Vector>,
    /// Microseconds to wait before the next unit, as `t` had it: of either side in a sequential connection (in the first
    /// place), else of each.
    pause: [Option<u64>; 2],
    /// The connection is in the second way of writing.
    alternate: bool,
    /// What may still come.
    items: usize,
    bytes_left: u64,
}

impl Reader {
    fn read_line(&mut self, text: &str) -> Result<(), CvecError> {
        let mut words = text.split_ascii_whitespace();
        let word = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        match word {
            "SEQ" | "S" => self.begin(&rest, false, word == "S"),
            "CONC" | "C" => self.begin(&rest, true, word == "C"),
            "w" => {
                let [initiator, acceptor] =
                    self.numbers(word, &rest, "w INITIATOR ACCEPTOR, bytes", MOST_BYTES)?;
                self.last()?.windows = Some([initiator, acceptor]);
                Ok(())
            }
            "r" => {
                self.numbers(word, &rest, "r ROUND_TRIP, microseconds", MOST_MICROS).map(|[_]: [u64; 1]| ())
            }
            "l" => self.loss_rates(&rest),
            ">" => self.unit(word, &rest, Side::Opener, false),
            "<" => self.unit(word, &rest, Side::Answerer, false),
            "c>" => self.unit(word, &rest, Side::Opener, true),
            "c<" => self.unit(word, &rest, Side::Answerer, true),
            "t" => self.pause(word, &rest, Side::Opener, false),
            "t>" => self.pause(word, &rest, Side::Opener, true),
            "t<" => self.pause(word, &rest, Side::Answerer, true),
            "I" => self.alternate_unit(word, &rest, Side::Opener),
            "A" => self.alternate_unit(word, &rest, Side::Answerer),
            _ => {
                let known = "SEQ, CONC, S, C, w, r, l, >, <, t, c>, c<, t>, t<, I or A";
                Err(self.error(format!("{} begins no line; expected {known}", self.shown(word))))
            }
        }
    }

    /// For a line of that length.
    fn take_room(&mut self, length: u64, most: u64) -> Result<(), CvecError> {
        self.bytes_left = self.bytes_left.checked_sub(length).ok_or_else(|| {
            self.error(format!("the file goes on beyond {most} bytes, unpacked; expected less: split it"))
        })?;
        Ok(())
    }

    /// For one more connection or unit.
    fn count_item(&mut self) -> Result<(), CvecError> {
        self.items = self.items.checked_sub(1).ok_or_else(|| {
            self.error("the file holds more connections and units than fit; expected fewer: split it")
        })?;
        Ok(())
    }

    /// A connection's first line.
    fn begin(&mut self, rest: &[&str], is_concurrent: bool, alternate: bool) -> Result<(), CvecError> {
        let start = if is_concurrent {
            let form = "CONC or C, then START_US UNITS UNITS ID ID";
            let [start, _, _, _, _] = self.numbers("CONC", rest, form, MOST_MICROS)?;
            start
        } else {
            let form = "SEQ or S, then START_US EPOCHS ID ID";
            let [start, _, _, _] = self.numbers("SEQ", rest, form, MOST_MICROS)?;
            start
        };
        let start = Span::from_nanos(start * 1000);
        self.count_item()?;
        self.vectors.push(Vector { start, windows: None, is_concurrent, units: Vec::new() });
        (self.pause, self.alternate) = ([None; 2], alternate);
        Ok(())
    }

    fn loss_rates(&mut self, rest: &[&str]) -> Result<(), CvecError> {
        self.last()?;
        let is_rate = |word: &&str| word.parse::<f64>().is_ok_and(|rate| (0.0..=1.0).contains(&rate));
        if rest.len() == 2 && rest.iter().all(is_rate) {
            return Ok(());
        }
        Err(self.error("expected l RATE RATE, each from 0 to 1"))
    }

    /// `>`, `<`, `c>`, `c<`.
    fn unit(&mut self, word: &str, rest: &[&str], side: Side, concurrent: bool) -> Result<(), CvecError> {
        self.expect_form(word, concurrent, false)?;
        let [bytes] = self.numbers(word, rest, &format!("{word} BYTES"), MOST_BYTES)?;
        let pause = self.pause[if concurrent { side.index() as usize } else { 0 }].take();
        self.push(side, pause.unwrap_or(0), bytes)
    }

    /// `t`, `t>`, `t<`: two in a row add up.
    fn pause(&mut self, word: &str, rest: &[&str], side: Side, concurrent: bool) -> Result<(), CvecError> {
        self.expect_form(word, concurrent, false)?;
        let [micros] = self.numbers(word, rest, &format!("{word} MICROSECONDS"), MOST_MICROS)?;
        let pause = &mut self.pause[side.index() as usize];
        *pause = Some(pause.unwrap_or(0).saturating_add(micros).min(MOST_MICROS));
        Ok(())
    }

    /// `I`, `A`.
    fn alternate_unit(&mut self, word: &str, rest: &[&str], side: Side) -> Result<(), CvecError> {
        let concurrent = self.last()?.is_concurrent;
        self.expect_form(word, concurrent, true)?;
        let form = format!("{word} SEND_WAIT_US RECEIVE_WAIT_US BYTES");
        let [after_sending, after_receipt, bytes] = self.numbers(word, rest, &form, MOST_BYTES)?;
        let before = self.last()?.units.last().map(|unit| unit.side);
        let (wait, none, which) = match before {
            _ if concurrent => (after_sending, after_receipt, "RECEIVE_WAIT_US"),
            None => (after_sending.saturating_add(after_receipt), 0, ""),
            Some(before) if before == side => (after_sending, after_receipt, "RECEIVE_WAIT_US"),
            Some(_) => (after_receipt, after_sending, "SEND_WAIT_US"),
        };
        if none > 0 {
            let why = match concurrent {
                true => "a concurrent connection waits for nothing that it receives",
                false if which == "SEND_WAIT_US" => "the other side sent the unit before",
                false => "this side sent the unit before",
            };
            return Err(self.error(format!("{which} is {none}, but {why}; expected 0")));
        }
        self.push(side, wait, bytes)
    }

    /// A unit of the connection; one of no bytes closes a side, and sends nothing.
    fn push(&mut self, side: Side, micros: u64, bytes: u64) -> Result<(), CvecError> {
        if micros > MOST_MICROS {
            return Err(self.error(format!("a pause of {micros} us; expected at most {MOST_MICROS}")));
        }
        self.last()?;
        if bytes > 0 {
            self.count_item()?;
            self.last()?.units.push(Unit { side, wait: Span::from_nanos(micros * 1000), bytes });
        }
        Ok(())
    }

    /// A line of the connection's own kind, in its own way of writing.
    fn expect_form(&mut self, word: &str, concurrent: bool, alternate: bool) -> Result<(), CvecError> {
        let is_concurrent = self.last()?.is_concurrent;
        let expected = match (is_concurrent, self.alternate) {
            (_, true) => "I or A",
            (true, false) => "c>, c<, t> or t<",
            (false, false) => ">, < or t",
        };
        if is_concurrent == concurrent && self.alternate == alternate {
            return Ok(());
        }
        let kind = if is_concurrent { "a concurrent" } else { "a sequential" };
        let word = self.shown(word);
        Err(self.error(format!("{word} in {kind} connection of the other form; expected {expected}")))
    }

    fn last(&mut self) -> Result<&mut Vector, CvecError> {
        let error = self.error("belongs to no connection; expected SEQ, CONC, S or C first");
        self.vectors.last_mut().ok_or(error)
    }

    /// Exactly so many whole numbers.
    fn numbers<const N: usize>(
        &self,
        word: &str,
        rest: &[&str],
        form: &str,
        most: u64,
    ) -> Result<[u64; N], CvecError> {
        if word != "SEQ" && word != "CONC" && self.vectors.is_empty() {
            return Err(self.error("belongs to no connection; expected SEQ, CONC, S or C first"));
        }
        if rest.len() != N {
            let count = rest.len();
            let s = if count == 1 { "" } else { "s" };
            return Err(self.error(format!("{count} value{s} after {word}; expected {form}")));
        }
        let mut numbers = [0; N];
        for (number, word) in numbers.iter_mut().zip(rest) {
            *number = match word.parse::<u64>() {
                Ok(value) if value <= most => value,
                Ok(_) => {
                    return Err(self.error(format!("{} is too large; expected {form}", self.shown(word))));
                }
                Err(_) => {
                    let word = self.shown(word);
                    return Err(self.error(format!("{word} is no whole number; expected {form}")));
                }
            };
        }
        Ok(numbers)
    }

    /// A word as an error shows it: short, and without what would break the line. Nothing is shown of a file that has no
    /// connection so far: it may be no such file at all, and not for the eyes of whoever reads the error.
    fn shown(&self, word: &str) -> String {
        if self.vectors.is_empty() {
            return "what is there".to_owned();
        }
        let mut shown: String = word.chars().take(20).flat_map(char::escape_default).collect();
        if word.chars().count() > 20 {
            shown.push('…');
        }
        format!("\"{shown}\"")
    }

    fn error(&self, problem: impl fmt::Display) -> CvecError {
        CvecError { line: self.line, problem: problem.to_string() }
    }
}

#[cfg(test)]
mod tests;
