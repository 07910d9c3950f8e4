//! The tables of `docs/lab-wire.md` are complete, and agree with the frames written by hand and with the code.

use crate::corpus::CORPUS;
use backwater_wire::Refused;

const PAGE: &str = include_str!("../../../../docs/lab-wire.md");

/// Table of a frame's contents, in the order of the page. The first is the beginning of all but those of PFC.
fn table_of(name: &str) -> usize {
    match name {
        "data" | "ack" => 1,
        "pause" | "resume" => 2,
        "bitmap" => 3,
        "pause-flow" | "resume-flow" => 4,
        "credit" | "credit-sent" => 5,
        "hello" | "answer" => 6,
        _ => 7,
    }
}

/// Returns the cells of every table of the page, below this header.
fn tables(header: &str) -> Vec<Vec<Vec<&'static str>>> {
    let after_header = PAGE.split(header).skip(1);
    let rows = |table: &'static str| table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    after_header.map(|table| rows(table).map(cells).collect()).collect()
}

/// Returns offset, length and comment of each line of a frame written by hand.
fn lines(text: &'static str) -> Vec<(usize, usize, &'static str)> {
    let parts = text.lines().filter_map(|line| line.split_once('#'));
    let split = parts.filter_map(|(bytes, comment)| Some((bytes, comment.trim().split_once(' ')?)));
    let line = |(bytes, (at, comment)): (&str, (&str, &'static str))| {
        (at.parse().expect("an offset"), bytes.split_whitespace().count(), comment.trim())
    };
    split.map(line).collect()
}

/// Returns offset and width of each field of every format. A wrapped frame has no width.
fn fields() -> Vec<Vec<(usize, usize, &'static str)>> {
    let number = |cell: &str| if cell.is_empty() { 0 } else { cell.parse().expect("a number") };
    let field = |row: &Vec<&'static str>| (number(row[0]), number(row[1]), row[2]);
    tables("| offset | bytes | meaning |").iter().map(|rows| rows.iter().map(field).collect()).collect()
}

#[test]
fn tables_have_each_byte_once() {
    let tables = fields();
    assert_eq!(tables.len(), 8);
    for (number, fields) in tables.iter().enumerate() {
        let mut at = if number == 0 || number == 7 { 0 } else { 16 };
        for (offset, width, meaning) in fields {
            assert_eq!(*offset, at, "table {number}: {meaning}");
            at += width;
        }
        let end = [16, 48, 60, 60, 60, 60, 60, 60][number];
        assert_eq!(at, end, "table {number}");
    }
}

#[test]
fn bytes_written_by_hand_have_the_fields_of_the_tables() {
    let tables = fields();
    for (name, text) in CORPUS {
        let number = table_of(name);
        let first = if number == 7 { &[][..] } else { &tables[0] };
        for (offset, width, meaning) in first.iter().chain(&tables[number]) {
            // Zeros, and the quanta of PFC, may have several lines.
            let here = || lines(text).into_iter().find(|(at, ..)| at == offset);
            let (_, length, comment) = here().unwrap_or_else(|| panic!("{name} has no line for {offset}, {meaning}"));
            let several = *meaning == "zero" && length < *width || meaning.contains("quanta") || *width == 0;
            assert!(length == *width || several, "{name}: {length} bytes at {offset}, {meaning}");
            assert_eq!(*meaning == "zero", comment == "zero", "{name}: {comment} at {offset}, {meaning}");
        }
    }
}

#[test]
fn reasons_are_listed_in_their_order() {
    let listed: Vec<String> = tables("| reason | the frame |")[0].iter().map(|row| row[0].replace('`', "")).collect();
    assert_eq!(listed, Refused::ALL.map(|reason| reason.name().to_string()));
}
