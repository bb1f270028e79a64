// The entry of those who install msgpackr beside core.
export { msgpackRecords } from "./call/messages/records-codec.js";
