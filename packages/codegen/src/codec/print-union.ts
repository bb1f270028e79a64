import { block, when } from "../print/syntax.js";
import { quoted } from "../print/text.js";
import type { NodeOf, SchemaNode } from "../schema/node.js";
import { MISFIT } from "./conditions.js";
import { taggedOptions } from "./compiled.js";
import { isTried, kindsOf, type Side, type ValueKind } from "./kinds.js";
import { isWhole } from "./whole.js";

interface CodedOption {
  readonly option: SchemaNode;
  readonly kinds: readonly ValueKind[];
  /** True if the following options are tried when this option's code refuses a value. */
  readonly isTried: boolean;
}

/** Returns the options of a union for which code is generated: those that values of at least one kind can reach. */
export function codedOptions(node: NodeOf<"union">, side: Side): CodedOption[] {
  if (taggedOptions(node) !== undefined) return node.options.map((option) => ({ option, kinds: [], isTried: false }));
  const decided = new Set<ValueKind>();
  return node.options.flatMap((option, index) => {
    const kinds = (kindsOf(option, side) ?? []).filter((kind) => !decided.has(kind));
    if (kinds.length === 0) return [];
    // If the code of an option refuses a value that its shape accepts, the whole union is left to its shape.
    const isSkipped = isTried(node, index, side) && isWhole(option, side === "read");
    if (!isSkipped) for (const kind of kinds) decided.add(kind);
    return [{ option, kinds, isTried: isSkipped }];
  });
}

/**
 * Returns the body of a union's writer or reader. It tries each option in turn whose kind fits the value.
 *
 * @param bodyOf returns the statements for an option; they end with a return
 */
export function optionsBody(node: NodeOf<"union">, side: Side, bodyOf: (option: SchemaNode) => string[]): string[] {
  const isRead = side === "read";
  const all = kindsOf(node, side) ?? [];
  const options = codedOptions(node, side).map((coded) => ({ ...coded, body: bodyOf(coded.option) }));
  const isAny = ({ kinds }: { readonly kinds: readonly unknown[] }): boolean => kinds.length === all.length;
  const last = options.at(-1);
  const failed = isRead ? "wire.tryNext(error, allowed, r.position - p);" : "wire.tryNext(error);";
  return [
    ...(options.every(isAny) ? [] : [isRead ? "const kind = wire.kindAt(r, p);" : "const kind = wire.kindOf(value);"]),
    ...(isRead && options.some(({ isTried: is }) => is) ? ["const allowed = wire.allowance.values;"] : []),
    ...options.flatMap((option): string[] => {
      const { body, kinds, isTried: is } = option;
      const statements: string[] = is ? [`${block("try", body)} catch (error) {\n  ${failed}\n}`] : body;
      if (isAny(option)) return statements;
      return [
        block(
          when(
            kinds.map((kind) => `kind === ${quoted(kind)}`),
            "||",
          ),
          statements,
        ),
      ];
    }),
    ...(last !== undefined && isAny(last) ? [] : [MISFIT]),
  ];
}

/**
 * Returns the body of the writer or reader of a union whose options are identified by a text. Returns undefined for other
 * unions.
 *
 * @param tag returns the expression for the value of a key
 * @param call returns the expression that writes or reads a value of an option
 */
export function taggedBody(
  node: NodeOf<"discriminated" | "union">,
  tag: (key: string) => string,
  call: (option: SchemaNode) => string,
): string[] | undefined {
  const tagged = taggedOptions(node);
  if (tagged === undefined) return undefined;
  const cases = tagged.options.flatMap(({ values, node: option }) => [
    ...values.map((value) => `case ${quoted(String(value))}:`),
    `  return ${call(option)};`,
  ]);
  return [block(`switch (${tag(tagged.key)})`, [...cases, "default:", `  ${MISFIT}`])];
}
