//! Puts BPF programs together: an instruction a method, jumps to labels.
//!
//! *References.* RFC 9669, BPF Instruction Set Architecture.

/// An instruction as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub(crate) code: u8,
    /// Destination in the lower four bits, source in the upper (on a little-endian machine).
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

/// A register, r0 to r10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register(u8);

/// What a call returns.
pub const R0: Register = Register(0);
/// Arguments of a call; lost by it. The first is the context at the start.
pub const R1: Register = Register(1);
/// Second argument.
pub const R2: Register = Register(2);
/// Third argument.
pub const R3: Register = Register(3);
/// Kept over calls.
pub const R6: Register = Register(6);
/// Kept over calls.
pub const R7: Register = Register(7);
/// Kept over calls.
pub const R8: Register = Register(8);
/// The end of the stack, which lies below it.
pub const FRAME: Register = Register(10);

/// A place to jump to, before or after it is known where that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Size of what is loaded or stored.
#[derive(Debug, Clone, Copy)]
pub enum Size {
    /// Four bytes.
    Word,
    /// Eight.
    Double,
}

/// When a jump is taken.
#[derive(Debug, Clone, Copy)]
pub enum If {
    /// The two are equal.
    Equal,
    /// They are not.
    NotEqual,
    /// The first is greater, as signed numbers.
    SignedGreater,
}

/// Functions of the kernel, by their numbers in linux/bpf.h.
#[derive(Debug, Clone, Copy)]
pub enum Helper {
    /// `map_lookup_elem(map, key)`.
    MapLookup = 1,
    /// `ktime_get_ns()`: the monotonic clock.
    Now = 5,
    /// `redirect(interface, flags)`.
    Redirect = 23,
    /// `redirect_map(map, key, flags)`.
    RedirectMap = 51,
}

/// A program that is being put together.
#[derive(Debug, Default)]
pub struct Assembler {
    instructions: Vec<Instruction>,
    /// Where each label is.
    labels: Vec<Option<usize>>,
    /// Jumps, and where they go.
    jumps: Vec<(usize, Label)>,
}

impl Size {
    fn bits(self) -> u8 {
        match self {
            Size::Word => 0x00,
            Size::Double => 0x18,
        }
    }
}

impl If {
    fn bits(self) -> u8 {
        match self {
            If::Equal => 0x10,
            If::NotEqual => 0x50,
            If::SignedGreater => 0x60,
        }
    }
}

impl Assembler {
    /// An empty program.
    pub fn new() -> Self {
        Assembler::default()
    }

    /// A label to be placed.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub fn place(&mut self, label: Label) {
        let here = self.instructions.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(here);
        }
    }

    /// `to = number`.
    pub fn set(&mut self, to: Register, number: i32) {
        self.push(0xb7, to, Register(0), 0, number);
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// `to += number`.
    pub fn add(&mut self, to: Register, number: i32) {
        self.push(0x07, to, Register(0), 0, number);
    }

    /// `to -= from`.
    pub fn subtract(&mut self, to: Register, from: Register) {
        self.push(0x1f, to, from, 0, 0);
    }

    /// `to = *(base + offset)`.
    pub fn load(&mut self, size: Size, to: Register, base: Register, offset: i16) {
        self.push(0x61 | size.bits(), to, base, offset, 0);
    }

    /// `r0 =` that byte of the packet, whose context is in r6; where it has none the program ends with 0.
    pub fn load_packet_byte(&mut self, offset: i32) {
        self.push(0x30, R0, Register(0), 0, offset);
    }

    /// `*(base + offset) = from`.
    pub fn store(&mut self, size: Size, base: Register, offset: i16, from: Register) {
        self.push(0x63 | size.bits(), base, from, offset, 0);
    }

    /// `*(base + offset) = number`.
    pub fn store_number(&mut self, size: Size, base: Register, offset: i16, number: i32) {
        self.push(0x62 | size.bits(), base, Register(0), offset, number);
    }

    /// `*(base + offset) += from`, eight bytes, atomically.
    pub fn count(&mut self, base: Register, offset: i16, from: Register) {
        self.push(0xdb, base, from, offset, 0);
    }

    /// `to =` the map of that descriptor, for a helper.
    pub fn map(&mut self, to: Register, map: u32) {
        self.wide(to, 1, map, 0);
    }

    /// `to =` the address of that byte of the one value of the map of that descriptor.
    pub fn value(&mut self, to: Register, map: u32, offset: u32) {
        self.wide(to, 2, map, offset);
    }

    /// `r0 = helper(r1, …)`; r1 to r5 are lost.
    pub fn call(&mut self, helper: Helper) {
        self.push(0x85, Register(0), Register(0), 0, helper as i32);
    }

    /// Goes to `label` if it is so of the register and the number.
    pub fn jump_if(&mut self, register: Register, condition: If, number: i32, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x05 | condition.bits(), register, Register(0), 0, number);
    }

    /// Goes to `label` if it is so of the two registers.
    pub fn jump_if_register(&mut self, register: Register, condition: If, other: Register, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x0d | condition.bits(), register, other, 0, 0);
    }

    /// Goes to `label`.
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x05, Register(0), Register(0), 0, 0);
    }

    /// Ends, returning r0.
    pub fn exit(&mut self) {
        self.push(0x95, Register(0), Register(0), 0, 0);
    }

    /// The program, its jumps filled in. One to a label that was never placed goes nowhere, which the verifier refuses.
    pub fn finish(mut self) -> Vec<Instruction> {
        for (from, label) in &self.jumps {
            let to = self.labels.get(label.0).copied().flatten().unwrap_or(*from);
            if let Some(jump) = self.instructions.get_mut(*from) {
                jump.offset = (to as i64 - *from as i64 - 1) as i16;
            }
        }
        self.instructions
    }

    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        let registers = if cfg!(target_endian = "little") { to.0 | from.0 << 4 } else { to.0 << 4 | from.0 };
        self.instructions.push(Instruction { code, registers, offset, immediate });
    }

    /// A 64-bit immediate takes two instructions.
    fn wide(&mut self, to: Register, what: u8, low: u32, high: u32) {
        self.push(0x18, to, Register(what), 0, low as i32);
        self.push(0, Register(0), Register(0), 0, high as i32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_of_the_standard() {
        let mut program = Assembler::new();
        let end = program.label();
        program.set(R0, 2);
        program.jump_if(R1, If::NotEqual, 7, end);
        program.load(Size::Double, R1, R7, 16);
        program.place(end);
        program.exit();
        // RFC 9669: MOV K = b7, JNE K = 55, LDX MEM DW = 79, EXIT = 95; offsets count from the next instruction
        let wanted = [(0xb7, 0x00, 0, 2), (0x55, 0x01, 1, 7), (0x79, 0x71, 16, 0), (0x95, 0, 0, 0)];
        let made: Vec<_> =
            program.finish().iter().map(|i| (i.code, i.registers, i.offset, i.immediate)).collect();
        assert_eq!(made, wanted);
    }
}
