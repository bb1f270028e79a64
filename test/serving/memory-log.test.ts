import { createTopics } from "@quicrpc/topics";
import { closedAfterEach } from "../open.js";
import { serveRooms } from "../rooms.js";
import { topicLogContract } from "../topic-log-contract.js";

const open = closedAfterEach();

topicLogContract("the log in memory", async (maxHistoryMessages) => {
  const topics = createTopics({ limits: { maxHistoryMessages } });
  open.push(topics);
  return serveRooms(topics).log;
});
