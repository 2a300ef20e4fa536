import { createHash } from 'node:crypto';

/** A text that must not be found: one possible spelling of a secret. */
export interface Needle {
  readonly text: string;
  readonly spelling: string;
  /** The secret in its original spelling. */
  readonly secret: string;
}

const windowBytes = 12;
const filterBits = 25;
const base = 0x01000193;

/** Of a token, only the end of each part is searched for; it occurs in no other token. */
const partLength = 48;

/** Every spelling of a secret to search for. The claims and the signature of a JWT are searched for separately. */
export function listSpellings(secret: string): Needle[] {
  const parts = /^[\w-]+\.([\w-]{20,})\.([\w-]{20,})$/.exec(secret);
  const whole = parts === null ? [secret] : parts.slice(1).map((part) => part.slice(-partLength));
  const needles = whole.flatMap((text) => [
    { text, spelling: 'as it is' },
    { text: encodeURIComponent(text.toWellFormed()), spelling: 'URL-encoded' },
    { text: JSON.stringify(text).slice(1, -1), spelling: 'escaped as in JSON' },
    { text: Buffer.from(text).toString('hex'), spelling: 'in hexadecimal' },
    ...base64Of(text).map((inside) => ({ text: inside, spelling: 'in base64' })),
  ]);
  const seen = new Set<string>();
  return needles
    .filter(({ text }) => text.length >= windowBytes && !seen.has(text) && seen.add(text))
    .map((needle) => ({ ...needle, secret }));
}

/** The stored hashes of a secret, which may be in the tables of credentials only. */
export function listHashes(secret: string): Needle[] {
  const hash = createHash('sha256').update(secret).digest();
  return (['hex', 'base64', 'base64url'] as const).map((encoding) => ({
    text: hash.toString(encoding).replace(/=+$/, ''),
    spelling: 'as its hash',
    secret,
  }));
}

/** The base64 forms of a text inside a longer one: the text can begin at any of three offsets, in two alphabets. */
function base64Of(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]).toString('base64');
    const end = encoded.length - (encoded.endsWith('==') ? 3 : encoded.endsWith('=') ? 2 : 0);
    // The characters at both ends are left out, because they also encode bits of the surrounding bytes.
    const inside = encoded.slice([0, 2, 3][before], end);
    return [inside, inside.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/**
 * Searches many texts at once by a rolling hash of 12 bytes (Rabin-Karp). The hash is compared with that of each
 * needle's middle, which is rarer than its ends (`iam_pat_`, `@example.com`); on a match, the whole needle is compared.
 * 100 MB take a few seconds, however many needles there are.
 */
export function createSearch(needles: readonly Needle[]) {
  const middles = new Map<number, { needle: Needle; bytes: Buffer; upToMiddle: number }[]>();
  const filter = new Uint8Array(2 ** filterBits / 8);
  for (const needle of needles) {
    const bytes = Buffer.from(needle.text);
    const upToMiddle = Math.floor((bytes.length + windowBytes) / 2);
    let hash = 0;
    for (const byte of bytes.subarray(upToMiddle - windowBytes, upToMiddle))
      hash = (Math.imul(hash, base) + byte) | 0;
    const same = middles.get(hash);
    if (same === undefined) middles.set(hash, [{ needle, bytes, upToMiddle }]);
    else same.push({ needle, bytes, upToMiddle });
    const bit = hash >>> (32 - filterBits);
    filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7));
  }
  let leaving = 1;
  for (let n = 0; n < windowBytes; n += 1) leaving = Math.imul(leaving, base);

  /** Calls `found` for every needle and the offset where it begins. */
  return function search(text: Buffer, found: (needle: Needle, at: number) => void): void {
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      hash = (Math.imul(hash, base) + (text[at] as number)) | 0;
      if (at >= windowBytes) hash = (hash - Math.imul(leaving, text[at - windowBytes] as number)) | 0;
      const bit = hash >>> (32 - filterBits);
      if (((filter[bit >> 3] as number) & (1 << (bit & 7))) === 0) continue;
      for (const { needle, bytes, upToMiddle } of middles.get(hash) ?? []) {
        const start = at + 1 - upToMiddle;
        const end = start + bytes.length;
        if (start >= 0 && end <= text.length && text.compare(bytes, 0, bytes.length, start, end) === 0)
          found(needle, start);
      }
    }
  };
}
