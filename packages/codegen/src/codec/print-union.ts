import { block, when } from "../print/syntax.js";
import { quoted } from "../print/text.js";
import type { NodeOf, SchemaNode } from "../schema/node.js";
import { MISFIT } from "./conditions.js";
import { isTried, kindsOf, type Side } from "./kinds.js";

/**
 * The body of the writer or the reader of a union: each option in its turn, if the value is of its kind.
 *
 * @param bodyOf returns the statements for a value of an option, which return
 */
export function optionsBody(node: NodeOf<"union">, side: Side, bodyOf: (option: SchemaNode) => string[]): string[] {
  const isRead = side === "read";
  const all = kindsOf(node, side) ?? [];
  const options = node.options.map((option, index) => ({
    body: bodyOf(option),
    kinds: kindsOf(option, side) ?? [],
    isTried: isTried(node, index, side),
  }));
  const isAny = ({ kinds }: { readonly kinds: readonly unknown[] }): boolean => kinds.length === all.length;
  const last = options.at(-1);
  const failed = isRead ? "wire.retry(error, allowed);" : "wire.retry(error);";
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
