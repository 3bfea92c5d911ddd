//! Stale cells: which they are after runs on real kernels, and runs of the needed cells.

use inkcell_engine::api::{
    CellChoice, CellKernel, OnError, PythonReport, RunRequest, Stamps, State,
};
use inkcell_engine::{Because, Freshness, LastRuns, StaleReason, outlined, read_with_runs};
use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::runs::{Rig, states};

fn stale(rig: &Rig) -> RunRequest {
    RunRequest { cells: CellChoice::stale(), ..rig.request() }
}

/// The freshness of the cells, in the order of the file.
fn marks(rig: &Rig) -> Vec<Freshness> {
    marks_if(rig, |runs| runs)
}

fn marks_if(rig: &Rig, change: impl FnOnce(LastRuns) -> LastRuns) -> Vec<Freshness> {
    let read = read_with_runs(&rig.files.notebooks, "a.ipynb");
    let (opened, runs) = read.expect("the notebook");
    let cells: Vec<usize> = (0..opened.notebook.len()).collect();
    outlined(&opened, &cells, &change(runs)).into_iter().filter_map(|(_, mark)| mark).collect()
}

pub(crate) fn edit(rig: &Rig, change: impl FnOnce(&mut Vec<Value>)) {
    let mut file = rig.file("a.ipynb");
    change(file["cells"].as_array_mut().expect("cells"));
    std::fs::write(rig.desk.dir.path().join("a.ipynb"), pretty(&file)).expect("a file");
}

pub(crate) fn set(rig: &Rig, cell: usize, source: &str) {
    edit(rig, |cells| cells[cell]["source"] = source.into());
}

/// The cells that ran, by position, each with the reason.
pub(crate) fn ran(report: &PythonReport) -> Vec<(usize, StaleReason)> {
    let cells = report.cells.iter().filter(|cell| !cell.is_left_out());
    let cells = cells.filter_map(|cell| cell.notebook.as_ref());
    cells.map(|cell| (cell.index, cell.why.clone().expect("a reason"))).collect()
}

fn places(report: &PythonReport) -> Vec<usize> {
    ran(report).into_iter().map(|(index, _)| index).collect()
}

fn because(name: &str, cell: usize) -> Because {
    Because::Name { name: name.to_owned(), cell: Some(cell) }
}

fn changed() -> StaleReason {
    StaleReason::Marked(Freshness::Changed)
}

fn stale_for(name: &str, cell: usize) -> StaleReason {
    StaleReason::Marked(Freshness::Stale(because(name, cell)))
}

/// A change affects the cell and its dependents; those run, in order, in the existing kernel.
#[tokio::test]
async fn stale_cells_run_and_say_why() {
    let rig = Rig::new();
    rig.code(&["x = 1", "def f(): return x + 1", "z = 5", "y = f()\ny", "z", "y + z"]);
    assert_eq!(marks(&rig), vec![Freshness::NeverRun; 6]);
    let report = rig.run(rig.request()).await;
    assert_eq!(report.state, State::Done);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 6]);
    set(&rig, 0, "x = 10");
    let of = |name, cell| Freshness::Stale(because(name, cell));
    let fresh = || Freshness::Fresh;
    let wanted = [Freshness::Changed, fresh(), fresh(), of("x", 0), fresh(), of("y", 3)];
    assert_eq!(marks(&rig), wanted);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(report.state, State::Done);
    let wanted = [(0, changed()), (3, stale_for("x", 0)), (5, stale_for("y", 3))];
    assert_eq!(ran(&report), wanted);
    assert_eq!(report.notebook.expect("a notebook").fresh, [1, 2, 4]);
    assert_eq!((rig.shown(3), rig.shown(5)), (vec!["11".to_owned()], vec!["16".to_owned()]));
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 6]);
    // No cell needs to run, and the file stays unchanged.
    let before = rig.file("a.ipynb");
    let report = rig.run(stale(&rig)).await;
    assert_eq!((report.state, ran(&report)), (State::Done, Vec::new()));
    assert_eq!(rig.file("a.ipynb"), before);
}

