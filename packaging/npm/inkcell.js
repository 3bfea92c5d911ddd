#!/usr/bin/env node
// Starts the binary that npm installed for this platform, as an optional dependency of this package.
"use strict";

const { spawn } = require("node:child_process");

const platform = `@inkcell/${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${platform}/bin/inkcell`);
} catch {
  console.error(`error: the package ${platform} is not installed\nhint: npm install inkcell, without --omit=optional`);
  process.exit(3);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends an interrupt to both. A signal for this process alone is passed on.
const ignore = () => {};
const forward = (signal) => child.kill(signal);
process.on("SIGINT", process.stdin.isTTY ? ignore : forward);
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, forward);
child.on("error", (error) => {
  console.error(`error: cannot start ${binary}: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
