import type { FileModel, MessageModel, MethodModel, ServiceModel } from "../model.js";
import { printDeclaration } from "../print/declarations.js";
import { plainSchemaText, typeText } from "../print/type-text.js";

/** A reference of the services of `models` for people, as Markdown. */
export function printMarkdown(models: readonly FileModel[], title: string): string {
  const services = models.flatMap((model) => model.services.map((service) => ({ service, model })));
  const contents = services.map(({ service }) => `- [${service.name}](#${anchor(service.name)})\n`).join("");
  const files = models.filter((model) => model.services.length > 0);
  const parts = files.flatMap((model) => [...model.services.map(serviceText), typesText(model)]);
  return [`# ${title}\n`, contents, ...parts].filter((part) => part !== "").join("\n");
}

function serviceText({ name, id, docs, methods }: ServiceModel): string {
  const head = [`## ${name}\n`, paragraph(docs), `Service id ${id}.\n`];
  return [...head, ...methods.map(methodText)].filter((part) => part !== "").join("\n");
}

function methodText(method: MethodModel): string {
  const { name, id, kind, idempotent, delivery, errors } = method;
  const traits = [
    KINDS[kind],
    `id ${id}`,
    ...(idempotent ? ["idempotent"] : []),
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
    `| | |\n|---|---|\n${row("Input", method.input)}${row("Output", method.output)}`,
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

function type(message: MessageModel): string {
  return typeText(message.sent, plainSchemaText);
}

/** Code in a table, where a bar would end the cell. */
function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

function typesText({ declarations }: FileModel): string {
  if (declarations.length === 0) return "";
  const text = declarations.map((each) => printDeclaration(each, plainSchemaText)).join("\n");
  return `### Types\n\n\`\`\`ts\n${text}\`\`\`\n`;
}

function paragraph(docs: string | undefined): string {
  return docs === undefined ? "" : `${docs}\n`;
}

/** As GitHub makes the anchors of headings. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
