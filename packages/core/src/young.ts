/**
 * Returns the function that it is given. V8 makes an arrow function that is assigned to a property where it stands among old objects, and
 * whatever it refers to then outlives the collections of young ones. Functions of objects that come and go are passed through here.
 */
export function young<F extends (...given: never[]) => unknown>(made: F): F {
  return made;
}
