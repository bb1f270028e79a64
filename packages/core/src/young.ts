/**
 * Returns its argument. V8 allocates an arrow function that is assigned to a property in the old generation, and
 * everything that it refers to then survives minor collections. Passing the function through here avoids that; use it
 * for functions of short-lived objects.
 */
export function young<F extends (...given: never[]) => unknown>(made: F): F {
  return made;
}
