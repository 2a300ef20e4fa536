import type { Logger } from '@baton/kernel/process/log';
import { openRevocations } from '../access/authn/authenticate.ts';
import {
  createRevokedSessions,
  type RevokedSessions,
  revokedSessionsName,
} from '../execution/sessions/revoked/revoked-sessions.ts';
import type { Job } from '../service/job.ts';
import type { WorkerTools } from './background.ts';

/** The longest pause between two of the worker's rounds, with or without identity's list. */
const pauseMsMax = 1000;

/**
 * Ends the sessions of revoked API keys and bindings, and of the credentials in identity's list. The processes that
 * serve requests have already ended most of the latter, except sessions that were in use, or if the process ended
 * first.
 */
export function endRevokedSessions(tools: WorkerTools): Job {
  const { settings, log } = tools;
  const sessions = createRevokedSessions(tools);
  const revocations = settings.CP_IAM_ISSUER === '' ? undefined : openRevocations(settings, log);
  return {
    name: revokedSessionsName,
    batchMax: sessions.batchMax,
    pauseMsMax,
    async run() {
      await revocations?.ready();
      const revoked = [...(revocations?.revoked() ?? []), ...(await sessions.findRevokedKeys())];
      return revoked.length === 0 ? 0 : sessions.end(revoked);
    },
    close: async () => revocations?.close(),
  };
}

/** Ends the sessions of listed credentials as soon as the list has changed. The worker retries what fails. */
export class RevocationFollower {
  readonly #sessions: RevokedSessions;
  readonly #log: Logger;
  #next: readonly string[] | undefined;
  #following: Promise<void> | undefined;
  #isClosed = false;

  constructor(sessions: RevokedSessions, log: Logger) {
    this.#sessions = sessions;
    this.#log = log;
  }

  /** @param revoked the hashes in the list */
  follow(revoked: readonly string[]): void {
    if (this.#isClosed || revoked.length === 0) return;
    this.#next = revoked;
    this.#following ??= this.#run().finally(() => {
      this.#following = undefined;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#following;
  }

  async #run(): Promise<void> {
    try {
      while (this.#next !== undefined) {
        const revoked = this.#next;
        this.#next = undefined;
        while (!this.#isClosed && (await this.#sessions.end(revoked)) >= this.#sessions.batchMax);
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'sessions of revoked credentials are left to the worker');
    }
  }
}
