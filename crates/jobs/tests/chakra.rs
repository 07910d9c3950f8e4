//! Execution traces of Chakra: those of ASTRA-sim, and what is refused.

mod toy;

use backwater_jobs::chakra::{Groups, Options, job, node};
use backwater_jobs::{Job, Op, Work};
use backwater_types::{Duration, Instant};

/// Writes protobuf.
#[derive(Clone, Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Proto {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Proto {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds attribute `name`, an integer in field `kind` of the choice.
    fn attribute(self, name: &str, kind: u64, value: u64) -> Proto {
        self.bytes(10, &Proto::default().bytes(1, name.as_bytes()).number(kind, value).0)
    }
}

/// A trace of nodes, after empty metadata.
fn trace(nodes: &[Proto]) -> Vec<u8> {
    let mut file = Proto(vec![0]);
    for node in nodes {
        file.varint(node.0.len() as u64);
        file.0.extend_from_slice(&node.0);
    }
    file.0
}

fn node_of(id: u64, kind: u64, after: &[u64]) -> Proto {
    let ids = after.iter().fold(Proto::default(), |mut ids, id| {
        ids.varint(*id);
        ids
    });
    Proto::default().number(1, id).bytes(2, b"n").number(3, kind).bytes(5, &ids.0)
}

fn read(ranks: &[Vec<Proto>], groups: Groups) -> Result<Job, String> {
    let of = |(rank, nodes): (usize, &Vec<Proto>)| {
        let file = format!("t.{rank}.et");
        let nodes = node::read(trace(nodes).as_slice(), &file).map_err(|refused| refused.to_string())?;
        Ok((file, nodes))
    };
    let ranks = ranks.iter().enumerate().map(of).collect::<Result<Vec<_>, String>>()?;
    job(&ranks, groups, Options::default()).map_err(|refused| refused.to_string())
}

#[test]
fn a_collective_of_some_dimensions_is_refused() {
    let one = |dimensions: &[u8]| {
        let node = node_of(0, 7, &[]).attribute("comm_type", 9, 0).attribute("comm_size", 9, 4000);
        let list = Proto::default().bytes(1, dimensions);
        vec![node.bytes(10, &Proto::default().bytes(1, b"involved_dim").bytes(28, &list.0).0)]
    };
    for all in [&[][..], &[1], &[1, 1]] {
        assert!(read(&[one(all), one(all)], Groups::default()).is_ok(), "{all:?}");
    }
    let said = read(&[one(&[1, 0]), one(&[1, 0])], Groups::default()).expect_err("one of two dimensions");
    let expected =
        "involved_dim leaves out a dimension, and the network has none: expected its ranks as a group, in pg_name";
    assert_eq!(said, format!("t.0.et: byte 2: node 0 \"n\": {expected}"));
}

