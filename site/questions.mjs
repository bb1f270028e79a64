/** Questions that people who are new to the project have, in the words they type, and the pages that answer them. */
export const QUESTIONS = [];
