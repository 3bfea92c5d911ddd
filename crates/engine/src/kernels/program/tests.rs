use std::collections::BTreeMap;

use inkcell_kernel::InterruptMode;

use super::*;
use crate::types::Kind;

fn spec(name: &str, language: &str) -> Kernelspec {
    Kernelspec {
        name: name.to_owned(),
        resource_dir: PathBuf::from("/kernels").join(name),
        argv: vec![name.to_owned()],
        display_name: name.to_uppercase(),
        language: language.to_owned(),
        env: BTreeMap::new(),
        interrupt_mode: InterruptMode::Signal,
        metadata: String::new(),
    }
}

fn installed() -> Kernelspecs {
    let found = [("bash", "bash"), ("ir", "R"), ("project", "python"), ("python3", "python")];
    let broken = KernelspecError::Malformed {
        path: PathBuf::from("/kernels/broken/kernel.json"),
        problem: "no argv".to_owned(),
    };
    let found = found.iter().map(|(name, language)| spec(name, language)).collect();
    Kernelspecs { found, broken: vec![broken] }
}

fn name(name: &str) -> KernelName {
    KernelName(name.to_owned())
}

/// The result for a notebook with this kernelspec and language, in words.
fn of_notebook(named: &str, language: &str, wanted: &KernelWishes) -> String {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let kernel =
        KernelChoice::OfNotebook { name: given(named).map(KernelName), language: given(language) };
    let wanted = KernelWishes { kernel: Some(kernel), ..wanted.clone() };
    match pick(&wanted, BackendKind::Runner, installed) {
        Ok(KernelPick { program, note }) => {
            let program = match program {
                Program::Python(backend) => backend.name().to_owned(),
                Program::Spec(spec) => spec.name,
                Program::Existing(file) => file.display().to_string(),
            };
            match note {
                None => program,
                Some(RunNote::OtherKernel { named }) => format!("{program}, not {named}"),
                Some(RunNote::InstalledKernel { name, instead_of: None, .. }) => {
                    assert_eq!(name.0, program);
                    format!("{program}, told")
                }
                Some(RunNote::InstalledKernel { instead_of: Some(named), .. }) => {
                    format!("{program}, for {named}")
                }
                Some(other) => format!("{program}, {other:?}"),
            }
        }
        Err(problem) => problem.to_string(),
    }
}

/// A notebook's own metadata choose its kernel, and a note reports the choice.
#[test]
fn a_notebook_chooses_its_kernel() {
    for (named, language, expected) in [
        ("", "", "runner"),
        ("python3", "", "runner"),
        ("python3", "python", "runner"),
        ("python", "Python", "runner"),
        ("", "ipython", "runner"),
        ("project", "python", "project, told"),
        ("project", "", "project, told"),
        ("PROJECT", "python", "project, told"),
        ("conda-env-x", "python", "runner, not conda-env-x"),
        ("python2", "python", "runner, not python2"),
        ("bash", "", "bash, told"),
        ("bash", "bash", "bash, told"),
        ("", "R", "ir, told"),
        ("ir4", "R", "ir, for ir4"),
        ("ir", "", "ir, told"),
        // The language in the file tells more than a name that every Jupyter uses.
        ("python3", "R", "ir, told"),
    ] {
        let got = of_notebook(named, language, &KernelWishes::default());
        assert_eq!(got, expected, "{named:?} {language:?}");
    }
    let unknown = of_notebook("evcxr", "", &KernelWishes::default());
    assert_eq!(
        unknown,
        "the notebook names the kernel evcxr, which is not installed, and does not name its \
         language; installed: bash, ir, project, python3"
    );
    let missing = of_notebook("julia-1.10", "julia", &KernelWishes::default());
    assert_eq!(
        missing,
        "the notebook is for julia (kernel julia-1.10), and no kernel for that is installed; \
         installed: bash, ir, project, python3"
    );
    let unusable = "/kernels/broken/kernel.json: not a kernelspec: no argv";
    assert_eq!(of_notebook("broken", "python", &KernelWishes::default()), unusable);
    assert_eq!(of_notebook("broken", "julia", &KernelWishes::default()), unusable);
}

