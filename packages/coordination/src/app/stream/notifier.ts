import { randomBytes } from 'node:crypto';
import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import {
  answerAlive,
  bindingChannel,
  journalChannel,
  listenToChannels,
  notify,
  openChannel,
} from './notifier.sql.ts';

/** What another process has said. */
export interface Listener {
  journalGrew(tenantId: string): void;
  bindingChanged(issuer: string, iamPrincipalId: string): void;
  /** Notifications may have been missed: everything can have changed. */
  missed(): void;
}

/** Tells the other processes of the store what they should look at again. */
export interface Notifier {
  announceJournal(tenantId: string): void;
  announceBinding(issuer: string, iamPrincipalId: string): void;
  close(): Promise<void>;
}

/** One NOTIFY per process and this time at most: inside of each commit it halved the throughput of claims. */
const pauseMs = 10;
/** A payload has less than 8000 bytes. */
const tenantsMax = 150;
const bindingsMax = 100;
const everything = '*';
const reconnectMsMin = 100;
const reconnectMsMax = 5000;
/** A connection that a network swallowed answers nothing; without asking, nobody would notice. */
const aliveEveryMs = 15_000;

type Connection = Awaited<ReturnType<Pool['connect']>>;

/**
 * Keeps one connection for both directions; it is opened at once and again whenever it is lost. What is announced
 * meanwhile goes out afterwards.
 * @param listener absent in a process that only writes
 */
export function createNotifier({
  pool,
  log,
  listener,
}: {
  pool: Pick<Pool, 'connect'>;
  log: Logger;
  listener?: Listener;
}): Notifier {
  const self = randomBytes(6).toString('hex');
  const tenants = new Set<string>();
  let bindings: [issuer: string, iamPrincipalId: string][] = [];
  let connection: Connection | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  let sending: NodeJS.Timeout | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let failures = 0;
  let isClosed = false;
  const opened = open();
  const alive = setInterval(() => void askAlive(), aliveEveryMs).unref();

  async function open(): Promise<void> {
    let made: Connection | undefined;
    try {
      made = await pool.connect();
      const mine = made;
      mine.on('error', (error) => lose(mine, error));
      mine.on('end', () => lose(mine, undefined));
      mine.on('notification', ({ channel, payload }) => hear(channel, payload ?? ''));
      await mine.query(openChannel);
      if (listener !== undefined) await mine.query(listenToChannels);
      if (isClosed) return void (await mine.end());
      connection = mine;
      // Whoever was told of before the connection was open may have been missed.
      listener?.missed();
      failures = 0;
      schedule();
    } catch (error) {
      if (made === undefined) retry(error);
      else lose(made, error);
    }
  }

  function lose(lost: Connection, error: unknown): void {
    lost.removeAllListeners();
    lost.on('error', () => undefined);
    lost.end().catch(() => undefined);
    if (connection === lost) connection = undefined;
    else if (connection !== undefined) return;
    retry(error);
  }

  function retry(error: unknown): void {
    if (isClosed || waiting !== undefined) return;
    const waitMs = Math.min(reconnectMsMin * 2 ** failures, reconnectMsMax);
    failures += 1;
    log.warn({ err: error, waitMs }, 'the connection for notifications is lost; readers poll meanwhile');
    waiting = setTimeout(() => {
      waiting = undefined;
      void open();
    }, waitMs).unref();
  }

  async function askAlive(): Promise<void> {
    const asked = connection;
    if (asked === undefined) return;
    const late = setTimeout(() => lose(asked, new Error('no answer')), aliveEveryMs / 2).unref();
    await asked.query(answerAlive).catch((error: unknown) => lose(asked, error));
    clearTimeout(late);
  }

  function hear(channel: string, payload: string): void {
    const [sender, body = ''] = split(payload);
    if (sender === self || listener === undefined) return;
    if (body === everything) listener.missed();
    else if (channel === journalChannel) body.split(',').forEach((id) => listener.journalGrew(id));
    else if (channel === bindingChannel) {
      const [iamPrincipalId, issuer = ''] = split(body);
      listener.bindingChanged(issuer, iamPrincipalId);
    }
  }

  function schedule(): void {
    if (sending !== undefined || isClosed) return;
    const waitMs = Math.max(0, sentAt + pauseMs - performance.now());
    sending = setTimeout(() => void send(), waitMs);
  }

  async function send(): Promise<void> {
    const open = connection;
    if (open !== undefined && tenants.size + bindings.length > 0) {
      sentAt = performance.now();
      const messages = takeMessages();
      try {
        for (const [channel, body] of messages) {
          const { text, values } = notify(channel, `${self} ${body}`);
          await open.query(text, values as unknown[]);
        }
      } catch (error) {
        // What was under way may be lost; whoever hears from us next looks at everything.
        tenants.add(everything);
        lose(open, error);
      }
    }
    sending = undefined;
    if (connection !== undefined && tenants.size + bindings.length > 0) schedule();
  }

  function takeMessages(): [channel: string, body: string][] {
    const messages: [string, string][] = bindings.map(([issuer, id]) => [bindingChannel, `${id} ${issuer}`]);
    bindings = [];
    if (tenants.has(everything) || tenants.size > tenantsMax) messages.push([journalChannel, everything]);
    else if (tenants.size > 0) messages.push([journalChannel, [...tenants].join(',')]);
    tenants.clear();
    return messages;
  }

  return {
    announceJournal(tenantId) {
      if (tenants.size <= tenantsMax) tenants.add(tenantId);
      schedule();
    },
    announceBinding(issuer, iamPrincipalId) {
      if (bindings.length < bindingsMax) bindings.push([issuer, iamPrincipalId]);
      else tenants.add(everything);
      schedule();
    },
    async close() {
      // A short-lived process may be done before the connection is; what it announced still goes out.
      await opened;
      isClosed = true;
      clearInterval(alive);
      clearTimeout(waiting);
      clearTimeout(sending);
      if (connection === undefined) return;
      await send();
      connection.removeAllListeners('end');
      await connection.end().catch(() => undefined);
    },
  };
}

/** At the first blank: what stands behind may hold blanks itself. */
function split(text: string): [first: string, rest?: string] {
  const at = text.indexOf(' ');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
