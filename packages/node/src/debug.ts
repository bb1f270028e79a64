/** Names that the environment variable `QUICRPC_DEBUG` accepts, separated by commas. */
const KNOWN = ["open", "refused"] as const;

const names = process.env["QUICRPC_DEBUG"]?.split(",").filter((name) => name !== "") ?? [];
const unknown = names.filter((name) => !KNOWN.some((known) => known === name));
if (unknown.length > 0) {
  process.emitWarning(`QUICRPC_DEBUG takes ${KNOWN.join(" and ")}, not ${unknown.join(",")}`, {
    code: "QUICRPC_DEBUG",
  });
}

export function isDebugged(name: (typeof KNOWN)[number]): boolean {
  return names.includes(name);
}
