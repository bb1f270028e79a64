// The entry for programs that install msgpackr.
export { msgpackRecords } from "./call/messages/records-codec.js";
