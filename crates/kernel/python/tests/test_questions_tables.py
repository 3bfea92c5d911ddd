"""Tables as data, from plain Python, pandas, NumPy, polars and pyarrow."""

import pytest
from test_questions import SPY, fresh, run, shell  # noqa: F401


def test_records_and_columns_of_plain_python(fresh):
    run(fresh, "records = [{'a': i, 'b': 'x' * i, 'c': None} for i in range(4)]")
    run(fresh, "columns = {'x': [1, 2.5, None], 'y': ['a', 'b', 'a']}")
    table = fresh.table("records")
    assert (table["type"], table["rows"], table["width"]) == ("list of dict", 4, 3)
    assert table["columns"] == [
        {"name": "a", "dtype": "int", "nulls": 0, "min": "0", "max": "3", "lengths": None, "distinct": 4},
        {"name": "b", "dtype": "str", "nulls": 0, "min": None, "max": None, "lengths": [0, 3], "distinct": 4},
        {"name": "c", "dtype": "null", "nulls": 4, "min": None, "max": None, "lengths": None, "distinct": 0},
    ]
    assert table["head"][1] == ["1", "x", "None"]
    table = fresh.table("columns")
    assert [(one["dtype"], one["nulls"], one["max"], one["distinct"]) for one in table["columns"]] == [
        ("int | float", 1, "2.5", 2), ("str", 0, None, 2),
    ]
    run(fresh, "many = [{'a': i} for i in range(400_001)]")
    table = fresh.table("many")
    assert (table["rows"], table["sampled"], table["columns"][0]["min"]) == (400_001, 133_334, "0")
    assert fresh.ask("table", name="many[0]['a']").startswith("many[0]['a'] is no table: its type is int.")


def test_a_data_frame(fresh):
    pytest.importorskip("pandas")
    run(fresh, SPY)
    run(
        fresh,
        "import pandas as pd\n"
        "df = pd.DataFrame({'n': [1, 2, None], 's': ['a', 'bcd', None], 't': pd.date_range('2024', periods=3),\n"
        "  'c': pd.Categorical(['u', 'v', 'u']), 'o': [spy, 1, None]}, index=pd.Index([5, 6, 7], name='i'))\n"
        "wide = pd.DataFrame([range(150)]); twice = pd.DataFrame([[1, 2]], columns=['a', 'a'])\nran.clear()",
    )
    table = fresh.table("df")
    assert (table["type"], table["rows"], table["width"], table["complete"]) == ("pandas.DataFrame", 3, 5, True)
    figures = {one.pop("name"): one for one in table["columns"]}
    assert figures["n"] == {"dtype": "float64", "nulls": 1, "min": "1.0", "max": "2.0", "lengths": None, "distinct": 2}
    assert (figures["s"]["nulls"], figures["s"]["lengths"], figures["s"]["distinct"]) == (1, [1, 3], 2)
    assert (figures["t"]["min"], figures["t"]["max"]) == ("2024-01-01 00:00:00", "2024-01-03 00:00:00")
    assert (figures["c"]["dtype"], figures["c"]["distinct"]) == ("category", 2)
    assert (figures["o"]["dtype"], figures["o"]["nulls"], figures["o"]["distinct"]) == ("object", 1, None)
    assert table["index"] == {"name": "i", "dtype": "int64", "head": ["5", "6", "7"]}
    assert table["head"][0] == ["1.0", "a", "2024-01-01 00:00:00", "u", "<Spy object: inner>"]
    row = fresh.variables()["df"]
    assert (row["kind"], row["shape"], row["preview"]) == ("table", [3, 5], "3 rows × 5 columns: n, s, t, c, o")
    assert row["bytes"] == table["bytes"] > 0
    assert fresh.table("df.n")["columns"][0]["nulls"] == fresh.table("df['n']")["columns"][0]["nulls"] == 1
    assert (fresh.table("wide")["width"], len(fresh.table("wide")["columns"])) == (150, 100)
    assert [one["max"] for one in fresh.table("twice")["columns"]] == ["1", "2"]
    assert fresh.complete("df['n") == ["df['n"]
    assert fresh.text("print(ran)") == "[]\n"


def test_arrays(fresh):
    pytest.importorskip("numpy")
    run(
        fresh,
        "import numpy as np\nnp.set_printoptions(threshold=10**9)\n"
        "a = np.arange(12.0).reshape(3, 4); a[0, 0] = np.nan\n"
        "big = np.zeros((3_000_000, 4), dtype='i1'); cube = np.zeros((2, 2, 2)); one = np.float32(1.5)\n"
        "named = np.array([(1, 'x'), (2, 'yy')], dtype=[('i', int), ('s', 'U3')])\n"
        "days = np.array(['2024-01-01', 'NaT'], 'M8[D]')",
    )
    rows = fresh.variables()
    assert (rows["a"]["kind"], rows["a"]["shape"], rows["a"]["bytes"]) == ("array", [3, 4], 96)
    assert (rows["one"]["kind"], rows["one"]["preview"]) == ("scalar", "1.5")
    assert rows["big"]["preview"].startswith("[0, 0, 0")
    assert len(fresh.ask("variable", name="big")["preview"]) < 500
    assert fresh.ask("variable", name="a")["dtype"] == "float64"
    first = fresh.table("a")["columns"][0]
    assert (first["nulls"], first["min"], first["max"], first["distinct"]) == (1, "4.0", "8.0", 2)
    assert fresh.table("big")["sampled"] == 250_000
    assert [one["name"] for one in fresh.table("named")["columns"]] == ["i", "s"]
    assert fresh.table("named")["columns"][1]["lengths"] == [1, 2]
    assert fresh.table("days")["columns"][0]["nulls"] == 1
    assert "it has 3 dimensions" in fresh.ask("table", name="cube")
    assert fresh.table("cube[0]")["rows"] == 2


@pytest.mark.parametrize(
    ("library", "made"),
    [("polars", "polars.DataFrame(columns)"), ("pyarrow", "pyarrow.table(columns)\nimport pyarrow.compute")],
)
def test_frames_of_other_libraries(fresh, library, made):
    pytest.importorskip(library)
    run(fresh, "import %s\ncolumns = {'a': [1, 2, None], 'b': ['x', 'yyy', None]}\nframe = %s" % (library, made))
    table = fresh.table("frame")
    assert (table["rows"], table["width"]) == (3, 2)
    first, second = table["columns"]
    assert (first["nulls"], first["min"], first["max"], first["distinct"]) == (1, "1", "2", 2)
    assert (second["nulls"], second["lengths"], second["distinct"]) == (1, [1, 3], 2)
    assert table["head"] == [["1", "x"], ["2", "yyy"], ["None", "None"]]
    assert fresh.variables()["frame"]["preview"] == "3 rows × 2 columns: a, b"
