"""One session of LangGraph on its SQLite checkpointer: turns, or the resume of what earlier turns left.

A turn is one `invoke` of a graph with one node: a message of the person comes in, the node answers with one. The state is
the list of messages with the `add_messages` reducer, as in LangGraph's own guides. Prints a line of JSON. Nothing here
uses the network.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import sqlite3
import sys
import time
from typing import Annotated, TypedDict

# No tracing, whatever the environment says: it would use the network.
for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[name] = "false"

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

THREAD = {"configurable": {"thread_id": "compare"}}
DATABASE = "checkpoints.sqlite"

# How the saver is used: SQLite's `synchronous` (None: as it comes), LangGraph's `durability`, and the kind of channel.
VARIANTS = {
    "default": (None, None, "add_messages"),
    "sync": ("FULL", "sync", "add_messages"),
    "exit": ("FULL", "exit", "add_messages"),
    "delta": ("FULL", "sync", "delta"),
}


class CountingConnection(sqlite3.Connection):
    """Counts the transactions that are committed."""

    commits = 0

    def commit(self):
        open_transaction = self.in_transaction
        super().commit()
        self.commits += open_transaction


def text(role, turn, size):
    """The same text as on the other side: unlike any other of the session."""
    return f"{role} {turn:06d} ".ljust(size, "x")


def state_type(channel):
    if channel == "add_messages":
        return TypedDict("State", {"messages": Annotated[list, add_messages]})
    from langgraph.channels.delta import DeltaChannel
    from langgraph.graph.message import _messages_delta_reducer

    return TypedDict("State", {"messages": Annotated[list, DeltaChannel(_messages_delta_reducer)]})


def open_graph(folder, variant, size):
    synchronous, _, channel = VARIANTS[variant]
    connection = sqlite3.connect(folder / DATABASE, check_same_thread=False, factory=CountingConnection)
    if synchronous:
        connection.execute(f"PRAGMA synchronous={synchronous}")
    saver = SqliteSaver(connection)

    def answer(state):
        turn = len(state["messages"]) // 2
        return {"messages": [AIMessage(text("answer", turn, size), id=f"answer-{turn}")]}

    graph = StateGraph(state_type(channel))
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return connection, graph.compile(checkpointer=saver)


def written():
    """Bytes that this process had the kernel write to disk; none where it does not say."""
    try:
        lines = pathlib.Path("/proc/self/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["write_bytes"])
    except (OSError, KeyError, ValueError):
        return None


def on_disk(folder):
    """Database and log; the shared index of the log is left out: it is memory."""
    return sum(file.stat().st_size for file in folder.iterdir() if not file.name.endswith("-shm"))


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def write(folder, variant, turns, size):
    connection, graph = open_graph(folder, variant, size)
    durability = VARIANTS[variant][1]
    options = {"durability": durability} if durability else {}
    seconds = []
    connection.commits, written_before = 0, written()
    for turn in range(turns):
        message = HumanMessage(text("question", turn, size), id=f"question-{turn}")
        began = time.perf_counter()
        graph.invoke({"messages": [message]}, THREAD, **options)
        seconds.append(time.perf_counter() - began)
    written_after = written()
    report = {
        "turn_seconds": seconds,
        "commits": connection.commits,
        "written": None if written_before is None else written_after - written_before,
        "disk_open": on_disk(folder),
        "journal_mode": pragma(connection, "journal_mode"),
        "synchronous": ("OFF", "NORMAL", "FULL", "EXTRA")[pragma(connection, "synchronous")],
        "sqlite": sqlite3.sqlite_version,
        "versions": {name: importlib.metadata.version(name) for name in ("langgraph", "langgraph-checkpoint-sqlite")},
        "python": sys.version.split()[0],
    }
    connection.close()
    return report


def resume(folder, variant, turns, size):
    began = time.perf_counter()
    connection, graph = open_graph(folder, variant, size)
    messages = graph.get_state(THREAD).values["messages"]
    found = [message.content for message in messages]
    seconds = time.perf_counter() - began
    expected = [text(role, turn, size) for turn in range(turns) for role in ("question", "answer")]
    if found != expected:
        sys.exit(f"error: {folder.name}: {len(found)} messages, not the {len(expected)} that were written")
    connection.close()
    return {"resume_seconds": seconds, "messages": len(found)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "resume"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--variant", choices=VARIANTS, default="default")
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--bytes", type=int, default=1024, help="bytes of a message; a turn has two")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    run = {"write": write, "resume": resume}[given.what]
    print(json.dumps(run(given.folder, given.variant, given.turns, given.bytes)))


if __name__ == "__main__":
    main()
