//! Programs for the kernel, from their text.
//!
//! rbpf's assembler knows the instructions. Here names become numbers: labels, fields and values of the kernel, and
//! functions.
//!
//! | text | is |
//! |---|---|
//! | `ssthresh:` at the margin | the beginning of a program |
//! | `done:` after spaces | a label of this program |
//! | `[r6+tcp_sock.snd_cwnd]` | a field, which must have the size that the instruction reads or writes |
//! | `tcp_ca_state.TCP_CA_Loss` | a value |
//! | `call tcp_slow_start` | a call of a function of the kernel |
//! | `call bpf_func_id.BPF_FUNC_x` | a call of a helper |
//! | `; text` | a comment |

use super::btf::{Field, Missing};
use rbpf::assembler;

/// Value of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A field of a structure.
    Field(Field),
    /// A value, or the number of a helper.
    Value(u32),
    /// The number of a function of the kernel among its types.
    Function(u32),
}

/// A program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program<'a> {
    /// Name.
    pub(super) name: &'a str,
    /// Instructions, of 8 bytes each.
    pub(super) code: Vec<u8>,
}

/// Bytes of an instruction. None of ours has two halves.
const INSTRUCTION: usize = 8;
/// Source of a call of a kernel's function, in the second half of the byte for registers.
const TO_KERNEL: u8 = 2 << 4;

/// The text of a program.
struct Source<'a> {
    name: &'a str,
    lines: Vec<Line<'a>>,
    /// Labels, with the number of the line that follows.
    labels: Vec<(&'a str, usize)>,
}

/// A line with an instruction.
struct Line<'a> {
    mnemonic: &'a str,
    operands: Vec<&'a str>,
}

/// Returns the programs of a text.
///
/// # Errors
/// If `symbol` does not know a name, a field has another size than its access, or a line is no instruction.
pub(super) fn assemble<'a>(
    text: &'a str,
    symbol: impl Fn(&str) -> Result<Symbol, Missing>,
) -> Result<Vec<Program<'a>>, Missing> {
    let mut sources: Vec<Source> = Vec::new();
    for line in text.lines() {
        let code = line.split(';').next().unwrap_or_default().trim_end();
        let Some(code) = Some(code.trim_start()).filter(|code| !code.is_empty()) else { continue };
        if let Some(name) = code.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            sources.push(Source { name, lines: Vec::new(), labels: Vec::new() });
            continue;
        }
        let source = sources.last_mut().ok_or_else(|| Missing(format!("{code}: in no program")))?;
        if let Some(label) = code.strip_suffix(':') {
            source.labels.push((label, source.lines.len()));
            continue;
        }
        let (mnemonic, rest) = code.split_once(' ').unwrap_or((code, ""));
        let operands = rest.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect();
        source.lines.push(Line { mnemonic, operands });
    }
    sources.iter().map(|source| program(source, &symbol)).collect()
}

fn program<'a>(source: &Source<'a>, symbol: &impl Fn(&str) -> Result<Symbol, Missing>) -> Result<Program<'a>, Missing> {
    let Source { name, lines, labels } = source;
    let mut text = String::new();
    let mut to_kernel = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut operands = Vec::new();
        for operand in &line.operands {
            let label = labels.iter().find(|(label, _)| line.mnemonic.starts_with('j') && label == operand);
            operands.push(if let Some((_, to)) = label {
                format!("{:+}", *to as i64 - at as i64 - 1)
            } else if let Some((register, name)) = operand.strip_suffix(']').and_then(|text| text.split_once('+')) {
                format!("{register}+{}]", place(line.mnemonic, name, symbol)?)
            } else if is_plain(operand) {
                (*operand).to_owned()
            } else {
                match symbol(operand)? {
                    Symbol::Value(value) => value.to_string(),
                    Symbol::Function(number) if line.mnemonic == "call" => {
                        to_kernel.push(at);
                        number.to_string()
                    }
                    _ => return Err(Missing(format!("{name}: {operand} is no operand of {}", line.mnemonic))),
                }
            });
        }
        text += &format!("{} {}\n", line.mnemonic, operands.join(", "));
    }
    let mut code = assembler::assemble(&text).map_err(|why| Missing(format!("{name}: {why}")))?;
    if code.len() != INSTRUCTION * lines.len() {
        return Err(Missing(format!("{name}: {} instructions of {} lines", code.len() / INSTRUCTION, lines.len())));
    }
    to_kernel.iter().for_each(|at| code[INSTRUCTION * at + 1] |= TO_KERNEL);
    Ok(Program { name, code })
}

