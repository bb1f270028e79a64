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
 * Converts `text` to the name of a protobuf field, such as `created_at`.
 *
 * @param fallback first word of the name if `text` contains no letter or begins with a digit
 */
export function snakeCase(text: string, fallback = "field"): string {
  const words = wordsOf(text);
  return (/^[a-z]/.test(words[0] ?? "") ? words : [fallback, ...words]).join("_");
}

export function upperSnakeCase(text: string): string {
  return wordsOf(text).join("_").toUpperCase();
}

/** Returns the name that protobuf derives from a field's name for JSON. */
export function defaultJsonName(name: string): string {
  return name.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

export function typeName(text: string): string {
  return pascalCase(snakeCase(text));
}

/** Returns a type name for the elements of the list `key`: its singular, unless one of `siblings` has that name. */
export function elementName(key: string, siblings: readonly string[]): string {
  const name = typeName(singular(camelCase(snakeCase(key))));
  return siblings.some((other) => other !== key && typeName(other) === name) ? `${typeName(key)}Item` : name;
}

/** Returns `name`, or `name` and a number, so that it is not in `taken`. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${name}${n}`;
  return free;
}

/**
 * Returns distinct names for `keys`: the results of `nameOf`, with a number if an earlier key has the same.
 *
 * @param formOf returns a derived form of a name that must be distinct, too
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
