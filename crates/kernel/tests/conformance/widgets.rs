//! Widgets of kernels that have comms: their state, and output that a widget captures.
//!
//! The cells speak the protocol of ipywidgets, so that it need not be installed.

use inkcell_kernel::ExecEvent;
use serde_json::{Value, json};

use crate::bench::{Bench, Ran, Start};

/// The parts of `Output` that talk to a frontend.
const OUTPUT: &str = r#"
import sys
from comm import create_comm
from IPython.display import clear_output

class Output:
    def __init__(self):
        state = {'_model_name': 'OutputModel', '_model_module': '@jupyter-widgets/output',
                 '_model_module_version': '1.0.0', 'outputs': [], 'msg_id': ''}
        self.comm = create_comm(target_name='jupyter.widget', data={'state': state, 'buffer_paths': []})
        self.comm.on_msg(self.told)
    def told(self, message):
        self.outputs = message['content']['data']['state']['outputs']
    def send(self, **state):
        self.comm.send({'method': 'update', 'state': state, 'buffer_paths': []})
    def flush(self):
        sys.stdout.flush()
        sys.stderr.flush()
    def __enter__(self):
        self.flush()
        self.send(msg_id=get_ipython().kernel.get_parent()['header']['msg_id'])
    def __exit__(self, *error):
        if error[0] is not None:
            get_ipython().showtraceback(error, tb_offset=0)
        self.flush()
        self.send(msg_id='')
        return True
"#;

/// The states of the reported widgets, in the order of their ids.
fn states(ran: &Ran) -> Vec<Value> {
    let told = ran.events.iter().find_map(|event| match event {
        ExecEvent::Widgets(states) => Some(states),
        _ => None,
    });
    let models = told.expect("widgets").0.values();
    models.map(|model| serde_json::from_str(model).expect("JSON")).collect()
}

/// Issue 21, 15: output inside of an `Output` does not belong to the cell, and clearing it does not clear the cell.
async fn an_output_captures_what_is_written_inside(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run(OUTPUT).await.ok();
    let code = "out = Output()\nprint('before')\n\
                with out:\n    print('lost')\n    clear_output()\n    print('in'); print('side')\n    display('shown')\n    1 / 0\n\
                print('after')\n'result'";
    let ran = bench.run(code).await.ok();
    assert_eq!((ran.stdout().as_str(), ran.order().len()), ("before\nafter\n", 2));
    assert!(!ran.events.iter().any(|event| matches!(event, ExecEvent::ClearOutput { .. })));
    let [widget] = &states(&ran)[..] else { panic!("{:?}", ran.events) };
    let outputs = widget["state"]["outputs"].as_array().expect("outputs");
    let stream = json!({"output_type": "stream", "name": "stdout", "text": "in\nside\n"});
    assert_eq!(outputs[0], stream);
    assert_eq!(outputs[1]["data"], json!({"text/plain": "'shown'"}));
    assert_eq!((&outputs[2]["ename"], outputs.len()), (&json!("ZeroDivisionError"), 3));
    // The kernel has the outputs too.
    assert_eq!(bench.value("len(out.outputs)").await, "3");
    let ran = bench.run("with out:\n    clear_output(wait=True)\n    print('new')").await.ok();
    assert_eq!(states(&ran)[0]["state"]["outputs"][0]["text"], "new\n");
}

/// Issue 21, 13: the state of widgets arrives in the form of a notebook, after each change.
async fn the_state_of_widgets_is_told(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "from comm import create_comm\nstate = {'_model_name': 'ImageModel', '_model_module': 'm', 'width': '1'}\n\
                c = create_comm(target_name='jupyter.widget', data={'state': state, 'buffer_paths': [['value']]}, \
                buffers=[b'png'])\nc.send({'method': 'update', 'state': {'width': '2'}, 'buffer_paths': []})";
    let ran = bench.run(code).await.ok();
    let wanted = json!({
        "buffers": [{"data": "cG5n", "encoding": "base64", "path": ["value"]}],
        "model_name": "ImageModel", "model_module": "m", "model_module_version": null,
        "state": {"_model_name": "ImageModel", "_model_module": "m", "width": "2"},
    });
    assert_eq!(states(&ran), [wanted]);
    let is_told = |ran: &Ran| ran.events.iter().any(|it| matches!(it, ExecEvent::Widgets(_)));
    assert!(!is_told(&bench.run("1").await.ok()), "nothing has changed");
    let ran = bench.run("c.close()").await.ok();
    assert_eq!(states(&ran), [] as [Value; 0]);
}

crate::on_gateways!(an_output_captures_what_is_written_inside, the_state_of_widgets_is_told);

crate::on_ipc!(an_output_captures_what_is_written_inside, the_state_of_widgets_is_told);
