/** A value that an authenticator writes in CBOR (RFC 8949); only what attestations and keys need. */
export type Cbor = number | string | Uint8Array | Map<number | string, Cbor>;

export function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  return Buffer.concat([
    head(5, value.size),
    ...[...value].flatMap(([key, item]) => [encodeCbor(key), encodeCbor(item)]),
  ]);
}

function head(major: number, argument: number): Buffer {
  const type = major << 5;
  if (argument < 24) return Buffer.of(type | argument);
  if (argument < 256) return Buffer.of(type | 24, argument);
  const bytes = Buffer.alloc(3);
  bytes[0] = type | 25;
  bytes.writeUInt16BE(argument, 1);
  return bytes;
}
