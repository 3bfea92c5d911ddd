//! Names that callers write in place of a field's own name.
//!
//! Owns the common slips. A parser knows which fields there are, and says which one is meant.

/// Fields, each with the names that are written for it: without underscores, in lower case. The first field of the list
/// that a request has is meant.
const SLIPS: &[(&str, &str)] = &[
    ("path", "file filename filepath notebook notebookpath notebookfile notebookname nb ipynb"),
    ("notebook_path", "file filename filepath notebook notebookfile notebookname nb ipynb target"),
    ("command", "cmd code script shell bash commandline"),
    (
        "code",
        "source content contents text script python program snippet input body cellsource cmd command commandline",
    ),
    ("source", "code content contents text script python body value cellsource newcode src"),
    ("new_source", "source code content contents text body value cellsource newcode src"),
    ("content", "contents source newsource code text body value data cellsource newcode src"),
    ("cell", "cellid cellindex cellnumber id index idx number"),
    ("cell_id", "cell cellindex cellnumber id index idx number"),
    ("cell_index", "cell cellid cellnumber id index idx number position"),
    ("cells", "cell cellid cellids cellindex cellindexes cellindices id ids index indexes indices"),
    ("timeout", "timeoutms timeoutmillis timeoutseconds timeoutsecs timelimit maxtime maxseconds"),
    ("wait", "waitms waitseconds waitsecs maxwait timeout timeoutms timeoutseconds timelimit"),
    ("session", "sessionid sessionname kernelid kernelsession name"),
    ("kernelId", "session sessionid sessionname kernel"),
    ("cwd", "workdir workingdir workingdirectory workingfolder dir directory folder"),
    ("reset", "restart fresh newkernel clean"),
    ("fresh", "reset restart newkernel clean"),
    ("parameters", "params args arguments variables inputs"),
    ("output", "out outputpath outputfile outfile saveas destination"),
    ("outputs", "output showoutputs includeoutputs withoutputs"),
    ("on_error", "onerrors errors allowerrors stoponerror continueonerror"),
    ("from", "start first fromcell startcell begin"),
    ("to", "end last tocell endcell until"),
    ("op", "operation action mode editmode command verb"),
    ("action", "operation op mode command verb"),
    ("edit_mode", "operation op action mode command verb"),
    ("ops", "operations edits changes actions batch"),
    ("old", "oldtext oldstring oldstr oldsource oldcode find search pattern"),
    ("new", "newtext newstring newstr replace replacement replacewith"),
    ("old_text", "old oldstring oldstr find search pattern"),
    ("new_text", "new newstring newstr replace replacement replacewith"),
    ("all", "replaceall global everywhere"),
    ("type", "celltype kind cellkind"),
    ("cell_type", "type kind cellkind"),
    ("set", "metadata meta values"),
    ("add", "tags tag addtags"),
    ("remove", "untag removetags"),
    ("after", "aftercell aftercellid insertafter"),
    ("before", "beforecell beforecellid insertbefore insertat atindex position index"),
    ("if_hash", "hash version etag ifversion ifmatch basehash baseversion"),
    ("view", "format mode"),
    ("search", "query pattern grep regex find filter"),
    ("grep", "query pattern search regex find filter"),
    ("lines", "line range linerange lineranges"),
    ("offset", "byteoffset from start"),
    ("json_path", "jq pointer key"),
    ("id", "execution executionid artifact artifactid callid resultid uri url path ref"),
    ("kernel", "kernelname kernelspec"),
    ("name", "variable var varname object symbol expression expr"),
    ("help", "doc docs documentation signature"),
    ("cursor", "cursorpos cursorposition position pos column"),
    ("language", "lang"),
    ("title", "name label description"),
];

/// Finds the field that a caller means by a name that no field has.
pub fn meant_field<'a>(known: &[&'a str], given: &str) -> Option<&'a str> {
    let given = plain(given);
    let is_spelled_so = |name: &&&str| plain(name) == given;
    let slips = SLIPS.iter().filter(|(_, names)| names.split(' ').any(|name| name == given));
    let mut meant = slips.filter_map(|(field, _)| known.iter().find(|name| *name == field));
    known.iter().find(is_spelled_so).or_else(|| meant.next()).copied()
}

/// A name in lower case and without underscores, which differ from style to style.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_field_that_the_request_has() {
        let table: [(&[&str], &str, Option<&str>); 10] = [
            (&["path", "code", "cell"], "file", Some("path")),
            (&["path", "code", "cell"], "sourceCode", None),
            (&["path", "code", "cell"], "source", Some("code")),
            (&["path", "source"], "code", Some("source")),
            (&["path", "cells"], "cellId", Some("cells")),
            (&["path", "cell", "cells"], "cell-index", Some("cell")),
            (&["timeout"], "timeoutMs", Some("timeout")),
            (&["if_hash"], "ifHash", Some("if_hash")),
            (&["id", "wait"], "timeout", Some("wait")),
            (&["name"], "file", None),
        ];
        for (known, given, wanted) in table {
            assert_eq!(meant_field(known, given), wanted, "{given}");
        }
    }

    /// A name stands for a field once, and never for itself.
    #[test]
    fn slips_are_written_once_and_plainly() {
        for (field, names) in SLIPS {
            assert_eq!(SLIPS.iter().filter(|(other, _)| other == field).count(), 1, "{field}");
            let names: Vec<&str> = names.split(' ').collect();
            for name in &names {
                assert!(*name == plain(name) && *name != plain(field), "{field}: {name}");
                assert_eq!(
                    names.iter().filter(|other| *other == name).count(),
                    1,
                    "{field}: {name}"
                );
            }
        }
    }
}
