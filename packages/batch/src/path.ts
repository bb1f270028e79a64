/** Names of properties and indexes of elements, from the outermost value inwards. */
export type Path = readonly (string | number)[];

/**
 * Returns the value of an own property of a plain object, or an element of an array. Returns undefined if there is
 * none: inherited properties, `__proto__` and `length` are not found.
 */
export function memberOf(container: unknown, key: string | number): unknown {
  return hasMember(container, key) ? container[key] : undefined;
}

export function hasMember(container: unknown, key: string | number): container is Record<string | number, unknown> {
  if (typeof container !== "object" || container === null) return false;
  if (Array.isArray(container)) return typeof key === "number" && key < container.length;
  return isPlain(container) && key !== "__proto__" && Object.hasOwn(container, key);
}

/** Returns true if a value is an object whose properties can be parts of a path. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Returns the value at a path; undefined if only its last part is missing.
 *
 * @param refuse called with the path of a value that has no parts, and the next part
 */
export function valueAt(root: unknown, path: Path, refuse: (place: Path, key: string | number) => Error): unknown {
  let value = root;
  for (const [depth, key] of path.entries()) {
    if (typeof value !== "object" || value === null) throw refuse(path.slice(0, depth), key);
    value = memberOf(value, key);
  }
  return value;
}

/** Returns a path as text, such as `items[0].author`. */
export function pathText(path: Path): string {
  const text = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
  return text.startsWith(".") ? text.slice(1) : text;
}
