//! Runs BPF programs as the kernel does, as far as this crate's go: what decides about a frame in a simulation is the program
//! that decides about it in the kernel.
//!
//! An address is the number of a region, shifted up by 32 bits, and an offset in it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::bpf::assembler::Instruction;
use crate::bypass::State;

/// Descriptors that programs know the maps by.
pub(super) const STATE: u32 = 101;
pub(super) const NOTED: u32 = 102;
pub(super) const SOCKETS: u32 = 103;

const CONTEXT_AT: u64 = 1 << 32;
const STACK_AT: u64 = 2 << 32;
const STATE_AT: u64 = 3 << 32;
const NOTED_AT: u64 = 4 << 32;
/// What stands for a map where a helper asks for one.
const MAP_AT: u64 = 5 << 32;
const STACK_BYTES: usize = 16;

/// What a program sees.
pub(super) struct Machine<'a> {
    /// `struct __sk_buff` or `struct xdp_md`, word by word.
    pub(super) context: [u32; 5],
    pub(super) state: &'a State,
    pub(super) noted: &'a mut u64,
    pub(super) now: u64,
    /// Whether a socket is in the map of sockets.
    pub(super) has_socket: bool,
}

/// What a program said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) returned: u64,
    /// The interface that it redirected to.
    pub(super) redirected: Option<u64>,
}

impl Machine<'_> {
    /// Runs it to its end.
    pub(super) fn run(&mut self, program: &[Instruction]) -> Said {
        let mut registers = [0u64; 11];
        registers[1] = CONTEXT_AT;
        registers[10] = STACK_AT + STACK_BYTES as u64;
        let mut stack = [0u8; STACK_BYTES];
        let mut said = Said { returned: 0, redirected: None };
        let mut at = 0;
        loop {
            let Instruction { code, registers: both, offset, immediate } = program[at];
            let (to, from) = (usize::from(both & 0xf), usize::from(both >> 4));
            at += 1;
            match code {
                0xb7 => registers[to] = immediate as i64 as u64,
                0xbf => registers[to] = registers[from],
                0x07 => registers[to] = registers[to].wrapping_add(immediate as i64 as u64),
                0x1f => registers[to] = registers[to].wrapping_sub(registers[from]),
                0x18 => {
                    registers[to] = match (from, immediate as u32) {
                        (1, map) => MAP_AT + u64::from(map),
                        (2, STATE) => STATE_AT + program[at].immediate as u64,
                        other => panic!("no such map: {other:?}"),
                    };
                    at += 1;
                }
                0x61 => registers[to] = u64::from(self.word(registers[from], offset)),
                0x79 => registers[to] = self.double(registers[from], offset),
                0x62 => {
                    let place = (registers[to].wrapping_add(offset as i64 as u64) - STACK_AT) as usize;
                    stack[place..place + 4].copy_from_slice(&immediate.to_le_bytes());
                }
                0x7a => self.store(registers[to], offset, immediate as i64 as u64),
                0x7b => self.store(registers[to], offset, registers[from]),
                0xdb => {
                    self.cell(registers[to], offset).fetch_add(registers[from], Ordering::AcqRel);
                }
                0x15 if registers[to] == immediate as i64 as u64 => at = jump(at, offset),
                0x55 if registers[to] != immediate as i64 as u64 => at = jump(at, offset),
                0x6d if registers[to] as i64 > registers[from] as i64 => at = jump(at, offset),
                0x15 | 0x55 | 0x6d => {}
                0x05 => at = jump(at, offset),
                0x85 => {
                    registers[0] = match immediate {
                        1 => {
                            assert_eq!(registers[1], MAP_AT + u64::from(NOTED));
                            assert_eq!(stack[STACK_BYTES - 4..], [0; 4]);
                            NOTED_AT
                        }
                        5 => self.now,
                        23 => {
                            said.redirected = Some(registers[1]);
                            7 // TC_ACT_REDIRECT
                        }
                        51 => {
                            assert_eq!(registers[1], MAP_AT + u64::from(SOCKETS));
                            if self.has_socket { 4 } else { registers[3] } // XDP_REDIRECT
                        }
                        other => panic!("no such helper: {other}"),
                    };
                    registers[1..=5].fill(u64::MAX / 3); // lost by a call
                }
                0x95 => {
                    said.returned = registers[0];
                    return said;
                }
                other => panic!("no such instruction: {other:#x}"),
            }
        }
    }

    fn word(&self, base: u64, offset: i16) -> u32 {
        self.context[(base - CONTEXT_AT) as usize / 4 + offset as usize / 4]
    }

    fn double(&mut self, base: u64, offset: i16) -> u64 {
        match base {
            NOTED_AT => *self.noted,
            _ => self.cell(base, offset).load(Ordering::Acquire),
        }
    }

    fn store(&mut self, base: u64, offset: i16, value: u64) {
        match base {
            NOTED_AT => *self.noted = value,
            _ => self.cell(base, offset).store(value, Ordering::Release),
        }
    }

    fn cell(&self, base: u64, offset: i16) -> &AtomicU64 {
        let state = self.state;
        assert_eq!(base, STATE_AT);
        match offset {
            0 => &state.heartbeat_ns,
            8 => &state.patience_ns,
            16 => &state.latch,
            24 => &state.closed,
            32 => &state.taken,
            40 => &state.bypassed,
            48 => &state.bypassed_bytes,
            56 => &state.trips,
            88 => &state.turned_away,
            other => panic!("nothing that a program knows is at {other}"),
        }
    }
}

fn jump(at: usize, offset: i16) -> usize {
    at.checked_add_signed(offset.into()).unwrap_or_else(|| panic!("a jump to before the program"))
}
