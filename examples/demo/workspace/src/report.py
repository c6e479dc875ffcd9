"""Prints the weekly list."""

import sys

import stock


def lines(rows):
    """One line an origin; what has run low is marked."""
    short = {row["origin"] for row in stock.low(rows)}
    for row in rows:
        # TODO: columns break with origins longer than 20 letters
        mark = "order!" if row["origin"] in short else ""
        yield f"{row['origin']:<20} {row['kg_left']:>5} kg  {mark}"


if __name__ == "__main__":
    # TODO: a missing file should give one sentence, not a stack trace
    print("\n".join(lines(stock.load(sys.argv[1]))))
