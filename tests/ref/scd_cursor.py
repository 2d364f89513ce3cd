"""Bytes that are read one field after the other, as FORMAT.md names them."""

import struct

from scd_bits import refuse_if


class Reader:
    """Refuses what ends too early."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        """The fields of a layout as struct has it."""
        return struct.unpack(layout, self.bytes(struct.calcsize(layout)))

    def bytes(self, size):
        refuse_if(len(self.data) - self.at < size, "EFORMAT")
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        number = 0
        for i in range(9):
            byte, = self.take("B")
            number |= (byte & 127) << 7 * i
            if byte < 128:
                refuse_if(i > 0 and byte == 0, "EFORMAT")
                return number
        return refuse_if(True, "EFORMAT")

    def rest(self):
        return self.bytes(len(self.data) - self.at)


def varint(number):
    out = b""
    while number > 127:
        out += bytes((number & 127 | 128,))
        number >>= 7
    return out + bytes((number,))
