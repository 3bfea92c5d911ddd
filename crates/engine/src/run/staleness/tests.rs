use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::types::StaleReason;

/// A cell of an imaginary notebook; its version stands for its source.
#[derive(Clone, Debug)]
struct Cell {
    id: usize,
    version: u32,
    /// `None` if they cannot be known.
    names: Option<CodeNames>,
}

#[derive(Clone, Debug)]
struct Record {
    version: u32,
    state: State,
    trace: ExecutionTrace,
}

/// A notebook with its kernel and its records.
#[derive(Default)]
struct Bench {
    cells: Vec<Cell>,
    records: HashMap<usize, Record>,
    held: KernelNames,
    kernels: u32,
    next: u32,
    changed_files: BTreeSet<String>,
}

fn names(uses: &[&str], makes: &[&str]) -> CodeNames {
    let texts = |names: &[&str]| names.iter().map(|name| Name::from(*name)).collect();
    CodeNames { uses: texts(uses), makes: texts(makes), ..CodeNames::default() }
}

impl Bench {
    /// Cells with the names they use and make, none of which has run.
    fn of(cells: &[(&[&str], &[&str])]) -> Bench {
        let mut bench = Bench { kernels: 1, ..Bench::default() };
        for (uses, makes) in cells {
            bench.insert(bench.cells.len(), Some(names(uses, makes)));
        }
        bench
    }

    fn insert(&mut self, place: usize, names: Option<CodeNames>) {
        self.next += 1;
        self.cells.insert(place, Cell { id: self.next as usize, version: self.next, names });
    }

    fn edit(&mut self, place: usize, names: Option<CodeNames>) {
        self.next += 1;
        (self.cells[place].version, self.cells[place].names) = (self.next, names);
    }

    fn kernel(&self) -> Generation {
        Generation(self.kernels.to_string().into())
    }

    fn new_kernel(&mut self) {
        self.kernels += 1;
        self.held.in_kernel(Some(&self.kernel()));
    }

    fn now(&self, foresight: Foresight) -> Vec<CellNow<'_>> {
        let now = |(index, cell): (usize, &Cell)| {
            let record = self.records.get(&cell.id);
            let is_same = record.is_some_and(|record| record.version == cell.version);
            CellNow {
                index,
                known: record.map(|record| KnownRun {
                    is_same,
                    state: record.state,
                    trace: Some(&record.trace),
                }),
                shows: if record.is_some() { Shows::Recorded } else { Shows::Nothing },
                may_fail: false,
                foreseen: None,
            }
        };
        let cells = self.cells.iter().enumerate().map(now);
        cells
            .zip(&self.cells)
            .map(|(now, cell)| {
                let is_new = !now.known.is_some_and(|known| known.is_same);
                let is_foreseen = foresight == Foresight::Asked && is_new;
                CellNow { foreseen: is_foreseen.then_some(cell.names.as_ref()), ..now }
            })
            .collect()
    }

    fn marks(&self) -> Vec<Freshness> {
        marks(&self.now(Foresight::None), |file| self.changed_files.contains(&file.0))
    }

    fn run(&mut self, place: usize, why: Option<&StaleReason>) {
        let cell = self.cells[place].clone();
        let made = |cell: &Cell| self.records.get(&cell.id).map(|record| record.trace.made());
        let above: Vec<Option<u64>> = self.cells[..place].iter().map(made).collect();
        let old = self.records.get(&cell.id).filter(|old| old.version == cell.version);
        let again = old.map(|old| &old.trace);
        let again = again.filter(|_| matches!(why, Some(StaleReason::Needed { .. })));
        let kernel = self.kernel();
        self.held.in_kernel(Some(&kernel));
        let all: Option<Vec<u64>> = above.iter().copied().collect();
        let all = all.filter(|all| all.iter().all(|made| self.held.has_done(*made)));
        let ended = EndedExecution {
            names: cell.names.as_ref(),
            micros: 0,
            again,
            is_above: &|made| above.contains(&Some(made)),
            last_above: all.and_then(|all| all.into_iter().max()),
        };
        let trace = self.held.end(&kernel, ended);
        let (version, state) = (cell.version, State::Done);
        self.records.insert(cell.id, Record { version, state, trace });
    }

    fn run_all(&mut self, places: &[usize]) {
        places.iter().for_each(|place| self.run(*place, None));
    }

    fn needed(&self, foresight: Foresight) -> Vec<Option<StaleReason>> {
        self.needed_for(foresight, Goal::Fresh(&BTreeSet::new()))
    }

    fn needed_for(&self, foresight: Foresight, goal: Goal<'_>) -> Vec<Option<StaleReason>> {
        let cells = self.now(foresight);
        let marks = marks(&cells, |file| self.changed_files.contains(&file.0));
        needed(&cells, &marks, &self.held, goal)
    }

    /// Runs a cell after the cells it needs, deciding again at every cell. Returns the cells that ran.
    fn run_with_needed(&mut self, chosen: usize, foresight: Foresight) -> Vec<usize> {
        let (mut ran, only) = (Vec::new(), BTreeSet::from([chosen]));
        for place in 0..=chosen {
            if let Some(why) = self.needed_for(foresight, Goal::Run(&only)).swap_remove(place) {
                self.run(place, Some(&why));
                ran.push(place);
            }
        }
        ran
    }

    /// Runs the needed cells, deciding again at every cell. Returns the cells that ran.
    fn run_stale(&mut self, foresight: Foresight) -> Vec<usize> {
        let mut ran = Vec::new();
        for place in 0..self.cells.len() {
            if let Some(why) = self.needed(foresight).swap_remove(place) {
                self.run(place, Some(&why));
                ran.push(place);
            }
        }
        ran
    }
}

