//! Tests of the environment filter, as tables.

use super::*;

fn parent(vars: &[(&str, &str)]) -> ParentEnv {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ParentEnv::from(vars.iter().map(own).collect::<BTreeMap<_, _>>())
}

fn rules(mode: EnvMode, pass: &[&str]) -> EnvRules {
    EnvRules { mode, pass: pass.iter().map(|text| text.parse().unwrap()).collect() }
}

fn filtered(vars: &[(&str, &str)], pass: &[&str]) -> ChildEnv {
    child_environment(&parent(vars), &rules(EnvMode::Filtered, pass), &BTreeMap::new())
}

fn names(set: &BTreeSet<String>) -> Vec<&str> {
    set.iter().map(String::as_str).collect()
}

/// Every value holds this, so that one search finds any of them that passed.
const CANARY: &str = "canary-7d1f";

/// Variables of a host that a kernel must not see.
const SECRETS: &[&str] = &[
    "PI_PYTHON_GATEWAY_URL",
    "INKCELL_GATEWAY_URL",
    // Keys of the deny-list.
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "PERPLEXITY_COOKIES",
    "EXA_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "MISTRAL_API_KEY",
    // Keys of no list.
    "COHERE_API_KEY",
    "HF_TOKEN",
    "WANDB_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_PRIVATE_TOKEN",
    "NPM_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "TWINE_PASSWORD",
    "SLACK_BOT_TOKEN",
    "STRIPE_SECRET_KEY",
    "SENTRY_DSN",
    "DATABASE_URL",
    "PGPASSWORD",
    "MYSQL_PWD",
    "REDIS_URL",
    "VAULT_TOKEN",
    "KAGGLE_KEY",
    "SESSION_SECRET",
    "JWT_SECRET",
    "MY_PASSWORD",
    "AUTHORIZATION",
    // Clouds.
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_CLIENT_SECRET",
    "DIGITALOCEAN_ACCESS_TOKEN",
    "KUBECONFIG",
    // Our own prefixes.
    "PI_PYTHON_GATEWAY_TOKEN",
    "PI_TOOL_BRIDGE_TOKEN",
    "PI_API_KEY",
    "PI_SOME_SECRET",
    "PI_ADMIN_PASSWORD",
    "INKCELL_PYTHON_GATEWAY_TOKEN",
    "INKCELL_TOOL_BRIDGE_TOKEN",
    "INKCELL_TOKEN",
    "INKCELL_WEB_TOKEN_FILE",
    "INKCELL_SIGNING_KEY",
    // Other prefixes that pass.
    "XDG_SESSION_TOKEN",
    "LC_SECRET",
    "PIP_INDEX_PASSWORD",
    "UV_PUBLISH_TOKEN",
    "UV_PUBLISH_PASSWORD",
    "UV_INDEX_CORP_USERNAME",
    "UV_INDEX_CORP_PASSWORD",
    // Names that resemble allowed ones.
    "PATHS",
    "MY_PI_NAME",
    "PYTHONSTARTUP",
    "LD_PRELOAD",
];

/// Addresses with a user and password, which pass without them.
const WITH_USERINFO: &[(&str, &str, &str)] = &[
    ("HTTP_PROXY", "http://me:canary-7d1f@proxy:3128", "http://proxy:3128"),
    ("https_proxy", "me:canary-7d1f@proxy:3128", "proxy:3128"),
    ("HTTPS_PROXY", "http://me:canary-7d1f/@proxy:3128/", "http://proxy:3128/"),
    ("http_proxy", "http://me:a@canary-7d1f@proxy", "http://proxy"),
    ("PIP_INDEX_URL", "https://me:canary-7d1f@host/simple", "https://host/simple"),
    (
        "UV_INDEX",
        "a=https://me:canary-7d1f@a/simple b=https://b/simple c=https://canary-7d1f@c",
        "a=https://a/simple b=https://b/simple c=https://c",
    ),
    ("PI_INDEX_URL", "https://canary-7d1f@index:8888", "https://index:8888"),
];

/// S-022, the part that the filter covers. B:E-01 B:E-03 B:E-05
#[test]
fn sixty_canaries_stay_outside() {
    assert!(SECRETS.len() >= 60, "{}", SECRETS.len());
    let mut vars: Vec<_> = SECRETS.iter().map(|name| (*name, CANARY)).collect();
    vars.extend(WITH_USERINFO.iter().map(|(name, value, _)| (*name, *value)));
    vars.push(("SSH_AUTH_SOCK", "/run/agent"));
    let child = filtered(&vars, &[]);
    let expected: BTreeMap<String, String> = WITH_USERINFO
        .iter()
        .map(|(name, _, clean)| ((*name).to_owned(), (*clean).to_owned()))
        .chain([("SSH_AUTH_SOCK".to_owned(), "/run/agent".to_owned())])
        .collect();
    assert_eq!(child.vars, expected);
    assert!(child.vars.values().all(|value| !value.contains(CANARY)));
    assert_eq!(child.withheld.len(), SECRETS.len());
    assert_eq!(child.redacted.len(), WITH_USERINFO.len());
}

