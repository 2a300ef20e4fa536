import { randomBytes } from 'node:crypto';
import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { Announcements, everything, type Message } from './announcements.ts';
import { NotificationConnection } from './notification-connection.ts';
import { bindingChannel, journalChannel } from './notifier.sql.ts';

/** Callbacks for announcements from other processes. */
export interface Listener {
  journalGrew(tenantId: string): void;
  bindingChanged(issuer: string, iamPrincipalId: string): void;
  /** Notifications may have been missed: everything may have changed. */
  missed(): void;
}

export interface NotifierOptions {
  readonly pool: Pick<Pool, 'connect'>;
  readonly log: Logger;
  /** Absent in a process that only announces. */
  readonly listener?: Listener;
}

/** The pause between two rounds of NOTIFY. A NOTIFY inside of each commit halved the throughput of claims. */
const pauseMs = 10;

/**
 * Announces changes to the other processes on the same database and passes on their announcements. Announcements are
 * batched and sent at most once in 10 ms; while the connection is lost they are queued.
 */
export class Notifier {
  /** Part of each notification, so that a process ignores its own. */
  readonly #processId = randomBytes(6).toString('hex');
  readonly #listener: Listener | undefined;
  readonly #connection: NotificationConnection;
  readonly #announcements = new Announcements();
  /** Set from the scheduling of a round until it is sent. */
  #round: NodeJS.Timeout | undefined;
  /** The time of the last round, measured by `performance.now()`. */
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor({ pool, log, listener }: NotifierOptions) {
    this.#listener = listener;
    this.#connection = new NotificationConnection({
      pool,
      log,
      received: listener && ((message) => this.#hear(listener, message)),
      opened: () => this.#opened(),
    });
  }

  announceJournal(tenantId: string): void {
    this.#announcements.addTenant(tenantId);
    this.#schedule();
  }

  announceBinding(issuer: string, iamPrincipalId: string): void {
    this.#announcements.addBinding(issuer, iamPrincipalId);
    this.#schedule();
  }

  /** Sends pending announcements. Waits for the connection, because a command may finish before it is open. */
  async close(): Promise<void> {
    await this.#connection.attempted;
    this.#isClosed = true;
    clearTimeout(this.#round);
    await this.#send();
    await this.#connection.close();
  }

  #opened(): void {
    // Announcements that other processes made before the connection was open are lost, so everything may have changed.
    this.#listener?.missed();
    this.#schedule();
  }

  #hear(listener: Listener, { channel, body: payload }: Message): void {
    const [sender, body = ''] = splitAtBlank(payload);
    if (sender === this.#processId) return;
    if (body === everything) listener.missed();
    else if (channel === journalChannel) body.split(',').forEach((id) => listener.journalGrew(id));
    else if (channel === bindingChannel) {
      const [iamPrincipalId, issuer = ''] = splitAtBlank(body);
      listener.bindingChanged(issuer, iamPrincipalId);
    }
  }

  #schedule(): void {
    if (this.#round !== undefined || this.#isClosed) return;
    const waitMs = Math.max(0, this.#sentAtMs + pauseMs - performance.now());
    this.#round = setTimeout(() => void this.#send(), waitMs);
  }

  async #send(): Promise<void> {
    if (this.#hasWork) {
      this.#sentAtMs = performance.now();
      const messages = this.#announcements
        .take()
        .map(({ channel, body }) => ({ channel, body: `${this.#processId} ${body}` }));
      // The announcements of a failed round may be lost, so the next round announces that everything may have changed.
      if (!(await this.#connection.send(messages))) this.#announcements.addEverything();
    }
    this.#round = undefined;
    if (this.#hasWork) this.#schedule();
  }

  /** Does nothing without a connection: a round is scheduled once it is open again. */
  get #hasWork(): boolean {
    return this.#connection.isOpen && !this.#announcements.isEmpty;
  }
}

/** Splits at the first space; the rest may contain spaces. */
function splitAtBlank(text: string): [first: string, rest?: string] {
  const at = text.indexOf(' ');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