/// Says if the names of new cells are known before they run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Foresight {
    None,
    Asked,
}

fn stale(name: &str, cell: impl Into<Option<usize>>) -> Freshness {
    Freshness::Stale(Because::Name { name: name.to_owned(), cell: cell.into() })
}

fn out_of_order(name: &str, cell: usize) -> Freshness {
    Freshness::OutOfOrder(Because::Name { name: name.to_owned(), cell: Some(cell) })
}

fn is_needed(name: &str, by: usize) -> Option<StaleReason> {
    Some(StaleReason::Needed { name: Some(name.to_owned()), by })
}

#[test]
fn a_change_concerns_the_cell_and_what_depends_on_it() {
    let mut bench =
        Bench::of(&[(&[], &["x"]), (&["x"], &["y"]), (&[], &["z"]), (&["y"], &[]), (&["z"], &[])]);
    assert_eq!(bench.marks(), vec![Freshness::NeverRun; 5]);
    bench.run_all(&[0, 1, 2, 3, 4]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 5]);
    bench.edit(0, Some(names(&[], &["x"])));
    let fresh = || Freshness::Fresh;
    let wanted = vec![Freshness::Changed, stale("x", 0), fresh(), stale("y", 1), fresh()];
    assert_eq!(bench.marks(), wanted);
    assert_eq!(bench.run_stale(Foresight::None), [0, 1, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 5]);
    // A cell that ran again has made another value, as far as the records show.
    bench.run(1, None);
    assert_eq!(bench.marks()[3], stale("y", 1));
    // A new cell does not affect others before it has run.
    bench.run(3, None);
    bench.insert(2, Some(names(&[], &["y"])));
    let wanted = vec![fresh(), fresh(), Freshness::NeverRun, fresh(), fresh(), fresh()];
    assert_eq!(bench.marks(), wanted);
    assert_eq!(bench.run_stale(Foresight::None), [2, 4]);
    // A removed cell leaves its names behind, but only in the kernel.
    bench.cells.remove(2);
    assert_eq!(bench.marks()[3], stale("y", 1));
    bench.cells.remove(1);
    assert_eq!(bench.marks()[2], stale("y", None));
}

#[test]
fn the_order_of_the_notebook_counts() {
    let mut bench = Bench::of(&[(&[], &["x"]), (&["x"], &[]), (&[], &["x"])]);
    bench.run_all(&[0, 2, 1]);
    assert_eq!(bench.marks()[1], out_of_order("x", 2));
    // The kernel does not hold the result of the cell above, which runs again and yields the same.
    assert_eq!(bench.needed(Foresight::None)[0], is_needed("x", 1));
    assert_eq!(bench.run_stale(Foresight::None), [0, 1]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 3]);
}

