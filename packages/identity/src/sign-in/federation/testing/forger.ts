import { constants, createHash, createSign, type KeyObject, privateEncrypt } from 'node:crypto';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';

/** Creates tokens that no library creates: with invalid RSA signature blocks, or with other parts malformed. */

/** A part of a token in base64url: bytes and strings unchanged, anything else as JSON. */
export function encode(value: unknown): string {
  const bytes = Buffer.isBuffer(value)
    ? value
    : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  return bytes.toString('base64url');
}

/** @param text header and claims, encoded and joined by a dot */
export function signedToken(text: string, signature: Buffer): string {
  const token = `${text}.${signature.toString('base64url')}`;
  keepSecret('upstream token', token);
  return token;
}

export function rsa(text: string, key: KeyObject): Buffer {
  return createSign('sha256').update(text).sign(key);
}

export function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
}

export function bytesOf(number: bigint, length: number): Buffer {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex');
}

export function modulusOf(key: KeyObject): bigint {
  return numberOf(Buffer.from(key.export({ format: 'jwk' }).n as string, 'base64url'));
}

/**
 * The block of Bleichenbacher's attack on the exponent 3: a verifier that ignores the end of the block accepts a forged
 * cube.
 */
export const shortPadding = 'a short padding, and more bytes after the hash';

/**
 * The padded hash of a string (RFC 8017, section 9.2), and blocks that a lenient verifier might accept instead.
 * @param size the number of bytes of the modulus
 */
export function blocksOf(text: string, size = 256): { right: Buffer; wrong: Record<string, Buffer> } {
  const hash = createHash('sha256').update(text).digest();
  const oid = (last: number) =>
    Buffer.from([0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last]);
  const sha256 = oid(1);
  const asn1Null = Buffer.from([0x05, 0x00]);
  const tlv = (tag: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts);
    return Buffer.concat([Buffer.from([tag, content.length]), content]);
  };
  const inLongForm = (tag: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts);
    return Buffer.concat([Buffer.from([tag, 0x81, content.length]), content]);
  };
  const octets = tlv(0x04, hash);
  const algorithm = tlv(0x30, sha256, asn1Null);
  const right = tlv(0x30, algorithm, octets);
  const filled = (info: Buffer, after = Buffer.alloc(0), type = 1, fill = 0xff) =>
    Buffer.concat([
      Buffer.from([0, type]),
      Buffer.alloc(size - 3 - info.length - after.length, fill),
      Buffer.alloc(1),
      info,
      after,
    ]);
  const changed = (at: number, byte: number) => {
    const block = filled(right);
    block[at] = byte;
    return block;
  };
  const wrong = {
    'SHA-384 named over the hash': filled(tlv(0x30, tlv(0x30, oid(2), asn1Null), octets)),
    'SHA-224 named over the hash': filled(tlv(0x30, tlv(0x30, oid(4), asn1Null), octets)),
    'no parameters': filled(tlv(0x30, tlv(0x30, sha256), octets)),
    'other parameters': filled(tlv(0x30, tlv(0x30, sha256, tlv(0x04, Buffer.from('x'))), octets)),
    'parameters with content': filled(tlv(0x30, tlv(0x30, sha256, tlv(0x05, Buffer.alloc(40))), octets)),
    'a length in long form': filled(inLongForm(0x30, algorithm, octets)),
    'an inner length in long form': filled(tlv(0x30, inLongForm(0x30, sha256, asn1Null), octets)),
    'the length of the hash in long form': filled(tlv(0x30, algorithm, inLongForm(0x04, hash))),
    'an outer length of indefinite form': filled(
      Buffer.concat([Buffer.from([0x30, 0x80]), algorithm, octets, Buffer.alloc(2)]),
    ),
    'another element after the hash': filled(tlv(0x30, algorithm, octets, asn1Null)),
    'a byte after the hash': filled(right, Buffer.alloc(1)),
    [shortPadding]: filled(right, Buffer.alloc(size - 3 - right.length - 8, 0xaa)),
    'no padding, and more bytes after the hash': filled(right, Buffer.alloc(size - 3 - right.length, 0xaa)),
    'the bare hash': filled(hash),
    'the hash as an octet string': filled(octets),
    'a shorter hash': filled(tlv(0x30, algorithm, tlv(0x04, hash.subarray(1)))),
    'an empty hash': filled(tlv(0x30, algorithm, tlv(0x04))),
    'block type 0': filled(right, undefined, 0, 0),
    'block type 2': filled(right, undefined, 2, 0xaa),
    'zeros as padding': filled(right, undefined, 1, 0),
    'one other byte in the padding': changed(100, 0xfe),
    'a zero in the padding': changed(100, 0),
    'no zero after the padding': changed(size - 1 - right.length, 0xff),
    'a first byte that is not zero': changed(0, 1),
  };
  return { right: filled(right), wrong };
}

/** Signs a block unchanged, without padding. */
export function signBlock(block: Buffer, key: KeyObject): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, block);
}

/** Forges a signature for a key with exponent 3, without the key: a number whose cube starts like the correct block. */
export function cubeRootForgery(text: string): Buffer {
  const start = (blocksOf(text).wrong[shortPadding] as Buffer).subarray(0, 62);
  const wanted = numberOf(Buffer.concat([start, Buffer.alloc(256 - start.length, 0xff)]));
  let [low, high] = [0n, 1n << 700n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle ** 3n <= wanted) low = middle;
    else high = middle - 1n;
  }
  return bytesOf(low, 256);
}
