//! The programs: which way a frame goes is decided by them alone. Maps are known by their descriptors.

use super::state::{BYPASSED, BYPASSED_BYTES, CLOSED, HEARTBEAT, LATCH, PATIENCE, TAKEN, TRIPS, TURNED_AWAY};
use crate::bpf::assembler::{
    Assembler, FRAME, Helper, If, Instruction, Label, R0, R1, R2, R3, R6, R7, R8, Size,
};

/// Offsets in the context of socket filters and ingress programs (struct __sk_buff).
const SKB_LENGTH: i16 = 0;
const SKB_KIND: i16 = 4;
const OUTGOING: i32 = 4;
/// Verdicts of ingress programs.
const DROP: i32 = 2;
/// In the context of XDP programs (struct xdp_md).
const XDP_QUEUE: i16 = 16;
const XDP_PASS: i32 = 2;

/// Leaves the program for `stale` unless the heartbeat is fresh and the latch is not tripped; r7 is the state.
fn unless_well(program: &mut Assembler, passed: Label, stale: Label) {
    program.load(Size::Double, R1, R7, LATCH);
    program.jump_if(R1, If::NotEqual, 0, passed);
    unless_fresh(program, stale);
}

/// Leaves the program for `stale` unless the heartbeat is fresh.
fn unless_fresh(program: &mut Assembler, stale: Label) {
    program.call(Helper::Now);
    program.load(Size::Double, R1, R7, HEARTBEAT);
    program.subtract(R0, R1);
    program.load(Size::Double, R2, R7, PATIENCE);
    // Signed: the heartbeat may be of a moment after this program looked at the clock.
    program.jump_if_register(R0, If::SignedGreater, R2, stale);
}

/// Trips the latch.
fn trip(program: &mut Assembler) {
    program.store_number(Size::Double, R7, LATCH, 1);
    program.set(R1, 1);
    program.count(R7, TRIPS, R1);
}

/// Points r8 to this processor's note, or goes to `without`.
fn find_note(program: &mut Assembler, noted: u32, without: Label) {
    program.store_number(Size::Word, FRAME, -4, 0);
    program.map(R1, noted);
    program.copy(R2, FRAME);
    program.add(R2, -4);
    program.call(Helper::MapLookup);
    program.jump_if(R0, If::Equal, 0, without);
    program.copy(R8, R0);
}

/// The packet socket's filter.
pub(crate) fn tap(state: u32, noted: u32) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (left, stale) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    program.load(Size::Word, R1, R6, SKB_KIND);
    program.jump_if(R1, If::Equal, OUTGOING, left);
    find_note(&mut program, noted, left);
    program.store_number(Size::Double, R8, 0, 0);
    unless_well(&mut program, left, stale);
    program.store_number(Size::Double, R8, 0, 1);
    program.set(R1, 1);
    program.count(R7, TAKEN, R1);
    program.set(R0, -1); // all of it
    program.exit();
    program.place(stale);
    trip(&mut program);
    program.place(left);
    program.set(R0, 0); // nothing of it
    program.exit();
    program.finish()
}

/// What stands at the ingress, and sends out by the interface `to`.
pub(crate) fn gate(state: u32, noted: u32, to: u32) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (open, stale, passes) = (program.label(), program.label(), program.label());
    let (tripped, dropped) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    find_note(&mut program, noted, open);
    program.load(Size::Double, R1, R8, 0);
    program.store_number(Size::Double, R8, 0, 0);
    program.jump_if(R1, If::NotEqual, 0, dropped);
    program.place(open);
    program.load(Size::Double, R1, R7, CLOSED);
    program.jump_if(R1, If::Equal, 0, passes);
    unless_fresh(&mut program, stale);
    program.set(R1, 1);
    program.count(R7, TURNED_AWAY, R1);
    program.jump(dropped);
    // one that is killed or stopped while it drains closes nothing for ever, and does not send what is older afterwards
    program.place(stale);
    program.store_number(Size::Double, R7, CLOSED, 0);
    program.set(R1, 1);
    program.count(R7, TRIPS, R1);
    program.place(passes);
    // one that no tap was shown, as while an interface comes up: what the pacer holds is older
    program.load(Size::Double, R1, R7, LATCH);
    program.jump_if(R1, If::NotEqual, 0, tripped);
    trip(&mut program);
    program.place(tripped);
    program.set(R1, 1);
    program.count(R7, BYPASSED, R1);
    program.load(Size::Word, R1, R6, SKB_LENGTH);
    program.count(R7, BYPASSED_BYTES, R1);
    program.set(R1, to as i32);
    program.set(R2, 0);
    program.call(Helper::Redirect);
    program.exit();
    program.place(dropped);
    program.set(R0, DROP);
    program.exit();
    program.finish()
}

/// What stands at the driver, in the tap's place.
pub(crate) fn driver(state: u32, sockets: u32) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (left, stale) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    unless_well(&mut program, left, stale);
    program.map(R1, sockets);
    program.load(Size::Word, R2, R6, XDP_QUEUE);
    program.set(R3, XDP_PASS); // where no socket takes it
    program.call(Helper::RedirectMap);
    program.jump_if(R0, If::Equal, XDP_PASS, left);
    // not atomically: there is a socket for one queue, which one processor serves at a time
    program.load(Size::Double, R1, R7, TAKEN);
    program.add(R1, 1);
    program.store(Size::Double, R7, TAKEN, R1);
    program.exit();
    program.place(stale);
    trip(&mut program);
    program.place(left);
    program.set(R0, XDP_PASS);
    program.exit();
    program.finish()
}
