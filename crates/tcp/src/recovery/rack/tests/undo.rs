//! Reductions that are taken back, worked by hand after `tcp_try_undo_partial`, `tcp_try_undo_recovery`, `tcp_try_undo_loss`.

use super::*;

fn begin(timestamps: bool) -> Story {
    Story::begin(Config { timestamps, ..linux() }, None)
}

fn ca_state(story: &Story) -> CaState {
    story.sender.state.cold.sack.rack.ca_state
}

/// Packets 2 to 4 are reported: packet 1 is sent again at 200 ms. What the next acknowledgement echoes says which of the two came.
fn sent_again() -> Story {
    let mut story = begin(true);
    assert_eq!(story.ack_with_echo(200, (1, 100), &[(2, 4)])[0], 1);
    assert_eq!((ca_state(&story), story.sender.ssthresh()), (CaState::Recovery, 5));
    story
}

#[test]
fn a_part_that_the_original_called_for_takes_the_recovery_back() {
    for (echo, state, is_taken_back) in
        [(100, CaState::Open, true), (199, CaState::Open, true), (200, CaState::Recovery, false)]
    {
        let mut story = sent_again();
        story.ack_with_echo(210, (5, echo), &[]);
        assert_eq!(ca_state(&story), state, "{echo}");
        assert_eq!(
            (story.sender.cwnd() >= 10.0, story.sender.ssthresh() > 5),
            (is_taken_back, is_taken_back)
        );
        // Packet 1 came behind packet 4.
        assert_eq!(story.sender.state.cold.reordering.is_far(), is_taken_back);
    }
}

#[test]
fn the_end_of_a_recovery_that_the_original_called_for_takes_it_back() {
    for (echo, is_taken_back) in [(100, true), (200, false)] {
        let mut story = sent_again();
        let end = story.sender.end();
        story.ack_with_echo(210, (end, echo), &[]);
        assert!(story.sender.state.cold.sack.is_blank());
        assert_eq!(story.sender.cwnd() >= 10.0, is_taken_back, "{echo}: {}", story.sender.cwnd());
        assert_eq!(story.sender.ssthresh() > 5, is_taken_back);
    }
}

/// The threshold was below the window: three quarters of the window, rounded down twice, are left of it (`tcp_current_ssthresh`).
#[test]
fn a_threshold_below_the_window_returns_to_three_quarters_of_it() {
    let mut story = begin(true);
    story.sender.state.ssthresh = 4;
    story.ack_with_echo(200, (1, 100), &[(2, 4)]);
    story.ack_with_echo(210, (5, 100), &[]);
    assert_eq!(story.sender.ssthresh(), 5 + 2);
}

/// Packets 1 to 3 are sent again, of six that are lost, and then the first ones of them arrive: until all three have, new data are sent only.
#[test]
fn nothing_is_sent_again_while_a_needless_retransmission_is_in_flight() {
    let mut story = begin(true);
    assert_eq!(story.ack_with_echo(200, (1, 100), &[(7, 9)]), [1, 2, 3]);
    for (ms, next) in [(210, 2), (211, 3)] {
        let sent = story.ack_with_echo(ms, (next, 100), &[(7, 9)]);
        assert!(sent.iter().all(|seq| *seq > 10), "{sent:?}");
        assert_eq!((ca_state(&story), lost(&story.sender.state)), (CaState::Recovery, 7 - next));
    }
    story.ack_with_echo(212, (4, 100), &[(7, 9)]);
    assert_eq!((ca_state(&story), lost(&story.sender.state)), (CaState::Disorder, 0));
    assert!(story.sender.cwnd() >= 10.0);
    // Packets 4 to 6 were found to be lost once, and are not again.
    let sent = story.ack_with_echo(300, (4, 100), &[(7, 10)]);
    assert!(sent.iter().all(|seq| *seq > 10), "{sent:?}");
    assert_eq!(lost(&story.sender.state), 0);
}

/// After a timeout too: at once, where F-RTO would first send new data. What the timeout took for lost may be found lost later.
#[test]
fn a_timeout_is_taken_back_by_the_first_packet_itself() {
    for (echo, is_taken_back) in [(100, true), (602, false)] {
        let mut story = begin(true);
        assert_eq!(story.timer(302), [11]);
        assert_eq!(story.timer(602), [1]);
        story.ack_with_echo(702, (2, echo), &[]);
        assert_eq!(story.sender.cwnd() >= 10.0, is_taken_back, "{echo}");
        if is_taken_back {
            assert_eq!((lost(&story.sender.state), story.sender.state.cold.sack.is_blank()), (0, true));
            assert_eq!(story.ack_with_echo(703, (2, 100), &[(5, 7)])[0], 2);
        }
    }
}

/// Without timestamps F-RTO takes it back. The retransmission of packet 1 is in flight beside ten packets of which none is lost.
#[test]
fn a_needless_retransmission_is_in_flight_until_its_packet_is_acknowledged() {
    let mut story = Story::timed_out();
    story.ack(702, 1, &[(5, 5)]);
    assert_eq!(lost(&story.sender.state), 0);
    let sent = story.sender.end() - 1;
    assert_eq!(pipe(&story.sender.state), sent - 1 + 1);
    // It counts beside what a timeout takes for lost: only its packet is lost then, and is sent again as the first.
    enter_loss(&mut story.sender.state, at(1500));
    assert_eq!((lost(&story.sender.state), pipe(&story.sender.state)), (sent - 1, 0));
    assert_eq!(next_lost(&story.sender.state), Some(1));
}

/// Packet 3 was sent again, and that was taken back by packet 1. It arrives beyond a hole, once: the other one is in flight still.
#[test]
fn a_packet_that_is_held_may_be_in_flight_as_well() {
    let mut story = begin(true);
    assert_eq!(story.timer(302), [11]);
    assert_eq!(story.timer(602), [1]);
    let rack = &mut story.sender.state.cold.sack.rack;
    rack.resent.push(3, at(603), 12);
    story.ack_with_echo(702, (2, 100), &[]);
    let rack = &story.sender.state.cold.sack.rack;
    assert_eq!((rack.resent.in_flight(), lost(&story.sender.state)), (1, 0));
    // Packet 2, sent long before it, is lost, and sent again.
    assert_eq!(story.ack_with_echo(703, (2, 100), &[(3, 3)])[0], 2);
    assert_eq!(story.sender.state.cold.sack.rack.resent.in_flight(), 2);
    story.ack_with_echo(704, (4, 100), &[]);
    assert_eq!(story.sender.state.cold.sack.rack.resent.in_flight(), 0);
}

/// A mark called for the reduction as well: there is nothing to return to.
#[test]
fn a_marked_acknowledgement_keeps_the_reduction() {
    let mut story = sent_again();
    story.sender.state.cold.ecn.is_echoed = true;
    story.ack_with_echo(210, (5, 100), &[]);
    assert_eq!((ca_state(&story), story.sender.ssthresh()), (CaState::Open, 5));
}
