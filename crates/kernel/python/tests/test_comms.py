"""Widgets in the runner: their messages go to the host, and `Output` captures the output of its block.

The cells send the messages of ipywidgets themselves, so that it need not be installed.
"""

import pytest

pytest.importorskip("comm")

OUTPUT = '''
import sys
from comm import create_comm
from IPython.display import clear_output, display

class Output:
    outputs = None
    def __init__(self):
        state = {"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output", "outputs": [], "msg_id": ""}
        self.comm = create_comm(target_name="jupyter.widget", data={"state": state, "buffer_paths": []})
        self.comm.on_msg(self.told)
    def told(self, message):
        self.outputs = message["content"]["data"]["state"]["outputs"]
    def send(self, **state):
        self.comm.send({"method": "update", "state": state, "buffer_paths": []})
    def __enter__(self):
        self.send(msg_id=get_ipython().kernel.get_parent()["header"]["msg_id"])
    def __exit__(self, *error):
        self.send(msg_id="")
'''


def comms(events):
    """The messages of the widgets: the type of each message and its content."""
    return [(event[2]["name"], event[1]["content"]) for event in events if event[0] == "comm" and len(event) == 3]


def shown(events):
    return b"".join(event[2] for event in events if event[0] in ("stream", "fd")).decode()


def test_what_widgets_say_is_passed_on(host):
    events = host.run(
        "from comm import create_comm\n"
        "c = create_comm(target_name='jupyter.widget', data={'state': {'n': 1}, 'buffer_paths': [['b']]}, buffers=[b'ab'])\n"
        "c.send({'method': 'update', 'state': {'n': 2}})\nc.close()"
    )
    said = comms(events)
    assert [kind for kind, _ in said] == ["comm_open", "comm_msg", "comm_close"]
    assert said[0][1]["target_name"] == "jupyter.widget" and said[0][1]["data"]["state"] == {"n": 1}
    assert said[1][1]["data"] == {"method": "update", "state": {"n": 2}}
    assert len({content["comm_id"] for _, content in said}) == 1
    buffers = [event[1]["buffer"] for event in events if event[0] == "comm" and "buffer" in event[1]]
    assert buffers == [b"ab"]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("float('nan')", "nan"),
        ("[1, -float('inf')]", [1, "-inf"]),
        ("{'a': (float('nan'), b'ab', {3})}", {"a": ["nan", "YWI=", [3]]}),
        ("datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)", "2020-01-02T00:00:00Z"),
        ("datetime.date(2020, 1, 2)", "2020-01-02"),
        ("{7}", [7]),
        ("range(2)", [0, 1]),
        ("b'ab'", "YWI="),
        ("fractions.Fraction(1, 2)", 0.5),
        ("{2: 3.5}", {"2": 3.5}),
    ],
)
def test_state_is_stored_as_jupyter_stores_it(host, value, stored):
    """Issue 21, 13."""
    events = host.run(
        "import datetime, fractions\nfrom comm import create_comm\n"
        f"c = create_comm(target_name='jupyter.widget', data={{'state': {{'v': {value}}}}})"
    )
    ((_, content),) = comms(events)
    assert content["data"]["state"] == {"v": stored}


def test_state_that_json_cannot_hold_is_an_error(host):
    """Issue 21, 13."""
    events = host.run(
        "from comm import create_comm\ncreate_comm(target_name='jupyter.widget', data={'state': {'v': 1j}})"
    )
    (error,) = [event[1] for event in events if event[0] == "error"]
    assert error["ename"] == "ValueError" and "1j" in error["evalue"]
    assert comms(events) == []


def test_an_output_captures_what_is_written_inside(host):
    host.run(OUTPUT)
    events = host.run(
        "out = Output()\nprint('before')\n"
        "with out:\n    print('lost')\n    clear_output()\n    print('in'); print('side')\n    display('shown')\n"
        "print('after')"
    )
    assert shown(events) == "before\nafter\n"
    assert not any(event[0] in ("display", "clear") for event in events)
    outputs = comms(events)[-1][1]["data"]["state"]["outputs"]
    assert outputs == [
        {"output_type": "stream", "name": "stdout", "text": "in\nside\n"},
        {"output_type": "display_data", "data": {"text/plain": "'shown'"}, "metadata": {}},
    ]
    # The widget has the outputs too.
    assert host.text("print(len(out.outputs))") == "2\n"
    events = host.run("with out:\n    clear_output(wait=True)\n    print('new')")
    assert comms(events)[-1][1]["data"]["state"]["outputs"][0]["text"] == "new\n"


def test_an_update_inside_changes_what_was_displayed_before(host):
    host.run(OUTPUT)
    host.run("out = Output()\nd = display('old', display_id='x')")
    events = host.run("with out:\n    d.update('new')")
    assert [(event[2]["display_id"], event[2].get("update")) for event in events if event[0] == "display"] == [("x", True)]


def test_a_cell_that_fails_inside_leaves_nothing_behind(host):
    host.run(OUTPUT)
    events = host.run("out = Output()\nwith out:\n    print('in')\n    1 / 0")
    assert events[-1][1]["status"] == "error" and shown(events) == ""
    assert host.text("print('next')") == "next\n"


def test_a_capture_ends_with_its_cell(host):
    host.run(OUTPUT)
    host.run("out = Output()\nout.__enter__()\nprint('in')")
    assert host.text("print('next')") == "next\n"
    assert host.text("print(out.outputs[0]['text'])") == "in\n\n"
    host.run("out.__enter__()")
    assert host.text("out.__exit__()\nprint('sound')") == "sound\n"


def test_a_module_of_the_user_that_has_the_name_is_left_alone(tmp_path):
    from host import Host

    (tmp_path / "comm.py").write_text("value = 5\n")
    one = Host(cwd=str(tmp_path))
    try:
        assert one.text("import comm\nprint(comm.value)") == "5\n"
    finally:
        one.close()
