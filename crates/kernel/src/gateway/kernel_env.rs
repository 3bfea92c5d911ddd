//! What a gateway that starts kernels on other machines is told about them.
//!
//! Owns which variables those are. Pure: whoever calls this has the environment.

use std::collections::BTreeMap;
use std::time::Duration;

/// What all of them begin with; a gateway takes no others.
const PREFIX: &str = "KERNEL_";

/// Whom a kernel belongs to. A gateway may refuse users, or run kernels as them.
const USERNAME: &str = "KERNEL_USERNAME";

/// How long a gateway waits for a kernel on another machine.
const LAUNCH_TIMEOUT: &str = "KERNEL_LAUNCH_TIMEOUT";

/// The variables of an environment that are for a gateway.
pub fn kernel_environment<'a>(
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, String> {
    let is_for_it = |(name, _): &(&str, &str)| name.starts_with(PREFIX);
    let taken = environment.into_iter().filter(is_for_it);
    taken.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Whose environment this is.
pub fn user_of<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let named: BTreeMap<&str, &str> = environment.into_iter().collect();
    let user = ["USER", "LOGNAME"].iter().find_map(|name| named.get(name));
    user.filter(|user| !user.is_empty()).map(|user| (*user).to_owned())
}

/// How much a gateway is told when it makes a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// What the user has set. Where that is nothing it must be nothing: a kernel gateway that is told any variable
    /// leaves out those that it would give to the kernel otherwise.
    WhatIsSet,
    /// Also who the user is, and our time limit: it starts kernels elsewhere, and gives up by a limit of its own.
    Everything,
}

/// What is named when a kernel is made.
pub(crate) fn named(
    set: &BTreeMap<String, String>,
    user: Option<&str>,
    limit: Option<Duration>,
    told: Told,
) -> BTreeMap<String, String> {
    let mut named = set.clone();
    if told == Told::WhatIsSet && named.is_empty() {
        return named;
    }
    let limit = limit.map(|limit| limit.as_secs().max(1).to_string());
    for (name, value) in [(USERNAME, user.map(str::to_owned)), (LAUNCH_TIMEOUT, limit)] {
        if let Some(value) = value {
            named.entry(name.to_owned()).or_insert(value);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(named: &[(&str, &str)]) -> BTreeMap<String, String> {
        named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// What is not meant for a gateway is not told to it.
    #[test]
    fn only_what_is_for_kernels_is_told() {
        let environment =
            [("PATH", "/bin"), ("TOKEN", "x"), ("XKERNEL_A", "y"), ("KERNEL_CPUS", "2")];
        assert_eq!(kernel_environment(environment), given(&[("KERNEL_CPUS", "2")]));
    }

    #[test]
    fn a_user_is_known_by_either_name() {
        let check = |environment: &[(&str, &str)], wanted: Option<&str>| {
            assert_eq!(user_of(environment.iter().copied()).as_deref(), wanted);
        };
        check(&[("PATH", "/bin")], None);
        check(&[("LOGNAME", "eve")], Some("eve"));
        check(&[("LOGNAME", "eve"), ("USER", "ann")], Some("ann"));
        check(&[("USER", "")], None);
    }

    /// B:G-30 A gateway that needs to know nothing is told nothing: it would start the kernel without its own
    /// variables.
    #[test]
    fn who_and_how_long_is_told_where_it_matters() {
        let limit = Some(Duration::from_secs(90));
        let check = |set: &[(&str, &str)], told: Told, wanted: &[(&str, &str)]| {
            assert_eq!(named(&given(set), Some("ann"), limit, told), given(wanted), "{set:?}");
        };
        check(&[], Told::WhatIsSet, &[]);
        let both = [("KERNEL_LAUNCH_TIMEOUT", "90"), ("KERNEL_USERNAME", "ann")];
        check(&[], Told::Everything, &both);
        check(&[("KERNEL_X", "1")], Told::WhatIsSet, &[both[0], both[1], ("KERNEL_X", "1")]);
        let own = [("KERNEL_LAUNCH_TIMEOUT", "5"), ("KERNEL_USERNAME", "bob")];
        check(&own, Told::Everything, &own);
    }
}
