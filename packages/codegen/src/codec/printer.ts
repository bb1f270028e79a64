import { camelCase } from "../names.js";
import { type SchemaTypeText, typeText } from "../print/type-text.js";
import type { Direction } from "../types/zod.js";
import { hasOwnCode } from "./compiled.js";
import { expression } from "./literals.js";
import { type CodecNode, partsOf } from "./node.js";
import { checksName, codecName, type CodecPlan, type NamedCodec, readerName, shapeName, writerName } from "./plan.js";
import { printReader } from "./print-read.js";
import { shapeExpression } from "./print-shape.js";
import { printWriter } from "./print-write.js";

/** How generated code names an export of the schema module; the printer of the file notes that it is needed. */
export type SchemaRoot = (root: string) => string;

/** Prints the codecs of a file. */
export class CodecPrinter {
  readonly #plan: CodecPlan;
  readonly #schemaText: SchemaTypeText;
  readonly #schemaRoot: SchemaRoot;
  readonly #patterns = new Map<string, string>();
  readonly #declared = new Set<CodecNode>();
  #current: CodecNode | undefined;

  constructor(plan: CodecPlan, schemaText: SchemaTypeText, schemaRoot: SchemaRoot) {
    this.#plan = plan;
    this.#schemaText = schemaText;
    this.#schemaRoot = schemaRoot;
  }

  /** The codecs of messages, which descriptors refer to, and the code they are made of, which can stand below. */
  print(): { readonly messages: string; readonly code: string } {
    const codecs = [...this.#plan.named.values()];
    const shapes: string[] = [];
    for (const codec of codecs) this.#declare(codec, shapes, new Set());
    const checks = codecs.filter(({ node }) => node.kind === "refined").map((codec) => this.#checks(codec));
    const code = codecs.filter((codec) => codec.hasCode).map((codec) => this.#code(codec));
    const messages = codecs.filter((codec) => codec.isPayload).map((codec) => this.#message(codec));
    const patterns = [...this.#patterns].map(([regex, name]) => `const ${name} = ${regex};\n`);
    const parts = [...code, patterns.join(""), shapes.join(""), checks.join("")];
    return { messages: messages.join(""), code: parts.filter((part) => part !== "").join("\n") };
  }

  named(node: CodecNode): NamedCodec | undefined {
    return this.#plan.named.get(node);
  }

  codecOf(node: CodecNode): NamedCodec {
    const codec = this.named(node);
    if (codec === undefined) throw new Error(`A ${node.kind} has no codec of its own.`);
    return codec;
  }

  /** The codec whose functions read and write `node`; undefined where that is written out. */
  called(node: CodecNode): NamedCodec | undefined {
    const codec = this.named(node);
    // A payload that is a scalar has functions too, in which it is written out.
    const isOwnBody = this.#current === node && !hasOwnCode(node);
    return codec?.hasCode === true && !isOwnBody ? codec : undefined;
  }

  /** Whether the shape of `node` stands above. */
  isDeclared(node: CodecNode): boolean {
    return this.#declared.has(node);
  }

  type(node: CodecNode, direction: Direction): string {
    return typeText(this.#plan.typeOf(node, direction), this.#schemaText);
  }

  /** The type of what the writer of `node` takes: it changes nothing. */
  givenType(node: CodecNode): string {
    const type = this.#plan.typeOf(node, "input");
    const text = typeText(type, this.#schemaText);
    switch (node.kind) {
      case "array":
      case "tuple":
        return type.kind === "reference" ? `Readonly<${text}>` : `readonly ${text}`;
      case "set":
      case "map":
        return text.replace(/^(Map|Set)</, "Readonly$1<");
      default:
        return text;
    }
  }

  /** The user's schema of `node`. */
  schema({ at }: CodecNode): string {
    const root = this.#schemaRoot(at.root);
    return at.keys.length === 0 ? root : `wire.schemaAt(${root}, ${expression(at.keys)})`;
  }

  readonly patternName = (regex: RegExp, format: string): string => {
    const text = String(regex);
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const taken = new Set(this.#patterns.values());
    const wanted = `${camelCase(format)}Pattern`;
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
    this.#patterns.set(text, name);
    return name;
  };

  /** Items on one line, or one a line. */
  list(open: string, items: readonly string[], close: string): string {
    const line = items.join(", ");
    const pad = open === "{" && items.length > 0 ? " " : "";
    if (line.length < 80 && !line.includes("\n")) return `${open}${pad}${line}${pad}${close}`;
    return `${open}\n${items.map((item) => `  ${item.replaceAll("\n", "\n  ")},\n`).join("")}${close}`;
  }

  /** Declares the shape of `codec` after those that it is made of. */
  #declare(codec: NamedCodec, into: string[], open: Set<CodecNode>): void {
    const { node } = codec;
    if (this.#declared.has(node) || open.has(node)) return;
    open.add(node);
    this.#declareParts(node, into, open, new Set());
    into.push(`const ${shapeName(codec)}: wire.Shape = ${shapeExpression(node, this)};\n`);
    this.#declared.add(node);
  }

  #declareParts(node: CodecNode, into: string[], open: Set<CodecNode>, seen: Set<CodecNode>): void {
    for (const part of partsOf(node)) {
      const codec = this.named(part);
      if (codec !== undefined) this.#declare(codec, into, open);
      else if (!seen.has(part)) this.#declareParts(part, into, open, seen.add(part));
    }
  }

  #checks(codec: NamedCodec): string {
    return `const ${checksName(codec)} = wire.applyChecks(${this.schema(codec.node)});\n`;
  }

  #code({ node }: NamedCodec): string {
    this.#current = node;
    const text = `${printWriter(node, this)}\n${printReader(node, this)}`;
    this.#current = undefined;
    return text;
  }

  #message(codec: NamedCodec): string {
    const types = [this.type(codec.node, "input"), this.type(codec.node, "output")].join(", ");
    const name = codecName(codec);
    const made = `wire.codec(() => ${shapeName(codec)}, ${writerName(codec)}, ${readerName(codec)});\n`;
    return `const ${name}: MessageCodec<${types}> =${name.length + types.length + made.length > 94 ? "\n " : ""} ${made}`;
  }
}
