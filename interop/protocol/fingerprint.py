"""Fingerprints by docs/protocol.md §9, of the methods in a quicrpc.schema.json: `python3 fingerprint.py FILE` prints them as JSON."""

import base64
import hashlib
import json
import sys
from pathlib import Path

LEVELS = 100
LONGEST = 1000


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def ordered(texts, key=lambda text: text):
    return sorted(texts, key=lambda each: key(each).encode("utf-16-be"))


class Texts:
    """The texts of the types of a service."""

    def __init__(self, types):
        self.types = types
        self.known = {}

    def of(self, shape, levels=LEVELS):
        if levels == 0:
            return ""
        if shape["kind"] == "ref":
            key = (shape["name"], levels)
            if key not in self.known:
                self.known[key] = self.of(self.types[shape["name"]], levels)
            return self.known[key]
        text = self.write(shape, levels)
        if len(text.encode("utf-16-be")) // 2 <= LONGEST:
            return text
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    def write(self, shape, levels):
        kind = shape["kind"]

        def of(inner):
            return self.of(inner, levels - 1)

        if kind == "literal":
            return "=" + "|".join(ordered(map(compact, shape["values"])))
        if kind == "object":
            others, names = shape.get("others"), ordered(shape["fields"])
            fields = [f"{compact(n)}{'?' if shape['fields'][n].get('optional') else ''}:{of(shape['fields'][n])}" for n in names]
            end = "" if others is None else ";refused" if others == "strict" else f";...{of(others)}"
            return "{" + ",".join(fields) + end + "}"
        if kind in ("array", "set"):
            return f"{kind}<{of(shape['element'])}>"
        if kind == "tuple":
            rest = f"...{of(shape['rest'])}" if "rest" in shape else ""
            return f"[{','.join(map(of, shape['items']))}/{shape['required']}{rest}]"
        if kind in ("record", "map"):
            key = shape["key"] if kind == "map" else shape["keys"].get("fit", {"kind": "string"})
            return f"{kind}{'?' if shape.get('partial') else ''}<{of(key)},{of(shape['element'])}>"
        if kind == "union":
            return f"({'|'.join(ordered(map(of, shape['options'])))})"
        if kind == "intersection":
            return f"({'&'.join(ordered([of(shape['left']), of(shape['right'])]))})"
        return shape.get("view", kind)


def fnv1a(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def fingerprints(path):
    found = {}
    for service, schema in json.loads(Path(path).read_text())["services"].items():
        texts = Texts(schema["types"])

        def of(shape, texts=texts):
            return "" if shape is None else texts.of(shape)

        for name, method in schema["methods"].items():
            errors = [[k, e["code"], of(e.get("details"))] for k, e in method.get("errors", {}).items()]
            parts = [method["kind"], method.get("delivery", ""), of(method.get("input")), of(method.get("output"))]
            text = compact([*parts, ordered(errors, lambda error: error[0])])
            found[f"{service}/{name}"] = f"{fnv1a(text):08x}"
    return found


if __name__ == "__main__":
    print(json.dumps(fingerprints(sys.argv[1])))
