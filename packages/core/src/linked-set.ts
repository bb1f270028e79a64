/** The position of a value in a `LinkedSet`. */
export class ListLink<Value> {
  readonly value: Value;
  previous: ListLink<Value> | undefined = undefined;
  next: ListLink<Value> | undefined = undefined;
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
export class LinkedSet<Value> implements Iterable<ListLink<Value>> {
  #first: ListLink<Value> | undefined = undefined;
  #last: ListLink<Value> | undefined = undefined;

  get first(): ListLink<Value> | undefined {
    return this.#first;
  }

  get last(): ListLink<Value> | undefined {
    return this.#last;
  }

  add(value: Value): ListLink<Value> {
    const link = new ListLink(value);
    const last = this.#last;
    link.previous = last;
    if (last === undefined) this.#first = link;
    else last.next = link;
    this.#last = link;
    return link;
  }

  remove(link: ListLink<Value>): void {
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
  *[Symbol.iterator](): Iterator<ListLink<Value>> {
    let link = this.#first;
    while (link !== undefined) {
      const { next } = link;
      yield link;
      link = next;
    }
  }
}
