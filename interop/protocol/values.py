"""Values in MessagePack, as docs/protocol.md §3 has them. Big is a bigint, UNDEFINED what its name says."""

import struct
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
UNDEFINED = type("Undefined", (), {"__repr__": lambda self: "UNDEFINED"})()


class Big(int):
    pass


def sized(short, limit, longer, length):
    """The header of text, bytes, an array or a map."""
    if length < limit:
        return bytes([short | length])
    for code, size in longer:
        if length < 1 << (8 * size):
            return bytes([code]) + length.to_bytes(size, "big")


def pack(value):
    if value is None:
        return b"\xc0"
    if value is UNDEFINED:
        return b"\xd4\0\0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, Big):
        return b"\xd3" + struct.pack(">q", value) if value < 1 << 63 else b"\xcf" + struct.pack(">Q", value)
    if isinstance(value, int) and -(1 << 31) <= value < 1 << 32:
        if -32 <= value < 128:
            return struct.pack("b" if value < 0 else "B", value)
        return b"\xce" + struct.pack(">I", value) if value > 0 else b"\xd2" + struct.pack(">i", value)
    if isinstance(value, (int, float)):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return sized(0xA0, 32, [(0xD9, 1), (0xDA, 2), (0xDB, 4)], len(data)) + data
    if isinstance(value, bytes):
        return sized(0, 0, [(0xC4, 1), (0xC5, 2), (0xC6, 4)], len(value)) + value
    if isinstance(value, datetime):
        milliseconds = (value - EPOCH) // timedelta(milliseconds=1)
        seconds, nanoseconds = milliseconds // 1000, milliseconds % 1000 * 1_000_000
        return b"\xc7\x0c\xff" + struct.pack(">Iq", nanoseconds, seconds)
    if isinstance(value, dict):
        entries = [(k, v) for k, v in value.items() if v is not UNDEFINED]
        return sized(0x80, 16, [(0xDE, 2), (0xDF, 4)], len(entries)) + b"".join(pack(k) + pack(v) for k, v in entries)
    items = sorted(value) if isinstance(value, set) else value
    return sized(0x90, 16, [(0xDC, 2), (0xDD, 4)], len(items)) + b"".join(map(pack, items))


def unpack(data):
    value, end = read(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes after the value")
    return value


NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i"}
LENGTHS = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC4: 1, 0xC5: 2, 0xC6: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def read(data, at):
    code = data[at]
    at += 1
    if code < 0x80 or code >= 0xE0:
        return code - (256 if code >= 0xE0 else 0), at
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if code in NUMBERS:
        return struct.unpack_from(NUMBERS[code], data, at)[0], at + struct.calcsize(NUMBERS[code])
    if code in (0xCF, 0xD3):
        return Big(int.from_bytes(data[at : at + 8], "big", signed=code == 0xD3)), at + 8
    if code in (0xD4, 0xD6, 0xD7, 0xC7):
        return extension(data, code, at)
    size = LENGTHS.get(code, 0)
    length = int.from_bytes(data[at : at + size], "big") if size else code & (31 if code >= 0xA0 else 15)
    at += size
    if code in (0xC4, 0xC5, 0xC6):
        return data[at : at + length], at + length
    if 0xA0 <= code < 0xC0 or code in (0xD9, 0xDA, 0xDB):
        return data[at : at + length].decode(), at + length
    if 0x80 <= code < 0x90 or code in (0xDE, 0xDF):
        entries = {}
        for _ in range(length):
            key, at = read(data, at)
            entries[key], at = read(data, at)
        return entries, at
    items = []
    for _ in range(length):
        item, at = read(data, at)
        items.append(item)
    return items, at


def extension(data, code, at):
    if code == 0xD4 and data[at : at + 2] == b"\0\0":
        return UNDEFINED, at + 2
    if code == 0xC7:
        nanoseconds, seconds = struct.unpack_from(">Iq", data, at + 2)
        return moment(seconds, nanoseconds), at + 14
    if code == 0xD6:
        return moment(int.from_bytes(data[at + 1 : at + 5], "big"), 0), at + 5
    both = int.from_bytes(data[at + 1 : at + 9], "big")
    return moment(both & (1 << 34) - 1, both >> 34), at + 9


def moment(seconds, nanoseconds):
    return EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
