import type { MessageModel, MethodModel, ServiceModel } from "../model.js";
import type { PackageModel } from "../packages.js";
import { type Declaration, plainNames } from "../types/node.js";
import { printDeclaration } from "../print/declarations.js";

/** Returns a reference of the services in `packages`, in Markdown. */
export function printMarkdown(packages: readonly PackageModel[], title: string): string {
  const models = packages.flatMap((each) => each.models);
  const shared = packages.flatMap((each) => each.shared.types.declarations);
  const services = models.flatMap((model) => model.services.map((service) => ({ service, model })));
  const contents = services.map(({ service }) => `- [${service.name}](#${anchor(service.name)})\n`).join("");
  const files = models.filter((model) => model.services.length > 0);
  const parts = [
    ...files.flatMap(({ services, declarations }) => [
      ...services.map(serviceText),
      typesText("### Types", declarations),
    ]),
    typesText("## Shared types", shared),
  ];
  return [`# ${title}\n`, contents, ...parts].filter((part) => part !== "").join("\n");
}

function serviceText({ name, id, docs, methods }: ServiceModel): string {
  const head = [`## ${name}\n`, paragraph(docs), `Service id ${id}.\n`];
  return [...head, ...methods.map(methodText)].filter((part) => part !== "").join("\n");
}

function methodText(method: MethodModel): string {
  const { name, id, kind, idempotent, readOnly, once, delivery, errors, meta = {} } = method;
  const traits = [
    KINDS[kind],
    `id ${id}`,
    ...(readOnly ? ["read-only"] : idempotent ? ["idempotent"] : []),
    ...(once ? ["once"] : []),
    ...(delivery === undefined ? [] : [`by ${delivery}`]),
  ];
  const table = errors.map(
    (error) =>
      `| \`${error.name}\` | ${error.code} | ${error.details === undefined ? "" : code(type(error.details))} |\n`,
  );
  return [
    `### ${name}\n`,
    paragraph(method.docs),
    `${traits.join(", ")}.\n`,
    `| | |\n|---|---|\n${Object.entries(meta).map(said).join("")}${row("Input", method.input)}${row("Output", method.output)}`,
    table.length === 0 ? "" : `| Error | Code | Details |\n|---|---|---|\n${table.join("")}`,
  ]
    .filter((part) => part !== "")
    .join("\n");
}

const KINDS: Readonly<Record<MethodModel["kind"], string>> = {
  unary: "Unary",
  notify: "Notification, without an answer",
  server_stream: "Server streaming",
  client_stream: "Client streaming",
  duplex: "Duplex",
};

function row(name: string, message: MessageModel | undefined): string {
  return `| ${name} | ${message === undefined ? "none" : code(type(message))} |\n`;
}

/** Returns a table row for one entry of a method's metadata. */
function said([key, value]: [string, unknown]): string {
  return `| ${code(key)} | ${code(typeof value === "string" ? value : JSON.stringify(value))} |\n`;
}

function type(message: MessageModel): string {
  return message.sent.print(plainNames);
}

/** Formats code for a table, in which a vertical bar would end the cell. */
function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

function typesText(heading: string, declarations: readonly Declaration[]): string {
  if (declarations.length === 0) return "";
  const text = declarations.map((each) => printDeclaration(each, plainNames)).join("\n");
  return `${heading}\n\n\`\`\`ts\n${text}\`\`\`\n`;
}

function paragraph(docs: string | undefined): string {
  return docs === undefined ? "" : `${docs}\n`;
}

/** Returns the anchor that GitHub generates for a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
