"""A function for every kind of topology, workload and flow sizes.

A rate may be text with a unit, a quantity of `backwater.units`, or a number in bit/s. A size may be a number in bytes,
and a time one in seconds. Made by tools/builders.py from the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backwater.scenario import typed
from backwater.scenario.units import BitsPerSec, Bytes, Duration, spelled


def given(kind: dict[str, str], **keys: Any) -> Any:
    """Returns the keys of a table that are not None."""
    return kind | {name: value for name, value in keys.items() if value is not None}


def leaf_spine(
    *,
    core_delay: Duration,
    core_rate: BitsPerSec,
    host_delay: Duration,
    host_rate: BitsPerSec,
    hosts_per_leaf: int,
    leaves: int,
    spines: int,
) -> typed.LeafSpine:
    """Two tiers, every leaf linked once to every spine.

    * `core_delay`: Propagation delay of leaf-spine links.
    * `core_rate`: Rate of leaf-spine links.
    * `host_delay`: Propagation delay of host links.
    * `host_rate`: Rate of host links.
    * `hosts_per_leaf`: Hosts under each leaf.
    * `leaves`: Top-of-rack switches.
    * `spines`: Spine switches.
    """
    return given(
        {"kind": "leaf-spine"},
        **{
            "core_delay": spelled(core_delay, "s"),
            "core_rate": spelled(core_rate, "bps"),
            "host_delay": spelled(host_delay, "s"),
            "host_rate": spelled(host_rate, "bps"),
            "hosts_per_leaf": hosts_per_leaf,
            "leaves": leaves,
            "spines": spines,
        },
    )


def fat_tree(
    *,
    aggs_per_pod: int,
    core_delay: Duration,
    core_rate: BitsPerSec,
    cores: int,
    host_delay: Duration,
    host_rate: BitsPerSec,
    hosts_per_tor: int,
    pods: int,
    tors_per_pod: int,
) -> typed.FatTree:
    """Three tiers in pods. Every ToR is linked once to every aggregation switch of its pod. There are as many
    groups of cores as a pod has aggregation switches. Aggregation switch `j` of each pod is linked once to
    every core of group `j`.

    * `aggs_per_pod`: Aggregation switches of a pod.
    * `core_delay`: Propagation delay of links between switches.
    * `core_rate`: Rate of links between switches.
    * `cores`: Core switches; a multiple of `aggs_per_pod`.
    * `host_delay`: Propagation delay of host links.
    * `host_rate`: Rate of host links.
    * `hosts_per_tor`: Hosts under each ToR.
    * `pods`: Pods.
    * `tors_per_pod`: Top-of-rack switches of a pod.
    """
    return given(
        {"kind": "fat-tree"},
        **{
            "aggs_per_pod": aggs_per_pod,
            "core_delay": spelled(core_delay, "s"),
            "core_rate": spelled(core_rate, "bps"),
            "cores": cores,
            "host_delay": spelled(host_delay, "s"),
            "host_rate": spelled(host_rate, "bps"),
            "hosts_per_tor": hosts_per_tor,
            "pods": pods,
            "tors_per_pod": tors_per_pod,
        },
    )


def two_clos(
    *,
    core_delay: Duration,
    core_rate: BitsPerSec,
    host_delay: Duration,
    host_rate: BitsPerSec,
    hosts_per_leaf: int,
    leaves: int,
    spines: int,
    wan_delay: Duration,
    wan_rate: BitsPerSec,
) -> typed.TwoClos:
    """Two data centers, each two tiers with every leaf linked once to every spine, and a gateway linked once to
    every spine; the gateways are joined. The nodes of the first come before those of the second, kind by kind.

    * `core_delay`: Propagation delay of leaf-spine and of spine-gateway links.
    * `core_rate`: Rate of leaf-spine and of spine-gateway links.
    * `host_delay`: Propagation delay of host links.
    * `host_rate`: Rate of host links.
    * `hosts_per_leaf`: Hosts under each leaf.
    * `leaves`: Top-of-rack switches of a data center.
    * `spines`: Spine switches of a data center.
    * `wan_delay`: Propagation delay of the link between the gateways.
    * `wan_rate`: Rate of the link between the gateways.
    """
    return given(
        {"kind": "two-clos"},
        **{
            "core_delay": spelled(core_delay, "s"),
            "core_rate": spelled(core_rate, "bps"),
            "host_delay": spelled(host_delay, "s"),
            "host_rate": spelled(host_rate, "bps"),
            "hosts_per_leaf": hosts_per_leaf,
            "leaves": leaves,
            "spines": spines,
            "wan_delay": spelled(wan_delay, "s"),
            "wan_rate": spelled(wan_rate, "bps"),
        },
    )


def single_switch(*, delay: Duration, hosts: int, rate: BitsPerSec) -> typed.SingleSwitch:
    """One switch.

    * `delay`: Propagation delay of each link.
    * `hosts`: Hosts of the switch.
    * `rate`: Rate of each link.
    """
    return given(
        {"kind": "single-switch"}, **{"delay": spelled(delay, "s"), "hosts": hosts, "rate": spelled(rate, "bps")}
    )


def dumbbell(
    *, bottleneck_delay: Duration, bottleneck_rate: BitsPerSec, delay: Duration, left: int, rate: BitsPerSec, right: int
) -> typed.Dumbbell:
    """Two switches joined by one link; hosts `0..left` on the first, the rest on the second.

    * `bottleneck_delay`: Propagation delay of the joining link.
    * `bottleneck_rate`: Rate of the joining link.
    * `delay`: Propagation delay of host links.
    * `left`: Hosts on the first switch.
    * `rate`: Rate of host links.
    * `right`: Hosts on the second switch.
    """
    return given(
        {"kind": "dumbbell"},
        **{
            "bottleneck_delay": spelled(bottleneck_delay, "s"),
            "bottleneck_rate": spelled(bottleneck_rate, "bps"),
            "delay": spelled(delay, "s"),
            "left": left,
            "rate": spelled(rate, "bps"),
            "right": right,
        },
    )


def chain(*, delay: Duration, hosts_per_switch: int, rate: BitsPerSec, switches: int) -> typed.Chain:
    """Switches in a row, each with its hosts.

    * `delay`: Propagation delay of every link.
    * `hosts_per_switch`: Hosts on each switch.
    * `rate`: Rate of every link.
    * `switches`: Switches.
    """
    return given(
        {"kind": "chain"},
        **{
            "delay": spelled(delay, "s"),
            "hosts_per_switch": hosts_per_switch,
            "rate": spelled(rate, "bps"),
            "switches": switches,
        },
    )


def graph(*, hosts: Sequence[str], links: Sequence[typed.GraphLink], switches: Sequence[str]) -> typed.Graph:
    """Any graph. Every host has exactly one link.

    * `hosts`: Host names.
    * `links`: Links, each in both directions.
    * `switches`: Switch names.
    """
    return given({"kind": "graph"}, **{"hosts": list(hosts), "links": list(links), "switches": list(switches)})


def background(
    *,
    load: float,
    sizes: typed.Sizes,
    arrivals: typed.Arrivals | None = None,
    class_: str | None = None,
    from_: Sequence[str] | None = None,
    load_by: typed.LoadBy | None = None,
    load_of: typed.LoadOf | None = None,
    load_with_headers: bool | None = None,
    local_share: float | None = None,
    priority: int | None = None,
    start: Duration | None = None,
    to: Sequence[str] | None = None,
) -> typed.Background:
    """An open-loop process over pairs of hosts.

    * `load`: Offered load as a share of `load_of`, above 0 and at most 1.
    * `sizes`: Flow sizes, payload.
    * `arrivals`: Gaps between arrivals.
    * `class_`: Name in tables, of this workload alone; default: `background`.
    * `from_`: Sources; empty: every host. `'host2..host5'` stands for four hosts, here and in every list of
      hosts.
    * `load_by`: Mean size by which the load is divided to get flows a second.
    * `load_of`: Capacity that the load is a share of.
    * `load_with_headers`: The load counts headers (`host.header` on every full packet) as well as payload.
    * `local_share`: With `load_of = 'exact-core'`: share of the payload that does not cross the core, in place
      of the exact one.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    * `start`: Time of the first possible arrival.
    * `to`: Destinations; empty: every host.
    """
    return given(
        {"kind": "background"},
        **{
            "load": load,
            "sizes": sizes,
            "arrivals": arrivals,
            "class": class_,
            "from": None if from_ is None else list(from_),
            "load_by": load_by,
            "load_of": load_of,
            "load_with_headers": load_with_headers,
            "local_share": local_share,
            "priority": priority,
            "start": spelled(start, "s"),
            "to": None if to is None else list(to),
        },
    )


def incast(
    *,
    degree: int,
    aggregate: Bytes | None = None,
    class_: str | None = None,
    from_: Sequence[str] | None = None,
    load: float | None = None,
    period: Duration | None = None,
    priority: int | None = None,
    sizes: typed.Sizes | None = None,
    start: Duration | None = None,
    to: Sequence[str] | None = None,
) -> typed.Incast:
    """Many-to-one bursts.

    * `degree`: Flows of one event, from sources drawn with replacement.
    * `aggregate`: Bytes of one event, of all flows together, in equal parts. Absent: `sizes`.
    * `class_`: Name in tables; default: `incast`.
    * `from_`: Sources; empty: every host.
    * `load`: Load as a share of core capacity, which determines the period. Absent: from `period`.
    * `period`: Time between events. Absent: from `load`.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    * `sizes`: Size of each flow, drawn independently. Absent: `aggregate`.
    * `start`: Time of the first event. Absent: one period.
    * `to`: Victims; empty: every host, drawn anew for each event.
    """
    return given(
        {"kind": "incast"},
        **{
            "degree": degree,
            "aggregate": spelled(aggregate, "B"),
            "class": class_,
            "from": None if from_ is None else list(from_),
            "load": load,
            "period": spelled(period, "s"),
            "priority": priority,
            "sizes": sizes,
            "start": spelled(start, "s"),
            "to": None if to is None else list(to),
        },
    )


def long_lived(
    *,
    count: int,
    to: Sequence[str],
    class_: str | None = None,
    from_: Sequence[str] | None = None,
    priority: int | None = None,
    rate: BitsPerSec | None = None,
    size: Bytes | None = None,
    stagger: Duration | None = None,
    start: Duration | None = None,
) -> typed.LongLived:
    """Flows without end (or of a given size), from `from[i]` to `to[i mod len]`.

    * `count`: Number of flows.
    * `to`: Destinations in turn.
    * `class_`: Name in tables; default: `long-lived`.
    * `from_`: Sources in turn; empty: every host that is not a destination.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    * `rate`: Rate, headers included, at which an application writes each flow over UDP: nothing is acknowledged
      or retransmitted, and packets that backpressure holds back are sent later. Absent: the host's transport
      determines the rate.
    * `size`: Size; absent: endless.
    * `stagger`: Time between successive starts.
    * `start`: Start time.
    """
    return given(
        {"kind": "long-lived"},
        **{
            "count": count,
            "to": list(to),
            "class": class_,
            "from": None if from_ is None else list(from_),
            "priority": priority,
            "rate": spelled(rate, "bps"),
            "size": spelled(size, "B"),
            "stagger": spelled(stagger, "s"),
            "start": spelled(start, "s"),
        },
    )


def flow_list(
    *,
    class_: str | None = None,
    file: str | None = None,
    flows: Sequence[typed.ListedFlow] | None = None,
    priority: int | None = None,
) -> typed.FlowList:
    """Flows listed one by one.

    * `class_`: Name in tables; default: `listed`.
    * `file`: CSV file beside the scenario, with columns `start_ns,src,dst,bytes` and perhaps `port`, or
      `port,priority`; it is read into `rows`.
    * `flows`: Flows listed here, in place of a file.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    """
    return given(
        {"kind": "flow-list"},
        **{"class": class_, "file": file, "flows": None if flows is None else list(flows), "priority": priority},
    )


def collective(
    *,
    bytes: Bytes,
    pattern: typed.Pattern,
    algorithm: typed.CollectiveAlgorithm | None = None,
    by_steps: bool | None = None,
    channels: int | None = None,
    chunks: int | None = None,
    class_: str | None = None,
    compute: Duration | None = None,
    hosts: Sequence[str] | None = None,
    hosts_file: str | None = None,
    iterations: int | None = None,
    launch: Duration | None = None,
    launch_once: Duration | None = None,
    nccl: typed.NcclProtocol | None = None,
    priority: int | None = None,
    queue_pairs: int | None = None,
    reduce_rate: BitsPerSec | None = None,
    slots: int | None = None,
    start: Duration | None = None,
) -> typed.Collective:
    """Hosts, called ranks, that send to one another step by step, as in a training job. A collective runs to its
    end, also past `run.duration`.

    * `bytes`: Payload: the data of each rank, in as many parts as there are ranks; of an all-gather all parts
      together. Of a pipeline: a microbatch.
    * `pattern`: Pattern of communication.
    * `algorithm`: Algorithm. Absent: of a broadcast and a reduce a binomial tree, of an all-to-all direct
      messages, else a ring.
    * `by_steps`: Each step is a phase in the table of phases.
    * `channels`: Channels, each with its share of the data and its own run of the algorithm.
    * `chunks`: Pieces of the data of a channel, each with its own run of the algorithm.
    * `class_`: Name in tables; default: `collective`.
    * `compute`: Time that a rank computes before each send, one after another; before an all-to-all, once. With
      times in whole nanoseconds it is rounded up.
    * `hosts`: Host of each rank, in turn; empty: every host.
    * `hosts_file`: Text file beside the scenario with a host in each line; read into `hosts`.
    * `iterations`: Number of iterations. Pipeline: number of microbatches.
    * `launch`: Time from a send to its first packet, such as that of a kernel's launch.
    * `launch_once`: Time of each rank before the first step of an iteration, such as that of a kernel's launch.
    * `nccl`: Takes `launch` and `launch_once` from NCCL's tuning of a ring or a tree between nodes, with this
      protocol.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    * `queue_pairs`: Queue pairs of each pair of hosts. A message is divided among them. All data of a queue
      pair takes one path, and its messages leave one after the other. Absent: each message takes a path of its
      own.
    * `reduce_rate`: Rate at which a rank adds data that it receives to its own. Absent: at once.
    * `slots`: Messages that a rank sends to another in one channel ahead of the acknowledgement of the first.
      Absent: any number.
    * `start`: Start time of the ranks.
    """
    return given(
        {"kind": "collective"},
        **{
            "bytes": spelled(bytes, "B"),
            "pattern": pattern,
            "algorithm": algorithm,
            "by_steps": by_steps,
            "channels": channels,
            "chunks": chunks,
            "class": class_,
            "compute": spelled(compute, "s"),
            "hosts": None if hosts is None else list(hosts),
            "hosts_file": hosts_file,
            "iterations": iterations,
            "launch": spelled(launch, "s"),
            "launch_once": spelled(launch_once, "s"),
            "nccl": nccl,
            "priority": priority,
            "queue_pairs": queue_pairs,
            "reduce_rate": spelled(reduce_rate, "bps"),
            "slots": slots,
            "start": spelled(start, "s"),
        },
    )


def job(
    *,
    class_: str | None = None,
    control: Bytes | None = None,
    eager: Bytes | None = None,
    file: str | None = None,
    format: typed.JobFormat | None = None,
    hosts: Sequence[str] | None = None,
    hosts_file: str | None = None,
    iterations: int | None = None,
    local: typed.JobLocal | None = None,
    model: typed.JobModel | None = None,
    overheads: typed.JobOverheads | None = None,
    placement: typed.JobPlacement | None = None,
    priority: int | None = None,
    queue_pairs: int | None = None,
    ranks_per_host: int | None = None,
    signal: Bytes | None = None,
    skip: int | None = None,
    source: typed.JobSource | None = None,
    start: Duration | None = None,
    start_unit: typed.StartUnit | None = None,
) -> typed.Job:
    """Messages that depend on messages, from a file: a training job, or any other program of ranks that send,
    receive and compute. A job runs to its end, also past `run.duration`.

    * `class_`: Name in tables; default: `job`.
    * `control`: Payload of the request and of the answer that precede a message above `eager`.
    * `eager`: Largest message that is sent at once. Of a larger one the sender asks the receiver first, and
      waits for the acknowledgement. Absent: every message is sent at once.
    * `file`: File beside the scenario. Its contents are read into `rows`, or if they are long, its place is
      kept in `source`.
    * `format`: Format of the file. Absent: `.goal` is GOAL, `.bin` is binary GOAL, `.csv` is CSV, `.cm` and
      `.tm` are htsim.
    * `hosts`: Hosts that ranks take; empty: every host. A host that is listed again takes one more rank.
    * `hosts_file`: Text file beside the scenario with a host in each line, perhaps with `slots=N`; read into
      `hosts`.
    * `iterations`: Number of times that the job runs. A rank starts again when it has ended. Of a text workload
      of SimAI the gradients of an iteration may still be on their way when the next one starts.
    * `local`: Messages between ranks of one host.
    * `model`: What traces of Chakra and text workloads of SimAI leave open.
    * `overheads`: Time that messages cost at hosts.
    * `placement`: Order in which ranks take hosts.
    * `priority`: Priority of its packets, 0 (the highest) to 7.
    * `queue_pairs`: Queue pairs of each pair of hosts. A message is divided among them. All data of a queue
      pair takes one path, and its messages leave one after the other. Absent: each message takes a path of its
      own.
    * `ranks_per_host`: Ranks on each host.
    * `signal`: Size of the message by which a trigger of htsim reaches another host. Absent: such a trigger is
      refused, since hosts learn of one another only by messages.
    * `skip`: Entries at the start of that order that stay free, such as hosts that another job takes.
    * `source`: Such a file, if it is long or binary.
    * `start`: Start time of the ranks.
    * `start_unit`: Unit of the starts in a connection matrix of htsim, whose files do not say it.
    """
    return given(
        {"kind": "job"},
        **{
            "class": class_,
            "control": spelled(control, "B"),
            "eager": spelled(eager, "B"),
            "file": file,
            "format": format,
            "hosts": None if hosts is None else list(hosts),
            "hosts_file": hosts_file,
            "iterations": iterations,
            "local": local,
            "model": model,
            "overheads": overheads,
            "placement": placement,
            "priority": priority,
            "queue_pairs": queue_pairs,
            "ranks_per_host": ranks_per_host,
            "signal": spelled(signal, "B"),
            "skip": skip,
            "source": source,
            "start": spelled(start, "s"),
            "start_unit": start_unit,
        },
    )


def sizes_table(table: str) -> typed.TableSizes:
    """A table shipped with Backwater, such as `google_rpc`."""
    return given({}, **{"table": table})


def sizes_file(file: str) -> typed.FileSizes:
    """A CSV file `size_bytes,cdf`, beside the scenario; read into `points`."""
    return given({}, **{"file": file})


def sizes_points(points: typed.SizeTable) -> typed.PointsSizes:
    """A table given point by point."""
    return given({}, **{"points": points})


def sizes_fixed(fixed: Bytes) -> typed.FixedSizes:
    """A fixed size."""
    return given({}, **{"fixed": spelled(fixed, "B")})


def sizes_exponential(exponential: Bytes) -> typed.ExponentialSizes:
    """Exponential with this mean, at least one byte."""
    return given({}, **{"exponential": spelled(exponential, "B")})


def sizes_uniform(uniform: Sequence[Bytes]) -> typed.UniformSizes:
    """Uniform over the whole numbers of bytes from the first to the second."""
    return given({}, **{"uniform": [spelled(one, "B") for one in uniform]})