/// A caller's explicit choice is obeyed, and a notebook that cannot run that way is refused.
#[test]
fn what_was_asked_for_counts_more_than_the_notebook() {
    let runner = KernelWishes { backend: Some(BackendKind::Runner), ..KernelWishes::default() };
    let zmq = KernelWishes { backend: Some(BackendKind::Zmq), ..KernelWishes::default() };
    let python = KernelWishes::interpreter(Some("/usr/bin/python3".to_owned()));
    for (wanted, named, language, expected) in [
        (&runner, "project", "python", "runner, not project"),
        (&zmq, "python3", "python", "zmq"),
        (&zmq, "project", "python", "project, told"),
        (&zmq, "conda-env-x", "python", "zmq, not conda-env-x"),
        (&zmq, "bash", "", "bash, told"),
        (&python, "project", "python", "runner, not project"),
        (&python, "bash", "bash", "bash, told"),
        (
            &runner,
            "bash",
            "bash",
            "the notebook is for bash (kernel bash), and the runner runs Python",
        ),
    ] {
        assert_eq!(of_notebook(named, language, wanted), expected, "{wanted:?} {named}");
    }
}

#[test]
fn a_kernel_is_asked_for_by_name_or_by_its_file() {
    let of = |backend, kernel| {
        let wanted = KernelWishes { backend, kernel: Some(kernel), ..KernelWishes::default() };
        pick(&wanted, BackendKind::Runner, installed)
    };
    let bash = of(None, KernelChoice::Named(name("Bash"))).expect("it is installed");
    assert_eq!(
        bash,
        KernelPick { program: Program::Spec(Box::new(spec("bash", "bash"))), note: None }
    );
    let file = PathBuf::from("/run/kernel-1.json");
    let existing = of(Some(BackendKind::Zmq), KernelChoice::Existing(file.clone()));
    assert_eq!(existing.expect("any file").program, Program::Existing(file.clone()));
    let unknown = of(None, KernelChoice::Named(name("none"))).expect_err("there is none");
    assert_eq!(unknown.kind(), Kind::NotFound);
    assert!(unknown.to_string().contains("bash, ir, project, python3"), "{unknown}");
    for kernel in [KernelChoice::Named(name("bash")), KernelChoice::Existing(file)] {
        let refused = of(Some(BackendKind::Runner), kernel).expect_err("it is not a runner");
        assert_eq!(refused.kind(), Kind::Invalid, "{refused}");
    }
}

/// Installed kernels are listed only if that matters: most notebooks are for the current Python.
#[test]
fn kernelspecs_are_not_read_for_nothing() {
    let usual = KernelChoice::OfNotebook { name: Some(name("python3")), language: None };
    for kernel in [None, Some(usual)] {
        let wanted = KernelWishes { kernel, ..KernelWishes::default() };
        let picked = pick(&wanted, BackendKind::Zmq, || panic!("nobody asked"));
        assert_eq!(picked.expect("Python").program, Program::Python(BackendKind::Zmq));
    }
}

/// On a gateway only its own kernels count, and nothing of this machine is used.
#[test]
fn a_gateway_has_kernels_of_its_own() {
    let on_gateway = |kernel: Option<KernelChoice>, backend| {
        let wanted = KernelWishes { kernel, backend, ..KernelWishes::default() };
        let asks = names_a_kernel(&wanted);
        let picked = pick(&wanted, BackendKind::Gateway, installed);
        let program = picked.map(|picked| picked.program).map_err(|problem| problem.kind());
        (asks, program)
    };
    let python = || Ok(Program::Python(BackendKind::Gateway));
    let of = |named: &str, language: &str| {
        let (name, language) = (Some(name(named)), Some(language.to_owned()));
        Some(KernelChoice::OfNotebook { name, language })
    };
    let spec = |name, language| Ok(Program::Spec(Box::new(spec(name, language))));
    for backend in [None, Some(BackendKind::Gateway)] {
        assert_eq!(on_gateway(None, backend), (false, python()));
        assert_eq!(on_gateway(of("python3", "python"), backend), (false, python()));
        assert_eq!(on_gateway(of("elsewhere", "python"), backend), (true, python()));
        let project = spec("project", "python");
        assert_eq!(on_gateway(of("project", "python"), backend), (true, project));
        assert_eq!(on_gateway(of("r-4", "R"), backend), (true, spec("ir", "R")));
        let nowhere = Err(Kind::Unavailable);
        assert_eq!(on_gateway(of("julia", "julia"), backend), (true, nowhere));
    }
    let running = || Some(KernelChoice::Existing(PathBuf::from("/k.json")));
    let gateway = Some(BackendKind::Gateway);
    assert_eq!(on_gateway(running(), gateway), (false, Err(Kind::Invalid)));
    let here = Ok(Program::Existing(PathBuf::from("/k.json")));
    assert_eq!(on_gateway(running(), None), (false, here));
}
