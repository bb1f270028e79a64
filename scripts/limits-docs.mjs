// Writes docs/limits.md from the options' doc comments and their defaults: `npm run limits:docs [-- --check]`.
import { readFile, writeFile } from "node:fs/promises";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { DEFAULT_TRANSPORT } from "@quicrpc/quic";
import { Project } from "ts-morph";
import { table } from "./docs.mjs";

const PAGE = "docs/limits.md";
const project = new Project({ skipAddingFilesFromTsConfig: true });

/** The properties of an interface, with their comments on one line and without links to other places. */
function options(file, name) {
  const source = project.addSourceFileAtPath(file);
  return source
    .getInterfaceOrThrow(name)
    .getProperties()
    .map((property) => ({
      name: property.getName(),
      text: property
        .getJsDocs()
        .map((doc) =>
          doc
            .getDescription()
            .trim()
            .replaceAll(/\s*\n\s*/g, " "),
        )
        .join(" ")
        .replaceAll("|", "\\|"),
    }));
}

/** A number as a person writes it: bytes in powers of two where they are. */
function shown(name, value) {
  if (typeof value !== "number") return `"${value}"`;
  const bytes = /bytes|window|watermark|buffer/i.test(name);
  if (bytes && value >= 1024 && value % 1024 === 0) {
    return value % 1_048_576 === 0 ? `${value / 1_048_576} MiB` : `${value / 1024} KiB`;
  }
  if (name.endsWith("Ms") && value >= 1000 && value % 1000 === 0) return `${(value / 1000).toLocaleString("en")} s`;
  if (name.endsWith("Ms")) return `${value.toLocaleString("en")} ms`;
  return value.toLocaleString("en");
}

function rows(list, defaults) {
  return table(
    ["| | default | |", "|---|---:|---|"],
    list.map(({ name, text }) => [`\`${name}\``, shown(name, defaults[name]), text]),
  );
}

const ENGINE = "packages/quic/src/limits.ts";
/** Settings of the engine that `serve` and `connect` have options of every transport for. */
const elsewhere = ["handshakeTimeoutMs", "keepAliveIntervalMs"];
const engine = (name) => options(ENGINE, name).filter((option) => !elsewhere.includes(option.name));
const text = `# Limits

Whatever a peer can make grow has a limit, which holds before memory or time is spent. This page is written from the code by \`npm run limits:docs\`.
[Security](security.md) says what the limits are for.

![A peer meets limits at the door, at the session, at its calls and at each message, before memory or time is spent.](pictures/limits.svg)

## Of sessions and calls

\`limits\` of \`serve\`, \`connect\`, \`dial\` and \`createSession\`; \`DEFAULT_LIMITS\` has the defaults.

${rows(options("packages/core/src/limits.ts", "Limits"), DEFAULT_LIMITS)}

## Of a listener

\`transport\` of \`serve\`; how long a handshake may take is \`limits.maxHandshakeMs\`.

${rows(engine("ListenTransportOptions"), DEFAULT_TRANSPORT)}

## Of a QUIC connection

\`transport\` of \`serve\`, \`connect\` and \`dial\`, for either side; pings are \`keepAlive\`.

${rows(engine("TransportOptions"), DEFAULT_TRANSPORT)}
`;

if (!process.argv.includes("--check")) await writeFile(PAGE, text);
else if ((await readFile(PAGE, "utf8").catch(() => "")) !== text) {
  console.error(`${PAGE} is not what the code says: npm run limits:docs writes it`);
  process.exit(1);
}