#[test]
fn what_is_changed_in_place_twice_is_not_what_the_notebook_has() {
    let mut bench = Bench::of(&[(&[], &["xs"]), (&["xs"], &["xs"]), (&["xs"], &[])]);
    bench.run_all(&[0, 1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 3]);
    bench.run(1, None);
    assert_eq!(bench.marks()[1..], [stale("xs", 0), stale("xs", 1)]);
    assert_eq!(bench.run_stale(Foresight::None), [0, 1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 3]);
}

#[test]
fn what_a_function_uses_counts_for_those_who_use_the_function() {
    let function = BodyNames { uses: vec!["k".into()], makes: vec!["log".into()] };
    let mut definition = names(&[], &["f"]);
    definition.later.insert("f".into(), function);
    let mut bench = Bench::of(&[(&[], &["log"]), (&[], &["k"]), (&["f"], &[]), (&["log"], &[])]);
    bench.insert(1, Some(definition));
    bench.run_all(&[0, 1, 2, 3, 4]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 5]);
    bench.edit(2, Some(names(&[], &["k"])));
    let marks = bench.marks();
    assert_eq!(marks[1], Freshness::Fresh, "the definition itself does not look at it");
    assert_eq!((&marks[3], &marks[4]), (&stale("k", 2), &stale("log", 3)));
    // The function may never be called: a name that no cell above makes is not missed.
    bench.cells.swap(2, 4);
    for _ in 0..2 {
        bench.run_all(&[0, 1, 2, 3, 4]);
        assert_eq!(bench.marks(), vec![Freshness::Fresh; 5]);
    }
}

/// Names that the cell uses and makes, but does not need.
fn own(own: &[&str]) -> CodeNames {
    CodeNames { own: names(own, &[]).uses, ..names(own, own) }
}

