//! Sentences about a file of tokens, and about the folder where it is.

pub(crate) const NO_FILE: &str = "it is no file";

pub(crate) const OF_OTHER_USER: &str = "it belongs to another user";

pub(crate) const READABLE: &str = "others may read or write it; say chmod 600";

/// What could not be done, as a part of a sentence.
pub(crate) const USE_FOLDER: &str = "use the state folder";

pub(crate) const NO_FOLDER: &str = "a link or a file is where a folder of ours should be";

pub(crate) const LOOK_AT_FOLDER: &str = "look at the state folder";

pub(crate) const FOLDER_OF_OTHER_USER: &str = "the state folder belongs to another user";

pub(crate) const FOLDER_WRITABLE: &str = "others may write into the state folder";
