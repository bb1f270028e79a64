"""Fingerprints by docs/protocol.md §9, of the methods in a quicrpc.schema.json."""

import json

SCALARS = "any opaque never undefined null boolean string number bigint date bytes raw".split()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def ordered(texts, key=lambda text: text):
    return sorted(texts, key=lambda each: key(each).encode("utf-16-be"))


def type_text(shape, types, open=(), depth=0):
    kind = shape["type"]
    if kind == "ref":
        name = shape["name"]
        for opened, level in open:
            if opened == name:
                return f"^{depth - level}"
        return type_text(types[name], types, (*open, (name, depth)), depth)

    def of(inner):
        return type_text(inner, types, open, depth + 1)

    if kind in SCALARS:
        return kind
    if kind == "literal":
        return "=" + "|".join(ordered(map(compact, shape["values"])))
    if kind == "object":
        optional, rest = shape.get("optional", []), shape.get("rest")
        names = ordered(shape["fields"])
        fields = [f"{compact(n)}{'?' if n in optional else ''}:{of(shape['fields'][n])}" for n in names]
        end = "" if rest is None else ";refused" if rest == "refused" else f";...{of(rest)}"
        return "{" + ",".join(fields) + end + "}"
    if kind in ("array", "set"):
        return f"{kind}<{of(shape['items'])}>"
    if kind == "tuple":
        rest = f"...{of(shape['rest'])}" if "rest" in shape else ""
        return f"[{','.join(map(of, shape['items']))}/{shape['required']}{rest}]"
    if kind in ("record", "map"):
        return f"{kind}{'?' if shape.get('partial') else ''}<{of(shape['key'])},{of(shape['value'])}>"
    parts, join = (shape["options"], "|") if kind == "union" else (shape["parts"], "&")
    return f"({join.join(ordered(map(of, parts)))})"


def fnv1a(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def fingerprints(path):
    found = {}
    for service, schema in json.loads(path.read_text())["services"].items():

        def of(shape, types=schema["types"]):
            return "" if shape is None else type_text(shape, types)

        for name, method in schema["methods"].items():
            errors = [[k, e["code"], of(e.get("details"))] for k, e in method.get("errors", {}).items()]
            texts = [method["kind"], method.get("delivery", ""), of(method.get("input")), of(method.get("output"))]
            text = compact([*texts, ordered(errors, lambda error: error[0])])
            found[f"{service}/{name}"] = f"{fnv1a(text):08x}"
    return found
