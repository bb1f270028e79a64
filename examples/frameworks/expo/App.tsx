import { useEffect, useState } from "react";
import { AppState, Text, View } from "react-native";
import { connectTo } from "./client.ts";

const server = connectTo("https://rpc.example.org/rpc");

export default function App() {
  const [text, setText] = useState("…");
  useEffect(() => {
    server
      .then(({ greeter }) => greeter.greet({ name: "Ada" }))
      .then(
        (answer) => setText(answer.text),
        (error: Error) => setText(error.message),
      );
  }, []);
  useEffect(() => {
    // Back in the foreground: the next attempt does not wait.
    const back = AppState.addEventListener("change", (state) => {
      if (state === "active") server.then(({ connection }) => connection.connect()).catch(() => {});
    });
    return () => back.remove();
  }, []);
  return (
    <View>
      <Text>{text}</Text>
    </View>
  );
}
