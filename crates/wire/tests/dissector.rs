//! Wireshark shows every field of every frame, by `backwater.lua`.
//!
//! The test writes the frames of the corpus to a pcapng file, and tshark reads it (`TSHARK`, or the first one in
//! `PATH`). tshark loads no scripts for root, so it runs as nobody then. Without tshark the test says so and passes.

#[path = "frames/corpus.rs"]
mod corpus;

use backwater_wire::Frame;
use corpus::{PORT, example, examples};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Frame, and its fields in the order of their names. No other field of ours may be shown.
const SHOWN: &[(&str, &str)] = &[
    (
        "data",
        "class=3 dst=999 flags=0x0f flags.ce=1 flags.ect=1 flags.incast=1 flags.last=1 flow=16909060 key=0xa1a2a3a4 \
         kind=0 length=50 seq=65538 slot=84281096 src=258 type=1 upstream_queue=15 version=1 wire=1500 zero=00,0000",
    ),
    (
        "ack",
        "class=0 dst=258 flags=0x00 flags.ce=0 flags.ect=0 flags.incast=0 flags.last=0 flow=4294967294 \
         key=0x80000001 kind=1 length=54 seq=4294967295 slot=0 src=999 type=1 upstream_queue=0 version=1 wire=64 \
         zero=00,0000",
    ),
    ("pause", "operation=1 queue=31 type=2 version=1 zero=00,[40]"),
    ("resume", "operation=2 queue=1 type=2 version=1 zero=00,[40]"),
    ("bitmap", "bitmap=00000000000000000000000080000102 operation=3 paused=1,8,31 type=2 version=1 zero=00,0000,[24]"),
    ("pause-flow", "class=2 flow=16909060 operation=4 slot=84281096 type=2 version=1 zero=0000,[32]"),
    ("resume-flow", "class=0 flow=4294967295 operation=5 slot=1 type=2 version=1 zero=0000,[32]"),
    ("credit", "bytes=81985529216486895 operation=6 type=2 version=1 zero=00,0000,[32]"),
    ("credit-sent", "bytes=1099511627776 operation=7 type=2 version=1 zero=00,0000,[32]"),
    ("hello", "number=0xfedcba9876543210 type=3 version=1 zero=[36]"),
    ("answer", "number=0xfedcba9876543210 type=4 version=1 zero=[36]"),
    ("pfc-pause", ""),
    ("pfc-resume", ""),
    ("pfc-several", ""),
];

/// Frame, offset and bytes there instead, and the mark that is shown.
const MARKED: &[(&str, usize, &[u8], &str)] = &[
    ("data", 14, &[2], "unknown"),
    ("data", 15, &[9], "unknown"),
    ("data", 16, &[2], "unknown"),
    ("data", 17, &[0x10], "unknown"),
    ("data", 24, &[0, 51], "lying"),
    ("data", 31, &[1], "reserved"),
    ("pause", 14, &[0], "unknown"),
    ("pause", 16, &[99], "unknown"),
    ("pause", 59, &[1], "reserved"),
    ("bitmap", 17, &[1], "reserved"),
    ("answer", 24, &[1], "reserved"),
];

/// Fields that other dissectors of Wireshark show.
const OTHERS: &[&str] =
    &["ip.dst", "udp.dstport", "tcp.dstport", "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3"];

/// Frame, and fields of other dissectors: those of the wrapped frame, and those of PFC.
const SHOWN_BY_OTHERS: &[(&str, &str)] = &[
    ("data", "ip.dst=10.0.0.2 udp.dstport=5001"),
    ("ack", "ip.dst=10.0.0.1 tcp.dstport=5000"),
    ("pause", ""),
    ("pfc-pause", "macc.opcode=0x0101 macc.cbfc.enbv=0x0008 macc.cbfc.pause_time.c3=65535"),
    ("pfc-resume", "macc.opcode=0x0101 macc.cbfc.enbv=0x0001 macc.cbfc.pause_time.c3=0"),
    ("pfc-several", "macc.opcode=0x0101 macc.cbfc.enbv=0x000b macc.cbfc.pause_time.c3=1"),
];

