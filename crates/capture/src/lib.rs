//! Captures of ports as pcapng files, for Wireshark: packets that cross a port of a simulation, or of the lab.
//!
//! A packet is written as it crosses a link between two processes: wrapped, as `backwater-wire` has it. Packets of a
//! simulation have no bytes. Each gets a UDP datagram without payload, with the addresses of its hosts. The file has the
//! length that the frame would have with its payload, as if it had been cut short. A packet that no wire format carries,
//! such as a NACK, has no wrapping, and a comment names it. Times are those of the network, in nanoseconds.

use backwater_types::{Instant, Kind, Packet};
use backwater_wire::{Address, Body, Frame, HEADER, Header, SMALLEST};
use etherparse::PacketBuilder;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, PcapError};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

/// Address before that of host 0.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);
/// UDP port of the receivers of simulated flows, and the first of their senders.
const PORTS: (u16, u16) = (5000, 49_152);

/// Returns the IP address of a host.
pub fn host_address(host: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(NETWORK.to_bits() + 1 + u32::from(host))
}

/// Returns the hardware address of a host's interface.
pub fn hardware_address(host: u16) -> [u8; 6] {
    let [high, low] = host.to_be_bytes();
    [0x02, 0xb7, 0, 0, high, low]
}

/// Returns the hardware address of one end of a link, by the link's number.
pub fn port_address(link: usize, b: bool) -> Address {
    let [high, low] = (link as u16).to_be_bytes();
    Address([0x02, 0xb7, 1 + u8::from(b), 0, high, low])
}

/// Direction in which a frame crosses a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// It arrives.
    In,
    /// It leaves.
    Out,
}

/// Time and port at which a packet crosses.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Time of the network.
    pub at: Instant,
    /// Number of the port among those of the file.
    pub port: u32,
    /// Direction.
    pub way: Way,
    /// Address of the packet's sender on the link.
    pub source: Address,
}

/// A pcapng file that is written.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    /// Bytes of the frame that is written.
    bytes: Vec<u8>,
    wrapped: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Starts a file with an interface for each port, which has its name.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new<'a>(out: W, ports: impl IntoIterator<Item = &'a str>) -> io::Result<Capture<W>> {
        let mut writer = PcapNgWriter::new(out).map_err(io_error)?;
        for name in ports {
            let options =
                vec![InterfaceDescriptionOption::IfName(name.into()), InterfaceDescriptionOption::IfTsResol(9)];
            let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
            writer.write_block(&interface.into_block()).map_err(io_error)?;
        }
        Ok(Capture { writer, bytes: Vec::new(), wrapped: Vec::new() })
    }

    /// Writes a packet of a simulation.
    ///
    /// # Errors
    /// Those of the file.
    pub fn packet(&mut self, place: Place, packet: &Packet) -> io::Result<()> {
        if packet.kind != Kind::Control {
            let mut wrapped = std::mem::take(&mut self.wrapped);
            stand_in(packet, &mut wrapped);
            let payload = usize::from(packet.wire).saturating_sub(wrapped.len());
            let written = self.wrap(place, packet, &wrapped, payload);
            self.wrapped = wrapped;
            return written;
        }
        let Some(frame) = packet.control() else { return Ok(()) };
        self.bytes.resize(SMALLEST, 0);
        let frame = Frame { source: place.source, body: Body::Control(frame) };
        let length = frame.emit(&mut self.bytes).map_err(io::Error::other)?;
        self.write(place, length, length, None)
    }

    /// Writes a packet with the frame of its host.
    ///
    /// # Errors
    /// Those of the file.
    pub fn frame(&mut self, place: Place, packet: &Packet, frame: &[u8]) -> io::Result<()> {
        self.wrap(place, packet, frame, 0)
    }

    /// Writes the bytes of a frame between two processes as they are, whether or not they are a valid frame.
    ///
    /// # Errors
    /// Those of the file.
    pub fn bytes(&mut self, place: Place, frame: &[u8]) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.extend_from_slice(frame);
        self.write(place, frame.len(), frame.len(), None)
    }

    /// Writes a packet around `wrapped`, which lacks `missing` bytes at its end.
    fn wrap(&mut self, place: Place, packet: &Packet, wrapped: &[u8], missing: usize) -> io::Result<()> {
        self.bytes.resize(HEADER + wrapped.len(), 0);
        let body = Header::of(packet).map(|header| Body::Packet(header, wrapped));
        let frame = body.map(|body| Frame { source: place.source, body });
        if let Ok(length) = frame.and_then(|frame| frame.emit(&mut self.bytes)) {
            return self.write(place, length, length + missing, None);
        }
        self.bytes[..wrapped.len()].copy_from_slice(wrapped);
        let comment = format!("{:?}, flow {}, packet {}", packet.kind, packet.flow, packet.seq);
        self.write(place, wrapped.len(), wrapped.len() + missing, Some(comment))
    }

    /// Writes the first `kept` of `length` bytes.
    fn write(&mut self, place: Place, kept: usize, length: usize, comment: Option<String>) -> io::Result<()> {
        // The two lowest bits say the direction.
        let direction = EnhancedPacketOption::Flags(if place.way == Way::In { 1 } else { 2 });
        let comment = comment.map(|comment| EnhancedPacketOption::Comment(comment.into()));
        let block = EnhancedPacketBlock {
            interface_id: place.port,
            timestamp: Duration::from_nanos(place.at.0 / 1000),
            original_len: length as u32,
            data: self.bytes[..kept].into(),
            options: comment.into_iter().chain([direction]).collect(),
        };
        self.writer.write_block(&block.into_block()).map_err(io_error)?;
        Ok(())
    }

    /// Writes the bytes that wait in memory.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(self) -> io::Result<()> {
        self.writer.into_inner().flush()
    }
}

