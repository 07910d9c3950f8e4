"""The simulator: everything that changes a result is behind these calls. Structured values travel as JSON text."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Literal, TypedDict

version: str
commit: str
"""What it was built from; empty where nobody knows."""

class InputError(ValueError):
    """Something the caller can put right. The message names the place, the value and what was allowed.

    What it is made of can be read as well; None where there is no such thing.
    """

    place: str | None
    """Where it was written: `fig9.toml:12`, `--set seed=x`, `sizes.csv:7`, `preset "bfc"`."""
    file: str | None
    """The file of `place`."""
    key: str | None
    """Dotted, such as `workload.0.load`."""
    value: str | None
    """As TOML, cut short."""
    problem: str | None
    run: str | None
    """Label of the run it concerns, where the file describes several."""

class Progress(TypedDict):
    """How far a run is. Times are simulated picoseconds."""

    now_ps: int
    end_ps: int
    packet_hops: int
    flows_started: int
    flows_finished: int
    counted_left: int
    state: Literal["running", "draining", "done", "cancelled"]

class Run:
    """A simulation on threads of its own."""

    def progress(self) -> Progress: ...
    def cancel(self) -> None:
        """Stop at the next window; the outcome is then partial."""

    def iterations(self) -> str:
        """Iterations of jobs that have ended since the last call, as JSON: rows as in the summary."""

    def calls(self) -> tuple[int, float]:
        """Calls of a control in Python, and the seconds that they took."""

    def wait(self, seconds: float) -> bool:
        """True when finished or cancelled. Other Python threads run meanwhile."""

    def outcome(self) -> Outcome:
        """What happened; once, after `wait` returned True."""

class Batches(Iterator[dict[str, tuple[str, bytes]]]):
    """Rows of a table, some at a time."""

    def __iter__(self) -> Batches: ...
    def __next__(self) -> dict[str, tuple[str, bytes]]: ...

class Outcome:
    """The tables of one run."""

    digest: str
    events_left_out: int
    """Events in the span that there was no room for."""
    captures_left_out: int
    """Packets of captured ports that there was no room for."""
    def write_capture(self, path: str, ports: list[tuple[str, int, int, int]]) -> int:
        """Writes a pcapng file; each port has a name, its place in the request, node and port. The packets written.

        # Errors
        `OSError`.
        """
    def digests(self) -> str: ...
    """Hexadecimal; covers every table and the summary."""

    def summary(self) -> str: ...
    def tables(self) -> list[str]: ...
    def batches(self, table: str, rows: int) -> Batches:
        """Column name to (`u64`, `u32`, `u16`, `u8` or `f64`; little-endian values).

        The largest u64 and NaN stand for null, and the largest u16 where it is a code.
        """

    def categories(self, table: str, column: str) -> list[str] | None:
        """The strings that a column's codes stand for; None for a column of numbers."""

def load(path: str, sets: list[str], scale: str | None, computations: str | None = None) -> str:
    """The plan of a scenario file, as JSON: its runs, each with a resolved scenario.

    `computations` is what `[compute]` may ask for, as JSON: each kind's description, schema of parameters and results.

    Raises `InputError`.
    """

def load_text(
    text: str, dir: str, name: str, sets: list[str], scale: str | None, computations: str | None = None
) -> str:
    """The same of TOML, which messages call `name`; files that it names are looked for in `dir`."""

def start(
    scenario_json: str,
    threads: int,
    explain: list[tuple[int, int]] = ...,
    events: tuple[int, int, int] | None = None,
    capture: tuple[list[tuple[int, int]], int] | None = None,
    control: Callable[..., tuple[float | None, float | None, float | None] | None] | None = None,
) -> Run:
    """A run.

    With `explain`, flows and when each reaches its receiver (ps), it is on one thread and its outcome has tables
    `waits` and `rates`; with `events`, from, until (ps) and how many at most, a table `events`;
    with `capture`, ports (a place among nodes, and a port there) and how many packets at most, `write_capture`.
    `control` is what `host.transport = "callback"` calls, and then it is on one thread.
    """

def critical_path(
    scenario_json: str, workload: int, iteration: int, times: list[bytes], ran_ps: tuple[int, int], end_ps: int
) -> str:
    """JSON: `begin_ps`, `end_ps` and `steps` of the critical path of an iteration, which ran from `ran_ps[0]` on.

    `times` are `arrival_ps`, `finish_rx_ps` and `finish_tx_ps` of all flows of the job as 64-bit integers, and
    `end_ps` is the end of the run.

    Raises `InputError` if they are not those of the job.
    """