fn main() {
    let Some(tshark) = tshark() else {
        println!("test tshark_shows_every_field ... skipped: no tshark in PATH");
        return;
    };
    let place = Place::new();
    let mut frames: Vec<(String, Vec<u8>)> = Vec::new();
    for example in examples() {
        assert_eq!(Frame::parse(&example.bytes, &PORT), Ok(example.value()), "{}", example.name);
        frames.push((example.name.into(), example.bytes));
    }
    for &(name, at, to, _) in MARKED {
        let mut bytes = example(name).bytes;
        bytes[at..at + to.len()].copy_from_slice(to);
        assert!(Frame::parse(&bytes, &PORT).is_err(), "{name} with {to:02x?} at {at}");
        frames.push((format!("{name} with {to:02x?} at {at}"), bytes));
    }
    place.write(&frames);

    let script = fs::read_to_string(script()).expect("the script is beside the crate");
    let ours = fields(&script);
    let names: Vec<&str> = ours.iter().map(String::as_str).chain(OTHERS.iter().copied()).collect();
    let rows = place.read(&tshark, &names);
    assert_eq!(rows.len(), frames.len(), "a row for each frame");

    let own = |row: &BTreeMap<String, String>| {
        let own = row.iter().filter_map(|(name, value)| Some((name.strip_prefix("backwater.")?, value)));
        own.map(|(name, value)| format!("{name}={}", short(value))).collect::<Vec<_>>().join(" ")
    };
    for ((name, _), row) in frames.iter().zip(&rows).take(examples().len()) {
        let expected = SHOWN.iter().find(|(of, _)| of == name).expect("each frame has its fields").1;
        assert_eq!(own(row), expected, "{name}");
    }
    for (&(.., mark), (row, (name, _))) in MARKED.iter().zip(rows.iter().zip(&frames).skip(examples().len())) {
        let marks = row.keys().filter(|name| is_mark(name)).collect::<Vec<_>>();
        assert_eq!(marks, [&format!("backwater.{mark}")], "{name}");
    }
    for (name, expected) in SHOWN_BY_OTHERS {
        let at = frames.iter().position(|(of, _)| of == name).expect("a frame");
        let shown = OTHERS.iter().filter_map(|of| rows[at].get(*of).map(|value| format!("{of}={value}")));
        assert_eq!(shown.collect::<Vec<_>>().join(" "), *expected, "{name}");
    }
    let shown: BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
    let never: Vec<&String> = ours.iter().filter(|name| !shown.contains(name)).collect();
    assert!(never.is_empty() && ours.len() > 20, "fields that no frame shows: {never:?}");
    println!("test tshark_shows_every_field ... ok: {} fields in {} frames", ours.len(), frames.len());
}

/// Returns the names of all fields and marks in the script.
fn fields(script: &str) -> Vec<String> {
    let names = script.lines().filter(|line| line.contains("ProtoField.") || line.contains("ProtoExpert.new"));
    let quoted = |line: &str| line.split('"').nth(1).map(str::to_owned);
    names.filter_map(quoted).collect()
}

fn is_mark(name: &str) -> bool {
    ["backwater.unknown", "backwater.lying", "backwater.reserved"].contains(&name)
}

/// Writes many zeros as their number.
fn short(value: &str) -> String {
    let zeros = |bytes: &str| bytes.len() > 8 && bytes.bytes().all(|digit| digit == b'0');
    let each = value.split(',').map(|bytes| if zeros(bytes) { format!("[{}]", bytes.len() / 2) } else { bytes.into() });
    each.collect::<Vec<_>>().join(",")
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("backwater.lua")
}

fn tshark() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TSHARK") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("tshark")).find(|file| file.is_file())
}

/// A folder that everybody may read, with the capture and the script. It is removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new() -> Place {
        let folder = std::env::temp_dir().join(format!("backwater-wire-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder of our own");
        let place = Place(folder);
        place.copy(&script(), "backwater.lua");
        place.open("");
        place
    }

    fn copy(&self, from: &Path, name: &str) {
        fs::copy(from, self.0.join(name)).expect("it is copied");
        self.open(name);
    }

    /// Lets everybody read a file, or the folder.
    fn open(&self, name: &str) {
        fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// Writes the capture, a frame each microsecond.
    fn write(&self, frames: &[(String, Vec<u8>)]) {
        let file = File::create(self.0.join("frames.pcapng")).expect("a file");
        let mut writer = PcapNgWriter::new(file).expect("a header");
        let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options: vec![] };
        writer.write_block(&interface.into_block()).expect("an interface");
        for (at, (_, bytes)) in frames.iter().enumerate() {
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_micros(at as u64),
                original_len: bytes.len() as u32,
                data: bytes.as_slice().into(),
                options: vec![],
            };
            writer.write_block(&block.into_block()).expect("a frame");
        }
        drop(writer);
        self.open("frames.pcapng");
    }

    /// Returns the fields with these names that tshark shows, of each frame.
    fn read(&self, tshark: &Path, names: &[&str]) -> Vec<BTreeMap<String, String>> {
        let mut command = Command::new(tshark);
        command.current_dir(&self.0).env("HOME", &self.0);
        command.args(["-X", "lua_script:backwater.lua", "-n", "-r", "frames.pcapng", "-T", "fields"]);
        command.args(["-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=,"]);
        command.args(names.iter().flat_map(|name| ["-e", name]));
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            command.uid(NOBODY).gid(NOBODY);
        }
        let done = command.output().expect("tshark starts");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{errors}");
        assert!(!errors.to_lowercase().contains("lua"), "{errors}");
        let row = |line: &str| -> BTreeMap<String, String> {
            let values = names.iter().zip(line.split('|')).filter(|(_, value)| !value.is_empty());
            values.map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        String::from_utf8_lossy(&done.stdout).lines().map(row).collect()
    }
}

/// User and group without rights.
const NOBODY: u32 = 65534;
