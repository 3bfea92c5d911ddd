"""The files that the tasks begin with: the same on every machine.

Owns their content, and how a notebook is checked at the end of a task.
"""

import json
import os
import random
import subprocess
from datetime import date, timedelta

import nbformat

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "version": "3.11.0"},
}

PROSE = (
    "The figures come from the export of last night. Rows without an amount are left out, because the shop writes them "
    "for orders that were taken back. See the first section for the columns and their units."
)


def write(path, cells):
    """Writes a notebook that was never run, from sources, or from pairs of a type and a source."""
    notebook = {"cells": [], "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    for index, cell in enumerate(cells):
        kind, source = ("code", cell) if isinstance(cell, str) else cell
        made = {"cell_type": kind, "id": f"{index:03d}f00d", "metadata": {}, "source": source.splitlines(keepends=True)}
        if kind == "code":
            made |= {"execution_count": None, "outputs": []}
        notebook["cells"].append(made)
    with open(path, "w") as file:
        json.dump(notebook, file, indent=1)
        file.write("\n")


def read(path):
    """A notebook that must be valid."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def printed(cell):
    """The text of a cell's streams."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def inkcell(*arguments):
    """What a command prints, as a person at a shell gives it."""
    done = subprocess.run([os.environ["BENCH_INKCELL"], *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"inkcell {arguments}: {done.stderr}"
    return done.stdout


def write_sales(path, rows):
    """A table with a missing or a negative amount now and then."""
    dice, first = random.Random(1), date(2022, 1, 1)
    regions = ["north", "south", "east", "west"]
    with open(path, "w") as file:
        file.write("day,region,product,amount\n")
        for row in range(rows):
            amount = "" if row % 50 == 7 else f"{dice.uniform(-5, 200):.2f}"
            day = first + timedelta(days=row % 900)
            file.write(f"{day},{regions[row % 4]},p{row % 23:02d},{amount}\n")


# Cells 0 to 2 of an analysis; steps of five cells follow.
HEAD = [
    ("markdown", f"# Orders\n\n{PROSE}"),
    "import uuid\nimport pandas as pd",
    "threshold = 10\nlimit = 5",
]


def step(number):
    """Five cells. Every third step uses the threshold; all others must stay as they are when it changes."""
    least = "threshold" if number % 3 == 0 else "4"
    n = f"{number:02d}"
    return [
        ("markdown", f"## Step {number}\n\n{PROSE}\n\n- rows: orders of region {number % 7}\n- unit: EUR"),
        f"orders_{n} = pd.DataFrame({{\n    'order': range(40),\n"
        f"    'amount': [(row * {number + 3}) % 29 for row in range(40)],\n"
        f"    'shop': ['s%d' % (row % 4) for row in range(40)],\n}})\nprint('loaded', uuid.uuid4())",
        f"large_{n} = orders_{n}[orders_{n}['amount'] > {least}]\n"
        f"print(len(large_{n}), 'of', len(orders_{n}), 'orders')\n"
        f"for shop, rows in large_{n}.groupby('shop'):\n    print(shop, rows['amount'].sum())",
        f"def totals_{n}(rows, by='shop'):\n    \"\"\"Count, sum and mean of the amounts.\"\"\"\n"
        f"    return rows.groupby(by)['amount'].agg(['count', 'sum', 'mean']).round(2)",
        f"summary_{n} = totals_{n}(large_{n})\nsummary_{n}",
    ]


def write_analysis(path, cells):
    """A notebook of this many cells, which inkcell has run."""
    made, number = list(HEAD), 0
    while len(made) + 5 <= cells:
        made += step(number)
        number += 1
    write(path, made)
    inkcell("run", "--quiet", path)
    return number
