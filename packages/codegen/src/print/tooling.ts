import { basename } from "node:path";
import type { ServiceTooling } from "@quicrpc/core";
import type { FileModel } from "../model.js";
import { camelCase } from "../names.js";
import { HEADER } from "./header.js";
import { jsDoc, keyText, MAX_WIDTH } from "./writer.js";

/** The name of what `printTooling` exports for a service. */
export function toolingName(prefix: string): string {
  return `${camelCase(prefix)}Tooling`;
}

/** The text of the file with what tools are told of the services of `model`; it is loaded when one asks. */
export function printTooling({ schemaFile, services }: FileModel): string {
  const constants = services.map(({ name, prefix, docs, methods, snapshot }) => {
    const tooling: ServiceTooling = {
      ...(docs === undefined ? {} : { docs }),
      methods: Object.fromEntries(methods.map((method) => [method.name, method.tooling])),
      snapshot,
    };
    const comment = jsDoc(`What tools are told of ${name}: comments, JSON Schemas of its messages, and their shapes.`);
    return `${comment}export const ${toolingName(prefix)}: ServiceTooling = ${literal(tooling, "")};\n`;
  });
  const imports = 'import type { ServiceTooling } from "@quicrpc/core";\n';
  return [`${HEADER}${basename(schemaFile)}. Do not edit.\n`, imports, ...constants].join("\n");
}

/** A JSON value as TypeScript, in one line where that is short. */
function literal(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const line = short(value);
  if (indent.length + line.length <= MAX_WIDTH - 40) return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const lines = Array.isArray(value)
    ? value.map((each) => literal(each, inner))
    : Object.entries(value).map(([key, each]) => `${keyText(key)}: ${literal(each, inner)}`);
  return `${open}\n${lines.map((each) => `${inner}${each},\n`).join("")}${indent}${close}`;
}

function short(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(short).join(", ")}]`;
  const fields = Object.entries(value).map(([key, each]) => `${keyText(key)}: ${short(each)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
