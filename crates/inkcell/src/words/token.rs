//! Sentences about a file of tokens, and about the folder where it is.

pub(crate) const NOT_FILE: &str = "not a regular file";

pub(crate) const OF_OTHER_USER: &str = "it belongs to another user";

pub(crate) const READABLE: &str = "other users can read or write it; run 'chmod 600' on it";

/// What could not be done, as a part of a sentence.
pub(crate) const USE_FOLDER: &str = "use the state folder";

pub(crate) const NOT_FOLDER: &str = "a link or a file stands where a private folder should be";

pub(crate) const LOOK_AT_FOLDER: &str = "check the state folder";

pub(crate) const FOLDER_OF_OTHER_USER: &str = "the state folder belongs to another user";

pub(crate) const FOLDER_WRITABLE: &str = "other users can write into the state folder";
