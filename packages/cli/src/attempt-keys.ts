import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { BatonClient } from '@baton/sdk';
import type { Access } from './access.ts';
import type { CliConfig } from './config.ts';
import { profilesFile } from './profiles.ts';

/** What identifies an attempt: if one of these differs, it is another attempt. */
export interface AttemptPurpose {
  readonly command: 'apply' | 'import' | 'invite';
  readonly server: string;
  /** The account of the command. */
  readonly principalId: string;
  /** The input of the command. */
  readonly content: Iterable<unknown>;
}

/** An attempt as stored in its file. */
interface AttemptRecord {
  readonly command: string;
  readonly server: string;
  readonly principalId: string;
  readonly contentSha256: string;
  readonly startedAt: string;
  /** 32 random bytes, in hexadecimal. */
  readonly secret: string;
}

/** Half of the day for which the service stores responses, so that no retry uses a key that the service has deleted. */
const recordLifeMs = 12 * 60 * 60 * 1000;
const recordsMax = 100;
const recordBytesMax = 8192;
/** The same length as the SDK's keys: 128 bits. */
const keyCharacters = 32;

/** The message for people if `Attempt.keep` fails. */
export const keysNotKept =
  'The idempotency keys of this command could not be stored beside your profiles (~/.config/baton). If it is interrupted, wait a minute before you run it again.';

/** Opens the attempt of the client's principal. Writes nothing; see `Attempt.keep`. */
export async function openAttempt(
  baton: BatonClient,
  { coordinationUrl: server }: Access,
  config: CliConfig,
  purpose: Pick<AttemptPurpose, 'command' | 'content'>,
): Promise<Attempt> {
  const { principal } = await baton.harness.getContext();
  return new Attempt(config, { ...purpose, server, principalId: principal.id });
}

/**
 * The idempotency keys of one person's attempt to write something. All writers of a tenant share one key space: if
 * somebody else guesses a key and uses it first, the service rejects the original write for a day. So the keys are
 * derived from a secret that each attempt draws at random. A file that only its owner may read keeps it until the
 * attempt has succeeded, so a retry after a crash, or the same command run concurrently, uses the same keys.
 */
export class Attempt {
  readonly #path: string;
  readonly #purpose: Omit<AttemptRecord, 'startedAt' | 'secret'>;
  #secret: string;

  constructor(config: CliConfig, { command, server, principalId, content }: AttemptPurpose) {
    this.#purpose = { command, server, principalId, contentSha256: sha256Of(content) };
    const name = sha256Of(Object.values(this.#purpose));
    this.#path = join(dirname(profilesFile(config)), 'attempts', `${name}.json`);
    // Read before the comparison: from now on, another run of this attempt writes with these keys.
    this.#secret = this.#stored() ?? randomBytes(32).toString('hex');
  }

  /**
   * @param write the object, the compared state, and the content
   * @returns the key of this write; different content has a different key, so the service never confuses the two
   */
  keyOf(...write: readonly unknown[]): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify(write))
      .digest('hex')
      .slice(0, keyCharacters);
  }

  /** Stores the keys; call it before the first write. @returns whether a retry will have the same keys */
  keep(): boolean {
    const draft = `${this.#path}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      discardStale(dirname(this.#path));
      // Replaces an expired, damaged or public file.
      if (this.#stored() === undefined) rmSync(this.#path, { force: true });
      const record: AttemptRecord = {
        ...this.#purpose,
        startedAt: new Date().toISOString(),
        secret: this.#secret,
      };
      storeUnlessThere(draft, this.#path, `${JSON.stringify(record)}\n`);
    } catch {
      // The folder can't be created or written.
      return false;
    }
    const stored = this.#stored();
    this.#secret = stored ?? this.#secret;
    return stored !== undefined;
  }

  /** Discards the keys: the attempt has succeeded, or its keys are useless. */
  forget(): void {
    if (this.#stored() !== this.#secret) return;
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // If the folder can no longer be written, the record expires instead.
    }
  }

  /** The secret in the file; undefined if the file is expired, for another attempt, or not private. */
  #stored(): string | undefined {
    const record = readRecord(this.#path);
    const ageMs = Date.now() - Date.parse(record?.startedAt ?? '');
    // A clock that was set back doesn't extend a record.
    if (record === undefined || !(ageMs >= 0 && ageMs < recordLifeMs)) return undefined;
    const names = ['command', 'server', 'principalId', 'contentSha256'] as const;
    return names.every((name) => record[name] === this.#purpose[name]) ? record.secret : undefined;
  }
}

/** Unlike a rename, a link never replaces the keys that another run of this attempt has stored. */
function storeUnlessThere(draft: string, path: string, text: string): void {
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readRecord(path: string): AttemptRecord | undefined {
  let file: number | undefined;
  try {
    // Doesn't follow links, and doesn't block on a pipe.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(file);
    // Windows has neither owners nor modes.
    const isPrivate =
      process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0);
    if (!found.isFile() || !isPrivate || found.size > recordBytesMax) return undefined;
    const record = JSON.parse(readFileSync(file, 'utf8')) as Partial<AttemptRecord> | null;
    return /^[0-9a-f]{64}$/.test(String(record?.secret)) ? (record as AttemptRecord) : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Bounds the number and the age of records, including drafts of killed commands. */
function discardStale(folder: string): void {
  const records = readdirSync(folder)
    .map((name) => ({
      path: join(folder, name),
      found: lstatSync(join(folder, name), { throwIfNoEntry: false }),
    }))
    .filter(({ found }) => found !== undefined && !found.isDirectory())
    .map(({ path, found }) => ({ path, changedMs: found?.mtimeMs ?? 0 }))
    .sort((a, b) => b.changedMs - a.changedMs);
  for (const [n, { path, changedMs }] of records.entries())
    if (n >= recordsMax - 1 || Date.now() - changedMs > recordLifeMs) rmSync(path, { force: true });
}

function sha256Of(values: Iterable<unknown>): string {
  const hash = createHash('sha256');
  // One value at a time: an import reads up to 256 MiB.
  for (const value of values) hash.update(`${JSON.stringify(value)}\n`);
  return hash.digest('hex');
}
