use super::*;

fn unit(side: Side, micros: u64, bytes: u64) -> Unit {
    Unit { side, wait: Span::from_nanos(micros * 1000), bytes }
}

#[test]
fn a_file_may_be_small_and_hold_very_much() {
    let text = format!("SEQ 0 2 1 1\n> 1\n< 2\n{}", "#\n".repeat(40));
    assert_eq!(read_at_most(text.as_bytes(), text.len() as u64, 3).unwrap()[0].units.len(), 2);
    let long = read_at_most(text.as_bytes(), text.len() as u64 - 1, 3).unwrap_err();
    assert_eq!(
        long.to_string(),
        "line 43: the file goes on beyond 99 bytes, unpacked; expected less: split it"
    );
    let many = read_at_most(text.as_bytes(), 1000, 2).unwrap_err();
    assert_eq!((many.line, many.problem.contains("split it")), (3, true));
}

#[test]
fn both_ways_of_writing_say_the_same() {
    let original = "# comment\nSEQ 3412 1 21217 555381\nw 64800 6432\nr 1118156\nl 0.000000 0.000000\n> 253\nt 123693\n\
                    < 510\nt 7\n< 20\nt 6308497\nCONC 1429381 2 2 26876 793318\nw 65535 5840\nr 36556\nl 0.0 0.1579\n\
                    c> 222\nt> 62436302\nc< 726\nt< 62400173\nc> 16\nt> 725\nc< 84\nt< 130\n";
    let alternate = "S 3412 1 21217 555381\nw 64800 6432\nr 1118156\nl 0.000000 0.000000\nI 0 0 253\nA 0 123693 510\n\
                     A 7 0 20\nA 6308497 0 0\nC 1429381 2 2 26876 793318\nw 65535 5840\nr 36556\nl 0.0 0.1579\n\
                     I 0 0 222\nA 0 0 726\nI 62436302 0 16\nA 62400173 0 84\nI 725 0 0\nA 130 0 0\n";
    let vectors = read(original.as_bytes()).unwrap();
    use Side::{Answerer, Opener};
    assert_eq!(
        vectors[0],
        Vector {
            start: Span::from_nanos(3_412_000),
            windows: Some([64800, 6432]),
            is_concurrent: false,
            units: vec![unit(Opener, 0, 253), unit(Answerer, 123_693, 510), unit(Answerer, 7, 20)],
        }
    );
    assert_eq!(vectors[1].bytes(), [238, 810]);
    let by_side = |vector: &Vector, side| -> Vec<Unit> {
        vector.units.iter().filter(|unit| unit.side == side).copied().collect()
    };
    for (one, other) in vectors.iter().zip(read(alternate.as_bytes()).unwrap()) {
        for side in [Opener, Answerer] {
            assert_eq!(by_side(one, side), by_side(&other, side));
        }
        assert_eq!((one.start, one.windows), (other.start, other.windows));
    }
}

/// A file named by mistake, or to see what is in it.
#[test]
fn nothing_is_quoted_of_what_is_no_such_file() {
    for text in [
        "root:$6$salt$hash:19000::::::\n",
        "SEQ secret 2 3 4\n",
        "S 1 2 3 hunter2\n",
        "C 99999999999999999999 1 1 1 1\n",
        "# x\n\nc> secret\n",
    ] {
        let said = read(text.as_bytes()).unwrap_err().to_string();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
            assert!(!said.contains(word), "{said}");
        }
    }
}

#[test]
fn what_is_malformed_is_named_by_its_line() {
    for (text, expected) in [
        ("", "line 1: the file ends without a connection; expected SEQ, CONC, S or C"),
        ("SEQ 1 2 3\n", "line 1: 3 values after SEQ; expected SEQ or S, then START_US EPOCHS ID ID"),
        ("> 5\n", "line 1: belongs to no connection; expected SEQ, CONC, S or C first"),
        ("SEQ 1 2 3 4\n> x\n", "line 2: \"x\" is no whole number; expected > BYTES"),
        ("SEQ 1 2 3 4\n> -5\n", "line 2: \"-5\" is no whole number; expected > BYTES"),
        ("SEQ 1 2 3 4\nt\n", "line 2: 0 values after t; expected t MICROSECONDS"),
        (
            "S 1 2 3 4\nI 0 0 10\nI 0 7 10\n",
            "line 3: RECEIVE_WAIT_US is 7, but this side sent the unit before; expected 0",
        ),
        (
            "S 1 2 3 4\n\nI 0 0 10\nA 7 0 10\n",
            "line 4: SEND_WAIT_US is 7, but the other side sent the unit before; expected 0",
        ),
        (
            "C 1 2 3 4 5\nI 0 7 10\n",
            "line 2: RECEIVE_WAIT_US is 7, but a concurrent connection waits for nothing that it receives; expected 0",
        ),
        (
            "CONC 1 1 1 4 5\n> 10\n",
            "line 2: \">\" in a concurrent connection of the other form; expected c>, c<, t> or t<",
        ),
        ("S 1 1 1 4\n> 10\n", "line 2: \">\" in a sequential connection of the other form; expected I or A"),
        ("SEQ 1 2 3 4\nl 0.1 2\n", "line 2: expected l RATE RATE, each from 0 to 1"),
        (
            "SEQ 1 2 3 4\nfoo 3\n",
            "line 2: \"foo\" begins no line; expected SEQ, CONC, S, C, w, r, l, >, <, t, c>, c<, t>, t<, I or A",
        ),
    ] {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}
