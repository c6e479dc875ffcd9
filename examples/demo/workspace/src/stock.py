"""Reads the stock list and finds what has run low."""

import csv


def load(path):
    """All lines of the list, with numbers as numbers."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        # TODO: say which line is wrong when a number has a comma in it
        row["kg_left"] = int(row["kg_left"])
        row["reorder_at"] = int(row["reorder_at"])
    return rows


def low(rows):
    """What is below its reorder level, the emptiest first."""
    found = [row for row in rows if row["kg_left"] < row["reorder_at"]]
    return sorted(found, key=lambda row: row["kg_left"] / row["reorder_at"])
