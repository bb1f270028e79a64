import { LISTS } from "@quicrpc/core/internal";
import { camelCase } from "../names.js";
import { arrayOf, assignment, block, callOf } from "../print/syntax.js";
import { quoted } from "../print/text.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { generic, readonlyType, text, type TypeNames, type TypeNode } from "../types/node.js";
import type { Direction } from "../types/zod.js";
import { hasOwnCode } from "./compiled.js";
import type { PatternName } from "./conditions.js";
import { depthInside, isDeep } from "./depth.js";
import { expression } from "./literals.js";
import { partsInside, reaching, type SchemaNode } from "../schema/node.js";
import { codecParts } from "./parts.js";
import { type CodecPlan, type NamedCodec, namesOf } from "./plan.js";
import { printReader } from "./print-read.js";
import { absenceOf, shapeExpression } from "./print-shape.js";
import { SameCodecs } from "./same.js";
import { printWriter } from "./print-write.js";
import { isWhole } from "./whole.js";

/** Names of the imports in a file. Asking for a name adds the import. */
export interface CodecNames extends TypeNames {
  /** Returns the run-time expression for an export of a schema module. */
  value(root: SchemaRoot): string;
  shared(name: string): string;
}

/** Prints the codecs of a service's file, or of the shared module. */
export class CodecPrinter {
  /** Keyword before functions: `export ` if other files use them. */
  readonly exported: "" | "export ";
  readonly #plan: CodecPlan;
  readonly #same: SameCodecs;
  readonly #names: CodecNames;
  /**
   * True to generate short code instead of fast code. If bundles should be small, codecs also do not explain
   * mismatches.
   */
  readonly short: boolean;
  readonly #explain: boolean;
  readonly #patterns = new Map<string, { readonly name: string; readonly regex: string }>();
  readonly #declared = new Set<SchemaNode>();
  /** Schemas for which a function is generated that runs their checks by zod. */
  readonly #checked = new Set<SchemaNode>();
  readonly #branded = new Map<SchemaNode, boolean>();
  /** Codecs to whose shapes the printed code refers. */
  readonly #shaped = new Set<NamedCodec>();
  /** The schema whose functions are being printed. */
  #current: SchemaNode | undefined;

  /** @param explain true if codecs explain why a message does not match */
  constructor(plan: CodecPlan, names: CodecNames, explain: boolean, isShared = false) {
    this.#plan = plan;
    this.#same = new SameCodecs(plan);
    this.#names = names;
    this.#explain = explain;
    this.short = !explain;
    this.exported = isShared ? "export " : "";
  }

