// npm run cli:docs: writes docs/cli.md from the help texts of `quicrpc`; npm run docs:check fails if the page is out of
// date.
import { readFile, writeFile } from "node:fs/promises";
import { run, tool } from "./setup.mjs";

const PAGE = "docs/cli.md";

async function help(...words) {
  const { code, output } = await run([...tool.quicrpc, ...words, "--help"], { capture: true, env: { NO_COLOR: "1" } });
  if (code !== 0) throw new Error(output);
  return output.trimEnd();
}

const overview = await help();
const commands = Array.from(
  overview
    .split("\nCommands:\n")[1]
    .split("\n\n")[0]
    .matchAll(/^ {2}(\w[\w-]*)/gm),
  ([, name]) => name,
);
const sections = await Promise.all(
  commands.map(async (name) => `## quicrpc ${name}\n\n\`\`\`text\n${await help(name)}\n\`\`\``),
);
const text = `# The command

\`npm install --save-dev quicrpc\`, then \`npx quicrpc\`. This page is what its \`--help\` says, written by \`npm run cli:docs\`; [its README](../packages/cli/README.md) tells more.

![quicrpc lists what a server serves, shows a method's types, calls it, and says what is wrong with an input.](pictures/terminal-call.svg)

The server of the picture answers for itself: it serves \`createReflection(routers)\` of \`@quicrpc/services\` beside its routers. Without that, commands use the schemas of the project that they run in, and say so.

\`\`\`text
${overview}
\`\`\`

Exit codes: 0 done, 1 it failed, 2 wrong usage, 3 no session. \`NO_COLOR\` is respected, and \`--json\` prints for scripts.

${sections.join("\n\n")}
`;

if (!process.argv.includes("--check")) await writeFile(PAGE, text);
else if ((await readFile(PAGE, "utf8").catch(() => "")) !== text) {
  console.error(`${PAGE} is not what the command says: npm run cli:docs writes it`);
  process.exit(1);
}
