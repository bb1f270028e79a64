import { backtrackingOf } from "@quicrpc/core/internal";
import { type Diagnostic, sourcePlaceOf } from "./diagnostics.js";
import { ownStructure } from "./schema/node.js";
import { nodeOf } from "./schema/read.js";
import type { Annotations } from "./source/annotate.js";
import type { Survey } from "./survey.js";

/**
 * Returns warnings about template literals for which matching takes more than linear time, so that long texts are
 * refused.
 */
export function costlyTemplates({ file, graph }: Survey, annotations: Annotations): Diagnostic[] {
  return [...graph.entries.values()].flatMap(({ schema, met }): Diagnostic[] => {
    const template = ownStructure(nodeOf(schema));
    if (template.kind !== "template") return [];
    const { longest, attack } = backtrackingOf(template.regex);
    if (longest === Infinity) return [];
    const node = annotations.nodes.get(met) ?? annotations.nodes.get(schema);
    return [
      {
        code: "costly-template",
        message: `Texts of more than ${longest} characters do not fit this template literal: to match a text such as ${attack} takes more than linear time.`,
        help: "Give its parts a max(), or separate them by texts that the parts before cannot contain, as in z.string().regex(/^[^-]*$/).",
        ...(node === undefined ? { file } : sourcePlaceOf(node)),
      },
    ];
  });
}