  /** Returns the code: the codecs of messages, to which method descriptors refer, and all code that they use. */
  print(): string[] {
    const all = [...this.#plan.named.values()];
    // Exported codecs are all printed, because other files refer to them by name.
    const codecs = all.filter((codec) => this.#first(codec) === codec);
    // Without explanations, few shapes are needed. For shared codecs, shapes are printed for all, because other files
    // may use them.
    const early = this.#explain || this.exported !== "" ? this.#shapes(codecs) : undefined;
    const code = codecs.filter(({ hasCode, isShared }) => hasCode && !isShared).flatMap((codec) => this.#code(codec));
    const messages = all.filter((codec) => codec.isPayload).map((codec) => this.#message(codec));
    const shapes = early ?? this.#shapes(codecs.filter((codec) => this.#shaped.has(codec)));
    const checks = codecs.filter(({ node }) => this.#checked.has(node)).map((codec) => this.#applyChecks(codec));
    const patterns = [...this.#patterns.values()].map(({ name, regex }) => `${assignment(`const ${name}`, regex)}\n`);
    const parts = [messages.join(""), ...code, patterns.join(""), shapes.join(""), checks.join("")];
    return parts.filter((part) => part !== "");
  }

  named(node: SchemaNode): NamedCodec | undefined {
    const codec = this.#plan.named.get(node);
    return codec && this.#first(codec);
  }

  /** Returns the codec whose declarations `codec` uses. It is another one if that has identical code. */
  #first(codec: NamedCodec): NamedCodec {
    return this.exported === "" ? this.#same.of(codec) : codec;
  }

  codecOf(node: SchemaNode): NamedCodec {
    const codec = this.named(node);
    if (codec === undefined) throw new Error(`A ${node.kind} has no codec of its own.`);
    return codec;
  }

  /** Returns the codec whose functions read and write `node`; undefined if its code is inlined. */
  called(node: SchemaNode): NamedCodec | undefined {
    const codec = this.named(node);
    // The functions of a scalar message contain the code that is inlined elsewhere.
    const isOwnBody = this.#current === node && !hasOwnCode(node);
    return codec?.hasCode === true && !isOwnBody ? codec : undefined;
  }

  /**
   * Returns the last argument of calls that read or write `node` in the current function: the number of remaining
   * nesting levels, if they are counted.
   */
  levels(node: SchemaNode): string[] {
    return this.#current !== undefined && isDeep(node) ? [depthInside(this.#current)] : [];
  }

  /** Last argument of calls that read or write a value without a schema. */
  get levelsOfAny(): string[] {
    return this.#current !== undefined && isDeep(this.#current) ? [depthInside(this.#current)] : [];
  }

  partShape(node: SchemaNode): string {
    const codec = this.named(node);
    if (codec === undefined) return shapeExpression(node, this);
    const shape = this.shape(codec);
    return this.#declared.has(codec.node) ? shape : callOf("wire.lazy", [`() => ${shape}`, ...absenceOf(node)]);
  }

  typeOf(node: SchemaNode, direction: Direction): TypeNode {
    let isBranded = this.#branded.get(node);
    if (isBranded === undefined) this.#branded.set(node, (isBranded = this.#plan.hasBrands(node)));
    // Brands exist only in types. The type of a value that was read has none until one is added.
    if (!isBranded) return this.#plan.typeOf(node, direction);
    return node.kind === "record" ? generic("Record", text("string"), text("any")) : text("any");
  }

  layout(type: TypeNode): string {
    return type.print(this.#names);
  }

  /**
   * Returns the type that the writer of `node` accepts. Its parts are readonly, because the writer does not change the
   * value.
   */
  givenType(node: SchemaNode): string {
    const type = this.typeOf(node, "input");
    return this.layout(takesLists(node) ? readonlyType(type) : type);
  }

  schema({ at }: SchemaNode): string {
    if (at === undefined) throw new Error("A schema was printed whose place is not known.");
    const root = this.#names.value(at.root);
    return at.keys.length === 0 ? root : callOf("wire.schemaAt", [root, arrayOf(at.keys.map(expression))]);
  }

  /** Returns the name of the function that runs the checks of a schema by zod. */
  checks(node: SchemaNode): string {
    this.#checked.add(node);
    return namesOf(this.codecOf(node)).checks;
  }

  writer(codec: NamedCodec): string {
    return this.#name(codec, namesOf(this.#first(codec)).writer);
  }

  reader(codec: NamedCodec): string {
    return this.#name(codec, namesOf(this.#first(codec)).reader);
  }

  shape(codec: NamedCodec): string {
    const first = this.#first(codec);
    this.#shaped.add(first);
    return this.#name(codec, namesOf(first).shape);
  }

  #name({ isShared }: NamedCodec, name: string): string {
    return isShared ? this.#names.shared(name) : name;
  }

  readonly patternName: PatternName = (constant, format) => {
    const isPattern = constant instanceof RegExp;
    const text = isPattern ? withoutIdleEscapes(String(constant)) : `new Set(${expression(constant)} as const)`;
    const known = this.#patterns.get(text);
    if (known !== undefined) return known.name;
    const taken = new Set([...this.#patterns.values()].map(({ name }) => name));
    const wanted = `${camelCase(format)}${isPattern ? "Pattern" : "Values"}`;
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
    this.#patterns.set(text, { name, regex: text });
    return name;
  };

  /** Adds the declaration of a codec's shape to `into`, after the shapes that it contains. */
  #declare(codec: NamedCodec, into: string[], open: Set<SchemaNode>): void {
    const { node } = codec;
    if (this.#declared.has(node) || open.has(node)) return;
    if (!codec.isShared) {
      open.add(node);
      this.#declareParts(node, into, open, new Set());
      into.push(...this.#shape(codec).map((each) => `${each}\n`));
    }
    this.#declared.add(node);
  }

  #shapes(codecs: readonly NamedCodec[]): string[] {
    const shapes: string[] = [];
    for (const codec of codecs) this.#declare(codec, shapes, new Set());
    return shapes;
  }

  /** Returns the declaration of a codec's shape. If it may be unused, it is written so that a bundler can drop it. */
  #shape(codec: NamedCodec): string[] {
    const shape = shapeExpression(codec.node, this);
    const head = `${this.exported}const ${namesOf(codec).shape}: wire.Shape`;
    if (this.#explain || this.exported === "") return [assignment(head, shape)];
    const maker = namesOf(codec).shapeMaker;
    return [
      block(`function ${maker}(): wire.Shape`, [`return ${shape};`]),
      `${head} = /* @__PURE__ */ wire.later(${[maker, ...absenceOf(codec.node)].join(", ")});`,
    ];
  }

  #declareParts(node: SchemaNode, into: string[], open: Set<SchemaNode>, seen: Set<SchemaNode>): void {
    for (const part of codecParts(node)) {
      const codec = this.named(part);
      if (codec !== undefined) this.#declare(codec, into, open);
      else if (!seen.has(part)) this.#declareParts(part, into, open, seen.add(part));
    }
  }

  #applyChecks(codec: NamedCodec): string {
    return `${assignment(`const ${namesOf(codec).checks}`, callOf("wire.applyChecks", [this.schema(codec.node)]))}\n`;
  }

  #code(codec: NamedCodec): string[] {
    const { node } = codec;
    const uses = this.exported === "" ? this.#same.usesOf(codec) : codec.uses;
    this.#current = node;
    const functions = [
      ...(uses.has("write") ? printWriter(node, this) : []),
      ...(uses.has("read") ? printReader(node, this) : []),
    ].map((each) => `${each}\n`);
    this.#current = undefined;
    return functions;
  }

  #message(codec: NamedCodec): string {
    const write = codec.uses.has("write") ? [this.writer(codec)] : [];
    const read = codec.uses.has("read") ? [this.reader(codec)] : [];
    const made =
      this.#explain || !isWhole(codec.node)
        ? callOf(makerOf(write, read), [`() => ${this.shape(codec)}`, ...write, ...read])
        : callOf("wire.bare", [quoted(codec.name), ...(write.length === 0 ? ["undefined"] : write), ...read]);
    // If a codec is not used in a direction, the type for it is not needed.
    const types = [
      read.length > 0 && write.length === 0 ? text("unknown") : this.typeOf(codec.node, "input"),
      read.length === 0 ? text("never") : codec.isBranded ? text("any") : this.typeOf(codec.node, "output"),
    ];
    const layouts = types.map((each) => this.layout(each));
    const head = `export const ${namesOf(codec).codec}: MessageCodec<${layouts.join(", ")}>`;
    return `${assignment(head, made)}\n`;
  }
}

const takesLists = reaching(({ kind }) => LISTS.has(kind) || kind === "map", partsInside(new Set(["union"])));

function makerOf(write: readonly string[], read: readonly string[]): string {
  return write.length === 0 ? "wire.decoder" : read.length === 0 ? "wire.encoder" : "wire.codec";
}

/** Removes the escape of a hyphen at the end of a character class, which is only needed with the flag `v`. */
function withoutIdleEscapes(regex: string): string {
  return /v\w*$/.test(regex.slice(regex.lastIndexOf("/"))) ? regex : regex.replace(/(?<!\\)((?:\\\\)*)\\-\]/g, "$1-]");
}
