//! Variables for a gateway that starts kernels on other machines.
//!
//! Owns the choice of variables. Pure: the caller passes the environment in.

use std::collections::BTreeMap;
use std::time::Duration;

/// Prefix of every such variable. A gateway takes no others.
const PREFIX: &str = "KERNEL_";

/// Owner of a kernel. A gateway may refuse users, or run kernels under their names.
const USERNAME: &str = "KERNEL_USERNAME";

/// Seconds for which a gateway waits for a kernel on another machine.
const LAUNCH_TIMEOUT: &str = "KERNEL_LAUNCH_TIMEOUT";

/// Returns the variables of an environment that are meant for a gateway.
pub fn kernel_environment<'a>(
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, String> {
    let is_for_it = |(name, _): &(&str, &str)| name.starts_with(PREFIX);
    let taken = environment.into_iter().filter(is_for_it);
    taken.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the user to whom an environment belongs.
pub fn user_of<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let named: BTreeMap<&str, &str> = environment.into_iter().collect();
    let user = ["USER", "LOGNAME"].iter().find_map(|name| named.get(name));
    user.filter(|user| !user.is_empty()).map(|user| (*user).to_owned())
}

/// Extent of what a gateway learns when it starts a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvScope {
    /// Send variables only if the user has set some. A kernel gateway that receives any variable
    /// omits those that it would otherwise give to the kernel.
    WhatIsSet,
    /// Always send variables, among them the user's name and our time limit, to a gateway that
    /// starts kernels on other machines and gives up by a limit of its own.
    Everything,
}

/// Returns the variables for the request that starts a kernel.
pub(crate) fn named(
    set: &BTreeMap<String, String>,
    user: Option<&str>,
    limit: Option<Duration>,
    scope: EnvScope,
) -> BTreeMap<String, String> {
    let mut named = set.clone();
    if scope == EnvScope::WhatIsSet && named.is_empty() {
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

    /// Variables that are not meant for a gateway are not sent to it.
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

    /// B:G-30 A gateway that needs no variables receives none: it would start the kernel without
    /// its own.
    #[test]
    fn who_and_how_long_is_told_where_it_matters() {
        let limit = Some(Duration::from_secs(90));
        let check = |set: &[(&str, &str)], scope: EnvScope, wanted: &[(&str, &str)]| {
            assert_eq!(named(&given(set), Some("ann"), limit, scope), given(wanted), "{set:?}");
        };
        check(&[], EnvScope::WhatIsSet, &[]);
        let both = [("KERNEL_LAUNCH_TIMEOUT", "90"), ("KERNEL_USERNAME", "ann")];
        check(&[], EnvScope::Everything, &both);
        check(&[("KERNEL_X", "1")], EnvScope::WhatIsSet, &[both[0], both[1], ("KERNEL_X", "1")]);
        let own = [("KERNEL_LAUNCH_TIMEOUT", "5"), ("KERNEL_USERNAME", "bob")];
        check(&own, EnvScope::Everything, &own);
    }
}
