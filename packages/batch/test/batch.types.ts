// Compiled, never run: the types of references and of the inputs that take them.
import type { Caller } from "@quicrpc/core";
import type { MethodDescriptor } from "@quicrpc/core/generated";
import { createBatch, type Reference } from "@quicrpc/batch";
import { expectTypeOf } from "vitest";

interface User {
  id: string;
  nick?: string;
  age?: number;
  left?: Date;
  born: Date;
  address: { city: string } | null;
  tags: string[];
  manager?: User;
  home: URL;
  samples: Float32Array;
}
type Shape = { kind: "circle"; r: number } | { kind: "square"; side: number };

declare const users: {
  readonly get: MethodDescriptor<"unary", { id: string; at?: Date | undefined }, { id: string }, User, User>;
  readonly find: MethodDescriptor<
    "unary",
    { ids: string[]; filter?: { age?: number; city: string | null } },
    never,
    User[],
    User[]
  >;
  readonly byName: MethodDescriptor<"unary", string, string, User | undefined, User | undefined>;
  readonly all: MethodDescriptor<"unary", void, void, User[], User[]>;
  readonly recent: MethodDescriptor<"unary", { limit: number } | undefined, unknown, User[], User[]>;
  readonly anything: MethodDescriptor<"unary", unknown, unknown, unknown, unknown>;
  readonly draw: MethodDescriptor<"unary", Shape, Shape, Shape, Shape>;
  readonly forget: MethodDescriptor<"unary", { id: string }, { id: string }, void, void>;
  readonly watch: MethodDescriptor<"server_stream", { id: string }, { id: string }, User, User>;
  readonly note: MethodDescriptor<"notify", string, string, void, void>;
};
declare const caller: Caller;
/** Whether an element of a list may be missing depends on `noUncheckedIndexedAccess`. */
declare function at<T>(list: { readonly [index: number]: T }, index: number): T;

const batch = createBatch(caller, { users });

export async function fits(): Promise<void> {
  const user = batch.users.get({ id: "ada" });
  expectTypeOf(user).toEqualTypeOf<Reference<User>>();
  batch.users.get({ id: user.id, at: user.born });
  batch.users.get(user);
  batch.users.find({ ids: user.tags, filter: { age: 3, city: user.id } });
  batch.users.find({ ids: [user.id, "b", at(user.tags, 0)], filter: { city: null } });
  batch.users.find({ ids: [user.address!.city] });
  batch.users.byName(user.manager!.manager!.id);
  batch.users.get({ id: user.id, at: user.left });
  batch.users.byName(batch.users.byName("ada").id);
  batch.users.recent();
  batch.users.recent({ limit: 5 });
  batch.users.anything({ deep: [user] });
  batch.users.draw(batch.users.draw({ kind: "circle", r: 1 }));
  const names = batch.each(batch.users.all(), (one) => batch.users.get({ id: one.id }));
  const none = batch.users.forget({ id: at(names, 0).id });
  const sent = await batch.send(user, names, user.born, none, batch.users.byName("ada"));
  expectTypeOf(sent).toEqualTypeOf<[User, User[], Date, void, User | undefined]>();
  const [started, age] = createBatch(caller, { users }).start(user, user.age!);
  expectTypeOf(started).toEqualTypeOf<Promise<User>>();
  expectTypeOf(age).toEqualTypeOf<Promise<number>>();
}

export function misuse(): void {
  const user = batch.users.get({ id: "ada" });
  // @ts-expect-error a Date where a string belongs
  batch.users.get({ id: user.born });
  // @ts-expect-error a number where a string belongs
  batch.users.get({ id: user.age! });
  // @ts-expect-error a text that may be missing
  batch.users.byName(user.nick);
  // @ts-expect-error a part of a value that may be null
  batch.users.byName(user.address.city);
  // @ts-expect-error a property that no server finds
  batch.users.byName(user.home.href);
  // @ts-expect-error a property that no server finds
  void batch.send(user.samples.length);
  // @ts-expect-error a value that may be missing
  void batch.send(user.age);
  // @ts-expect-error a list where one belongs
  batch.users.byName(user.tags);
  // @ts-expect-error no such field
  batch.users.byName(user.nam);
  // @ts-expect-error no such field of the input
  batch.users.get({ id: user.id, name: "ada" });
  // @ts-expect-error a missing input
  batch.users.get();
  // @ts-expect-error an input of a method that has none
  batch.users.all({ id: "ada" });
  // @ts-expect-error a reference has no value yet
  const text: string = user.id;
  // @ts-expect-error nor operators
  Math.max(user.age!);
  // @ts-expect-error functions are no inputs
  batch.users.byName(() => "ada");
  // @ts-expect-error not a list
  batch.each(user, () => user);
  // @ts-expect-error not a reference
  batch.each(["a"], (id) => batch.users.byName(id));
  // @ts-expect-error the function returns a call
  batch.each(user.tags, () => "ada");
  // @ts-expect-error not a reference
  void batch.send("ada");
  // @ts-expect-error a stream
  batch.users.watch({ id: "ada" });
  // @ts-expect-error a notification
  batch.users.note("ada");
  // @ts-expect-error a shape of one kind with the field of another
  batch.users.draw({ kind: "circle", side: user.age });
  void text;
}
