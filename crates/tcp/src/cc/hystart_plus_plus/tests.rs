use super::*;
use proptest::prelude::*;

const MSS: f64 = 1000.0;

/// RFC 9406 section 4.2, line by line, in bytes and milliseconds.
struct Rfc {
    l: f64,
    cwnd: f64,
    window_end: u32,
    last_round_min_rtt: f64,
    current_round_min_rtt: f64,
    rtt_sample_count: u32,
    css_baseline_min_rtt: f64,
    in_css: bool,
    css_rounds: u32,
}

impl Rfc {
    fn new(is_paced: bool, cwnd: f64) -> Self {
        Rfc {
            l: if is_paced { f64::INFINITY } else { 8.0 },
            cwnd,
            window_end: 0,
            last_round_min_rtt: f64::INFINITY,
            current_round_min_rtt: f64::INFINITY,
            rtt_sample_count: 0,
            css_baseline_min_rtt: f64::INFINITY,
            in_css: false,
            css_rounds: 0,
        }
    }

    /// Whether congestion avoidance begins.
    fn on_ack(&mut self, n: f64, ack: u32, snd_nxt: u32, curr_rtt: f64) -> bool {
        if self.in_css {
            self.cwnd += n.min(self.l * MSS) / 4.0;
        } else {
            self.cwnd += n.min(self.l * MSS);
        }
        self.current_round_min_rtt = self.current_round_min_rtt.min(curr_rtt);
        self.rtt_sample_count += 1;
        if self.in_css {
            if self.rtt_sample_count >= 8 && self.current_round_min_rtt < self.css_baseline_min_rtt {
                self.css_baseline_min_rtt = f64::INFINITY;
                self.in_css = false;
            }
        } else if self.rtt_sample_count >= 8
            && self.current_round_min_rtt.is_finite()
            && self.last_round_min_rtt.is_finite()
        {
            let rtt_thresh = 4.0_f64.max((self.last_round_min_rtt / 8.0).min(16.0));
            if self.current_round_min_rtt >= self.last_round_min_rtt + rtt_thresh {
                self.css_baseline_min_rtt = self.current_round_min_rtt;
                self.in_css = true;
                self.css_rounds = 0;
            }
        }
        if self.window_end == 0 {
            self.window_end = snd_nxt;
        }
        if ack >= self.window_end {
            self.last_round_min_rtt = self.current_round_min_rtt;
            self.current_round_min_rtt = f64::INFINITY;
            self.rtt_sample_count = 0;
            self.window_end = snd_nxt;
            if self.in_css {
                self.css_rounds += 1;
                return self.css_rounds >= 5;
            }
        }
        false
    }
}

/// Each acknowledgement covers so many packets, and has taken so many milliseconds.
type Acks = Vec<(u32, u32)>;

/// Both over the same acknowledgements: windows after each, packets, and at which slow start is over.
fn run(is_paced: bool, acks: &Acks) -> [(Vec<f64>, Option<usize>); 2] {
    let mut ours = HyStartPlusPlus::new(is_paced);
    let mut rfc = Rfc::new(is_paced, 10.0 * MSS);
    let mut window = Window { cwnd: 10.0, ssthresh: u32::MAX };
    let (mut next, mut end, mut now) = (0, 0, Instant::from_nanos(10_000_000_000));
    let mut found = [(vec![], None), (vec![], None)];
    for (number, &(packets, rtt)) in acks.iter().enumerate() {
        now += Span::from_millis(1);
        next += packets;
        let left = Instant::from_nanos(now.as_nanos() - u64::from(rtt) * 1_000_000);
        // What is acknowledged has left so long ago, and what the window allows has left since.
        ours.on_first_transmission(next - 1, left);
        end = end.max(next).max(next - packets + window.cwnd as u32);
        let acked = Acked {
            now,
            next,
            packets,
            open: true,
            dubious: false,
            used: true,
            weight: packets,
            end,
            srtt: 0.0,
            sample: None,
            paced_until: Instant::MAX,
        };
        if found[0].1.is_none() {
            let is_over = ours.increase(&mut window, acked);
            found[0].0.push(window.cwnd);
            found[0].1 = is_over.then_some(number);
        }
        if found[1].1.is_none() {
            let is_over = rfc.on_ack(f64::from(packets) * MSS, next, end, f64::from(rtt));
            found[1].0.push(rfc.cwnd / MSS);
            found[1].1 = is_over.then_some(number);
        }
    }
    found
}

proptest! {
    #[test]
    fn it_is_the_rfcs(is_paced: bool, rounds in prop::collection::vec((1_u32..80, 1_u32..20, 20_u32..80), 1..30)) {
        let acks: Acks = rounds
            .iter()
            .flat_map(|&(acks, packets, rtt)| (0..acks).map(move |ack| (packets, rtt + (ack * 7) % 5)))
            .collect();
        let [ours, rfc] = run(is_paced, &acks);
        prop_assert_eq!(ours.1, rfc.1);
        for (ours, rfc) in ours.0.iter().zip(&rfc.0) {
            prop_assert!((ours - rfc).abs() < 1e-6 * rfc, "{} {}", ours, rfc);
        }
    }
}

/// So many acknowledgements of a packet each, of packets that took so long.
fn acks(count: usize, rtt: u32) -> Acks {
    vec![(1, rtt); count]
}

/// The acknowledgements by which the window grew by a fourth of a packet: the first, and how many.
fn slower(windows: &[f64]) -> Option<(usize, usize)> {
    let grown = || windows.windows(2).map(|pair| (pair[1] - pair[0] - 0.25).abs() < 1e-9);
    Some((grown().position(|is_slower| is_slower)? + 1, grown().filter(|is_slower| *is_slower).count()))
}

#[test]
fn a_queue_that_stays_ends_slow_start_after_five_rounds_of_slower_growth() {
    let [(windows, over), _] = run(false, &[acks(200, 40), acks(20_000, 45)].concat());
    let (first, count) = slower(&windows).unwrap();
    // The round in which the delay grew has both; the next has its eighth sample.
    assert!(first > 200 && (windows[first] as usize) < 4 * windows[200] as usize, "{first}");
    // Five rounds, each of a window that has grown by a fourth; the first has begun before.
    let window = windows[first];
    assert_eq!(over, Some(first + count - 1));
    let rounds = |first: i32| (first..5).map(|round| window * 1.25_f64.powi(round)).sum::<f64>();
    assert!((rounds(1)..rounds(0)).contains(&(count as f64)), "{count} {window}");
}

#[test]
fn a_delay_below_the_threshold_changes_nothing() {
    let [(windows, over), _] = run(false, &[acks(200, 40), acks(2_000, 44)].concat());
    assert_eq!((over, slower(&windows)), (None, None));
    assert_eq!(windows.last(), Some(&2210.0));
}

#[test]
fn jitter_that_passes_resumes_slow_start() {
    let acks = [acks(200, 40), acks(700, 46), acks(8_000, 40)].concat();
    let [(windows, over), _] = run(false, &acks);
    assert_eq!(over, None);
    assert!(slower(&windows).is_some());
    let [.., last, end] = &windows[..] else { panic!() };
    assert!((end - last - 1.0).abs() < 1e-9, "{last} {end}");
}

#[test]
fn an_acknowledgement_counts_for_eight_packets_unless_the_sender_is_paced() {
    let windows = |is_paced| run(is_paced, &vec![(20, 40)]).map(|(windows, _)| windows[0]);
    assert_eq!((windows(false), windows(true)), ([18.0; 2], [30.0; 2]));
}
