//! Links so fast that several packets come in a nanosecond, and traffic that fills them.

use proptest::prelude::*;
use proptest::sample::select;

/// A dumbbell of such links, for a few milliseconds.
pub(crate) fn of_fast_links() -> BoxedStrategy<String> {
    let rate = || select(vec!["40 Gbit/s", "100 Gbit/s", "320 Gbit/s", "700 Gbit/s", "1 Tbit/s", "2 Tbit/s"]);
    let delay = || select(vec!["1 us", "10 us", "100 us", "137 ns", "1 us .. 5 us", "0 ns .. 20 ns"]);
    let buffer = select(vec![
        "",
        ", buffer = \"20 KB\"",
        ", buffer = \"100 packets\"",
        ", buffer = \"500 packets\", drop = \"front\"",
        ", counts = \"waiting+service\", buffer = \"9 KB\"",
    ]);
    let core = (rate(), select(vec!["10 us", "30 us", "100 us"]), buffer);
    let network = (core, (1..3_u32, rate(), delay()), (1..4_u32, rate(), delay())).prop_map(|(core, edge, access)| {
        let text = format!(
            "[network]\ntemplate = \"dumbbell\"\ncore = {{ rate = \"{}\", delay = \"{}\"{} }}\n\
             edge = {{ count = {}, rate = \"{}\", delay = \"{}\" }}\naccess = {{ per_edge = {}, rate = \"{}\", delay = \"{}\" }}\n",
            core.0, core.1, core.2, edge.0, edge.1, edge.2, access.0, access.1, access.2
        );
        (edge.0 * access.0, text)
    });
    let sizes = (select(vec![1, 10, 40, 100, 1000]), select(vec![0, 20]), select(vec![20, 40, 1000]));
    let variant = (
        select(vec!["rfc", "ns2", "linux"]),
        select(vec!["reno", "newreno", "sack1", "rfc6675", "cubic", "bbr", "bbr3"]),
    );
    let more = select(vec!["", ", syn = false", ", delayed_ack = \"100 us\"", ", duplicate_threshold = 1"]);
    let tcp = (sizes, variant, select(vec![100, 500, 2000]), more).prop_map(|(sizes, variant, window, more)| {
        format!(
            "kind = \"bulk\"\ntcp = {{ payload = \"{} B\", header = \"{} B\", ack = \"{} B\", profile = \"{}\", variant = \"{}\", \
             initial_window = \"{window} packets\", max_window = \"{window} packets\"{more} }}\n",
            sizes.0, sizes.1, sizes.2, variant.0, variant.1
        )
    });
    let source = (
        select(vec!["cbr", "poisson"]),
        select(vec![40, 100, 1500]),
        select(vec![1, 30, 100]),
        1..100_u32,
    )
        .prop_map(|(kind, bytes, rate, stop)| {
            format!(
                "kind = \"{kind}\"\npacket = \"{bytes} B\"\nrate = \"{rate} Gbit/s\"\nstop = \"{stop} us\"\n"
            )
        });
    let traffic = (prop_oneof![2 => tcp, 1 => source], select(vec!["left", "left", "right"]), 0..100_u32);
    (1..1000_u32, network, prop::collection::vec(traffic, 1..4))
        .prop_map(|(seed, (pairs, network), traffic)| {
            let times = "duration = \"1 ms\"\nwarmup = \"333333 ns\"\n";
            let mut text = format!("seed = {seed}\n{times}{network}");
            for (number, (traffic, side, pair)) in traffic.iter().enumerate() {
                let pair = pair % pairs;
                text += &format!(
                    "\n[[traffic]]\nname = \"t{number}\"\nfrom = \"{side}.{pair}\"\ncount = 1\n{traffic}"
                );
            }
            text
        })
        .boxed()
}
