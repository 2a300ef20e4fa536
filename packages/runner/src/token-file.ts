import { renameSync, writeFileSync } from 'node:fs';

/**
 * An access token is used for 80 % of its 300 seconds. Renewed this often, a token in the file is valid for at least
 * another 30 s.
 */
const renewEveryMs = 30_000;

/**
 * Keeps a valid access token in a file that only its owner may read, for commands that run longer than a token's
 * lifetime.
 */
export class TokenFile {
  readonly #path: string;
  readonly #get: () => Promise<string>;
  readonly #onRenewed: (token: string) => void;
  #token = '';
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param get returns an access token that is valid for another minute
   * @param onRenewed called before a new token is written
   */
  constructor(path: string, get: () => Promise<string>, onRenewed: (token: string) => void) {
    this.#path = path;
    this.#get = get;
    this.#onRenewed = onRenewed;
  }

  /**
   * Writes the first token, and then renews it until `stop`. @returns the token. @throws BatonError if there is none
   */
  async start(): Promise<string> {
    await this.#write();
    this.#timer = setInterval(() => {
      // If the service is unavailable, the next interval retries; until then the file keeps its token.
      this.#write().catch(() => undefined);
    }, renewEveryMs);
    return this.#token;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #write(): Promise<void> {
    const token = await this.#get();
    if (token === this.#token) return;
    this.#onRenewed(token);
    // The file is replaced by a rename, so that a command never reads a partial token.
    writeFileSync(`${this.#path}.new`, token, { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
    this.#token = token;
  }
}
