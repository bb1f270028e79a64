#!/usr/bin/env node
// `npm create quicrpc@latest [directory] -- [options]` is `quicrpc init`.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("quicrpc/package.json");
const command = join(dirname(manifest), "dist/main.js");
const { status } = spawnSync(process.execPath, [command, "init", ...process.argv.slice(2)], { stdio: "inherit" });
process.exitCode = status ?? 1;
