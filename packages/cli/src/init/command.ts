import { spawnSync } from "node:child_process";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { colorsFor } from "../report.js";
import { printJson, report } from "../target.js";
import { TEMPLATES } from "./templates.js";

const MAIN = fileURLToPath(new URL("../main.js", import.meta.url));

interface InitOptions {
  readonly template: string;
  readonly install: boolean;
  readonly json?: boolean;
}

export function initCommand(version: string): Command {
  return new Command("init")
    .description("Create a project, or add missing parts to an existing one.")
    .argument("[directory]", "where", ".")
    .addOption(new Option("-t, --template <name>", "what kind of project").choices([...TEMPLATES]).default("node"))
    .option("--no-install", "do not install dependencies")
    .option("--json", "print { directory, template, added, kept, notes } as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc init my-app
  $ quicrpc init my-app --template react
  $ quicrpc init --no-install         adds what the project here lacks
  $ npm create quicrpc@latest my-app -- --template browser

node: a server and a client. browser: a server and a page. react: the same with React and TanStack Query. monorepo: schema,
server and page as packages. next: a Next.js app, over HTTP. Each generates, tests, lints and runs.
Nothing that exists is replaced: scripts and dependencies are added to package.json, and files where there are none.

Exit codes: 0 done, 1 it failed, 2 wrong usage.`,
    )
    .action(async (directory: string, options: InitOptions) => {
      process.exitCode = await init(resolve(directory), options, version);
    });
}

async function init(
  directory: string,
  { template, install, json = false }: InitOptions,
  version: string,
): Promise<number> {
  const colors = colorsFor(process.stdout, process.env);
  const { writeProject } = await import("./write-project.js");
  const manager = packageManager();
  let result: ReturnType<typeof writeProject>;
  try {
    result = writeProject(directory, template, version, manager);
  } catch (error) {
    report(error as Error, { json });
    return 1;
  }
  if (json) printJson(result);
  else {
    const isChanged = result.added.length > 0;
    const lines = [
      ...result.added.map((line) => `${colors.green("added")} ${line}\n`),
      ...(isChanged ? result.kept : []).map((line) => `${colors.dim("kept")}  ${line}\n`),
      ...result.notes.map((line) => `${colors.yellow("note")}  ${line}\n`),
    ];
    process.stdout.write(lines.join(""));
  }
  if (install && !(run(directory, manager, ["install"], json) && generate(directory, json))) {
    report(new Error(`the files were written, but a later step failed: see above, then run ${manager} install`), {
      json,
    });
    return 1;
  }
  if (!json) {
    const folder = relative(process.cwd(), directory);
    const steps = [
      ...(folder === "" ? [] : [`cd ${folder}`]),
      ...(install ? [] : [`${manager} install`]),
      `${manager} run dev`,
    ];
    process.stdout.write(`\nNext: ${colors.cyan(steps.join(" && "))}\n`);
  }
  return 0;
}

function packageManager(): string {
  const name = process.env["npm_config_user_agent"]?.split("/")[0] ?? "npm";
  return ["npm", "pnpm", "yarn", "bun"].includes(name) ? name : "npm";
}

/** Runs a command. Its output goes to stderr if this command writes JSON to stdout. */
function run(cwd: string, command: string, args: readonly string[], json: boolean): boolean {
  const stdio = ["inherit", json ? 2 : "inherit", "inherit"] as const;
  const { status, error } = spawnSync(command, args, { cwd, stdio: [...stdio], shell: process.platform === "win32" });
  if (error !== undefined) process.stderr.write(`${error.message}\n`);
  return status === 0;
}

function generate(directory: string, json: boolean): boolean {
  const stdio = ["inherit", json ? 2 : "inherit", "inherit"] as const;
  return spawnSync(process.execPath, [MAIN, "gen"], { cwd: directory, stdio: [...stdio] }).status === 0;
}
