// node site/terminal-pictures.mjs: runs commands of quicrpc and draws what they print as docs/pictures/terminal-*.svg.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import xterm from "@xterm/headless";
import { RpcError } from "@quicrpc/core";
import { devCertificate, serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { fail, root, run, setup, tool } from "../scripts/setup.mjs";

const COLUMNS = 104;
const LINE = 19;
const CHARACTER = 8.4;
const MARGIN = 16;
const MAIN = join(root, "packages/cli/dist/main.js");
const SERVER = "quic://localhost:4433";
/** Colours of the terminal, by number, on a dark ground; the first is that of text. */
const GROUND = "#14161a";
const COLORS = { text: "#d6d9de", 1: "#ff7b72", 2: "#7ee787", 3: "#e3b341", 5: "#d2a8ff", 6: "#79c0ff" };

const SCHEMA = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

export const Orders = service("shop.v1.Orders", {
  /** Takes an order. */
  place: rpc({
    input: z.object({ items: z.array(z.string()).min(1), note: z.function() }),
    output: z.object({ id: z.uuid(), at: z.date() }),
  }),
});
`;

if (!(await setup({ engineOptional: true }))) {
  console.log("skipped: pictures of the terminal show calls over QUIC");
  process.exit(0);
}
if ((await run([...tool.tsc, "-p", "examples/arith"])).code !== 0) fail("examples/arith does not build");
mkdirSync(join(root, "site/.cache"), { recursive: true });
// Inside the repository, so that packages are found from it.
const folder = mkdtempSync(join(root, "site/.cache/terminal-"));
const server = await arith();
try {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "orders.service.ts"), SCHEMA);
  await picture(
    "terminal-gen",
    "quicrpc gen points at a field that has no form on the wire, and writes code once it is mended.",
    [
      "quicrpc gen orders.service.ts",
      () => writeFileSync(join(folder, "orders.service.ts"), SCHEMA.replace("z.function()", "z.string().optional()")),
      "quicrpc gen orders.service.ts",
    ],
  );
  await picture(
    "terminal-call",
    "quicrpc lists what a server serves, shows a method's types, calls it, and says what is wrong with an input.",
    [
      `quicrpc ls ${SERVER} demo.v1.Arith --dev`,
      `quicrpc describe ${SERVER} demo.v1.Arith/divide --dev`,
      `quicrpc call ${SERVER} demo.v1.Arith/divide '{"a":9,"b":2}' --dev`,
      `quicrpc call ${SERVER} demo.v1.Arith/divide '{"a":9,"b":"two"}' --dev`,
      `quicrpc call ${SERVER} demo.v1.Arith/divide '{"a":9,"b":2}'`,
    ],
  );
} finally {
  await server.close();
  rmSync(folder, { recursive: true });
}

async function arith() {
  const { createArithRouter } = await import("../examples/arith/dist/generated/arith.js");
  const router = createArithRouter({
    multiply: ({ a, b }) => ({ pro: a * b }),
    divide: ({ a, b }) => ({ quo: Math.trunc(a / b), rem: a % b }),
    log() {},
    ticks: () => Promise.reject(new RpcError("unimplemented", "no clock")),
  });
  return serve({
    listen: "quic://127.0.0.1:0",
    tls: await devCertificate(),
    routers: [router, createReflection([router])],
  });
}

/** Runs commands, and functions between them; draws what the commands print */
async function picture(name, alt, steps) {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: 200, convertEol: true, allowProposedApi: true });
  for (const step of steps) {
    if (typeof step === "function") step();
    else await write(terminal, `\u001b[36m$\u001b[39m \u001b[1m${step}\u001b[22m\n${await output(step)}\n`);
  }
  const svg = draw(linesOf(terminal), alt);
  writeFileSync(join(root, `docs/pictures/${name}.svg`), svg);
}

/** What a command prints, on both of its outputs in their order. */
async function output(command) {
  const file = join(folder, "output");
  const descriptor = openSync(file, "w");
  const shown = command.replace(/^quicrpc/, `"${process.execPath}" "${MAIN}"`).replaceAll(SERVER, server.urls[0]);
  const { NO_COLOR: _, ...inherited } = process.env;
  const env = { ...inherited, FORCE_COLOR: "1" };
  const child = spawn(shown, { shell: true, cwd: folder, env, stdio: ["ignore", descriptor, descriptor] });
  await once(child, "close");
  closeSync(descriptor);
  return readFileSync(file, "utf8").replaceAll(server.urls[0], SERVER).replaceAll("127.0.0.1", "localhost");
}

function write(terminal, text) {
  return new Promise((resolve) => terminal.write(text, resolve));
}

/** The lines of a terminal, each as its cells of one look. */
function linesOf({ buffer }) {
  const lines = Array.from({ length: buffer.active.length }, (_, row) => {
    const line = buffer.active.getLine(row);
    const spans = [];
    for (let column = 0; column < line.translateToString(true).length; column++) {
      const cell = line.getCell(column);
      const look = `${cell.isFgDefault() ? "text" : cell.getFgColor()}${cell.isBold() ? " b" : ""}${cell.isDim() ? " d" : ""}`;
      const last = spans.at(-1);
      if (last?.look === look) last.text += cell.getChars() || " ";
      else spans.push({ look, column, text: cell.getChars() || " " });
    }
    return spans;
  });
  return lines.slice(0, lines.findLastIndex((spans) => spans.length > 0) + 1);
}

function draw(lines, alt) {
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * MARGIN);
  const height = lines.length * LINE + 2 * MARGIN;
  const text = lines.flatMap((spans, row) =>
    spans
      .filter((span) => span.text.trim() !== "")
      .map(({ look, column, text: said }) => {
        const [color, ...styles] = look.split(" ");
        const weight = styles.includes("b") ? ' font-weight="bold"' : "";
        const dim = styles.includes("d") ? ' opacity="0.6"' : "";
        const shown = said.trim();
        const x = (MARGIN + (column + said.indexOf(shown)) * CHARACTER).toFixed(1);
        const y = MARGIN + (row + 0.75) * LINE;
        const length = (shown.length * CHARACTER).toFixed(1);
        return `<text x="${x}" y="${y}" textLength="${length}" fill="${COLORS[color] ?? COLORS.text}"${weight}${dim}>${escaped(shown)}</text>`;
      }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${alt}</title>
<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>
<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" style="white-space: pre">
${text.join("\n")}
</g>
</svg>
`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