/// Returns the offset of what an instruction reads or writes.
fn place(mnemonic: &str, name: &str, symbol: &impl Fn(&str) -> Result<Symbol, Missing>) -> Result<u32, Missing> {
    if let Ok(offset) = name.parse() {
        return Ok(offset);
    }
    let Symbol::Field(field) = symbol(name)? else { return Err(Missing(format!("{name} is no field"))) };
    let accessed = match mnemonic.trim_start_matches("ldx").trim_start_matches("stx") {
        "b" => 1,
        "h" => 2,
        "w" => 4,
        _ => 8,
    };
    if field.size != accessed {
        return Err(Missing(format!("the kernel's field {name} has {} bytes, not {accessed}", field.size)));
    }
    Ok(field.offset)
}

/// Whether an operand is a register, a number, or a register that is followed.
fn is_plain(operand: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = operand.trim_start_matches(['+', '-']);
    operand.starts_with('[')
        || operand.strip_prefix('r').is_some_and(|rest| rest.parse::<u8>().is_ok())
        || number.parse::<u32>().is_ok()
        || number.strip_prefix("0x").is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rbpf::ebpf::{self, Insn};

    fn symbol(name: &str) -> Result<Symbol, Missing> {
        match name {
            "a.word" => Ok(Symbol::Field(Field { offset: 24, size: 4 })),
            "a.value" => Ok(Symbol::Value(5)),
            "run" => Ok(Symbol::Function(70_000)),
            _ => Err(Missing(format!("no {name}"))),
        }
    }

    fn insn(opc: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
        Insn { opc, dst, src, off, imm }
    }

    #[test]
    fn names_become_offsets_values_distances_and_calls() {
        let text = "; nothing\nfirst:\n    ldxw r2, [r1+a.word] ; a field\n    jeq r2, a.value, done\n    call run\n    call a.value\n  done:\n    exit\n\nsecond:\n  again:\n    mov r0, 0x10\n    ja again\n";
        let programs = assemble(text, symbol).expect("two programs");
        let code = |insns: &[Insn]| insns.iter().flat_map(|insn| insn.to_array()).collect::<Vec<u8>>();
        let first = [
            insn(ebpf::LD_W_REG, 2, 1, 24, 0),
            insn(ebpf::JEQ_IMM, 2, 0, 2, 5),
            insn(ebpf::CALL, 0, 2, 0, 70_000),
            insn(ebpf::CALL, 0, 0, 0, 5),
            insn(ebpf::EXIT, 0, 0, 0, 0),
        ];
        let second = [insn(ebpf::MOV64_IMM, 0, 0, 0, 16), insn(ebpf::JA, 0, 0, -2, 0)];
        let wanted = [("first", code(&first)), ("second", code(&second))];
        assert_eq!(programs, wanted.map(|(name, code)| Program { name, code }));
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        for (text, said) in [
            ("    exit\n", "exit: in no program"),
            ("p:\n    ldxw r2, [r1+a.other]\n", "no a.other"),
            ("p:\n    ldxb r2, [r1+a.word]\n", "the kernel's field a.word has 4 bytes, not 1"),
            ("p:\n    ldxw r2, [r1+run]\n", "run is no field"),
            ("p:\n    mov r2, run\n", "p: run is no operand of mov"),
            ("p:\n    ja nowhere\n", "no nowhere"),
            ("p:\n    lddw r2, 1\n", "p: 2 instructions of 1 lines"),
            ("p:\n    fly r2\n", "p: Invalid instruction"),
        ] {
            let found = assemble(text, symbol).expect_err(text);
            assert!(found.0.starts_with(said), "{text}: {found}");
        }
    }
}
