import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { Annotation, EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { JsonSchema } from "@quicrpc/services";
import { toBase64 } from "@quicrpc/services/json-schema";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { MAX_FILE, fileTooLarge } from "./form/bytes-field.js";
import { mismatchesOf } from "./schema/check.js";
import { proposalsAt } from "./schema/complete.js";
import { type JsonNode, jsonTree } from "./schema/json-tree.js";

/**
 * Marks a change to the editor that the page has made. Such a change must not be reported as typed text, because that
 * would undo what the user has typed elsewhere meanwhile.
 */
const isExternal = Annotation.define<boolean>();

export interface JsonEditorProps {
  readonly text: string;
  readonly label: string;
  readonly nonce: string;
  /** JSON schema of the text. Undefined if any JSON is permitted. */
  readonly schema: JsonSchema | undefined;
  /** False for plain text, which is neither checked nor completed. */
  readonly isJson: boolean;
  readonly onChange: (text: string) => void;
  /** Called with the reason if a dropped file is rejected. */
  readonly onProblem: (problem: string) => void;
}

/** Text editor for JSON, with completion and validation by a schema. A new value of `text` replaces the content. */
export function JsonEditor(props: JsonEditorProps): JSX.Element {
  const { text, label, nonce, schema, isJson } = props;
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>();
  const latest = useRef(props);
  latest.current = props;

  // Runs before the first paint, so that a shortcut that focuses the editor finds the editor.
  useLayoutEffect(() => {
    const editorView = new EditorView({
      parent: parent.current as HTMLDivElement,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          // Left to the page, which makes the call.
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => true }])),
          history(),
          drawSelection(),
          bracketMatching(),
          EditorView.lineWrapping,
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of(({ docChanged, state, transactions }) => {
            const isOwnChange = transactions.some((transaction) => transaction.annotation(isExternal) === true);
            if (docChanged && !isOwnChange) latest.current.onChange(state.doc.toString());
          }),
          EditorView.domEventHandlers({ drop: (event, at) => drop(event, at, latest.current.onProblem) }),
          ...(isJson ? jsonExtensions(schema) : []),
          keymap.of([...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        ],
      }),
    });
    view.current = editorView;
    return () => editorView.destroy();
  }, [schema, label, nonce, isJson]);

  useLayoutEffect(() => {
    const { state } = view.current ?? {};
    const before = state?.doc.toString();
    if (before === undefined || before === text) return;
    view.current?.dispatch({ changes: changeOf(before, text), annotations: isExternal.of(true) });
  }, [text]);

  return <div class="editor" ref={parent} />;
}

/**
 * Returns the part that differs between two texts. Only that part is replaced, so that the cursor and markers elsewhere
 * stay.
 */
function changeOf(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

function jsonExtensions(schema: JsonSchema | undefined): Extension[] {
  return [
    json(),
    closeBrackets(),
    keymap.of(closeBracketsKeymap),
    syntaxHighlighting(classHighlighter),
    linter((checked) => problemsOf(checked, schema), { delay: 250 }),
    autocompletion({ override: [(context) => completions(context, schema)], icons: false }),
  ];
}

function rootOf({ doc }: EditorState, tree: ReturnType<typeof syntaxTree>): JsonNode | undefined {
  return jsonTree(tree, doc.toString());
}

function problemsOf(view: EditorView, schema: JsonSchema | undefined): Diagnostic[] {
  const problems = jsonParseLinter()(view);
  if (problems.length > 0 || schema === undefined) return problems;
  const root = rootOf(view.state, syntaxTree(view.state));
  if (root === undefined) return [];
  return mismatchesOf(root, schema, schema).map(({ from, to, message }) => ({
    from,
    to,
    message,
    severity: "warning",
  }));
}

function completions(
  { state, pos, explicit }: CompletionContext,
  schema: JsonSchema | undefined,
): CompletionResult | null {
  if (schema === undefined) return null;
  const before = state.sliceDoc(Math.max(0, pos - 1), pos);
  if (!explicit && !/[\w"{[,: ]/.test(before)) return null;
  const root = rootOf(state, syntaxTree(state));
  const completion = root && proposalsAt(root, pos, schema, schema);
  if (completion === undefined) return null;
  // A word without quotes that is being typed is not a value yet.
  const word = /["\w]*$/.exec(state.sliceDoc(Math.max(0, pos - 100), pos))?.[0] ?? "";
  const options = completion.proposals.map(({ label, apply, detail }) => ({
    label,
    apply,
    ...(detail !== undefined && { detail }),
  }));
  return {
    from: completion.from < pos ? completion.from : pos - word.length,
    options,
    filter: word !== "" && !word.startsWith('"'),
  };
}

/** Inserts the bytes of a dropped file at the drop position, in base64 and in quotes. */
function drop(event: DragEvent, view: EditorView, onProblem: (problem: string) => void): boolean {
  const file = event.dataTransfer?.files[0];
  if (file === undefined) return false;
  event.preventDefault();
  const at = view.posAtCoords({ x: event.clientX, y: event.clientY }) ?? view.state.doc.length;
  if (file.size > MAX_FILE) onProblem(fileTooLarge(file));
  else insertFile(file, at, view).catch((error: unknown) => onProblem(String(error)));
  return true;
}

async function insertFile(file: File, at: number, view: EditorView): Promise<void> {
  const text = toBase64(new Uint8Array(await file.arrayBuffer()));
  const node = syntaxTree(view.state).resolveInner(at, 0);
  const isText = node.name === "String";
  view.dispatch({
    changes: { from: isText ? node.from : at, to: isText ? node.to : at, insert: JSON.stringify(text) },
  });
}