/// A new kernel needs the cells that make the names, and no others. They yield the same values, so no other cell
/// becomes stale.
#[tokio::test]
async fn a_new_kernel_needs_what_makes_the_names() {
    let rig = Rig::new();
    rig.code(&["import math", "a = 2", "big = 'never'", "b = math.sqrt(a)", "big", "round(b, 2)"]);
    rig.run(rig.request()).await;
    set(&rig, 5, "round(b, 1)");
    let fresh = |request| RunRequest { kernel: CellKernel::Fresh, ..request };
    let report = rig.run(fresh(stale(&rig))).await;
    assert_eq!(places(&report), [0, 1, 3, 5], "{:?}", ran(&report));
    let needed = StaleReason::Needed { name: Some("b".to_owned()), by: 5 };
    assert_eq!(ran(&report)[2].1, needed);
    assert_eq!(rig.shown(5), ["1.4"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 6]);
    // The earlier kernel cannot be asked, either: only the next run needs this name.
    set(&rig, 4, "big.upper()");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [2, 4]);
    assert_eq!(rig.shown(4), ["'NEVER'"]);
}

/// A new version of a cell makes other names: dependents of those run as well, and other cells are left out.
#[tokio::test]
async fn what_turns_out_different_is_decided_anew() {
    let rig = Rig::new();
    rig.code(&["n = 1", "m = 1", "k = 1", "n", "k"]);
    rig.run(rig.request()).await;
    // The names it makes are unknown before it runs; afterwards it may have made everything.
    set(&rig, 1, "exec('n = 7')");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [1, 3], "{:?}", ran(&report));
    assert_eq!((rig.shown(3), rig.shown(4)), (vec!["7".to_owned()], vec!["1".to_owned()]));
    set(&rig, 1, "k = 2");
    let report = rig.run(stale(&rig)).await;
    // The kernel holds `n` of the other version; cell 4 still shows the value from cell 2.
    assert_eq!(places(&report), [0, 1, 3], "{:?}", ran(&report));
    assert_eq!((rig.shown(3), rig.shown(4)), (vec!["1".to_owned()], vec!["1".to_owned()]));
    // And a cell whose names are known before it runs.
    set(&rig, 1, "n = 3");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(ran(&report), [(1, changed()), (3, stale_for("n", 1))]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 5]);
}

/// Values changed in place are made again from the start, cells that ran in another order are marked, and a failed cell
/// runs again.
#[tokio::test]
async fn order_failures_and_changes_in_place() {
    let rig = Rig::new();
    rig.code(&["xs = []", "xs.append(1)", "len(xs)", "xs = [1, 2, 3]"]);
    rig.run(rig.request()).await;
    let only = |list: &str| RunRequest {
        cells: CellChoice { list: Some(list.to_owned()), ..CellChoice::default() },
        ..rig.request()
    };
    rig.run(only("2")).await;
    assert_eq!(marks(&rig)[2], Freshness::OutOfOrder(because("xs", 3)));
    assert_eq!(rig.shown(2), ["3"]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 1, 2]);
    assert_eq!(rig.shown(2), ["1"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 4]);
    set(&rig, 1, "xs.append(1 / 0)");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(report.state, State::Error);
    assert_eq!(marks(&rig)[1..3], [Freshness::Failed, Freshness::Stale(because("xs", 1))]);
    // A cell that may fail and does is fresh.
    edit(&rig, |cells| cells[1]["metadata"] = json!({"tags": ["raises-exception"]}));
    assert_eq!(marks(&rig)[1], Freshness::Fresh);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..stale(&rig) }).await;
    assert_eq!(places(&report), [2]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 4]);
}

/// A failure does not end a run of stale cells: cells that do not depend on it run, and the others keep their outputs.
#[tokio::test]
async fn a_failure_blocks_only_what_depends_on_it() {
    let rig = Rig::new();
    rig.code(&["x = 1", "y = x + 1\ny", "z = 5\nz", "y * 2", "z + 1"]);
    rig.run(rig.request()).await;
    set(&rig, 0, "x = 1 / 0");
    set(&rig, 2, "z = 6\nz");
    let report = rig.run(stale(&rig)).await;
    let blocked = |name: &str, by| StaleReason::Blocked { name: Some(name.to_owned()), by };
    let whys = [
        (0, changed()),
        (1, blocked("x", 0)),
        (2, changed()),
        (3, blocked("y", 1)),
        (4, stale_for("z", 2)),
    ];
    assert_eq!((report.state, ran(&report)), (State::Error, whys.to_vec()));
    let wanted = [State::Error, State::NeverRun, State::Done, State::NeverRun, State::Done];
    assert_eq!(states(&report), wanted);
    let shown = |cell| rig.shown(cell).concat();
    assert_eq!([shown(0), shown(1), shown(3), shown(4)], ["ZeroDivisionError", "2", "4", "7"]);
    // The run may also be told to stop there, or to go on with all cells.
    set(&rig, 2, "z = 7\nz");
    let report = rig.run(RunRequest { on_error: OnError::Stop, ..stale(&rig) }).await;
    assert_eq!((report.state, &states(&report)[1..]), (State::Error, &[State::NeverRun; 4][..]));
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..stale(&rig) }).await;
    let wanted = [State::Error, State::Done, State::Done, State::Done, State::Done];
    assert_eq!((report.state, states(&report)), (State::Done, wanted.to_vec()));
}

