//! Code for the gremlin to run: code that agents write, good and bad.
//!
//! All of it stays in its folder, ends by itself or can be ended, and starts no process that hides from the
//! gremlin's mark in its environment.

use super::dice::Dice;

/// Picks Python code. A print in it begins with the canary, unless it may appear after the end of its own call.
pub(crate) fn any(dice: &mut Dice, canary: &str) -> String {
    let said = format!("print('{canary}')\n");
    let rest = match dice.below(28) {
        0..4 => "x = 41\nx + 1".to_owned(),
        4 => format!("import time\ntime.sleep({})", dice.below(15) as f64 / 10.0),
        5 => "while True: pass".to_owned(),
        6 => "1 / 0".to_owned(),
        7 => "def f(): f()\nf()".to_owned(),
        8 => format!("for n in range({}): print('{canary}', n)", 10 + dice.below(60_000)),
        9 => format!("print('y' * {})", 1 + dice.below(3_000_000)),
        10 => "import os\nos._exit(3)".to_owned(),
        11 => "exit()".to_owned(),
        12 => "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)".to_owned(),
        13 => "import os\nif os.fork() == 0:\n    import time\n    time.sleep(1)\n    os._exit(0)"
            .to_owned(),
        14 => "import threading, time\nfor _ in range(5):\n    \
               threading.Thread(target=time.sleep, args=(1,), daemon=True).start()"
            .to_owned(),
        15 => "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(30)"
            .to_owned(),
        16 => "import subprocess\nsubprocess.Popen(['sleep', '30'], start_new_session=True)"
            .to_owned(),
        17 => "import os\nos.closerange(0, 64)".to_owned(),
        18 => "import sys\nsys.stdout = None\nsys.stderr = None".to_owned(),
        19 => "import os\nos.write(1, bytes(range(256)) * 50)".to_owned(),
        20 => "print('\\x1b]0;title\\x07\\x1b[31mred\\x1b[2J', '\\r', 'a\\b' * 1000)".to_owned(),
        21 => "input('name? ')".to_owned(),
        22 => "this is not python (".to_owned(),
        23 => "data = bytearray(30_000_000)\nlen(data)".to_owned(),
        24 => "from IPython.display import display\ndisplay({'a': 1})".to_owned(),
        25 => "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)".to_owned(),
        26 => "globals().clear()".to_owned(),
        _ => "import asyncio\nawait asyncio.sleep(0.3)".to_owned(),
    };
    said + &rest
}

/// Picks shell code that prints the canary.
pub(crate) fn shell(dice: &mut Dice, canary: &str) -> String {
    let rest = match dice.below(6) {
        0 => "sleep 5",
        1 => "sleep 30 &",
        2 => "exit 7",
        3 => "seq 1 20000",
        4 => "kill -9 $$",
        _ => "no_such_command_at_all",
    };
    format!("echo {canary}; {rest}")
}
