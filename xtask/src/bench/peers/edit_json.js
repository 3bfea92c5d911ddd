// Peer: change one cell with Node's own JSON. Arguments: FILE INDEX SOURCE.
"use strict";
const fs = require("node:fs");

const [path, index, source] = process.argv.slice(2);
const notebook = JSON.parse(fs.readFileSync(path, "utf8"));
notebook.cells[Number(index)].source = source.split(/(?<=\n)/);
fs.writeFileSync(path, JSON.stringify(notebook, null, 1) + "\n");