/// A method without a result was called for its effect, even as the only statement of a cell.
#[tokio::test]
async fn a_method_called_for_its_effect_changes_what_it_is_called_on() {
    let rig = Rig::new();
    let class = "class Counter:\n    n = 0\n    def inc(self): self.n += 1\nc = Counter()";
    rig.code(&[class, "c.inc()", "c.inc();", "c.n", "xs = [3]", "xs.copy()", "xs"]);
    rig.run(rig.request()).await;
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 7]);
    set(&rig, 1, "c.inc(); c.inc()");
    let of_c = |cell| Freshness::Stale(because("c", cell));
    assert_eq!(marks(&rig)[1..4], [Freshness::Changed, of_c(1), of_c(2)]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 1, 2, 3], "{:?}", ran(&report));
    assert_eq!(rig.shown(3), ["3"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 7]);
    set(&rig, 5, "xs.copy() + [1]");
    assert_eq!(places(&rig.run(stale(&rig)).await), [5], "reading a file does not change it");
}

/// Names bound on some paths only, or by a function: after any number of runs, cells that ran are fresh.
#[tokio::test]
async fn names_that_are_bound_on_some_ways_only_do_not_stay_stale() {
    let rig = Rig::new();
    rig.code(&[
        "flag = False\nif flag:\n    x = 1",
        "try:\n    df\nexcept NameError:\n    df = 5",
        "def f():\n    global g\n    g = 1",
        "f()",
        "if not flag:\n    y = 1",
        "y = 2",
        "df + g + y",
        "import json",
        "import json\njson.dumps(y)",
    ]);
    for _ in 0..3 {
        rig.run(rig.request()).await;
        assert_eq!(marks(&rig), vec![Freshness::Fresh; 9]);
    }
    set(&rig, 0, "flag = True\nif flag:\n    x = 1");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 4], "{:?}", ran(&report));
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 9]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(ran(&report), Vec::new());
}

/// A long record, which is read in parallel with the notebook, gives the same marks as a short one.
#[tokio::test]
async fn a_long_notebook_is_marked_as_a_short_one_is() {
    let rig = Rig::new();
    let cells: Vec<String> = (0..160)
        .map(|index| match index {
            0 => "value_0 = 1".to_owned(),
            _ => format!("value_{index} = value_{} + 1", index - 1),
        })
        .collect();
    rig.code(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    rig.run(rig.request()).await;
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 160]);
    set(&rig, 158, "value_158 = 0");
    let because = Because::Name { name: "value_158".to_owned(), cell: Some(158) };
    assert_eq!(
        marks(&rig)[157..],
        [Freshness::Fresh, Freshness::Changed, Freshness::Stale(because)]
    );
}

/// Changes that no name of the cell shows: of elements, by methods, of modules, of the folder and the environment.
#[tokio::test]
async fn changes_of_what_a_cell_does_not_name_are_seen() {
    let table: &[(&[&str], usize, &str, &[usize])] = &[
        (
            &["xs = [[]]", "for e in xs: e.append(1)", "xs"],
            1,
            "for e in xs: e.append(2)",
            &[0, 1, 2],
        ),
        (
            &[
                "class A:\n    def m(self):\n        global g\n        g += 1\na = A()",
                "g = 1",
                "a.m()",
                "g",
            ],
            2,
            "a.m(); a.m()",
            &[0, 1, 2, 3],
        ),
        (
            &["import json", "json.here = 1", "json.here", "import json.tool", "json.here"],
            1,
            "json.here = 2",
            &[0, 1, 2, 3, 4],
        ),
        (&["%env INK_A=1", "import os", "os.environ['INK_A']", "2"], 0, "%env INK_A=2", &[0, 2]),
        (&["%cd .", "import os", "os.getcwd()", "2"], 0, "%cd /", &[0, 2]),
    ];
    for (cells, at, source, wanted) in table {
        let rig = Rig::new();
        rig.code(cells);
        rig.run(rig.request()).await;
        assert_eq!(marks(&rig), vec![Freshness::Fresh; cells.len()], "{cells:?}");
        set(&rig, *at, source);
        let report = rig.run(stale(&rig)).await;
        assert_eq!(places(&report), *wanted, "{cells:?}: {:?}", ran(&report));
        assert_eq!(marks(&rig), vec![Freshness::Fresh; cells.len()], "{cells:?}");
    }
}

