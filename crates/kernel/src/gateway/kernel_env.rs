//! What a gateway that starts kernels on other machines is told about them.
//!
//! Owns which variables those are. Pure: whoever calls this has the environment.

use std::collections::BTreeMap;

/// What all of them begin with; a gateway takes no others.
const PREFIX: &str = "KERNEL_";

/// Whom a kernel belongs to. A gateway may refuse users, or run kernels as them.
const USERNAME: &str = "KERNEL_USERNAME";

/// The variables of an environment that are for a gateway, with the user's name where none is given.
pub fn kernel_environment<'a>(
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<String, String> {
    let (mut taken, mut user) = (BTreeMap::new(), None);
    for (name, value) in environment {
        if name.starts_with(PREFIX) {
            taken.insert(name.to_owned(), value.to_owned());
        } else if name == "USER" || (name == "LOGNAME" && user.is_none()) {
            user = Some(value).filter(|value| !value.is_empty());
        }
    }
    if let Some(user) = user {
        taken.entry(USERNAME.to_owned()).or_insert_with(|| user.to_owned());
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not meant for a gateway is not told to it.
    #[test]
    fn only_what_is_for_kernels_is_told() {
        let check = |environment: &[(&str, &str)], wanted: &[(&str, &str)]| {
            let taken = kernel_environment(environment.iter().copied());
            let taken: Vec<_> =
                taken.iter().map(|(name, it)| (name.as_str(), it.as_str())).collect();
            assert_eq!(taken, wanted);
        };
        check(&[("PATH", "/bin"), ("TOKEN", "x"), ("XKERNEL_A", "y")], &[]);
        check(
            &[("KERNEL_CPUS", "2"), ("USER", "ann")],
            &[("KERNEL_CPUS", "2"), ("KERNEL_USERNAME", "ann")],
        );
        check(&[("USER", "ann"), ("KERNEL_USERNAME", "bob")], &[("KERNEL_USERNAME", "bob")]);
        check(&[("LOGNAME", "eve")], &[("KERNEL_USERNAME", "eve")]);
        check(&[("USER", "ann"), ("LOGNAME", "eve")], &[("KERNEL_USERNAME", "ann")]);
    }
}