/// `if a: x = 1`: a missing `x` matters only if a cell above makes it.
#[test]
fn what_a_cell_binds_on_some_ways_is_not_needed() {
    let mut bench = Bench::of(&[(&[], &["a"]), (&["x"], &[]), (&[], &["x"])]);
    bench.insert(1, Some(own(&["x"])));
    for _ in 0..3 {
        bench.run_all(&[0, 1, 2, 3]);
        assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
        assert_eq!(bench.run_stale(Foresight::None), Vec::<usize>::new());
    }
    bench.run(1, None);
    assert_eq!(bench.marks()[..3], [Freshness::Fresh, Freshness::Fresh, stale("x", 1)]);
    assert_eq!(bench.run_stale(Foresight::None), [2]);
    // From now on a cell above makes the name, so it is used.
    bench.edit(0, Some(names(&[], &["x"])));
    bench.run(0, None);
    assert_eq!(bench.marks()[1], stale("x", 0));
    assert_eq!(bench.run_stale(Foresight::None), [1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
    // A value left by the cell itself is not the one from above.
    bench.run(1, None);
    assert_eq!(bench.marks()[1], stale("x", 0));
    assert_eq!(bench.run_stale(Foresight::None), [0, 1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
    // A name that the cell needs is different: running from the top would not find it.
    bench.edit(0, Some(names(&[], &[])));
    bench.edit(1, Some(names(&["x"], &["x"])));
    bench.run_all(&[0, 1]);
    assert_eq!(bench.marks()[1], stale("x", None));
}

/// `def f(): global g; g = 1` and a cell that calls it: the same, through the function.
#[test]
fn what_a_function_binds_outside_of_itself_is_not_needed() {
    let body = BodyNames { uses: Vec::new(), makes: vec!["g".into()] };
    let mut definition = names(&[], &["f"]);
    definition.later.insert("f".into(), body);
    let mut bench = Bench::of(&[(&["f"], &[]), (&["g"], &[])]);
    bench.insert(0, Some(definition));
    for _ in 0..2 {
        bench.run_all(&[0, 1, 2]);
        assert_eq!(bench.marks(), vec![Freshness::Fresh; 3]);
    }
    bench.run(1, None);
    assert_eq!(bench.marks()[1..], [Freshness::Fresh, stale("g", 1)]);
    bench.insert(0, Some(names(&[], &["g"])));
    bench.run(0, None);
    assert_eq!(bench.marks()[2], stale("g", 0));
    assert_eq!(bench.run_stale(Foresight::None), [2, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
}

/// `b = 2`, `def f(): return 1`, `f()`, and below `b = 0`; then the function is changed to use `b`.
#[test]
fn what_a_function_takes_that_is_another_one_now_is_needed() {
    for foresight in [Foresight::None, Foresight::Asked] {
        let mut bench = Bench::of(&[(&[], &["b"]), (&[], &["f"]), (&["f"], &[]), (&[], &["b"])]);
        bench.run_all(&[0, 1, 2, 3]);
        let mut definition = names(&[], &["f"]);
        let body = BodyNames { uses: vec!["b".into()], makes: Vec::new() };
        definition.later.insert("f".into(), body);
        bench.edit(1, Some(definition));
        assert_eq!(bench.run_stale(foresight), [0, 1, 2]);
        assert_eq!(bench.marks()[..3], vec![Freshness::Fresh; 3]);
    }
}

/// `import a`, `import a.b`, `a.b.f()`: the second adds to what the first has made.
#[test]
fn a_part_of_a_module_needs_the_module() {
    let mut bench = Bench::of(&[(&[], &["a"])]);
    bench.insert(1, Some(own(&["a"])));
    bench.insert(2, Some(names(&["a"], &[])));
    bench.run_all(&[0, 1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 3]);
    bench.new_kernel();
    bench.edit(2, Some(names(&["a"], &[])));
    assert_eq!(bench.run_stale(Foresight::None), [0, 1, 2]);
    // On its own it does not need the first.
    bench.cells.remove(0);
    bench.run_all(&[0, 1]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 2]);
}

/// Numbers of records come from files that any program may write.
#[test]
fn numbers_that_no_run_can_have_are_refused() {
    let mut bench = Bench::of(&[(&["x"], &["x"])]);
    bench.run(0, None);
    let trace = bench.records.into_values().next().expect("a record").trace;
    assert!(trace.is_possible());
    for number in [TO_COME, u64::MAX] {
        assert!(!ExecutionTrace { ran: number, ..trace.clone() }.is_possible());
        assert!(!ExecutionTrace { made: Some(number), ..trace.clone() }.is_possible());
        let saw = [(Name::from("x"), Some(number))].into_iter().collect();
        assert!(!ExecutionTrace { saw, ..trace.clone() }.is_possible());
    }
    // The greatest possible number does no harm to later executions.
    let mut held = KernelNames::default();
    held.take(&ExecutionTrace { ran: LAST_RAN, ..trace.clone() });
    let nothing = names(&[], &[]);
    let ended = EndedExecution {
        names: Some(&nothing),
        micros: u64::MAX,
        again: None,
        is_above: &|_| false,
        last_above: None,
    };
    assert!(held.end(&trace.kernel, ended).is_possible());
}

#[test]
fn a_cell_whose_names_are_unknown_may_use_and_make_everything() {
    let mut bench = Bench::of(&[(&[], &["x"]), (&["y"], &[]), (&[], &[])]);
    bench.insert(1, None);
    bench.run_all(&[0, 1, 2, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
    bench.edit(0, Some(names(&[], &["x"])));
    let because = Freshness::Stale(Because::Cell(0));
    assert_eq!(
        bench.marks(),
        [Freshness::Changed, because.clone(), stale("y", 1), Freshness::Fresh]
    );
    bench.run(0, None);
    assert_eq!(bench.marks(), [Freshness::Fresh, because, stale("y", 1), Freshness::Fresh]);
    assert_eq!(bench.run_stale(Foresight::None), [1, 2]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
    // In a kernel where no other cell ran, it lacks the values it should have seen.
    bench.new_kernel();
    bench.run(1, None);
    assert_eq!(bench.marks()[1], Freshness::Stale(Because::Cell(0)));
}

/// Kernels without names: only the order is known.
#[test]
fn without_names_a_notebook_is_run_from_the_first_change_on() {
    let mut bench = Bench::of(&[]);
    (0..4).for_each(|place| bench.insert(place, None));
    bench.run_all(&[0, 1, 2, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
    bench.edit(1, None);
    assert_eq!(bench.run_stale(Foresight::Asked), [1, 2, 3]);
    bench.new_kernel();
    bench.edit(2, None);
    assert_eq!(bench.run_stale(Foresight::Asked), [0, 1, 2, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
}

/// `a = 1`, `exec(...)`, and a new cell that uses `a`; below it `a` is, or may be, made again. If the kernel was not asked
/// about the new cell, it must hold everything as the notebook has it, also what `exec` may have made.
#[test]
fn an_unforeseen_cell_runs_on_what_the_notebook_has() {
    for (below, ran) in [(None, vec![0, 1, 2, 3]), (Some(names(&[], &["a"])), vec![0, 1, 2])] {
        let mut bench = Bench::of(&[(&[], &["a"]), (&["a"], &[])]);
        bench.insert(1, None);
        bench.insert(3, below);
        bench.run_all(&[0, 1, 3]);
        assert_eq!(bench.run_stale(Foresight::None), ran);
        assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
        assert_eq!(bench.run_stale(Foresight::None), Vec::<usize>::new());
    }
    // A cell whose names the kernel cannot know is compared with no name, so it runs on what there is.
    let mut bench = Bench::of(&[(&[], &["a"])]);
    (1..4).for_each(|place| bench.insert(place, None));
    bench.run_all(&[0, 1, 3]);
    assert_eq!(bench.run_stale(Foresight::Asked), [2, 3]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 4]);
}

#[test]
fn a_kernel_that_is_gone_needs_what_makes_the_names() {
    let cells: &[(&[&str], &[&str])] =
        &[(&[], &["x"]), (&[], &["big"]), (&["x"], &["y"]), (&["big"], &[]), (&["y"], &[])];
    let mut bench = Bench::of(cells);
    bench.run_all(&[0, 1, 2, 3, 4]);
    bench.new_kernel();
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 5], "what is shown is as right as before");
    bench.edit(4, Some(names(&["y"], &[])));
    let wanted = vec![is_needed("x", 2), None, is_needed("y", 4), None];
    assert_eq!(bench.needed(Foresight::Asked)[..4], wanted);
    // If the names a cell will use are unknown, everything above must be there.
    let all = bench.needed(Foresight::None);
    assert!(all.iter().all(Option::is_some), "{all:?}");
    assert_eq!(bench.run_stale(Foresight::Asked), [0, 2, 4]);
    assert_eq!(bench.marks(), vec![Freshness::Fresh; 5], "what ran again has made the same");
}

fn is_blocked(name: &str, by: usize) -> Option<StaleReason> {
    Some(StaleReason::Blocked { name: Some(name.to_owned()), by })
}

/// Cells that depend on a failed cell, also through others, do not run; the others do.
#[test]
fn a_failed_cell_blocks_what_depends_on_it() {
    let cells: &[(&[&str], &[&str])] = &[
        (&[], &["x"]),
        (&["x"], &["y"]),
        (&[], &["z"]),
        (&["y"], &["w"]),
        (&["z"], &[]),
        (&["w"], &[]),
        (&[], &["x"]),
        (&["x"], &[]),
    ];
    let mut bench = Bench::of(cells);
    bench.run_all(&[0, 1, 2, 3, 4, 5, 6, 7]);
    bench.edit(0, Some(names(&[], &["x"])));
    bench.edit(2, Some(names(&[], &["z"])));
    let changed = || Some(StaleReason::Marked(Freshness::Changed));
    let marked = |name, cell| Some(StaleReason::Marked(stale(name, cell)));
    let after = |bench: &Bench, failed: &[usize]| {
        let failed = failed.iter().copied().collect();
        bench.needed_for(Foresight::Asked, Goal::Fresh(&failed))
    };
    let blocked = [is_blocked("x", 0), changed(), is_blocked("y", 1), marked("z", 2)];
    assert_eq!(after(&bench, &[0])[1..5], blocked);
    // Cell 6 makes the name again.
    assert_eq!(after(&bench, &[0])[5..], [is_blocked("w", 3), None, None]);
    assert_eq!(after(&bench, &[0, 2])[4], is_blocked("z", 2));
    // A cell whose names are unknown may use everything, and may have had to make everything.
    bench.edit(4, None);
    assert_eq!(after(&bench, &[0])[4], Some(StaleReason::Blocked { name: None, by: 3 }));
    bench.run(4, None);
    assert_eq!(after(&bench, &[4])[5..], [is_blocked("w", 4), None, None]);
}

/// A cell that only a blocked cell needs does not run, either.
#[test]
fn what_a_blocked_cell_needs_is_not_run_for_it() {
    let mut bench = Bench::of(&[(&[], &["a"]), (&[], &["b"]), (&["a", "b"], &[])]);
    bench.run_all(&[0, 1, 2]);
    bench.new_kernel();
    bench.edit(0, Some(names(&[], &["a"])));
    assert_eq!(bench.needed(Foresight::Asked)[1], is_needed("b", 2));
    let failed = BTreeSet::from([0]);
    let whys = bench.needed_for(Foresight::Asked, Goal::Fresh(&failed));
    assert_eq!(whys[1..], [None, is_blocked("a", 0)]);
}

/// A chosen cell runs after those that make what the kernel does not hold as the notebook has it.
#[test]
fn a_chosen_cell_runs_after_what_it_needs() {
    let cells: &[(&[&str], &[&str])] =
        &[(&[], &["x"]), (&[], &["big"]), (&["x"], &["y"]), (&["big"], &[]), (&["y"], &["x"])];
    let mut bench = Bench::of(cells);
    assert_eq!(bench.run_with_needed(4, Foresight::Asked), [0, 2, 4], "none of them has run");
    // The kernel holds what it needs now.
    assert_eq!(bench.run_with_needed(4, Foresight::Asked), [4]);
    assert_eq!(bench.run_with_needed(2, Foresight::Asked), [0, 2], "x is that of cell 4");
    bench.new_kernel();
    assert_eq!(bench.run_with_needed(4, Foresight::None), [0, 2, 4]);
    // Its names are unknown, and x is that of cell 4.
    assert_eq!(bench.run_with_needed(3, Foresight::None), [0, 1, 3]);
    // The kernel does not hold changes made since.
    bench.edit(0, Some(names(&[], &["x"])));
    assert_eq!(bench.run_with_needed(4, Foresight::Asked), [0, 2, 4]);
    assert_eq!(bench.run_with_needed(3, Foresight::Asked), [3]);
}

#[test]
fn what_a_cell_is_by_itself() {
    let mut bench = Bench::of(&[(&[], &["x"]), (&["x"], &[])]);
    let mut first = names(&[], &["x"]);
    first.files = vec![FileRead("/data.csv".to_owned(), 1, 2)];
    bench.edit(0, Some(first));
    bench.run_all(&[0, 1]);
    bench.changed_files.insert("/data.csv".to_owned());
    let because = Freshness::Stale(Because::File("/data.csv".to_owned()));
    assert_eq!(bench.marks(), [because, stale("x", 0)]);
    bench.changed_files.clear();
    let own = |bench: &Bench, shows, may_fail| {
        let mut cells = bench.now(Foresight::None);
        (cells[0].shows, cells[0].may_fail) = (shows, may_fail);
        marks(&cells, |_| false).swap_remove(0)
    };
    assert_eq!(own(&bench, Shows::Nothing, false), Freshness::NeverRun);
    assert_eq!(own(&bench, Shows::Another, false), Freshness::Unknown);
    for record in bench.records.values_mut() {
        record.state = State::Error;
    }
    assert_eq!(own(&bench, Shows::Recorded, false), Freshness::Failed);
    assert_eq!(own(&bench, Shows::Recorded, true), Freshness::Fresh);
    bench.records.clear();
    assert_eq!(own(&bench, Shows::Another, false), Freshness::Unknown);
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Step {
    Edit(usize, Option<CodeNames>),
    Insert(usize, Option<CodeNames>),
    Delete(usize),
    Run(usize),
    NewKernel,
}

/// Names that only their users make: each cell that uses one makes it itself.
const OWN: [&str; 2] = ["o", "p"];

fn some_names() -> impl Strategy<Value = Option<CodeNames>> {
    let some = |names: &[&'static str]| proptest::sample::subsequence(names.to_vec(), 0..=2);
    let plain = (some(&NAMES), some(&NAMES));
    let known = (plain, some(&OWN), some(&["a", "o"]), some(&["o", "q"]));
    let known = known.prop_map(|((uses, makes), own, also, made)| {
        let mut all = names(&[&uses[..], &own[..]].concat(), &[makes, own.clone(), made].concat());
        let own = own.iter().chain(&also).map(|name| Name::from(*name));
        all.own = own.filter(|name| all.uses.contains(name)).collect();
        all
    });
    proptest::option::weighted(0.9, known)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<usize>(), some_names()).prop_map(|(at, names)| Step::Edit(at, names)),
        1 => (any::<usize>(), some_names()).prop_map(|(at, names)| Step::Insert(at, names)),
        1 => any::<usize>().prop_map(Step::Delete),
        3 => any::<usize>().prop_map(Step::Run),
        1 => Just(Step::NewKernel),
    ]
}

/// A notebook whose first cell makes every name, so that every name has an origin.
fn notebook(cells: Vec<Option<CodeNames>>) -> Bench {
    let mut bench = Bench::of(&[(&[], &NAMES)]);
    for (place, names) in cells.into_iter().enumerate() {
        bench.insert(place + 1, names);
    }
    bench
}

fn take(bench: &mut Bench, step: Step) {
    let last = bench.cells.len() - 1;
    match step {
        Step::Edit(at, names) if last > 0 => bench.edit(1 + at % last, names),
        Step::Insert(at, names) => bench.insert(1 + at % (last + 1), names),
        Step::Delete(at) if last > 0 => drop(bench.cells.remove(1 + at % last)),
        Step::Run(at) => bench.run(at % (last + 1), None),
        Step::Edit(..) | Step::Delete(_) => {}
        Step::NewKernel => bench.new_kernel(),
    }
}

/// Cells that depend on one by names alone, through the nearest maker above.
fn dependents(bench: &Bench, on: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([on]);
    for (place, cell) in bench.cells.iter().enumerate().skip(on + 1) {
        let maker = |name: &Name| {
            let makes =
                |cell: &Cell| cell.names.as_ref().is_none_or(|names| names.makes.contains(name));
            (0..place).rev().find(|above| makes(&bench.cells[*above]))
        };
        let depends = match &cell.names {
            Some(names) => {
                let mut uses = names.uses.iter().filter_map(maker);
                uses.any(|above| found.contains(&above))
            }
            None => true,
        };
        if depends {
            found.insert(place);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A notebook that just ran from top to bottom in a new kernel is fresh, whatever came before.
    #[test]
    fn what_was_just_run_is_fresh(
        cells in proptest::collection::vec(some_names(), 0..8),
        steps in proptest::collection::vec(step(), 0..12),
    ) {
        let mut bench = notebook(cells);
        steps.into_iter().for_each(|step| take(&mut bench, step));
        bench.new_kernel();
        bench.run_all(&(0..bench.cells.len()).collect::<Vec<_>>());
        prop_assert_eq!(bench.marks(), vec![Freshness::Fresh; bench.cells.len()]);
        prop_assert!(bench.needed(Foresight::None).iter().all(Option::is_none));
    }

    /// A change marks the cell and its dependents, and no other cell.
    #[test]
    fn a_change_marks_what_depends_on_it(
        cells in proptest::collection::vec(some_names(), 1..8),
        at in any::<usize>(),
    ) {
        let mut bench = notebook(cells);
        bench.run_all(&(0..bench.cells.len()).collect::<Vec<_>>());
        let at = at % bench.cells.len();
        let same = bench.cells[at].names.clone();
        bench.edit(at, same);
        let marks = bench.marks();
        let marked: BTreeSet<usize> =
            (0..marks.len()).filter(|place| marks[*place] != Freshness::Fresh).collect();
        prop_assert_eq!(marked, dependents(&bench, at));
        prop_assert_eq!(&marks[at], &Freshness::Changed);
    }

    /// Running the needed cells in order makes everything fresh, from any state of notebook and kernel.
    #[test]
    fn running_what_is_needed_makes_all_fresh(
        cells in proptest::collection::vec(some_names(), 0..8),
        steps in proptest::collection::vec(step(), 0..16),
        is_asked in any::<bool>(),
    ) {
        let foresight = if is_asked { Foresight::Asked } else { Foresight::None };
        let mut bench = notebook(cells);
        steps.into_iter().for_each(|step| take(&mut bench, step));
        bench.run_stale(foresight);
        prop_assert_eq!(bench.marks(), vec![Freshness::Fresh; bench.cells.len()]);
        prop_assert_eq!(bench.run_stale(foresight), Vec::<usize>::new());
    }
}
