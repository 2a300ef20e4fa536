/** Common names of variables that contain secrets. */
const secretName =
  /TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|ENCRYPTION_?KEY|CREDENTIAL/i;

/** Shorter values could be ordinary words in the output. */
const secretCharactersMin = 8;
/**
 * A longer line of a value is searched in pieces, so at most this much of the output is held back until its next part
 * arrives.
 */
const pieceCharactersMax = 4096;
/** The whole output is searched for each secret, so the stored 10 MiB are read at most 200 times. */
export const secretsMax = 200;
const renewedMax = 3;
const instead = '***';

/** Secrets that the output of a command must not contain: the given tokens, and variables with the name of a secret. */
export class Secrets {
  /** The number of secrets that are not searched for, because more than 200 were given. */
  readonly leftOut: number;
  readonly #texts: readonly string[];
  /** The renewed tokens that are searched for: only the newest ones, because older ones have expired. */
  #renewed: readonly string[] = [];
  #buffers: readonly Buffer[];

  constructor(tokens: readonly string[], environment: Readonly<Record<string, string | undefined>>) {
    const named = Object.entries(environment).filter(([name]) => secretName.test(name));
    const values = named.map(([, value = '']) => value.trim());
    const ofOneLine = values.filter((value) => !value.includes('\n'));
    const ofSeveral = values.filter((value) => value.includes('\n'));
    // Tokens and passwords take precedence over the lines of certificates and keys, because they are short.
    const pieces = [...tokens, ...ofOneLine, ...ofSeveral].flatMap(piecesOf);
    const texts = [...new Set(pieces.flatMap((piece) => [piece, asInJson(piece)]))];
    this.leftOut = Math.max(0, texts.length - secretsMax);
    // The longer ones come first, because a shorter one may be their prefix.
    this.#texts = texts.slice(0, secretsMax).sort((a, b) => b.length - a.length);
    this.#buffers = this.#texts.map((text) => Buffer.from(text));
  }

  /** Replaces each secret in a string with `***`. */
  hidden(text: string): string {
    return [...this.#renewed, ...this.#texts].reduce(
      (rest, secret) => rest.replaceAll(secret, instead),
      text,
    );
  }

  /** Replaces secrets in the parts of one stream; a secret may begin in one part and end in the next. */
  stream(): HiddenStream {
    return new HiddenStream(() => this.#buffers);
  }

  /** Adds a token, which is then also replaced in open streams. */
  renew(token: string): void {
    this.#renewed = [...this.#renewed, token].slice(-renewedMax);
    this.#buffers = [...this.#renewed, ...this.#texts].map((text) => Buffer.from(text));
  }
}

/**
 * Replaces secrets in the parts of a stream. If a part ends with what may be the beginning of a secret, that end is
 * held back.
 */
export class HiddenStream {
  readonly #secretsNow: () => readonly Buffer[];
  #waiting: Buffer = Buffer.alloc(0);

  constructor(secretsNow: () => readonly Buffer[]) {
    this.#secretsNow = secretsNow;
  }

  take(part: Buffer): Buffer {
    const secrets = this.#secretsNow();
    if (secrets.length === 0) return part;
    const all = this.#waiting.length === 0 ? part : Buffer.concat([this.#waiting, part]);
    const { hidden, rest } = hide(all, secrets);
    const waits = Math.max(0, ...secrets.map((secret) => begunIn(rest, secret)));
    this.#waiting = rest.subarray(rest.length - waits);
    return Buffer.concat([...hidden, rest.subarray(0, rest.length - waits)]);
  }

  /** Returns the held-back text at the end of the stream, which turned out not to be a secret. */
  end(): Buffer {
    return this.#waiting;
  }
}

/**
 * @returns the text up to the end of the last secret, with `***` in place of each secret, and the rest
 */
function hide(all: Buffer, secrets: readonly Buffer[]): { hidden: Buffer[]; rest: Buffer } {
  const hidden: Buffer[] = [];
  const next = secrets.map((secret) => all.indexOf(secret));
  for (let from = 0; ; ) {
    let first = -1;
    for (const [index, secret] of secrets.entries()) {
      // A secret is searched again only when its last match has been passed, so a part is read once per secret.
      if (next[index] !== -1 && Number(next[index]) < from) next[index] = all.indexOf(secret, from);
      const at = Number(next[index]);
      if (at !== -1 && (first === -1 || at < Number(next[first]))) first = index;
    }
    if (first === -1) return { hidden, rest: all.subarray(from) };
    hidden.push(all.subarray(from, next[first]), Buffer.from(instead));
    from = Number(next[first]) + Number(secrets[first]?.length);
  }
}

/** Returns the number of bytes at the end that are a prefix of this secret. */
function begunIn(bytes: Buffer, secret: Buffer): number {
  const from = Math.max(0, bytes.length - secret.length + 1);
  for (
    let at = bytes.indexOf(Number(secret[0]), from);
    at !== -1;
    at = bytes.indexOf(Number(secret[0]), at + 1)
  )
    if (bytes.subarray(at).equals(secret.subarray(0, bytes.length - at))) return bytes.length - at;
  return 0;
}

/** A key of several lines may be printed line by line. */
function piecesOf(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const pieces = lines.flatMap((line) => line.match(new RegExp(`.{1,${pieceCharactersMax}}`, 'gsu')) ?? []);
  return pieces.filter((piece) => piece.length >= secretCharactersMin);
}

function asInJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
