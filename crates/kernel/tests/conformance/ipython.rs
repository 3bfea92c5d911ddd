//! Kernels whose cells run in the interpreter's own IPython: their features beyond the tiers.
//!
//! The tiers themselves also run on them, by `on_every_shell!`.

use std::process::Command;

use inkcell_kernel::{ExecEvent, LaunchError, MimeData, Outcome};
use inkcell_testkit::need::skip;
use inkcell_testkit::wait::until_async;

use crate::bench::{Bench, Start};

const STARTS: [Start; 2] = [Start::IPython, Start::ForkedIPython];

/// The starts that the test Python supports.
fn starts(test: &str) -> impl Iterator<Item = Start> {
    STARTS.into_iter().filter(move |start| start.is_possible(test))
}

/// B:R-40: every magic is IPython's own, and its output arrives as from any other kernel.
async fn magics_are_ipythons_own() {
    for start in starts("magics_are_ipythons_own") {
        let mut bench = Bench::start(start).await;
        let real = "import IPython\nisinstance(get_ipython(), \
                    IPython.core.interactiveshell.InteractiveShell)";
        assert_eq!(bench.value(real).await, "True");
        let ran = bench.run("%%bash\necho one\necho two >&2").await.ok();
        assert_eq!((ran.stdout(), ran.stderr()), ("one\n".into(), "two\n".into()));
        let ran = bench.run("print('first', end='')\n!echo second").await.ok();
        assert_eq!(ran.stdout().trim_end(), "firstsecond");
        bench.run("%alias_magic -l repeat timeit").await.ok();
        assert!(bench.run("%repeat -n1 -r1 1").await.ok().stdout().contains("1 loop each"));
        assert_eq!(bench.run("%nothing").await.error().name, "UsageError");
    }
}

/// Copies of one server share nothing, and write nothing to the home folder.
async fn copies_are_independent_and_write_nothing_at_home() {
    for start in starts("copies_are_independent_and_write_nothing_at_home") {
        let mut bench = Bench::empty(start);
        let home = bench.cwd().to_owned();
        bench.spec.env.insert("HOME".to_owned(), home.display().to_string());
        bench.begin(start).await;
        bench.run("import random, os\nx = 1").await.ok();
        let one = bench.value("(random.random(), os.getpid())").await;
        bench.relaunch().await;
        assert_eq!(bench.run("x").await.error().name, "NameError");
        let other = bench.value("import random, os\n(random.random(), os.getpid())").await;
        assert_ne!(one, other, "copies must not draw the same numbers");
        assert_eq!(bench.value("In[1], len(In)").await, "('x', 4)");
        let left: Vec<_> = std::fs::read_dir(&home).expect("the folder").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Figures appear after the cell even if matplotlib was imported before the fork.
async fn figures_show_with_a_preloaded_matplotlib() {
    for start in starts("figures_show_with_a_preloaded_matplotlib") {
        let mut bench = Bench::empty(start);
        bench.spec.startup.preload = vec!["matplotlib.pyplot".to_owned()];
        bench.begin(start).await;
        let ran = bench.run("import matplotlib_inline, matplotlib.pyplot as plt").await;
        if ran.outcome() != &Outcome::Ok && ran.error().name == "ModuleNotFoundError" {
            skip("figures_show_with_a_preloaded_matplotlib", "the test Python has no matplotlib");
            return;
        }
        let ran = bench.run("plt.plot([1, 2]);\nprint('drawn')").await.ok();
        let shown = ran.events.iter().filter_map(|event| match event {
            ExecEvent::Display { data, .. } => data.get("image/png"),
            _ => None,
        });
        let shown: Vec<_> = shown.collect();
        assert!(matches!(shown[..], [MimeData::Binary(_)]), "{start:?}: {:?}", ran.events);
    }
}

/// Without IPython in the Python, the error names the setting and the remedy, for every start.
async fn a_python_without_ipython_says_what_to_do() {
    for start in STARTS {
        let bench = Bench::empty(start);
        let bare = bench.cwd().join("bare");
        let mut venv = Command::new(&bench.spec.python);
        venv.args(["-I", "-m", "venv", "--without-pip"]).arg(&bare);
        assert!(venv.status().expect("the test Python").success());
        let mut spec = bench.spec.clone();
        spec.python = bare.join("bin/python");
        // The second kernel comes from the fork server, if the server is ready by then.
        for _ in 0..2 {
            match bench.launch(&spec).await {
                Err(LaunchError::Startup { reason }) => {
                    let wanted = format!(
                        "python.shell is ipython, but IPython is not installed in {}: install it \
                         there, or set python.shell = lite",
                        spec.python.display()
                    );
                    assert_eq!(reason, wanted);
                }
                Err(other) => panic!("{start:?}: {other}"),
                Ok(_) => panic!("{start:?}: a kernel"),
            }
            bench.settle(start).await;
        }
        no_children_of_servers(&bench).await;
    }
}

/// Waits until the fork servers have reaped all copies that ended.
async fn no_children_of_servers(bench: &Bench) {
    for (_, pid, _) in bench.backend.fork_servers().await {
        let children = format!("/proc/{pid}/task/{pid}/children");
        until_async("the end of all copies", async || {
            std::fs::read_to_string(&children).expect("a server").trim().is_empty()
        })
        .await;
    }
}

crate::alone!(
    magics_are_ipythons_own,
    copies_are_independent_and_write_nothing_at_home,
    figures_show_with_a_preloaded_matplotlib,
    a_python_without_ipython_says_what_to_do,
);
