//! What a pacer is told: every mistake is one line that says where, and nothing makes it panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::ffi::OsString;

use paceline_dataplane::config::{Arguments, BackEnd, Config, ConfigError};
use proptest::prelude::*;

fn read(words: &str, file: Option<&str>) -> Result<Config, ConfigError> {
    let mut arguments: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
    let path = std::env::temp_dir().join(format!("paceline-settings-{:?}.toml", std::thread::current().id()));
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
        arguments.push(format!("--config={}", path.display()).into());
    }
    let config = Arguments::parse(arguments).and_then(|arguments| Config::read(&arguments));
    let _ = std::fs::remove_file(&path);
    config.map_err(|error| ConfigError(error.0.replace(&path.display().to_string(), "FILE")))
}

#[test]
fn flags_and_files_say_the_same() {
    let flags = "--in a --out b --method edge --delay 10ms --release finish --buffer 5KB --overload flush \
                 --reverse-method qlbp --reverse-load 0.8 --reverse-max-delay 5ms --reverse-line-rate 100Mbit/s \
                 --uncounted 14 --spin 0 --patience 30ms --no-bypass --back-end af_xdp --metrics 127.0.0.1:9464";
    let file = r#"
        in = "a"
        out = "b"
        uncounted = "14 B"
        spin = "0 us"
        patience = "30 ms"
        bypass = false
        back_end = "af_xdp"
        metrics = "127.0.0.1:9464"
        [forward]
        method = "edge"
        delay = "10 ms"
        release = "finish"
        buffer = "5 KB"
        overload = "flush"
        [reverse]
        method = "qlbp"
        load = 0.8
        max_delay = "5 ms"
        line_rate = "100 Mbit/s"
    "#;
    let (one, other) = (read(flags, None).unwrap(), read("", Some(file)).unwrap());
    assert_eq!(one.forward.spec(None).unwrap(), other.forward.spec(None).unwrap());
    assert_eq!(one.reverse.spec(None).unwrap(), other.reverse.spec(None).unwrap());
    assert_eq!((one.uncounted, one.spin, one.patience), (other.uncounted, other.spin, other.patience));
    assert_eq!((one.back_end, one.bypass, one.metrics), (other.back_end, other.bypass, other.metrics));
    assert_eq!(one.back_end, BackEnd::AfXdp);
    // a flag goes before the file, and another method brings its own parameters
    let changed = read("--method token-bucket --rate 1Mbit/s --burst 3KB", Some(file)).unwrap();
    let spec = changed.forward.spec(None).unwrap();
    assert_eq!(spec.pacer.method.to_string(), "token-bucket rate = 1 Mbit/s, burst = 3 KB");
    assert_eq!(spec.pacer.limit, one.forward.spec(None).unwrap().pacer.limit);
}

#[test]
fn mistakes_are_one_line_that_says_where() {
    let flags = [
        ("--method edg", "--method: there is no pacer \"edg\"; did you mean \"edge\"?"),
        ("--method edge", "--method: edge needs --delay; write for example --delay \"10 ms\""),
        ("--method edge --delay 10", "--delay: \"10\" has no unit; write for example \"10 ms\""),
        ("--method edge --delay 10ms --rate 1Mbit/s", "--rate: edge has no parameter \"rate\""),
        ("--delay 10ms", "--delay: none has no parameter \"delay\""),
        (
            "--reverse-method qlbp --reverse-load 2 --reverse-max-delay 1ms",
            "--reverse-load: \"2\" is not a number above 0",
        ),
        ("--patience 1ms", "--patience: 1 ms is less than a busy machine may take; write 15 ms or more"),
        ("--spin 1s", "--spin: 1 s would leave no processor time to others"),
        ("--metrics 0.0.0.0:80", "--metrics: 0.0.0.0:80 is not on loopback"),
        ("--back-end dpdk", "--back-end: \"dpdk\" is none of its values; write af_packet or af_xdp"),
        ("--buffer 1GB", "--buffer: is more than 1048576 packets"),
        ("--buffer 1BDP", "--buffer: a pacer knows no round-trip time; write bytes or packets"),
        ("--nonsense 5", "--nonsense: there is no such option; see --help"),
        ("nonsense", "see --help"),
        ("--in", "see --help"),
    ];
    for (words, wanted) in flags {
        let said = read(words, None).unwrap_err().0;
        assert!(said.contains(wanted) && said.lines().count() == 1, "{words}: {said}");
    }
    let files = [
        ("inn = 'a'", "FILE: inn: there is no such key; did you mean \"in\"?"),
        ("in = 5\n[forward]\nmethod = 3", "FILE: forward.method: there is no pacer"),
        ("[forward]\nmethod = 'edge'\ndelay = 10", "has no unit"),
        (
            "[forward]\nmethod = 'edge'\ndelay = []",
            "FILE: forward.delay: is an array; write a quantity in quotes",
        ),
        ("forward = 'edge'", "FILE: forward: is a string; write a table, [forward]"),
        ("bypass = 'no'", "FILE: bypass: \"no\" is neither; write true or false"),
        ("a = \n", "FILE: line 1: "),
    ];
    for (text, wanted) in files {
        let said = read("", Some(text)).unwrap_err().0;
        assert!(said.contains(wanted) && said.lines().count() == 1, "{text}: {said}");
    }
}

proptest! {
    #[test]
    fn no_command_line_makes_it_panic(
        words in prop::collection::vec(prop_oneof![
            Just("--method".to_owned()), Just("edge".to_owned()), Just("qlbp".to_owned()), Just("--delay".to_owned()),
            Just("--buffer".to_owned()), Just("--reverse-rate".to_owned()), Just("10ms".to_owned()), "[ -~]{0,12}", "--[a-z-]{1,12}",
        ], 0..8)
    ) {
        let arguments = words.iter().filter(|word| !word.starts_with("--config")).map(OsString::from);
        if let Err(error) = Arguments::parse(arguments).and_then(|arguments| Config::read(&arguments)) {
            prop_assert_eq!(error.0.lines().count(), 1, "{}", error.0);
        }
    }

    #[test]
    fn no_file_makes_it_panic(text in "(in|out|spin|\\[forward\\]|method|delay|=|\"edge\"|\"5 ms\"|5|\n| |.){0,30}") {
        if let Err(error) = read("", Some(&text)) {
            prop_assert_eq!(error.0.lines().count(), 1, "{}", error.0);
        }
    }
}
