// Writes docs/limits.md from the options' doc comments and their defaults: `npm run limits:docs [-- --check]`.
import { readFile, writeFile } from "node:fs/promises";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { DEFAULT_TRANSPORT } from "@quicrpc/quic";
import { cell, propertiesOf } from "./docstrings.mjs";
import { reference, shown } from "./docs.mjs";

const PAGE = "docs/limits.md";

/** The properties of an interface, with their comments on one line. */
function options(file, name) {
  return propertiesOf(file, name).map((property) => ({ name: property.name, text: cell(property.text) }));
}

function rows(list, defaults) {
  return reference(
    ["| | default | |", "|---|---:|---|"],
    list.map(({ name, text }) => [`\`${name}\``, shown(name, defaults[name]), text]),
  );
}

const ENGINE = "quic/src/limits.ts";
/** Settings of the engine that `serve` and `connect` have options of every transport for. */
const elsewhere = ["handshakeTimeoutMs", "keepAliveIntervalMs"];
const ofBoth = options(ENGINE, "TransportOptions").filter(({ name }) => !elsewhere.includes(name));
const names = new Set(ofBoth.map(({ name }) => name));
const ofListeners = options(ENGINE, "ListenTransportOptions").filter(
  ({ name }) => !names.has(name) && !elsewhere.includes(name),
);
const text = `# Limits

Whatever a peer can make grow has a limit, which holds before memory or time is spent. This page is written from the code by \`npm run limits:docs\`.
[Security](security.md) says what the limits are for.

![A peer meets limits at the door, at the session, at its calls and at each message, before memory or time is spent.](pictures/limits.svg)

## Of sessions and calls

\`limits\` of \`serve\`, \`connect\`, \`dial\` and \`createSession\`; \`DEFAULT_LIMITS\` has the defaults.

${rows(options("core/src/limits.ts", "Limits"), DEFAULT_LIMITS)}

## Of a listener

\`transport\` of \`serve\`; how long a handshake may take is \`limits.maxHandshakeMs\`.

${rows(ofListeners, DEFAULT_TRANSPORT)}

## Of a QUIC connection

\`transport\` of \`serve\`, \`connect\` and \`dial\`, for either side; pings are \`keepAlive\`.

${rows(ofBoth, DEFAULT_TRANSPORT)}
`;

if (!process.argv.includes("--check")) await writeFile(PAGE, text);
else if ((await readFile(PAGE, "utf8").catch(() => "")) !== text) {
  console.error(`${PAGE} is not what the code says: npm run limits:docs writes it`);
  process.exit(1);
}