/// One collective of 1 MiB by four ranks, in the time of its ring.
#[test]
fn traces_of_astra_sim_are_read() {
    let (alpha, beta) = (1_000_000, 80);
    for (name, steps, part) in [
        ("all_reduce", 6, 1 << 18),
        ("all_gather", 3, 1 << 20),
        ("reduce_scatter", 3, 1 << 18),
        ("all_to_all", 1, 1 << 18),
    ] {
        let file = |rank: u32| {
            let path = format!("{}/tests/data/astra/{name}.{rank}.et", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::read(path).expect("a file");
            (format!("{name}.{rank}.et"), node::read(bytes.as_slice(), name).expect("valid"))
        };
        let ranks: Vec<_> = (0..4).map(file).collect();
        assert!(ranks.iter().all(|(_, nodes)| nodes.len() == 1 && nodes[0].comm_size == Some(1 << 20)), "{name}");
        let made = job(&ranks, Groups::default(), Options::default()).expect("valid");
        let (_, last) = toy::run(made, toy::placement(4), |bytes| Duration(alpha + bytes * beta));
        assert_eq!(last, Instant(steps * (alpha + part * beta)), "{name}");
    }
}

#[test]
fn nodes_become_operations_and_may_wait_for_later_ones() {
    let send =
        node_of(3, 5, &[1]).attribute("comm_size", 9, 65536).attribute("comm_dst", 7, 1).attribute("comm_tag", 7, 4);
    let ranks = [
        vec![node_of(3, 4, &[9]).number(7, 5), node_of(1, 1, &[]), node_of(9, 3, &[1]).number(7, 2)],
        vec![node_of(0, 4, &[]).attribute("is_cpu_op", 27, 0)],
    ];
    let job = read(&ranks, Groups::default()).expect("valid");
    assert_eq!(
        [0, 1, 2].map(|op| job.op(0, op)),
        [Op::calc(Duration::from_us(5)), Op::calc(Duration::ZERO).on(2), Op::calc(Duration::from_us(2)).on(3)]
    );
    assert_eq!(
        {
            let effect = |op| job.edges(0, op).next().expect("one").effect();
            (effect(2), effect(1))
        },
        (0, 2)
    );
    assert_eq!(job.op(1, 0), Op::calc(Duration::from_ns(1)).on(3));
    // Integers of every kind: a signed one in zigzag, and zero left out.
    let recv = node_of(0, 6, &[]).attribute("comm_size", 15, 2 * 65536).attribute("comm_tag", 17, 8);
    let recv = recv.bytes(10, &Proto::default().bytes(1, b"comm_src").0);
    let ranks = [vec![node_of(1, 1, &[]), send], vec![recv]];
    let job = read(&ranks, Groups::default()).expect("valid");
    assert_eq!(job.op(0, 1).work, Work::Send { to: 1, bytes: 65536, tag: 4 });
    assert_eq!(job.op(1, 0).work, Work::Recv { from: 0, tag: 4 });
}

#[test]
fn collectives_of_groups_are_of_their_members() {
    let one = |group: &str| {
        let node = node_of(0, 7, &[]).attribute("comm_type", 9, 0).attribute("comm_size", 9, 4000);
        vec![node.bytes(10, &Proto::default().bytes(1, b"pg_name").bytes(29, group.as_bytes()).0)]
    };
    let groups = || Groups::read("{\"a\": [0, 2], \"b\": [1, 3]}", "g").expect("valid");
    let job = read(&[one("a"), one("b"), one("a"), one("b")], groups()).expect("valid");
    let peers = |rank| {
        let works = (0..job.len(rank)).map(|op| job.op(rank, op).work);
        works.filter_map(|work| if let Work::Send { to, .. } = work { Some(to) } else { None }).collect::<Vec<_>>()
    };
    assert_eq!((peers(0), peers(1), peers(2), peers(3)), (vec![2, 2], vec![3, 3], vec![0, 0], vec![1, 1]));
    let said = read(&[one("a"), one("a"), one("a"), one("b")], groups()).expect_err("rank 1 is not in a");
    assert_eq!(said, "t.1.et: byte 2: node 0 \"n\": group \"a\" has not rank 1");
    let said = read(&[one("c"), one("a")], groups()).expect_err("no such group");
    assert_eq!(said, "t.0.et: byte 2: node 0 \"n\": pg_name \"c\": expected one of the groups \"a\", \"b\"");
    // No ranks stand for all.
    let all = || Groups::read("{\"a\": []}", "g").expect("valid");
    let lens = |group: &str| {
        let job = read(&[one(group), one(group), one(group)], all()).expect("valid");
        [0, 1, 2].map(|rank| job.len(rank))
    };
    assert!(lens("a") == lens("") && lens("a")[0] > 2, "{:?}", lens("a"));
    // A name with a line end stays in the line.
    let said = read(&[one("c\n")], groups()).expect_err("no such group");
    assert_eq!(said, "t.0.et: byte 2: node 0 \"n\": pg_name \"c\\n\": expected one of the groups \"a\", \"b\"");
}

/// What takes too much memory is refused before it takes any.
#[test]
fn a_job_has_a_limit_that_is_told_beforehand() {
    let nodes: Vec<Proto> = (0..1000)
        .map(|id| node_of(id, 7, &[]).attribute("comm_type", 9, 0).attribute("comm_size", 9, 1 << 30))
        .collect();
    let ranks: Vec<_> =
        (0..4).map(|rank| (format!("t.{rank}.et"), node::read(&trace(&nodes)[..], "t").expect("valid"))).collect();
    let options = Options { channels: u16::MAX, ..Options::default() };
    let said = job(&ranks, Groups::default(), options).expect_err("many").to_string();
    let expected = "expected at most 50000000, with fewer ranks, collectives or channels";
    assert_eq!(said, format!("t.0.et: the traces of 4 ranks have about 3145688000 operations: {expected}"));
    let zeros = [0; 100];
    let said = node::read(&zeros[..], "t").expect_err("nodes without a type").to_string();
    assert_eq!(said, "t: byte 2: a node without a type: expected 1 to 7");
}

#[test]
fn damaged_traces_are_refused() {
    let cases = [
        (vec![node_of(1, 4, &[2]), node_of(2, 4, &[1])], "t.0.et: nodes wait for one another: 1, 2: expected no cycle"),
        (vec![node_of(1, 4, &[7])], "t.0.et: byte 2: node 1 \"n\": waits for node 7, which is not in the file"),
        (
            vec![node_of(1, 4, &[]), node_of(1, 4, &[])],
            "t.0.et: byte 12: node 1 \"n\": the node at byte 2 has this id too",
        ),
        (vec![node_of(1, 9, &[])], "t.0.et: byte 2: node 1 \"n\": type 9: expected 1 to 7"),
        (vec![node_of(1, 5, &[])], "t.0.et: byte 2: node 1 \"n\": comm_dst none: expected a rank, 0 to 0"),
        (
            vec![node_of(1, 7, &[]).attribute("comm_type", 9, 3)],
            "t.0.et: byte 2: node 1 \"n\": comm_type 3: expected 0 all-reduce, 1 reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 or 8 reduce-scatter, or 9 barrier",
        ),
        (
            vec![node_of(1, 7, &[]).attribute("comm_size", 9, 1 << 63)],
            "t.0.et: byte 2: node 1 \"n\": comm_size 9223372036854775808: expected 0 to 137438953472",
        ),
        (
            vec![node_of(1, 4, &[]).number(7, u64::MAX)],
            "t.0.et: byte 2: node 1 \"n\": 18446744073709551615 us: expected at most 3600000000",
        ),
        (
            vec![node_of(1, 6, &[]).attribute("comm_src", 7, 0).attribute("comm_dst", 7, 3)],
            "t.0.et: byte 2: node 1 \"n\": receives for rank 3: expected rank 0, of this file",
        ),
        (vec![Proto(vec![0x0a, 0])], "t.0.et: byte 2: a field of a node has another type than its definition"),
    ];
    for (nodes, said) in cases {
        assert_eq!(read(&[nodes], Groups::default()).expect_err(said), said);
    }
    let whole = trace(&[node_of(1, 4, &[]), node_of(2, 4, &[1])]);
    let read = |bytes: &[u8]| node::read(bytes, "t").map_err(|refused| refused.to_string());
    assert_eq!(read(&[]), Err("t: is empty: expected metadata and nodes".into()));
    assert_eq!(
        read(&whole[..whole.len() - 1]),
        Err("t: byte 11: a message of 10 bytes, of which the file has 9".into())
    );
    assert_eq!(
        read(&[0, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        Err("t: byte 1: a message of 4294967295 bytes: expected at most 268435456".into())
    );
    assert_eq!(
        read(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        Err("t: byte 1: expected the length of a message, in at most 5 bytes".into())
    );
}
