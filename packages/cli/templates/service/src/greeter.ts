import { createGreeterRouter } from "./generated/greeter.js";

/** The handlers. What they return is checked against the schema, then sent. */
export const greeter = createGreeterRouter({
  greet: ({ name }) => ({ text: `Hello, ${name}!` }),
  async *countdown({ from }) {
    for (let left = from; left >= 0; left--) {
      yield { left };
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  },
});
