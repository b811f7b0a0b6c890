//! What the receiver has had twice (D-SACK), worked by hand after `tcp_check_dsack`, `tcp_dsack_seen`, `tcp_try_undo_dsack`,
//! `tcp_rack_update_reo_wnd`. Without timestamps, which would tell earlier.

use super::*;

fn ten() -> Story {
    Story::begin(linux(), None)
}

/// Packet 1 was sent again though it was on its way; after its report nothing is left that was not needless.
#[test]
fn a_needless_retransmission_takes_the_recovery_back() {
    let mut story = ten();
    assert_eq!(story.ack(200, 1, &[(2, 4)])[0], 1);
    story.ack(210, 5, &[]);
    assert!(story.sender.cwnd() < 10.0);
    story.ack(300, 5, &[(1, 1)]);
    assert!(story.sender.cwnd() >= 10.0 && story.sender.ssthresh() > 5);
    assert!(story.sender.state.cold.sack.is_blank());
}

/// Two were sent again: one report is not enough.
#[test]
fn every_retransmission_has_to_be_needless() {
    let mut story = ten();
    assert_eq!(story.ack(200, 1, &[(3, 5)]), [1]);
    assert_eq!(story.ack(201, 1, &[(3, 7)]), [2]);
    story.ack(210, 8, &[]);
    story.ack(300, 8, &[(1, 1)]);
    assert!(story.sender.cwnd() < 10.0);
    story.ack(301, 8, &[(2, 2)]);
    assert!(story.sender.cwnd() >= 10.0);
}

#[test]
fn a_report_after_the_recovery_takes_it_back() {
    let mut story = ten();
    story.ack(200, 1, &[(2, 4)]);
    let end = story.sender.end();
    story.ack(210, end, &[]);
    assert!(story.sender.state.cold.sack.is_blank() && story.sender.cwnd() < 10.0);
    story.ack(300, end, &[(1, 1)]);
    assert!(story.sender.cwnd() >= 10.0 && story.sender.ssthresh() > 5);
}

/// Packet 3, reported once more within the block that it is held in, came behind packet 4.
#[test]
fn a_packet_that_is_held_and_came_twice_was_reordered() {
    let mut story = ten();
    story.ack(200, 1, &[(2, 4)]);
    story.ack(300, 1, &[(3, 3), (2, 4)]);
    assert!(story.sender.state.cold.reordering.is_seen);
}

/// Packet 1 is 1 ms late, so that reordering is known; packet 3 then 30 ms, of which it is given 27: its retransmission was needless. The
/// next packet is given a quarter of the round trip more: 50 ms and 2.
#[test]
fn a_needless_retransmission_lengthens_the_wait() {
    let mut story = ten();
    story.ack(200, 1, &[(2, 2)]);
    story.ack(201, 3, &[]);
    story.ack(202, 3, &[(4, 6)]);
    assert_eq!(story.timer(229)[0], 3);
    story.ack(230, 7, &[]);
    story.ack(331, 7, &[(3, 3)]);
    assert_eq!(story.sender.state.cold.reordering.quarters(), 1, "at the next packet that arrives");
    story.ack(332, 8, &[]);
    assert_eq!(story.sender.state.cold.reordering.quarters(), 2);
    story.ack(333, 8, &[(3, 3)]); // it was sent again but once
    story.ack(340, 8, &[(9, 9)]);
    assert_eq!(story.sender.state.cold.reordering.quarters(), 2);
    assert_eq!(story.timer(392)[0], 8);
}

/// Packet 3 is the last that fits, and is sent again as a probe. Its report says that nothing was lost, even with the acknowledgement of a
/// packet beyond it.
#[test]
fn a_probe_that_came_twice_was_needless() {
    for steps in [&[(360, 4), (450, 5)][..], &[(360, 5)]] {
        let mut story = Story::begin(Config { max_window: 3, ..linux() }, None);
        assert_eq!(story.timer(302), [3]);
        assert_eq!(story.ack(350, 4, &[]), [4, 5, 6]);
        for (place, (ms, next)) in steps.iter().enumerate() {
            story.ack(*ms, *next, if place == 0 { &[(3, 3)] } else { &[] });
        }
        assert_eq!(story.sender.counters().window_cuts, 0, "{steps:?}");
    }
}

/// `tcp_process_loss`: what says that the one retransmission was needless takes a timeout back with the next packet that is acknowledged.
#[test]
fn a_needless_retransmission_takes_a_timeout_back_when_more_is_acknowledged() {
    let mut story = Story::timed_out();
    assert_eq!(story.ack(702, 2, &[]), [12, 13]);
    story.ack(703, 2, &[(1, 1)]);
    assert!(story.sender.cwnd() < 10.0 && story.sender.ssthresh() == 5);
    assert_eq!(story.sender.state.cold.sack.rack.ca_state, CaState::Loss);
    story.ack(704, 3, &[]);
    assert!(story.sender.cwnd() >= 10.0 && story.sender.ssthresh() > 5);
    assert_eq!(story.sender.state.cold.sack.rack.ca_state, CaState::Open);
}