/// B:E-01 B:E-02
#[test]
fn what_programs_need_passes_unchanged() {
    let mut vars: Vec<(&str, &str)> = Vec::new();
    let passing = ALLOWED.iter().chain(ALLOWED_PYTHON).chain(ALLOWED_WINDOWS);
    vars.extend(passing.map(|name| (*name, "value")));
    vars.extend([
        ("HTTP_PROXY", "http://proxy:3128"),
        ("http_proxy", "proxy:3128"),
        ("HTTPS_PROXY", "http://[::1]:3128"),
        ("https_proxy", "socks5h://localhost"),
        ("NO_PROXY", "localhost,127.0.0.1,.corp"),
        ("no_proxy", "*"),
        ("OMP_NUM_THREADS", "4"),
        ("OPENBLAS_NUM_THREADS", "4"),
        ("LC_TIME", "C"),
        ("XDG_SESSION_TYPE", "tty"),
        ("PI_CUSTOM", "me@example.org"),
        ("INKCELL_LOG", "debug"),
        ("PIP_INDEX_URL", "https://host/simple/@scope"),
        ("PIP_NO_CACHE_DIR", "1"),
        ("UV_CACHE_DIR", "/tmp/uv"),
        ("UV_KEYRING_PROVIDER", "disabled"),
    ]);
    let child = filtered(&vars, &[]);
    assert_eq!(child.vars, parent(&vars).vars);
    assert_eq!((names(&child.withheld), names(&child.redacted)), (vec![], vec![]));
}

