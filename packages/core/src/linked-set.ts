/** The place of a value in a `LinkedSet`. */
export class Link<Value> {
  readonly value: Value;
  previous: Link<Value> | undefined = undefined;
  next: Link<Value> | undefined = undefined;
  isIn = true;

  constructor(value: Value) {
    this.value = value;
  }
}

/**
 * Values that come and go with every request, in the order in which they came. A `Set` would copy its table each time that some dozens have
 * come, and each copy refers to the next: once the garbage collector has promoted a copy, it keeps all later copies, and whatever was in
 * them, alive until the next full collection. A link that is removed refers to no other.
 */
export class LinkedSet<Value> implements Iterable<Link<Value>> {
  #first: Link<Value> | undefined = undefined;
  #last: Link<Value> | undefined = undefined;

  get first(): Link<Value> | undefined {
    return this.#first;
  }

  get last(): Link<Value> | undefined {
    return this.#last;
  }

  /** Returns what `remove` takes. */
  add(value: Value): Link<Value> {
    const link = new Link(value);
    const last = this.#last;
    link.previous = last;
    if (last === undefined) this.#first = link;
    else last.next = link;
    this.#last = link;
    return link;
  }

  /** Removes a value by its place, unless it has been removed. */
  remove(link: Link<Value>): void {
    if (!link.isIn) return;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    link.isIn = false;
    link.previous = undefined;
    link.next = undefined;
  }

  /** The current link may be removed meanwhile, but no other. */
  *[Symbol.iterator](): Iterator<Link<Value>> {
    let link = this.#first;
    while (link !== undefined) {
      const { next } = link;
      yield link;
      link = next;
    }
  }
}