def estimate(scenario_json: str) -> str:
    """JSON with `flows`, `packet_hops`, `sim_time_ps` and `memory_mb`."""

def engine(scenario_json: str) -> str:
    """The name of the engine that runs a scenario: its types. One over tables of functions has `dyn` in it."""

def network(scenario_json: str) -> str:
    """JSON: `nodes` (`name`, `id`, `host`), `links` (`a`, `b`, `rate_bps`, `delay_ps`), `base_bdp_bytes`."""

def flows(scenario_json: str, rows: int) -> Batches:
    """Flows in order of arrival: `arrival_ps`, `src` and `dst` as places among nodes, `size_bytes`, `port`, `class`.

    The largest u64 is the size of an endless flow.
    """

class Deadlock:
    """A search for cycles of pauses, on a thread of its own."""

    def progress(self) -> tuple[int, int]:
        """Failures looked at, of so many; 0 of 0 before that is known."""

    def cancel(self) -> None: ...
    def wait(self, seconds: float) -> Cycles | None:
        """What was found, once. Other Python threads run meanwhile."""

class Cycles:
    """What waits for what in a scenario's network. Edges go by their place in `edges` of the report."""

    def report(self) -> str:
        """JSON: `ports`, `turns`, `pausing`, `elided`, `components`, `circle`, `alone`, `edges`."""

    def light(self, weights: list[float]) -> list[list[int]]:
        """Cycles of edges that weigh less than 1 together; none if there is no such cycle."""

    def complete(self, chosen: list[int], costs: list[float]) -> list[int] | None:
        """Edges without which there is no cycle, from those chosen, none to spare.

        None if edges of infinite cost make one.
        """

def deadlock(scenario_json: str, failures: str) -> Deadlock:
    """Starts it; `failures` is "0", "1", "2" or "all".

    Raises `InputError`.
    """

class Apart(TypedDict):
    """A network whose switches run as processes: how to start one, whether their threads have real-time priority, and
    the watchdog over pauses, if any.

    The watchdog has the longest time of a pause and the time between two looks, both in seconds of the network, and
    whether it drops what is held longer.
    """

    command: list[str]
    realtime: bool
    watchdog: tuple[float, float, bool] | None

class Lab:
    """The hosts and the switches of a scenario, with real packets. Linux only, and only after `lab_enter`.

    Raises `InputError` if the system refuses a part.
    """

    def __init__(
        self,
        scenario_json: str,
        divisor: int,
        logs: dict[str, str] = {},
        measured: bool = False,
        dctcp: bool = False,
        apart: Apart | None = None,
        captures: list[tuple[str, list[tuple[str, int, int]]]] = [],
    ) -> None:
        """Begins. `logs` has a file for the log of each switch that it names. `measured` keeps measurements.
        `captures` has files, and the ports of each: name, node and port.

        With `dctcp`, the hosts' TCP is DCTCP.
        """

    def hosts(self) -> list[tuple[str, str]]:
        """Names and addresses."""

    def congestion_control(self) -> str | None:
        """Name of the DCTCP that this lab registered in the kernel."""

    def join(self, host: int) -> None:
        """Moves the calling thread into a host."""

    def counts(self) -> str:
        """What was counted so far, as JSON."""

    def age(self) -> float:
        """Seconds of the machine since time 0 of the network."""

    def count_lateness_anew(self) -> None:
        """Forgets how late frames were up to now."""

    def reading(self) -> str:
        """State of every port a moment ago, as JSON."""

    def stop(self) -> str:
        """Ends the lab. Returns what was counted, as JSON."""

    def outcome(self, complete: bool) -> Outcome:
        """What was measured, after `stop`; once. `complete` says whether the run came to its end."""

class LabReport:
    """What a run in the lab says beside its outcome."""

    def counts(self) -> str | None:
        """Lateness of each host's frames, and counts of datagrams, as JSON; None if the run failed by a bug.

        Raises `InputError` if the system refused a part.
        """

    def reading(self) -> str:
        """State of every port a moment ago, as JSON."""

    def hosts(self) -> list[tuple[str, str]]:
        """Names and addresses."""

    def join(self, host: int) -> None:
        """Moves the calling thread into a host."""