/// B:E-03
#[test]
fn a_name_a_value_and_a_family_can_be_asked_for() {
    let vars = [
        ("AWS_PROFILE", "dev"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("OPENAI_API_KEY", "o"),
        ("DATABASE_URL", "pg://u:p@h"),
        ("PI_API_KEY", "k"),
        ("PI_TOOL_BRIDGE_TOKEN", "t"),
        ("HTTP_PROXY", "http://u:p@h"),
    ];
    let check = |pass: &[&str], expected: &[(&str, &str)]| {
        let child = filtered(&vars, pass);
        assert_eq!(child.vars, parent(expected).vars, "{pass:?}");
    };
    let proxy = ("HTTP_PROXY", "http://h");
    check(&[], &[proxy]);
    check(&["AWS_*"], &[proxy, ("AWS_PROFILE", "dev"), ("AWS_SECRET_ACCESS_KEY", "s")]);
    check(&["AWS_PROFIL?"], &[proxy, ("AWS_PROFILE", "dev")]);
    check(&["DATABASE_URL"], &[proxy, ("DATABASE_URL", "pg://u:p@h")]);
    // A user who gives the exact name means it, so the value passes unchanged.
    check(&["HTTP_PROXY"], &[("HTTP_PROXY", "http://u:p@h")]);
    check(&["OPENAI_API_KEY"], &[proxy, ("OPENAI_API_KEY", "o")]);
    check(&["PI_API_KEY"], &[proxy, ("PI_API_KEY", "k")]);
    check(&["NEW=1=2"], &[proxy, ("NEW", "1=2")]);
    check(&["AWS_PROFILE=a", "AWS_PROFILE=b"], &[proxy, ("AWS_PROFILE", "b")]);
    // A glob reaches neither the deny-list nor our own secrets, and no pattern reaches the bridge's token.
    check(&["OPENAI_*", "PI_*"], &[proxy]);
    check(&["PI_TOOL_BRIDGE_TOKEN"], &[proxy]);
    assert_eq!(names(&filtered(&vars, &["NOWHERE"]).missing), ["NOWHERE"]);
}

/// B:E-03 B:E-05
#[test]
fn inheriting_leaves_out_only_our_own_secrets() {
    let vars: Vec<_> = SECRETS.iter().map(|name| (*name, CANARY)).collect();
    let child = child_environment(&parent(&vars), &rules(EnvMode::Inherit, &[]), &BTreeMap::new());
    assert!(
        child.withheld.iter().all(|name| name.starts_with("PI_") || name.starts_with("INKCELL_"))
    );
    let ours = |name: &&&str| name.starts_with("PI_") || name.starts_with("INKCELL_");
    assert_eq!(child.withheld.len(), SECRETS.iter().filter(ours).count());
    assert_eq!(child.vars.len(), SECRETS.len() - child.withheld.len());
    let proxy = [("HTTP_PROXY", "http://u:p@h")];
    let child = child_environment(&parent(&proxy), &rules(EnvMode::Inherit, &[]), &BTreeMap::new());
    assert_eq!(child.vars["HTTP_PROXY"], "http://u:p@h");
}

/// B:E-04 B:E-30
#[test]
fn what_is_given_explicitly_comes_after_the_filter() {
    let outer: Vec<_> = MANAGED.iter().map(|name| (*name, "of the outer session")).collect();
    for mode in [EnvMode::Filtered, EnvMode::Inherit] {
        let rules = rules(mode, &["PI_*", "PI_SESSION_FILE"]);
        let child = child_environment(&parent(&outer), &rules, &BTreeMap::new());
        assert!(child.vars.keys().all(|name| name == "ARTIFACTS"), "{:?}", child.vars);
        let given = [
            ("PI_TOOL_BRIDGE_TOKEN", "ours"),
            ("CUSTOM_VAR", "1"),
            ("OPENAI_API_KEY", "given"),
            ("A=B", "1"),
            ("", "1"),
            ("NUL", "a\0b"),
        ];
        let child = child_environment(&parent(&outer), &rules, &parent(&given).vars);
        assert_eq!(child.vars["PI_TOOL_BRIDGE_TOKEN"], "ours");
        assert_eq!(child.vars["CUSTOM_VAR"], "1");
        assert_eq!(child.vars["OPENAI_API_KEY"], "given");
        assert!(!child.withheld.contains("PI_TOOL_BRIDGE_TOKEN"));
        assert_eq!(names(&child.unusable), ["", "A=B", "NUL"]);
    }
}

#[test]
fn what_is_not_text_is_skipped_and_named() {
    use std::os::unix::ffi::OsStringExt;
    let odd = || OsString::from_vec(vec![b'a', 0xff]);
    let parent = ParentEnv::from_os([
        ("LANG".into(), "C".into()),
        ("TZ".into(), odd()),
        (odd(), "value".into()),
    ]);
    let child = child_environment(&parent, &EnvRules::default(), &BTreeMap::new());
    assert_eq!(child.vars.into_iter().collect::<Vec<_>>(), [("LANG".into(), "C".into())]);
    assert_eq!(names(&child.unusable), ["TZ", "a\u{fffd}"]);
}

/// B:E-03
#[test]
fn a_withheld_variable_that_code_missed_is_named() {
    let child =
        filtered(&[("AWS_PROFILE", "dev"), ("PI_TOOL_BRIDGE_TOKEN", "t"), ("TZ", "UTC")], &[]);
    let failed = |name: &str, value: &str| {
        let error = PyError { name: name.into(), value: value.into(), ..PyError::default() };
        missed_variable(&child.withheld, &error)
    };
    // Not a variable that passed, one that does not exist, or one that never passes.
    for name in ["TZ", "NOWHERE", "PI_TOOL_BRIDGE_TOKEN"] {
        assert_eq!(failed("KeyError", &format!("'{name}'")), None, "{name}");
    }
    assert_eq!(failed("KeyError", "'AWS_PROFILE'").as_deref(), Some("AWS_PROFILE"));
    assert_eq!(failed("KeyError", "AWS_PROFILE"), None);
    assert_eq!(failed("KeyError", "'"), None);
    assert_eq!(failed("NameError", "'AWS_PROFILE'"), None);
}

#[test]
fn patterns_are_read_and_refused() {
    let ok = |text: &str| text.parse::<EnvPattern>().unwrap();
    assert_eq!(ok("A"), EnvPattern::Name("A".into()));
    assert_eq!(ok("A="), EnvPattern::Set { name: "A".into(), value: String::new() });
    assert_eq!(ok("A=*"), EnvPattern::Set { name: "A".into(), value: "*".into() });
    assert_eq!(ok("A_*"), EnvPattern::Glob("A_*".into()));
    for wrong in ["", " ", "=1", "A*=1", "A\0", "A=\0"] {
        assert!(wrong.parse::<EnvPattern>().is_err(), "{wrong:?}");
    }
}

#[test]
fn globs_match_whole_names() {
    let check = |glob, name, expected| {
        assert_eq!(glob_matches(glob, name), expected, "{glob} {name}");
    };
    check("*", "", true);
    check("*", "ANY", true);
    check("AWS_*", "AWS_", true);
    check("AWS_*", "XAWS_A", false);
    check("*_X_*", "A_X_X_B", true);
    check("*AB", "AAB", true);
    check("A?C", "AC", false);
    check("A?C", "ABC", true);
    check("A*B*C", "AXXBYY", false);
    check("aws_*", "AWS_A", false);
    check(&"*A".repeat(30), &"A".repeat(2000), true);
}
