import { block, when } from "../print/syntax.js";
import { quoted } from "../print/text.js";
import type { NodeOf, SchemaNode } from "../schema/node.js";
import { MISFIT } from "./conditions.js";
import { isTried, kindsOf, type Side, type ValueKind } from "./kinds.js";
import { isWhole } from "./whole.js";

/**
 * The body of the writer or the reader of a union: each option in its turn, if the value is of its kind.
 *
 * @param bodyOf returns the statements for a value of an option, which return
 */
export function optionsBody(node: NodeOf<"union">, side: Side, bodyOf: (option: SchemaNode) => string[]): string[] {
  const isRead = side === "read";
  const all = kindsOf(node, side) ?? [];
  const decided = new Set<ValueKind>();
  const options = node.options.flatMap((option, index) => {
    const kinds = (kindsOf(option, side) ?? []).filter((kind) => !decided.has(kind));
    if (kinds.length === 0) return [];
    // If the code of an option may refuse what its shape accepts, a misfit leaves the union to its shape.
    const isSkipped = isTried(node, index, side) && isWhole(option, isRead);
    if (!isSkipped) for (const kind of kinds) decided.add(kind);
    return [{ body: bodyOf(option), kinds, isTried: isSkipped }];
  });
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
