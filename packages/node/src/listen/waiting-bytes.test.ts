import { expect, it } from "vitest";
import { WaitingBytes } from "./waiting-bytes.js";

/**
 * Creates connections by name. The first letter of a name is its source. `closed` contains the names of the closed
 * connections.
 */
function connectionsOf(held: WaitingBytes): { receive: (name: string, bytes: number) => void; closed: string[] } {
  const closed: string[] = [];
  const connections = new Map<string, ReturnType<WaitingBytes["add"]>>();
  const receive = (name: string, bytes: number): void => {
    const connection = connections.get(name) ?? held.add(name.charAt(0), () => void closed.push(name));
    connections.set(name, connection);
    held.count(connection, bytes);
  };
  return { receive, closed };
}

it("closes the largest waiting connection, not the one that receives next", () => {
  const { receive, closed } = connectionsOf(new WaitingBytes(100));
  receive("a1", 60);
  receive("a2", 30);
  receive("b1", 11);
  expect(closed).toEqual(["a1"]);
  receive("b1", 50);
  expect(closed).toEqual(["a1"]);
});

it("closes a connection of the source that holds most, though another source has a larger one", () => {
  const { receive, closed } = connectionsOf(new WaitingBytes(100));
  receive("b1", 40);
  for (const name of ["a1", "a2", "a3", "a4"]) receive(name, 15);
  receive("a5", 1);
  expect(closed).toEqual(["a1"]);
});

it("counts no connection that has been removed or closed", () => {
  const closed: string[] = [];
  const held = new WaitingBytes(100);
  const [left, right] = ["left", "right"].map((name) => held.add(name, () => void closed.push(name)));
  if (left === undefined || right === undefined) throw new Error("there are two");
  held.count(left, 90);
  held.remove(left);
  held.remove(left);
  held.count(left, 90);
  held.count(right, 100);
  expect(closed).toEqual([]);
  held.count(right, 1);
  held.count(right, 1000);
  expect(closed).toEqual(["right"]);
});