/// A file written by a cell counts as changed for the cells below it, in the same run.
#[tokio::test]
async fn what_read_a_file_that_was_written_runs_at_once() {
    let rig = Rig::new();
    rig.code(&[
        "n = 1",
        "with open('data.txt', 'w') as file: file.write('a' * n)",
        "text = open('data.txt').read()",
        "text",
        "n = 5",
    ]);
    rig.run(rig.request()).await;
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 5]);
    set(&rig, 0, "n = 3");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 1, 2, 3], "{:?}", ran(&report));
    assert_eq!(rig.shown(3), ["'aaa'"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 5]);
}

/// A cell inserted above those without ids moves them, and their records with them.
#[tokio::test]
async fn cells_without_ids_are_known_where_they_went() {
    let rig = Rig::new();
    rig.code(&["x = 1", "x", "x + 1"]);
    edit(&rig, |cells| {
        cells.iter_mut().for_each(|cell| drop(cell.as_object_mut().map(|cell| cell.remove("id"))));
    });
    let mut file = rig.file("a.ipynb");
    file["nbformat_minor"] = 4.into();
    std::fs::write(rig.desk.dir.path().join("a.ipynb"), pretty(&file)).expect("a file");
    rig.run(rig.request()).await;
    edit(&rig, |cells| {
        cells.insert(
            1,
            json!({"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
                   "source": "y = x"}),
        );
    });
    let fresh = || Freshness::Fresh;
    assert_eq!(marks(&rig), [fresh(), Freshness::NeverRun, fresh(), fresh()]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(ran(&report), [(1, StaleReason::Marked(Freshness::NeverRun))]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 4]);
    // Records belong to the new positions.
    set(&rig, 1, "y = x + 1");
    assert_eq!(marks(&rig), [fresh(), Freshness::Changed, fresh(), fresh()]);
}

/// Cells without ids, or with a shared one, are identified by position.
#[tokio::test]
async fn cells_without_ids_of_their_own_are_known_by_position() {
    for ids in [json!(null), json!("twin")] {
        let rig = Rig::new();
        rig.code(&["x = 1", "x", "x + 1", "5"]);
        edit(&rig, |cells| {
            for cell in cells {
                let cell = cell.as_object_mut().expect("a cell");
                match &ids {
                    Value::Null => drop(cell.remove("id")),
                    id => drop(cell.insert("id".to_owned(), id.clone())),
                }
            }
        });
        if ids.is_null() {
            let mut file = rig.file("a.ipynb");
            file["nbformat_minor"] = 4.into();
            std::fs::write(rig.desk.dir.path().join("a.ipynb"), pretty(&file)).expect("a file");
        }
        rig.run(rig.request()).await;
        assert_eq!(marks(&rig), vec![Freshness::Fresh; 4], "{ids}");
        set(&rig, 0, "x = 2");
        let report = rig.run(stale(&rig)).await;
        assert_eq!(places(&report), [0, 1, 2], "{ids}");
        assert_eq!((rig.shown(1), rig.shown(2)), (vec!["2".to_owned()], vec!["3".to_owned()]));
        assert_eq!(marks(&rig), vec![Freshness::Fresh; 4], "{ids}");
    }
}

/// On request the records travel with the file, and files that code reads are checked.
#[tokio::test]
async fn records_travel_with_the_file() {
    let rig = Rig::new();
    let data = rig.desk.dir.path().join("data.txt");
    std::fs::write(&data, "one").expect("a file");
    rig.code(&["text = open('data.txt').read()", "text", "1"]);
    let report = rig.run(RunRequest { stamps: Stamps::Inkcell, ..rig.request() }).await;
    assert_eq!(states(&report), [State::Done; 3]);
    let noted = &rig.file("a.ipynb")["cells"][0]["metadata"]["inkcell"];
    assert_eq!(noted["trace"]["makes"], json!(["text"]));
    assert_eq!(noted["state"], "done");
    std::fs::remove_dir_all(rig.desk.dir.path().join("state")).expect("what is known is gone");
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 3]);
    std::fs::write(&data, "two and more").expect("a file");
    let path = data.canonicalize().expect("a path").display().to_string();
    let of_file = Freshness::Stale(Because::File(path));
    let of_text = Freshness::Stale(because("text", 0));
    assert_eq!(marks(&rig), [of_file, of_text, Freshness::Fresh]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 1]);
    assert_eq!(rig.shown(1), ["'two and more'"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 3]);
}

