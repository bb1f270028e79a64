import { camelCase, pascalCase, singular } from "../names.js";

/** Returns the words of a name, in lower case: `userID` and `user-id` have two. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/**
 * Returns `text` as the name of a field, such as `created_at`.
 *
 * @param fallback its first word, if `text` has no letter or begins with a digit
 */
export function snakeCase(text: string, fallback = "field"): string {
  const words = wordsOf(text);
  return (/^[a-z]/.test(words[0] ?? "") ? words : [fallback, ...words]).join("_");
}

/** Returns `text` as the name of an enum's member, such as `IN_PROGRESS`. */
export function upperSnakeCase(text: string): string {
  return wordsOf(text).join("_").toUpperCase();
}

/** Returns the name that protobuf derives from a field's name for JSON. */
export function defaultJsonName(name: string): string {
  return name.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns `text` as the name of a message, such as `LineItem`. */
export function typeName(text: string): string {
  return pascalCase(snakeCase(text));
}

/** Returns the name of the type of a list's elements. */
export function elementName(key: string, siblings: readonly string[]): string {
  const name = typeName(singular(camelCase(snakeCase(key))));
  return siblings.some((other) => other !== key && typeName(other) === name) ? `${typeName(key)}Item` : name;
}

/**
 * Returns different names for `keys`: those of `nameOf`, or with a number if an earlier key has the same.
 *
 * @param formOf returns the form of a name that must be different too
 */
export function distinctNames(
  keys: readonly string[],
  nameOf: (key: string) => string,
  formOf: (name: string) => string,
): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    keys.map((key) => {
      const wanted = nameOf(key);
      let name = wanted;
      for (let n = 2; taken.has(formOf(name)); n++) name = `${wanted}_${n}`;
      taken.add(formOf(name));
      return [key, name];
    }),
  );
}
