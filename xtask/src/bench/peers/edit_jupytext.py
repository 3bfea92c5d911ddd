"""Peer: to a py:percent script, change the text, and back into the notebook.

Arguments: FILE OLD-SOURCE NEW-SOURCE. Both conversions run in this one process, which spares jupytext
one of the two starts a person at a shell would pay for.
"""

import sys
from pathlib import Path

from jupytext.cli import jupytext

path, old, new = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
script = path.with_suffix(".py")
jupytext(["--quiet", "--to", "py:percent", "--output", str(script), str(path)])
text = script.read_text(encoding="utf-8")
# An edit that finds nothing would still be timed, and would measure something else.
if text.count(old) != 1:
    sys.exit(f"the cell stands {text.count(old)} times in the script")
script.write_text(text.replace(old, new), encoding="utf-8")
jupytext(["--quiet", "--update", "--to", "ipynb", "--output", str(path), str(script)])
