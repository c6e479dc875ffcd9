"""Runs the same session on LangGraph's SQLite checkpointer and on Mainstay, a process at a time, and prints one table.

Started by `run.sh`, with the Python of the comparison's own environment.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
LABEL, COLUMN = 34, 14

# Name, two lines of heading, whether the message is durable before the model is asked.
LANGGRAPH = [
    ("default", "LangGraph", "as it comes", "not awaited"),
    ("sync", "LangGraph", "sync, FULL", "yes"),
    ("exit", "LangGraph", "exit, FULL", "no"),
    ("delta", "LangGraph", "delta (beta)", "yes"),
]
MAINSTAY = [("journal", "Mainstay", "journal", "yes"), ("host", "Mainstay", "whole host", "yes")]


def run(command):
    """What a process prints, and how long it took from start to exit."""
    began = time.perf_counter()
    ran = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    took = time.perf_counter() - began
    if ran.returncode != 0:
        sys.exit(f"error: this command failed, as it says above: {' '.join(str(part) for part in command)}")
    return json.loads(ran.stdout.splitlines()[-1]), took


def on_disk(folder):
    """Database and log; the shared index of the log is left out: it is memory."""
    files = [file for pattern in ("checkpoints.sqlite*", "journal.sqlite*") for file in folder.glob(pattern)]
    return sum(file.stat().st_size for file in files if not file.name.endswith("-shm"))


def measure(folder, command):
    """Writes the turns in one process, and takes the session up in another one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wrote, _ = run(command("write", folder))
    closed, reserve = on_disk(folder), folder / "reserve"
    reserve = reserve.stat().st_size if reserve.exists() else 0
    resumed, process = run(command("resume", folder))
    shutil.rmtree(folder)
    return wrote | resumed | {"disk_closed": closed, "reserve": reserve, "resume_process": process}


def commands(mainstay, turns, size):
    """Each column's name with the command line of its two processes."""

    def langgraph(variant):
        options = ["--variant", variant, "--turns", turns, "--bytes", size]
        return lambda what, folder: [sys.executable, HERE / "langgraph_turns.py", what, folder, *options]

    def ours(side):
        return lambda what, folder: [mainstay, "compare", side, what, folder, turns, size]

    return {name: langgraph(name) for name, *_ in LANGGRAPH} | {name: ours(name) for name, *_ in MAINSTAY}


def sync_floor(folder, rounds=200, size=6 * 4096):
    """The median of appending and syncing some pages: what a durable thing costs here at least, in seconds."""
    block, times = b"x" * size, []
    path = folder / "floor"
    with open(path, "wb", buffering=0) as file:
        sync = getattr(os, "fdatasync", os.fsync)
        for _ in range(rounds):
            began = time.perf_counter()
            file.write(block)
            sync(file.fileno())
            times.append(time.perf_counter() - began)
    path.unlink()
    return statistics.median(times)


def percentile(seconds, share):
    ordered = sorted(seconds)
    return ordered[round((len(ordered) - 1) * share)]


def ms(seconds):
    return f"{seconds * 1e3:.2f} ms"


def mb(size):
    return "-" if size is None else f"{size / 1e6:.2f} MB"


def ratio(size, payload):
    return "-" if size is None else f"{size / payload:.1f} x"


