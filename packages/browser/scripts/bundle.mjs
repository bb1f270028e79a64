// Bundles the client for script tags into script/: quicrpc.js, and quicrpc-session.js, which it loads for streams.
import { createHash } from "node:crypto";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const packages = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What a file needs of a module that pages load later: another module, and the name if it needs only one. */
const NEEDED = {
  "http/dist/client/loaded-later.js": "http/dist/client/failure.js#failureOf",
  "http/dist/client/blob-call.js": undefined,
  "browser/dist/loaded-later.js": "core/dist/transport/web-socket.js",
};

/** Code for calls by GET, which need a schema with `readOnly` methods. */
const GET_QUERY = join(packages, "http/dist/protocol/get-query.js");

/** Replaces dynamic imports: each file is complete, so that one hash covers it. */
const complete = {
  name: "complete",
  load: (id) => (id === GET_QUERY ? "export const writeGetQuery = undefined;" : undefined),
  transform(code, id) {
    const imports = [];
    const replaced = code.replaceAll(/\bimport\("(\.[^"]+)"\)/g, (_, path) => {
      const file = relative(packages, resolve(dirname(id), path));
      const needed = file in NEEDED ? NEEDED[file] : file;
      if (needed === undefined) return "Promise.reject()";
      const [module, name] = needed.split("#");
      const later = `later${imports.length}`;
      const imported = name === undefined ? `* as ${later}` : `{ ${name} as ${later} }`;
      imports.push(`import ${imported} from ${JSON.stringify(join(packages, module))};\n`);
      return `Promise.resolve(${name === undefined ? later : `{ ${name}: ${later} }`})`;
    });
    return imports.join("") + replaced;
  },
};

async function bundle(entry, name, define = {}) {
  const made = await rolldown({
    input: join(packages, "browser/dist/script", entry),
    platform: "browser",
    transform: { define },
    plugins: [complete],
  });
  const file = join(packages, "browser/script", name);
  const { output } = await made.write({ file, format: "iife", minify: true, comments: false });
  await made.close();
  return output[0].code;
}

const session = await bundle("session.js", "quicrpc-session.js");
const integrity = `sha256-${createHash("sha256").update(session).digest("base64")}`;
await bundle("quicrpc.js", "quicrpc.js", { SESSION_INTEGRITY: JSON.stringify(integrity) });