/// Bytes of a [`CaptureFile`] that wait in memory.
const WAITING: usize = 1 << 16;

/// A capture in a file, which has whole frames at any time: after a crash, and when the disk is full.
pub struct CaptureFile {
    capture: Capture<Vec<u8>>,
    file: File,
    /// Bytes in the file.
    written: u64,
}

impl CaptureFile {
    /// Starts a file, and replaces one that is there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create<'a>(path: &Path, ports: impl IntoIterator<Item = &'a str>) -> io::Result<CaptureFile> {
        let mut file = CaptureFile { file: File::create(path)?, capture: Capture::new(Vec::new(), ports)?, written: 0 };
        file.flush()?;
        Ok(file)
    }

    /// Opens a file that was started with the same ports, to write behind its last whole frame.
    ///
    /// # Errors
    /// If it cannot be read or written, or begins otherwise.
    pub fn append<'a>(path: &Path, ports: impl IntoIterator<Item = &'a str>) -> io::Result<CaptureFile> {
        let mut capture = Capture::new(Vec::new(), ports)?;
        let head = std::mem::take(capture.writer.get_mut());
        let mut file = File::options().read(true).write(true).open(path)?;
        let written = whole_blocks(&file, &head)?;
        // A writer that was killed may have left a part of a frame.
        file.set_len(written)?;
        file.seek(SeekFrom::Start(written))?;
        Ok(CaptureFile { capture, file, written })
    }

    /// Lets `write` add a frame.
    ///
    /// # Errors
    /// If the file cannot be written. Then it has the frames up to the last that found room.
    pub fn add(&mut self, write: impl FnOnce(&mut Capture<Vec<u8>>) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.capture)?;
        if self.capture.writer.get_ref().len() < WAITING { Ok(()) } else { self.flush() }
    }

    /// Writes the bytes that wait in memory.
    ///
    /// # Errors
    /// As [`CaptureFile::add`].
    pub fn flush(&mut self) -> io::Result<()> {
        let waiting = self.capture.writer.get_mut();
        let result = self.file.write_all(waiting);
        match result {
            Ok(()) => self.written += waiting.len() as u64,
            // Whatever came into the file ends within a frame. If it stays there, readers say so.
            Err(_) => drop(self.file.set_len(self.written)),
        }
        waiting.clear();
        result
    }
}

