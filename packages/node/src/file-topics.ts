import { checkOptions, MemoryLog, type OptionNames } from "@quicrpc/core/transport";
import { createTopics, DEFAULT_TOPIC_LIMITS, type Topics, type TopicsOptions } from "@quicrpc/core/topics";
import { TopicJournal } from "./topic-journal.js";

/** Options of `fileTopics`. */
export interface FileTopicsOptions extends Omit<TopicsOptions, "bus" | "log"> {
  /** Path of the file, which is made where there is none. One process at a time may have it. */
  readonly file: string;
}

const OPTIONS: OptionNames<FileTopicsOptions> = { file: true, limits: DEFAULT_TOPIC_LIMITS, onError: true };

/**
 * Makes the topics of a process whose history a file keeps, as much as `limits` say: it is there when the process was started anew, also after it
 * was killed. A machine that loses its power may lose the last messages. Throws where the file cannot be read or written.
 */
export function fileTopics(given: FileTopicsOptions): Topics {
  checkOptions("fileTopics()", given, OPTIONS);
  const { file, ...options } = given;
  const limits = { ...DEFAULT_TOPIC_LIMITS, ...options.limits };
  return createTopics({ ...options, log: new MemoryLog(limits, new TopicJournal(file)) });
}
