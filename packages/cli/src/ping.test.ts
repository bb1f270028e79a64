import { expect, test } from "vitest";
import { medianOf } from "./ping.js";

test.each([
  [[3], 3],
  [[9, 1], 5],
  [[9, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
  [[], Number.NaN],
])("the median of %j is %d", (values, median) => {
  expect(medianOf(values)).toBe(median);
});
