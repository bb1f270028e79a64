/** A member of a roster. */
export interface Placed {
  /** The index that it has there; -1 where it is in none. */
  place: number;
}

/**
 * Members in no order, which come and leave at the same cost however many there are. A `Set` makes its table anew when so many have come and left; V8 links tables
 * of before to the next one, and one that has grown old keeps alive whatever came after it, until all of the heap is collected.
 */
export class Roster<Member extends Placed> {
  readonly #members: Member[] = [];

  add(member: Member): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Without effect where it has left. */
  delete(member: Member): void {
    const { place } = member;
    const members = this.#members;
    if (members[place] !== member) return;
    const last = members.pop() as Member;
    if (last !== member) {
      members[place] = last;
      last.place = place;
    }
    member.place = -1;
  }

  /** The members by now, whoever comes and leaves meanwhile. */
  all(): readonly Member[] {
    return this.#members.slice();
  }
}