def rows(turns, payload):
    """Label and how to show a column's report."""
    few = max(1, min(50, turns // 4))
    return [
        (f"{turns} turns", lambda r: f"{sum(r['turn_seconds']):.2f} s"),
        ("a turn, p50", lambda r: ms(percentile(r["turn_seconds"], 0.5))),
        ("a turn, p95", lambda r: ms(percentile(r["turn_seconds"], 0.95))),
        (f"p50 of the first {few} turns", lambda r: ms(percentile(r["turn_seconds"][:few], 0.5))),
        (f"p50 of the last {few} turns", lambda r: ms(percentile(r["turn_seconds"][-few:], 0.5))),
        ("payload", lambda r: mb(payload)),
        ("written to disk", lambda r: mb(r["written"])),
        ("written / payload", lambda r: ratio(r["written"], payload)),
        ("on disk, open (database + WAL)", lambda r: mb(r["disk_open"])),
        ("on disk, closed", lambda r: mb(r["disk_closed"])),
        ("on disk, closed / payload", lambda r: ratio(r["disk_closed"], payload)),
        ("resume: open, whole history", lambda r: ms(r["resume_seconds"])),
        ("resume: process, start to exit", lambda r: ms(r["resume_process"])),
        ("messages found, all equal", lambda r: str(r["messages"])),
        ("transactions a turn", lambda r: f"{r['commits'] / turns:g}"),
        ("journal_mode, synchronous", lambda r: f"{r['journal_mode']}, {r['synchronous']}"),
        ("each transaction is synced", lambda r: "yes" if r["synchronous"] in ("FULL", "EXTRA") else "NO"),
        ("durable before the model is asked", lambda r: r["before_model"]),
    ]


def table(columns, turns, payload):
    def line(label, cells):
        return label.ljust(LABEL) + "".join(cell.rjust(COLUMN) for cell in cells)

    yield line("", [first for _, first, _, _ in columns])
    yield line("", [second for _, _, second, _ in columns])
    yield "-" * (LABEL + COLUMN * len(columns))
    for label, show in rows(turns, payload):
        yield line(label, [show(report) for *_, report in columns])


def gather(options, folder):
    """The report of each column: of several runs, the one with the median time."""
    columns = LANGGRAPH + [one for one in MAINSTAY if one[0] != "host" or not options.no_host]
    runs = {name: [] for name, *_ in columns}
    to_run = commands(options.mainstay, options.turns, options.bytes)
    for number in range(options.runs):
        for name, *_ in columns:
            print(f"   run {number + 1} of {options.runs}: {name}", file=sys.stderr)
            runs[name].append(measure(folder / name, to_run[name]))
    for name, first, second, before_model in columns:
        ordered = sorted(runs[name], key=lambda report: sum(report["turn_seconds"]))
        # Mainstay's journal has no other setting (host/journal/src/connection.rs); LangGraph's reports what it found.
        report = {"journal_mode": "wal", "synchronous": "FULL"} | ordered[len(ordered) // 2]
        yield name, first, second, report | {"before_model": before_model}


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--bytes", type=int, default=1024, help="bytes of a message; a turn has two (default: 1024)")
    runs = "of several runs, each column shows the one with the median time"
    parser.add_argument("--runs", type=int, default=1, help=runs)
    parser.add_argument("--mainstay", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-host", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.turns, options.runs) < 1 or not 32 <= options.bytes <= 1_000_000:
        parser.error("at least one turn and one run, and from 32 to 1,000,000 bytes a message")

    floor = sync_floor(options.folder)
    columns = list(gather(options, options.folder))
    print()
    for line in table(columns, options.turns, 2 * options.bytes * options.turns):
        print(line)
    langgraph, reserve = columns[0][3], max(report["reserve"] for *_, report in columns)
    versions = ", ".join(f"{name} {version}" for name, version in langgraph["versions"].items())
    print()
    print(f"{versions}, Python {langgraph['python']}, its SQLite {langgraph['sqlite']}; {datetime.date.today()}")
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    print(f"{machine}; appending and syncing 24 KiB takes {ms(floor)} here (median)")
    if reserve:
        print(f"Mainstay's folder also holds {mb(reserve)} back for a full disk, once for all sessions: not counted.")
    if langgraph["synchronous"] not in ("FULL", "EXTRA"):
        print("As it comes, this Python's SQLite does not sync each transaction: a power cut can lose ended turns.")
    (options.folder / "summary.json").write_text(json.dumps({name: report for name, _, _, report in columns}, indent=1))


if __name__ == "__main__":
    main()
