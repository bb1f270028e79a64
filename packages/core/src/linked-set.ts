/** The position of a value in a `LinkedSet`. */
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
 * Values that are added and removed with every request, in insertion order. A `Set` copies its table after some dozens
 * of additions, and each copy refers to the next: once the garbage collector has promoted one copy, all later copies
 * and their former contents stay alive until the next full collection. A removed link refers to no other.
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

  /** Adds a value and returns its link, the argument of `remove`. */
  add(value: Value): Link<Value> {
    const link = new Link(value);
    const last = this.#last;
    link.previous = last;
    if (last === undefined) this.#first = link;
    else last.next = link;
    this.#last = link;
    return link;
  }

  /** Removes a value by its link, if it is still in the set. */
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

  /** During iteration, the current link may be removed, but no other. */
  *[Symbol.iterator](): Iterator<Link<Value>> {
    let link = this.#first;
    while (link !== undefined) {
      const { next } = link;
      yield link;
      link = next;
    }
  }
}