/// Outputs that wait for a save do not look like a run of another program; another count in the file does.
#[tokio::test]
async fn outputs_that_wait_are_not_taken_for_others_changes() {
    let rig = Rig::new();
    rig.code(&["1", "2"]);
    rig.run(rig.request()).await;
    edit(&rig, |cells| cells[0]["execution_count"] = 40.into());
    assert_eq!(marks(&rig), [Freshness::Unknown, Freshness::Fresh]);
    let ahead = marks_if(&rig, |runs| LastRuns { is_ahead: true, ..runs });
    assert_eq!(ahead, vec![Freshness::Fresh; 2]);
    let report = rig.run(stale(&rig)).await;
    assert_eq!(ran(&report), [(0, StaleReason::Marked(Freshness::Unknown))]);
    // Outputs removed by another program are made again.
    edit(&rig, |cells| {
        cells[1]["execution_count"] = json!(null);
        cells[1]["outputs"] = json!([]);
    });
    let report = rig.run(stale(&rig)).await;
    assert_eq!(ran(&report), [(1, StaleReason::Marked(Freshness::NeverRun))]);
}

/// A cell run by another program runs again, even after a new decision during the run. Cells that cannot run do not
/// interfere.
#[tokio::test]
async fn what_ran_elsewhere_is_run_whatever_else_turns_out() {
    let rig = Rig::new();
    let skipped = json!({"metadata": {"tags": ["skip-execution"]}});
    rig.put(&[
        ("n = 1", json!({})),
        ("1 / 0", skipped),
        ("exec('m = n')", json!({})),
        ("m", json!({})),
        ("'other'", json!({})),
        ("'kept'", json!({})),
    ]);
    rig.run(rig.request()).await;
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 5]);
    edit(&rig, |cells| cells[4]["execution_count"] = 70.into());
    set(&rig, 0, "exec('n = 2')");
    let report = rig.run(stale(&rig)).await;
    assert_eq!(places(&report), [0, 2, 3, 4], "{:?}", ran(&report));
    assert_eq!(rig.shown(3), ["2"]);
    assert_eq!(marks(&rig), vec![Freshness::Fresh; 5]);
}

/// Stale cells are those of the whole notebook: a choice of a part, or a resumed run, is refused.
#[tokio::test]
async fn stale_and_a_part_do_not_go_together() {
    let rig = Rig::new();
    rig.code(&["1"]);
    let from = CellChoice { from: Some("0".to_owned()), ..CellChoice::stale() };
    let refused = [
        RunRequest { cells: from, ..rig.request() },
        RunRequest { start: inkcell_engine::api::RunStart::Resume, ..stale(&rig) },
    ];
    for request in refused {
        let answer = crate::faults_kit::run_notebook(
            &rig.desk.engine,
            request,
            &rig.files,
            crate::faults_kit::ME,
        )
        .await;
        let error = answer.expect_err("it is refused").to_string();
        assert!(error.contains("stale cells") && error.contains("remove"), "{error}");
    }
}

/// Each cell gets the same marks in outlines of any size and with records of any length.
#[tokio::test]
async fn many_cells_are_outlined_as_few_are() {
    let rig = Rig::new();
    let sources: Vec<String> = (0..450)
        .map(|at| match at % 3 {
            0 => format!("value_{at} = {at}"),
            1 => format!("def take_{at}():\n    return value_{}\nseen_{at} = take_{at}()", at - 1),
            _ => format!("seen_{} + value_{}", at - 1, at - 2),
        })
        .collect();
    rig.code(&sources.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(rig.run(rig.request()).await.state, State::Done);
    assert!(marks(&rig).iter().all(|mark| *mark == Freshness::Fresh));
    set(&rig, 300, "value_300 = 7");
    let (opened, runs) = read_with_runs(&rig.files.notebooks, "a.ipynb").expect("the notebook");
    let cells: Vec<usize> = (0..opened.notebook.len()).collect();
    let all = outlined(&opened, &cells, &runs);
    let pieces: Vec<_> = cells.chunks(50).flat_map(|few| outlined(&opened, few, &runs)).collect();
    assert_eq!(all, pieces);
    let stale: Vec<usize> =
        (0..450).filter(|at| all[*at].1.as_ref() != Some(&Freshness::Fresh)).collect();
    assert_eq!(stale, [300, 301, 302]);
}
