#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well collsim predicts real messages: collsim-mpi between network namespaces with slow ports.

usage: shaped_network.py COLLSIM_MPI MPIRUN

Four namespaces stand for four machines. Each has one port of 50 Mbit/s, each way, into a switch (a
bridge), so slow that two cores keep up with every packet; MPI talks TCP over it, as it would over a real network.
collsim-mpi calibrates the network by messages between pairs, and then predicts and measures ten
collectives.  Fails when a ring all-reduce or a chain broadcast of 1 MiB is off by more than 3%, or
the other eight by more than 15% in the median.  Nothing touches the network of the machine itself.

Exit code 77 with a reason where it cannot run: it needs root, Open MPI, and ip, tc and unshare.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

MACHINES = 4
RATE = "50mbit"
SWITCH = "collsim-switch"
# Between processes that share cores, sleeping ones must wake up in time.
REAL_TIME = ["chrt", "-r", "5"]

SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_plm": "rsh",
    "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24",
    "OMPI_MCA_oob_tcp_if_include": "10.77.0.0/24",
}
# Stands for ssh: AGENT [OPTION] HOST COMMAND...
AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
machine=collsim$((${1##*.} - 1)); shift
exec ip netns exec "$machine" unshare --uts bash -c "hostname $machine; $*"
"""

EXACT = [("all-reduce", "ring", 1), ("broadcast", "chain", 8)]
OTHERS = [
    ("all-gather", "ring", 1),
    ("reduce-scatter", "ring", 1),
    ("all-to-all", "pairwise", 1),
    ("broadcast", "binomial", 1),
    ("reduce", "binomial", 1),
    ("all-reduce", "recursive-doubling", 1),
    ("all-reduce", "halving-doubling", 1),
    ("gather", "flat", 1),
]


class CannotRun(Exception):
    pass


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def inside(machine, *command):
    return run("ip", "netns", "exec", machine, *command)


def shape(machine, port, destinations):
    """One direction of a port of RATE, with a queue for each destination, as Linux has one for each flow: else what
    asks for the next message would wait behind a window of data to somebody else.  So would acknowledgements, which go first."""
    tc = ("tc",)
    inside(machine, *tc, *f"qdisc add dev {port} root handle 1: htb default 20".split())
    burst = "burst 6k cburst 6k quantum 3000"
    rates = {"1: classid 1:1": f"rate {RATE}", "1:1 classid 1:10": "rate 1mbit prio 0"}
    rates.update({f"1:1 classid 1:{20 + i}": "rate 1mbit prio 1" for i in range(len(destinations))})
    for place, rate in rates.items():
        inside(machine, *tc, *f"class add dev {port} parent {place} htb {rate} ceil {RATE} {burst}".split())
    short_and_only_ack = "match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33"
    inside(
        machine,
        *tc,
        *f"filter add dev {port} parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff "
        f"match u8 0x05 0x0f at 0 {short_and_only_ack} flowid 1:10".split(),
    )
    for i, address in enumerate(destinations):
        inside(machine, *tc, *f"filter add dev {port} parent 1: protocol ip prio 2 u32 match ip dst {address} flowid 1:{20 + i}".split())
        inside(machine, *tc, *f"qdisc add dev {port} parent 1:{20 + i} handle {20 + i}: bfifo limit 2000000".split())


def put_up():
    run("ip", "netns", "add", SWITCH)
    inside(SWITCH, "ip", "link", "add", "br0", "type", "bridge")
    inside(SWITCH, "ip", "link", "set", "br0", "up")
    for i in range(MACHINES):
        machine = f"collsim{i}"
        run("ip", "netns", "add", machine)
        run(*f"ip link add port{i} netns {SWITCH} type veth peer name eth0 netns {machine}".split())
        inside(SWITCH, *f"ip link set port{i} master br0 up".split())
        inside(machine, *f"ip addr add 10.77.0.{i + 1}/24 dev eth0".split())
        inside(machine, *"ip link set eth0 up".split())
        inside(machine, *"ip link set lo up".split())
        inside(machine, *"ip link set eth0 gso_max_segs 1".split())
        for setting in ("tcp_limit_output_bytes=16384", "tcp_slow_start_after_idle=0", "tcp_no_metrics_save=1"):
            subprocess.run(
                ["ip", "netns", "exec", machine, "sysctl", "-qw", f"net.ipv4.{setting}"], capture_output=True, check=False
            )
        own = f"10.77.0.{i + 1}"
        shape(machine, "eth0", [f"10.77.0.{j + 1}" for j in range(MACHINES) if j != i])
        shape(SWITCH, f"port{i}", [own])


def take_down():
    for name in [SWITCH, *(f"collsim{i}" for i in range(MACHINES))]:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Bench:
    def __init__(self, program, mpirun, folder):
        self.program, self.mpirun, self.folder = program, mpirun, pathlib.Path(folder)
        self.agent = self.folder / "agent"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)

    def collsim_mpi(self, *arguments):
        hosts = ",".join(f"10.77.0.{i + 1}" for i in range(MACHINES))
        command = [self.mpirun, "--host", hosts, "-np", str(MACHINES), *REAL_TIME, self.program, *arguments]
        inner = ["ip", "netns", "exec", "collsim0", "unshare", "--uts", "bash", "-c", 'hostname collsim0; exec "$@"', "x"]
        done = subprocess.run(
            [*inner, *command],
            cwd=self.folder,
            env={**os.environ, **SETTINGS, "OMPI_MCA_plm_rsh_agent": str(self.agent)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode != 0:
            raise CannotRun(f"collsim-mpi {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def error_of(self, op, algorithm, chunks):
        """Predicted / measured - 1, and the row."""
        file = self.folder / f"{op}-{algorithm}.json"
        file.write_text(
            json.dumps(
                {
                    "scenario": 1,
                    "name": file.stem,
                    "cluster": {"shape": "switch", "ranks": MACHINES, "link": {"bandwidth": "6MB/s"}},
                    "collective": {"op": op, "algorithm": algorithm, "size": "1MiB", "chunks": chunks},
                }
            )
        )
        out = self.collsim_mpi("validate", file.name, "--machine", "machine.json", "--iters", "5", "--format", "json")
        (row,) = json.loads(out)["rows"]
        measured = row["measured"]
        if measured is None or measured["data"] != "right":
            raise CannotRun(f"{op} {algorithm}: {row}")
        error = row["time_s"] / measured["time_s"] - 1
        print(
            f"{op + ' ' + algorithm:30} {1e3 * row['time_s']:9.1f} ms {1e3 * measured['time_s']:9.1f} ms "
            f"{100 * error:+6.1f}%  spread {100 * (measured['spread'] or 0):.0f}%",
            flush=True,
        )
        return abs(error)

    def run(self):
        print(self.collsim_mpi("calibrate", "--smallest", "16KiB", "--largest", "256KiB", "--iters", "5", "-o", "machine.json"))
        print(f"{'1 MiB':30} {'predicted':>12} {'measured':>12}")
        exact = [self.error_of(*case) for case in EXACT]
        others = [self.error_of(*case) for case in OTHERS]
        median = statistics.median(others)
        print(f"ring and chain: at most {100 * max(exact):.1f}% (limit 3%); others: median {100 * median:.1f}% (limit 15%)")
        return 0 if max(exact) <= 0.03 and median <= 0.15 else 1


def what_is_missing(mpirun):
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    for tool in ("ip", "tc", "unshare", "chrt"):
        if shutil.which(tool) is None:
            return f"there is no {tool} (Debian: iproute2, util-linux)"
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version and "OpenRTE" not in version:
        return f"{mpirun} is not Open MPI's, whose settings this uses"
    return None


def main():
    program, mpirun = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    reason = what_is_missing(mpirun)
    if reason:
        print(f"skipped: {reason}")
        return 77
    take_down()
    with tempfile.TemporaryDirectory() as folder:
        try:
            put_up()
        except CannotRun as problem:
            take_down()
            print(f"skipped: no namespaces with shaped ports here: {problem}")
            return 77
        try:
            return Bench(program, mpirun, folder).run()
        except CannotRun as problem:
            print(problem)
            return 1
        finally:
            take_down()


if __name__ == "__main__":
    sys.exit(main())
