import type { LockedNumbers } from "../lock/lock.js";
import type { SchemaNode } from "../schema/node.js";
import type { AnySchema } from "../types/zod.js";
import { type Declared, fullName, namesIn, type ProtoMessage } from "./model.js";
import { NameClashError } from "./value.js";

/** The messages and enums of a package, and the names that are taken in it. */
export class Declarations {
  readonly #package: string;
  readonly #locked: ReadonlyMap<string, LockedNumbers>;
  readonly #services: ReadonlySet<string>;
  readonly #payloads: ReadonlySet<string>;
  #types: Declared[] = [];
  #named = new Map<AnySchema, Declared>();

  /**
   * @param services names of services, which types must not have
   * @param payloads names of the inputs and outputs of methods
   */
  constructor(
    name: string,
    locked: ReadonlyMap<string, LockedNumbers>,
    services: Iterable<string>,
    payloads: Iterable<string>,
  ) {
    this.#package = name;
    this.#locked = locked;
    this.#services = new Set(services);
    this.#payloads = new Set(payloads);
  }

  /** Types at the top level of the package, in order of first use. */
  get types(): readonly Declared[] {
    return this.#types;
  }

  /** Types of schemas that have a name of their own. */
  get named(): Map<AnySchema, Declared> {
    return this.#named;
  }

  /** Returns the result of `make`. If it throws, removes the types that it has declared. */
  attempt<Result>(make: () => Result): Result {
    const [types, named] = [[...this.#types], new Map(this.#named)];
    try {
      return make();
    } catch (error) {
      [this.#types, this.#named] = [types, named];
      throw error;
    }
  }

  /** Adds a type to the message that contains it, or to the top level. Throws `NameClashError` if its name is taken. */
  add<Type extends Declared>(type: Type, owner: ProtoMessage | undefined, node: SchemaNode | undefined): Type {
    const taken = this.#taken(owner);
    const clash = namesIn(type).find((each) => taken.has(each));
    if (clash !== undefined) {
      const text = fullName(this.#package, [...type.path.slice(0, -1), clash]);
      const other = clash === type.path.at(-1) ? taken.get(clash) : "the value of another enum";
      throw new NameClashError(
        node,
        `${text} is already the name of ${other}`,
        "Rename one of the two schemas or fields.",
      );
    }
    (owner?.nested ?? this.#types).push(type);
    return type;
  }

  /** Returns the types in a message, or at the top level. */
  typesIn(owner: ProtoMessage | undefined): readonly Declared[] {
    return owner?.nested ?? this.#types;
  }

  /** Returns the names that a new type in a message, or at the top level, must not have. */
  namesIn(owner: ProtoMessage | undefined): ReadonlySet<string> {
    return new Set([...this.#taken(owner).keys(), ...(owner === undefined ? this.#payloads : [])]);
  }

  /** Returns the name at the top level for a schema that is called `name`. */
  nameFor(name: string): string {
    return this.#services.has(name) ? `${name}Message` : name;
  }

  /** Returns the numbers that the lock file has for a type. */
  lockedOf(path: readonly string[]): LockedNumbers | undefined {
    return this.#locked.get(fullName(this.#package, path));
  }

  /** Returns the taken names of a scope, with their kinds. The values of an enum are in the scope that contains the enum. */
  #taken(owner: ProtoMessage | undefined): Map<string, string> {
    const names = this.typesIn(owner).flatMap(namesIn);
    const services = owner === undefined ? [...this.#services] : [];
    return new Map([
      ...names.map((name) => [name, "another type"] as const),
      ...services.map((name) => [name, "a service"] as const),
    ]);
  }
}
