import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { createTopics, DEFAULT_TOPIC_LIMITS, MemoryLog, type Topics, type TopicsOptions } from "@quicrpc/topics";
import { TopicJournal } from "./topic-journal.js";
import { topicRelay } from "./workers/topic-relay.js";
import { sharesPorts } from "./workers/shared-worker.js";
import { isWorker } from "./workers/worker.js";
import { WorkerBus } from "./workers/worker-bus.js";

// Entry for topics across workers and restarts. It is separate because it requires zod at run time.

/** Options of `fileTopics`. */
export interface FileTopicsOptions extends Omit<TopicsOptions, "bus" | "log"> {
  /** Path of the file, which is created if it does not exist. Only one process at a time may use the file. */
  readonly file: string;
}

const OPTIONS: OptionNames<FileTopicsOptions> = { file: true, limits: DEFAULT_TOPIC_LIMITS, onError: true };

/**
 * Creates topics whose history, within `limits`, is stored in a file. The history survives restarts and crashes of the
 * process. A power failure may lose the last messages. Throws if the file cannot be read or written.
 */
export function fileTopics(topicsOptions: FileTopicsOptions): Topics {
  checkOptions("fileTopics()", topicsOptions, OPTIONS);
  const { file, ...options } = topicsOptions;
  const limits = { ...DEFAULT_TOPIC_LIMITS, ...options.limits };
  return createTopics({ ...options, log: new MemoryLog(limits, new TopicJournal(file)) });
}

/**
 * Creates topics that work across worker processes, for a process started by `serve({ workers })` or one that uses
 * `shareUdpPorts`. Messages reach all workers and the main process. Without workers, messages stay in this process.
 */
export function workerTopics(options: Omit<TopicsOptions, "bus"> = {}): Topics {
  return createTopics({ ...options, bus: isWorker || sharesPorts ? new WorkerBus() : topicRelay.bus() });
}
