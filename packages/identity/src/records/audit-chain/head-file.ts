import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Logger } from '@baton/kernel/process/log';
import type { Settings } from '../settings.ts';
import { AuditKeyError } from './audit-key.ts';
import type { SealRow } from './seal.ts';

/** The last link of all chains, stored outside the database. */
export interface KeptHead {
  readonly lastSequence: number;
  readonly hmac: string;
}

/** The path in the settings; by default, a path next to the key. */
export function headFileOf(settings: Settings): string | undefined {
  const { IAM_AUDIT_HEAD_FILE: file, IAM_AUDIT_KEY_FILE: keyFile } = settings;
  return file ?? (keyFile === undefined ? undefined : `${keyFile}.head`);
}

/**
 * The head stored in a file; undefined if there is no file.
 * @throws AuditKeyError for a file that can't be read or wasn't written by identity
 */
export async function readHead(file: string): Promise<KeptHead | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new AuditKeyError(`The head of the audit log (${file}) cannot be read.`, { cause });
  }
  try {
    const { lastSequence, hmac } = JSON.parse(text);
    if (Number.isSafeInteger(lastSequence) && typeof hmac === 'string') return { lastSequence, hmac };
  } catch {
    // The file isn't JSON, so the error below is thrown.
  }
  throw new AuditKeyError(
    `The head of the audit log (${file}) was not written by identity: restore it, or check the audit log and remove the file.`,
  );
}

/** The last link that this process has created or read, in memory and in a file that outlives it. */
export class HeadKeeper {
  readonly file: string | undefined;
  readonly #log: Logger;
  #head: KeptHead | undefined;

  constructor(file: string | undefined, head: KeptHead | undefined, log: Logger) {
    this.file = file;
    this.#head = head;
    this.#log = log;
  }

  get head(): KeptHead | undefined {
    return this.#head;
  }

  /** Replaces the file in one step, so that a crash leaves either the earlier head or this one. */
  async keep({ last_sequence: lastSequence, hmac }: SealRow): Promise<void> {
    if (hmac === this.#head?.hmac) return;
    this.#head = { lastSequence, hmac };
    if (this.file === undefined) return;
    const draft = `${this.file}.${process.pid}`;
    try {
      await writeFile(draft, `${JSON.stringify(this.#head)}\n`, { mode: 0o600, flush: true });
      await rename(draft, this.file);
    } catch (err) {
      this.#log.error(
        { err },
        'the head of the audit log could not be stored (IAM_AUDIT_HEAD_FILE): a truncation before the next restart is not detected',
      );
    }
  }
}