def lab_start(
    scenario_json: str,
    divisor: int,
    logs: dict[str, str] = {},
    apart: Apart | None = None,
    captures: list[tuple[str, list[tuple[str, int, int]]]] = [],
) -> tuple[Run, LabReport]:
    """Starts to run the flows of a scenario in the lab, after `lab_enter`."""

def lab_node(hurry: Callable[[], None]) -> bool:
    """Runs a part of a network by orders on the standard input, until it ends. False if the system refused a part.

    `hurry` gives its thread real-time priority, if that is ordered.
    """

def lab_enter() -> None:
    """Moves this process, of one thread, into namespaces of its own. Its next child is their first process."""

def lab_join(descriptors: list[int]) -> None:
    """Moves this process, of one thread, into the namespaces that its descriptors are of, in their order."""

def lab_follow_parent() -> None:
    """Ends this process when its parent ends."""

def lab_name_hosts(scenario_json: str) -> None:
    """Lets this process and its children find a scenario's hosts by name. Meanwhile none may use temporary files."""

def lab_check(scenario_json: str, own_flows: bool) -> str | None:
    """Says why the lab cannot carry a scenario, or send its own flows if `own_flows`; None if it can."""

def lab_pace(scenario_json: str, rate: int) -> tuple[int, float, float, float]:
    """Divisor of time, and seconds of the shortest hop, to the counted window and to its end.

    `rate` is in bits per second.
    """

def replay(path: str) -> str:
    """Replays the log of a switch against the switch that its scenario describes.

    Returns JSON: `equal`, `difference` (`record`, `time_ps`, `call`, `facts`; null if there is none), `records`,
    `packets`, `switch`, `scheme`, `until_ps`, `written_by`, `ending` (complete, interrupted, torn; null after a
    difference), `torn` (`record`, `byte`, `call`).

    Raises `InputError` if the file is no log, or is damaged.
    """

def processors() -> int:
    """How many this process may use: its affinity, and the quota of its control group."""

def free_memory() -> int | None:
    """Bytes of memory that are free now: of the machine, or of its control group if that is less. None if not known."""

def schemes() -> str: ...
def chips() -> str:
    """JSON: `name`, `title`, `summary`, `source`, `ports`, `rate_bps`, `memory` (text), `memory_bytes`, `mmus`.

    Of one MMU: `mmu_ports`, `pool_bytes`, `private_bytes` of a queue, `alpha`.
    """

def tables_schema() -> str: ...
def fluid_trajectory(gaps: bytes, sizes: bytes, permanent: int) -> tuple[bytes, bytes]:
    """Flows that share a link equally: when they arrive or leave, and how many there are from then on.

    `gaps` between arrivals and `sizes`, both times, are 64-bit floats, and so are the times returned. Numbers are
    64-bit integers.
    """

def job_facts(path: str | PathLike[str], asked: str) -> str:
    """What a file of a job holds, as JSON: format, ranks, operations, messages, bytes, compute_ps and phases.

    `asked` is JSON: format, iterations, and perhaps start_unit, signal and model.
    """

def job_export(scenario_json: str, asked: str, out: str | PathLike[str]) -> str:
    """Writes the job of a workload of a resolved scenario to a file. Returns what it has, as JSON: ranks, operations,
    iterations, which the file does not have, and bytes.

    `asked` is JSON: to (goal, goal-binary, csv or htsim), and perhaps class, start_unit and leave_out.
    """

def job_file_export(path: str | PathLike[str], asked: str, out: str | PathLike[str]) -> str:
    """The same of the job of a file; `asked` also has its format: from."""

def htsim_tree(path: str | PathLike[str]) -> str:
    """A fat tree of htsim, as JSON: hosts, pods, tors, aggregation, cores and tiers."""

def size_tables() -> list[str]:
    """Names of the tables of flow sizes that ship."""

def size_table(table: str) -> str:
    """One of them, or one read from a file, as JSON: itself, and the means of the sizes drawn and of their squares.

    Raises `InputError`.
    """

def scenario_schema(computations: str | None = None) -> str:
    """JSON schema of scenario files, with what `[compute]` may ask for, as in `load`."""

def claims_schema() -> str:
    """JSON schema of claims files, `NAME.claims.toml`."""
