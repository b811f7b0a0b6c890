//! Packets that come late, worked by hand after `tcp_check_sack_reordering`, `tcp_rack_reo_wnd`, `tcp_may_raise_cwnd`.

use super::*;

/// The flight of ten left at 100 ms.
fn ten() -> Story {
    Story::begin(linux(), None)
}

fn ca_state(story: &Story) -> CaState {
    story.sender.state.cold.sack.rack.ca_state
}

/// Packet 1 comes behind packet 2, by a millisecond.
fn reordered() -> Story {
    let mut story = ten();
    assert_eq!(story.ack(200, 1, &[(2, 2)]), [11]);
    story.ack(201, 3, &[]);
    assert!(story.sender.state.cold.reordering.is_seen);
    story
}

/// Three packets are reported: packet 3 was lost at once, but now it is 25 ms later (least round trip / 4) and 2 ms (`TCP_TIMEOUT_MIN_US`).
#[test]
fn after_a_packet_was_reordered_three_reports_do_not_prove_a_loss() {
    let mut story = reordered();
    assert!(!story.ack(202, 3, &[(4, 6)]).contains(&3));
    assert_eq!(ca_state(&story), CaState::Disorder);
    assert_eq!(story.timer(229)[0], 3); // sent at 100, the round trip of 102 ms, 25 and 2
    assert_eq!(ca_state(&story), CaState::Recovery);
    // In the recovery too: packet 7 waits for as long.
    assert!(!story.ack(230, 3, &[(8, 8), (4, 6)]).contains(&7));
    assert_eq!(story.timer(257)[0], 7); // sent at 100, the round trip of 130 ms, 25 and 2
}

/// A packet that was sent again may have come by the second transmission: nothing is known of order.
#[test]
fn a_packet_that_was_sent_again_was_not_reordered() {
    let mut story = ten();
    assert_eq!(story.ack(200, 1, &[(2, 4)])[0], 1);
    story.ack(300, 5, &[]);
    assert!(story.sender.state.cold.reordering.is_blank());
}

/// What fills a hole beyond the first, by a block, was reordered as well; not what is reported in order.
#[test]
fn a_block_below_the_highest_is_out_of_order() {
    for (first, second, is_seen) in [((5, 5), (3, 3), true), ((3, 3), (5, 5), false), ((3, 3), (4, 4), false)]
    {
        let mut story = ten();
        story.ack(200, 1, &[first]);
        story.ack(201, 1, &[second, first]);
        assert_eq!(story.sender.state.cold.reordering.is_seen, is_seen, "{first:?} {second:?}");
    }
}

/// By 8 packets, 1 to 8, where more than three are many: a packet beyond a hole lets the window grow too. By 3 packets it does not.
#[test]
fn where_packets_are_reordered_by_far_those_beyond_a_hole_let_the_window_grow() {
    for (held, grown) in [(8, 12.0), (3, 11.0)] {
        let mut story = ten();
        story.ack(200, 1, &[(held, held)]);
        story.ack(201, 2, &[(held, held)]);
        assert_eq!((story.sender.cwnd(), story.sender.state.cold.reordering.is_far()), (11.0, held == 8));
        story.ack(202, 2, &[(9, 9), (held, held)]);
        assert_eq!(story.sender.cwnd(), grown);
    }
}

/// `tcp_enter_loss`: the distance was not so long if packets that far behind are lost.
#[test]
fn a_timeout_with_three_reports_forgets_the_distance() {
    for (reported, is_far) in [(9, true), (10, false)] {
        let mut story = ten();
        story.ack(200, 1, &[(8, 8)]);
        story.ack(201, 2, &[(8, 8)]);
        assert!(story.sender.state.cold.reordering.is_far());
        story.ack(202, 2, &[(8, reported)]);
        assert_eq!(ca_state(&story), CaState::Disorder);
        enter_loss(&mut story.sender.state, at(700));
        assert_eq!(story.sender.state.cold.reordering.is_far(), is_far);
        assert!(story.sender.state.cold.reordering.is_seen);
    }
}