/// Returns the length of the whole blocks of a file that begins with `head`.
fn whole_blocks(file: &File, head: &[u8]) -> io::Result<u64> {
    let end = file.metadata()?.len();
    let mut from = BufReader::with_capacity(WAITING, file);
    let mut start = vec![0; head.len()];
    from.read_exact(&mut start)?;
    if start != head {
        return Err(io::Error::other("is no capture of these ports"));
    }
    // A block begins with its kind and its length, which counts both, and has its length at its end again.
    let (mut at, mut begins) = (head.len() as u64, [0; 8]);
    while at + 8 <= end {
        from.read_exact(&mut begins)?;
        let length = i64::from(u32::from_ne_bytes([begins[4], begins[5], begins[6], begins[7]]));
        if length < 12 || at + length as u64 > end {
            break;
        }
        from.seek_relative(length - 8)?;
        at += length as u64;
    }
    Ok(at)
}

/// Makes the frame of a simulated packet: UDP without payload, from its host to its destination.
fn stand_in(packet: &Packet, out: &mut Vec<u8>) {
    out.clear();
    let ip = PacketBuilder::ethernet2(hardware_address(packet.src), hardware_address(packet.dst));
    let ip = ip.ipv4(host_address(packet.src).octets(), host_address(packet.dst).octets(), 64);
    let udp = ip.udp(PORTS.1 + (packet.flow % 16_384) as u16, PORTS.0);
    udp.write(out, &[]).expect("memory takes a frame");
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{ControlFrame, flags};
    use backwater_wire::Port;
    use pcap_file::pcapng::{Block, PcapNgReader};

    const PORT: Port = Port { queues: 32, upstream_queues: 32, classes: 8, hosts: 1000, largest: 9000 };

    fn packet(kind: Kind) -> Packet {
        let flags = flags::CE | flags::ECT;
        Packet { flow: 7, seq: 9, key: 3, dst: 1, src: 300, wire: 1048, upstream_queue: 4, kind, flags, ..Packet::NONE }
    }

    type Row = (u32, Duration, u32, Vec<u8>, Vec<EnhancedPacketOption<'static>>);

    /// Returns the names of interfaces, and the frames.
    fn read(file: &[u8]) -> (Vec<String>, Vec<Row>) {
        let mut reader = PcapNgReader::new(file).expect("a header");
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        while let Some(block) = reader.next_block() {
            match block.expect("a block").into_owned() {
                Block::InterfaceDescription(one) => {
                    assert!(one.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                    names.extend(one.options.into_iter().filter_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.into_owned()),
                        _ => None,
                    }));
                }
                Block::EnhancedPacket(one) => {
                    rows.push((one.interface_id, one.timestamp, one.original_len, one.data.into_owned(), one.options));
                }
                other => panic!("{other:?}"),
            }
        }
        (names, rows)
    }

    #[test]
    fn frames_are_read_back_as_they_crossed_the_ports() {
        let mut file = Vec::new();
        let mut capture = Capture::new(&mut file, ["sw:a", "sw:b"]).unwrap();
        let source = port_address(3, true);
        let at = Instant(5_000_001_999);
        let (out, into) = (Place { at, port: 1, way: Way::Out, source }, Place { at, port: 0, way: Way::In, source });
        capture.packet(out, &packet(Kind::Data)).unwrap();
        capture.packet(into, &ControlFrame::Pause(5).into()).unwrap();
        capture.packet(into, &packet(Kind::Nack)).unwrap();
        let mut real = Vec::new();
        stand_in(&packet(Kind::Ack), &mut real);
        capture.frame(into, &packet(Kind::Ack), &real).unwrap();
        capture.finish().unwrap();
        let (names, rows) = read(&file);
        assert_eq!(names, ["sw:a", "sw:b"]);
        let [data, pause, nack, ack] = &rows[..] else { panic!("{} rows", rows.len()) };
        assert_eq!((data.0, data.1, data.2), (1, Duration::from_nanos(5_000_001), 48 + 1048));
        assert_eq!(data.3.len(), HEADER + 42, "only the headers of a packet without bytes");
        assert_eq!(data.4, [EnhancedPacketOption::Flags(2)]);
        assert_eq!(Frame::parse(&pause.3, &PORT).unwrap().body, Body::Control(ControlFrame::Pause(5)));
        assert_eq!((pause.2, &pause.4[..]), (60, &[EnhancedPacketOption::Flags(1)][..]));
        assert_eq!((nack.2, nack.3.len()), (1048, 42), "what no frame carries is not wrapped");
        assert_eq!(nack.4[0], EnhancedPacketOption::Comment("Nack, flow 7, packet 9".into()));
        let Body::Packet(header, wrapped) = Frame::parse(&ack.3, &PORT).unwrap().body else { panic!("no packet") };
        assert_eq!((header.packet(0), wrapped), (Packet { receiver_slot: 0, ..packet(Kind::Ack) }, &real[..]));
    }

    /// Starts itself again where no file may have more than some 100 KB, as on a full disk.
    #[test]
    fn a_file_on_a_full_disk_has_whole_frames() {
        let path = std::env::temp_dir().join(format!("backwater-full-{}.pcapng", std::process::id()));
        if let Some(path) = std::env::var_os("BACKWATER_FULL") {
            let mut file = CaptureFile::create(Path::new(&path), ["sw:a"]).unwrap();
            let add = |number: u64| {
                let source = port_address(0, false);
                file.add(|capture| {
                    capture.packet(Place { at: Instant(number), port: 0, way: Way::Out, source }, &packet(Kind::Data))
                })
            };
            let failed = (0..10_000).map(add).find_map(Result::err).expect("the disk is full");
            assert_eq!(failed.kind(), io::ErrorKind::FileTooLarge);
            return;
        }
        let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"";
        let this = std::env::current_exe().unwrap();
        let mut again = std::process::Command::new("sh");
        again.args(["-c", script]).arg(this).args(["--exact", "tests::a_file_on_a_full_disk_has_whole_frames"]);
        // The child writes into a pipe, because its limit holds for a log file of these tests too.
        assert!(again.env("BACKWATER_FULL", &path).output().unwrap().status.success());
        let (names, rows) = read(&std::fs::read(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(names, ["sw:a"]);
        assert!((100..5_000).contains(&rows.len()), "{} whole frames", rows.len());
    }

    /// A writer that is killed within a frame leaves a part of it. The next one writes over it.
    #[test]
    fn a_file_goes_on_behind_its_last_whole_frame() {
        let path = std::env::temp_dir().join(format!("backwater-goes-on-{}.pcapng", std::process::id()));
        let add = |file: &mut CaptureFile, number: u64| {
            let place = Place { at: Instant(number * 1000), port: 1, way: Way::In, source: port_address(0, false) };
            file.add(|capture| capture.bytes(place, &[number as u8; 61])).unwrap();
            file.flush().unwrap();
        };
        add(&mut CaptureFile::create(&path, ["sw:a", "sw:b"]).unwrap(), 1);
        let whole = std::fs::metadata(&path).unwrap().len();
        add(&mut CaptureFile::append(&path, ["sw:a", "sw:b"]).unwrap(), 2);
        let frame = std::fs::metadata(&path).unwrap().len() - whole;
        for left in 0..frame {
            File::options().write(true).open(&path).unwrap().set_len(whole + left).unwrap();
            add(&mut CaptureFile::append(&path, ["sw:a", "sw:b"]).unwrap(), 3);
            let (names, rows) = read(&std::fs::read(&path).unwrap());
            assert_eq!(names, ["sw:a", "sw:b"]);
            let found: Vec<(u128, &[u8])> = rows.iter().map(|row| (row.1.as_nanos(), &row.3[..])).collect();
            assert_eq!(found, [(1, &[1; 61][..]), (3, &[3; 61][..])], "{left} bytes of the frame were left");
        }
        let other = CaptureFile::append(&path, ["sw:a", "sw:c"]).err().expect("the ports differ");
        assert_eq!(other.to_string(), "is no capture of these ports");
        std::fs::remove_file(&path).unwrap();
    }

    /// A disk that takes so many bytes.
    struct Full(Vec<u8>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.1 - self.0.len();
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(room);
            self.0.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_of_its_kind() {
        let (mut full, mut failed) = (Full(Vec::new(), 300), false);
        let mut capture = Capture::new(&mut full, ["sw:a"]).unwrap();
        for _ in 0..10 {
            let place = Place { at: Instant(1), port: 0, way: Way::Out, source: port_address(0, false) };
            let written = capture.packet(place, &packet(Kind::Data));
            failed |= written.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull);
        }
        assert!(failed);
    }
}
